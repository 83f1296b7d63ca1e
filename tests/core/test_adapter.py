"""Which adapter is used, how one is named, and what a reader is told of the choice."""

from __future__ import annotations

import itertools

import pytest

from tinygate.core.adapter import AdapterInfo, AdapterLimits, Kind, choose, notes, rank, reason
from tinygate.core.errors import NoAdapterError, UnknownNameError

LIMITS = AdapterLimits(1 << 28, 1 << 27, 65535, 256, 16384, 256)


def adapter(index: int, name: str, kind: Kind, backend: str = "Vulkan") -> AdapterInfo:
    return AdapterInfo("native", "1.0", index, name, kind, backend, "1.2", (), LIMITS)


CPU = adapter(0, "llvmpipe", "CPU")
OPENGL = adapter(1, "Big GPU", "discrete", "OpenGL")
SMALL = adapter(2, "Small GPU", "integrated")
BIG = adapter(3, "Big GPU", "discrete")
BIG_TOO = adapter(4, "Big GPU Ti", "discrete", "D3D12")
OTHER = adapter(11, "Virtual", "unknown")
BY_PREFERENCE = [BIG, BIG_TOO, OPENGL, SMALL, OTHER, CPU]


def test_kind_then_backend_then_the_engines_order() -> None:
    assert sorted([CPU, OPENGL, SMALL, BIG, BIG_TOO, OTHER], key=rank) == BY_PREFERENCE
    for backend in ("Vulkan", "Metal", "D3D12"):
        assert rank(adapter(9, "x", "CPU", backend)) < rank(adapter(1, "x", "CPU", "OpenGL"))


@pytest.mark.parametrize("size", range(1, len(BY_PREFERENCE) + 1))
def test_the_preferred_one_whatever_the_order(size: int) -> None:
    for some in itertools.permutations(BY_PREFERENCE, size):
        assert choose(some) == min(some, key=BY_PREFERENCE.index)


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("0", CPU),
        ("1", OPENGL),
        ("3", BIG),
        ("11", OTHER),
        ("011", OTHER),
        ("0000000000011", OTHER),
        ("00", CPU),
        ("llvm", CPU),
        ("SMALL gpu", SMALL),
        ("ti", BIG_TOO),
        ("virtual", OTHER),
        ("gpu", BIG),  # four match: the preferred one of them
        ("big", BIG),
    ],
)
def test_a_query_is_an_index_or_part_of_a_name(query: str, chosen: AdapterInfo) -> None:
    assert choose(BY_PREFERENCE, query) == chosen


@pytest.mark.parametrize(
    "query", ["", "5", "-1", "+1", "1000000000000", "9" * 5000, "nvidia", "²", "٣", "3.0", " 3"]
)
def test_an_unknown_adapter_lists_those_there_are(query: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        choose(BY_PREFERENCE, query)
    assert caught.value.exit_code == 2
    assert "3: Big GPU (discrete, Vulkan)" in caught.value.message
    assert "0: llvmpipe (CPU, Vulkan)" in caught.value.message


@pytest.mark.parametrize("query", [None, "0", "llvm"])
def test_no_adapter_at_all_is_not_a_wrong_name(query: str | None) -> None:
    with pytest.raises(NoAdapterError) as caught:
        choose([], query)
    assert caught.value.exit_code == 3
    assert "driver" in caught.value.hint


def test_a_software_adapter_is_noted_with_the_gpu_that_is_there() -> None:
    (note,) = notes([CPU, SMALL, BIG], CPU)
    assert note.startswith("llvmpipe is a software adapter, though Big GPU is available")
    (note,) = notes([CPU], CPU)
    assert note.startswith("llvmpipe is a CPU adapter")
    (note,) = notes([CPU, adapter(1, "another", "CPU")], CPU)
    assert "another" not in note
    assert notes([CPU, SMALL, BIG], SMALL) == ()


def test_the_reason_for_a_choice() -> None:
    assert reason(BIG, BY_PREFERENCE, "big") == "--adapter big"
    assert reason(CPU, [CPU], None) == "the only adapter"
    assert reason(BIG, BY_PREFERENCE, None) == "discrete on Vulkan is preferred"
