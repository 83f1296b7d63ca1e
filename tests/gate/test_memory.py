"""A case too large for the memory at hand is refused before anything is allocated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygate.core import memory as core_memory
from tinygate.core.errors import LimitError
from tinygate.core.memory import available_memory
from tinygate.core.shape import Shape
from tinygate.gate import memory

SHAPE = Shape(64, 128, 256)
OPERANDS = 4 * (64 * 128 + 128 * 256 + 64 * 256)
NEEDED = memory.PEAK_FACTOR * OPERANDS + memory.PEAK_BASE


@pytest.mark.parametrize("available", [None, NEEDED, NEEDED + 1, 1 << 60])
def test_what_fits_is_let_through(monkeypatch: pytest.MonkeyPatch, available: int | None) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: available)
    memory.check_memory(SHAPE)


@pytest.mark.parametrize("available", [0, NEEDED - 1])
def test_what_does_not_fit_is_refused_with_both_numbers(
    monkeypatch: pytest.MonkeyPatch, available: int
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: available)
    with pytest.raises(LimitError) as caught:
        memory.check_memory(SHAPE)
    assert "64x128x256 needs about 64 MiB" in caught.value.message
    assert f"available memory of {available >> 20} MiB" in caught.value.message
    assert caught.value.exit_code == 3


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A /proc and a /sys/fs/cgroup that a test fills."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    monkeypatch.setattr(core_memory, "Path", lambda name: tmp_path / name.lstrip("/"))
    return tmp_path


def cgroup(system: Path, most: str, used: str) -> None:
    (system / "sys/fs/cgroup/memory.max").write_text(most)
    (system / "sys/fs/cgroup/memory.current").write_text(used)


MEMINFO = "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:    2000 kB\n"


def test_a_system_that_does_not_tell(system: Path) -> None:
    assert available_memory() is None


@pytest.mark.parametrize("text", ["", "MemAvailable:\n", "MemAvailable: lots kB\n", "MemFree: 1\n"])
def test_a_meminfo_without_an_answer(system: Path, text: str) -> None:
    (system / "proc/meminfo").write_text(text)
    assert available_memory() is None


def test_memory_that_can_be_had_is_not_memory_that_lies_idle(system: Path) -> None:
    (system / "proc/meminfo").write_text(MEMINFO)
    assert available_memory() == 2000 * 1024


@pytest.mark.parametrize(
    ("most", "used", "available"),
    [
        ("max\n", "5\n", 2000 * 1024),  # no limit: the machine's own
        ("1000\n", "400\n", 600),
        ("1000\n", "1400\n", 0),
        ("9000000\n", "0\n", 2000 * 1024),  # the smaller of the two
        ("lots\n", "0\n", 2000 * 1024),
        ("1000\n", "", 2000 * 1024),
    ],
)
def test_the_container_counts_too(system: Path, most: str, used: str, available: int) -> None:
    (system / "proc/meminfo").write_text(MEMINFO)
    cgroup(system, most, used)
    assert available_memory() == available


def test_a_container_alone_is_enough(system: Path) -> None:
    cgroup(system, "1000", "400")
    assert available_memory() == 600


@pytest.mark.parametrize(
    ("stat", "cached"),
    [
        ("anon 300\ninactive_file 100\nactive_file 7\n", 100),
        ("anon 300\n", 0),
        ("inactive_file\n", 0),
        ("inactive_file many\n", 0),
    ],
)
def test_files_that_are_only_cached_take_no_room(system: Path, stat: str, cached: int) -> None:
    cgroup(system, "1000", "400")
    (system / "sys/fs/cgroup/memory.stat").write_text(stat)
    assert available_memory() == 600 + cached
