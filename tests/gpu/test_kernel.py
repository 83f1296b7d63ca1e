"""Dispatch grids, buffer limits, and what the hash of a verdict's kernel covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinygate.core.adapter import AdapterInfo, AdapterLimits
from tinygate.core.errors import CannotVerifyError, ConfigError, LimitError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.shape import Shape
from tinygate.gpu.kernel import (
    check_fits,
    check_lanes,
    grid,
    matmul_kernel,
    pack_kernel,
)
from tinygate.paths.builtin import BUILTIN, REFERENCE
from tinygate.paths.source import read_source, source_hash

LIMITS = AdapterLimits(1 << 28, 1 << 27, 65535, 256, 16384, 256)
SQUARE = 65535 * 65535
PATH = BUILTIN[0]


@given(groups=st.integers(1, SQUARE))
@example(1)
@example(65535)
@example(65536)
@example(SQUARE)
def test_a_grid_holds_every_group_and_less_than_a_row_more(groups: int) -> None:
    x, y, z = grid(groups, LIMITS)
    assert z == 1
    assert 1 <= x <= 65535
    assert 1 <= y <= 65535
    assert groups <= x * y < groups + x


@pytest.mark.parametrize(
    ("groups", "expected"), [(7, (7, 1, 1)), (65535, (65535, 1, 1)), (65536, (65535, 2, 1))]
)
def test_a_grid_is_split_only_where_it_must(groups: int, expected: tuple[int, int, int]) -> None:
    assert grid(groups, LIMITS) == expected


def test_more_groups_than_two_dimensions_hold() -> None:
    with pytest.raises(LimitError) as caught:
        grid(SQUARE + 1, LIMITS)
    assert str(SQUARE + 1) in caught.value.message
    assert "max-compute-workgroups-per-dimension 65535" in caught.value.message
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("shape", "buffer"),
    [((64, 2, 2), "A"), ((2, 64, 2), "A"), ((2, 16, 8), "B"), ((8, 2, 16), "C")],
)
@pytest.mark.parametrize("limit", ["max_storage_buffer_binding_size", "max_buffer_size"])
def test_a_buffer_over_a_limit_is_named_with_both_values(
    shape: tuple[int, int, int], buffer: str, limit: str
) -> None:
    M, K, N = shape
    size = 4 * {"A": M * K, "B": K * N, "C": M * N}[buffer]
    big: dict[str, int] = {"max_storage_buffer_binding_size": 1 << 30, "max_buffer_size": 1 << 30}
    check_fits(REFERENCE, Shape(*shape), replace(LIMITS, **{**big, limit: size}))
    with pytest.raises(LimitError) as caught:
        check_fits(REFERENCE, Shape(*shape), replace(LIMITS, **{**big, limit: size - 4}))
    message = caught.value.message
    assert message.startswith(f"{buffer} of {M}x{K}x{N} is {size} bytes")
    assert f"{limit.replace('_', '-')} of {size - 4}" in message
    assert caught.value.hint


@pytest.mark.parametrize(("N", "words"), [(2, 1), (3, 2), (128, 64)])
def test_a_packed_b_counts_as_packed(N: int, words: int) -> None:
    size = 4 * 100 * words
    limits = replace(LIMITS, max_storage_buffer_binding_size=size)
    check_fits(PATH, Shape(1, 100, N), limits)
    if size > 400:  # A has 400 bytes
        with pytest.raises(LimitError, match=r"^B of "):
            check_fits(PATH, Shape(1, 100, N), replace(LIMITS, max_buffer_size=size - 4))


def test_a_kernel_has_the_entry_and_the_constants_of_its_shape() -> None:
    kernel = matmul_kernel(PATH, Shape(3, 64, 32))
    assert kernel.code == read_source(PATH.kernel_file())
    assert (kernel.entry, kernel.label) == ("matvec", "matmul/f16_storage.wgsl")
    assert kernel.constants == {"ROWS": 3.0}
    assert kernel.layout == ("read", "read", "read_write", "uniform")
    assert matmul_kernel(PATH, Shape(9, 64, 32)).entry == "main"
    packer = PATH.pack_file()
    assert packer is not None
    assert pack_kernel(packer).layout == (*kernel.layout, "read_write")


@pytest.fixture
def path(tmp_path: Path) -> FastPath:
    """A path of two files that a test may change."""
    (tmp_path / "k.wgsl").write_text("kernel")
    (tmp_path / "p.wgsl").write_text("packer")
    entries = (Entry("few", 8, 32, 8, (("ROWS", "M"),)), Entry("main", 64, 64, None, (("T", 16),)))
    return replace(
        PATH, kernel=str(tmp_path / "k.wgsl"), pack=str(tmp_path / "p.wgsl"), entries=entries
    )


FEW, MAIN = Entry("few", 8, 32, 8, (("ROWS", "M"),)), Entry("main", 64, 64, None, (("T", 16),))


@pytest.mark.parametrize(
    "change",
    [
        {"pack": None},
        {"entries": (MAIN,)},
        {"entries": (MAIN, FEW)},
        {"entries": (FEW, replace(MAIN, name="other"))},
        {"entries": (FEW, replace(MAIN, rows=32))},
        {"entries": (FEW, replace(MAIN, cols=32))},
        {"entries": (replace(FEW, max_m=4), MAIN)},
        {"entries": (FEW, replace(MAIN, constants=(("T", 8),)))},
        {"entries": (FEW, replace(MAIN, constants=(("U", 16),)))},
        {"entries": (FEW, replace(MAIN, constants=()))},
        {"entries": (replace(FEW, constants=(("ROWS", "N"),)), MAIN)},
        {"products": "f16"},
        {"accumulate": "f16"},
        {"output": "f16"},
        {"deterministic": False},
        {"over_read": "multiplied by zero"},
        {"matrix_sizes": (8, 8, 8)},
        {"a": "int8-packed"},
        {"pack_a": "pack/int8_rows.wgsl"},
    ],
)
def test_a_hash_changes_with_what_is_compiled(path: FastPath, change: dict[str, Any]) -> None:
    assert source_hash(replace(path, **change)) != source_hash(path)


def test_a_hash_changes_with_every_text_and_with_nothing_else(path: FastPath) -> None:
    seen = {source_hash(path)}
    for file, text in (
        ("p.wgsl", "packer2"),
        ("k.wgsl", "kernel "),
        ("k.wgsl", "kernelp"),
        ("p.wgsl", "acker2"),  # joined, both read like "kernel" and "packer2" above
    ):
        Path(path.kernel).with_name(file).write_text(text)
        assert source_hash(path) not in seen
        seen.add(source_hash(path))
    renamed = replace(path, name="other", pill="other", why="other", source="elsewhere")
    assert source_hash(renamed) == source_hash(path)
    assert len(source_hash(path)) == 64


def test_a_kernel_that_cannot_be_read(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.wgsl", tmp_path / "binary.wgsl"
    large.write_bytes(b" " * ((1 << 20) + 1))
    binary.write_bytes(b"\xff\xfe\x00")
    for file in (large, binary, tmp_path / "missing.wgsl", tmp_path):
        with pytest.raises(ConfigError) as caught:
            read_source(file)
        assert str(file) in caught.value.message
    large.write_bytes(b" " * (1 << 20))
    assert len(read_source(large)) == 1 << 20


COOP = next(path for path in BUILTIN if path.name == "coop-matrix")


def test_a_matrix_kernel_is_compiled_for_a_configuration_and_keeps_its_lines() -> None:
    kernel = matmul_kernel(replace(COOP, matrix_sizes=(16, 8, 4)), Shape(64, 64, 64), 32)
    lines = kernel.code.splitlines()
    for line in (
        "alias Total = f32;",
        "const MATRIX_M = 16u;",
        "const MATRIX_N = 8u;",
        "const MATRIX_K = 4u;",
        "const SUBGROUP = 32u;",
    ):
        assert lines.count(line) == 1
    assert len(lines) == len(read_source(COOP.kernel_file()).splitlines())
    halves = replace(COOP, matrix_types=("f16", "f16"), matrix_sizes=(8, 8, 8))
    assert "alias Total = f16;" in matmul_kernel(halves, Shape(64, 64, 64), 32).code


@pytest.mark.parametrize(("change", "lanes"), [({}, 32), ({"matrix_sizes": (8, 8, 8)}, None)])
def test_a_matrix_kernel_without_a_configuration_or_lanes(
    change: dict[str, Any], lanes: int | None
) -> None:
    with pytest.raises(CannotVerifyError, match="not known"):
        matmul_kernel(replace(COOP, **change), Shape(64, 64, 64), lanes)


def reporting(low: int | None, high: int | None) -> AdapterInfo:
    """An adapter that says its subgroups have so many lanes."""
    adapter = AdapterInfo("native", "0", 0, "a", "CPU", "Vulkan", "d", ("subgroups",), LIMITS)
    return replace(adapter, subgroup_min=low, subgroup_max=high)


BY_SUBGROUP = replace(PATH, requires=("subgroups",))
BY_CONSTANT = replace(PATH, entries=(Entry("main", 8, 8, None, (("LANES", "subgroup_size"),)),))


@pytest.mark.parametrize("path", [BY_SUBGROUP, BY_CONSTANT], ids=["requires", "constant"])
@pytest.mark.parametrize(
    ("measured", "low", "high", "says"),
    [
        (16, 32, 32, "subgroups have 16 lanes here, and the adapter reports 32 to 32"),
        (64, 4, 32, "subgroups have 64 lanes here, and the adapter reports 4 to 32"),
        (1, 4, 128, "subgroups have 1 lanes here, and the adapter reports 4 to 128"),
        (8, 16, None, "subgroups have 8 lanes here, and the adapter reports 16 to ?"),
        (8, None, 4, "subgroups have 8 lanes here, and the adapter reports ? to 4"),
    ],
)
def test_other_lanes_than_reported_are_refused(
    path: FastPath, measured: int, low: int | None, high: int | None, says: str
) -> None:
    check_lanes(PATH, measured, reporting(low, high))
    with pytest.raises(CannotVerifyError) as caught:
        check_lanes(path, measured, reporting(low, high))
    assert caught.value.message == says
    assert caught.value.hint


@pytest.mark.parametrize(
    ("measured", "low", "high"),
    [(8, 4, 128), (32, 32, 32), (4, 4, 4), (8, None, None), (8, 8, None), (None, 32, 32)],
)
def test_lanes_as_reported_or_unknown_are_taken(
    measured: int | None, low: int | None, high: int | None
) -> None:
    for path in (BY_SUBGROUP, BY_CONSTANT):
        check_lanes(path, measured, reporting(low, high))
