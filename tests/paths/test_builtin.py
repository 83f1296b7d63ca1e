"""Path declarations: what the validator refuses, which entry runs a shape, which are chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.adapter import AdapterInfo, AdapterLimits, MatrixConfiguration
from tinygate.core.errors import ConfigError, UnknownNameError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.shape import Shape
from tinygate.core.shape_class import class_of
from tinygate.core.vocabulary import A_PACKERS, FEATURES, MAX_K_I32, PACKERS
from tinygate.paths.builtin import BUILTIN, REFERENCE
from tinygate.paths.registry import registered, select
from tinygate.paths.validate import validate

PATH = BUILTIN[0]
SIZES = st.integers(1, 100_000)
INT8 = {
    "a": "int8-packed",
    "b": "int8-packed",
    "accumulate": "i32",
    "pack": PACKERS["int8-packed"],
    "pack_a": A_PACKERS["int8-packed"],
}


def test_the_built_in_paths_are_valid_and_named_once() -> None:
    assert registered() == BUILTIN
    assert validate(REFERENCE) is REFERENCE
    names = [path.name for path in (*BUILTIN, REFERENCE)]
    assert len(set(names)) == len(names)
    for path in BUILTIN:
        assert path.pill
        assert path.why
        assert path.kernel_file().is_file()


def test_the_path_of_the_seed() -> None:
    assert (PATH.name, PATH.pill) == ("f16-storage", "f16 storage")
    assert (PATH.a, PATH.b, PATH.accumulate) == ("f32", "f16-packed", "f32")
    assert PATH.requires == ()
    assert PATH.pack_file() is not None
    assert REFERENCE.pack_file() is None


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "F16"}),
        ("name", {"name": "-f16"}),
        ("name", {"name": "my path"}),
        ("name", {"name": "a/b"}),
        ("name", {"name": "a\n"}),
        ("name", {"name": "é"}),
        ("name", {"name": "a" * 41}),
        ("requires", {"requires": ("shader-f16", "f16")}),
        ("requires", {"requires": ("",)}),
        ("a", {"a": "f64"}),
        ("a", {"a": "f16-packed"}),
        ("b", {"b": "f16"}),
        ("b", {"b": ""}),
        ("accumulate", {"accumulate": "i32"}),
        ("accumulate", {"accumulate": "F32"}),
        ("products", {"products": "f64"}),
        ("output", {"output": "f16-packed"}),
        ("pack", {"pack": None}),
        ("pack", {"b": "f32"}),
        ("pack", {"pack": "no_such_packer.wgsl"}),
        ("kernel", {"kernel": "no_such_kernel.wgsl"}),
        ("kernel", {"kernel": "."}),
        ("entries", {"entries": ()}),
        ("entries", {"entries": (Entry("main", 8, 8, max_m=8),)}),
        ("entries", {"entries": (Entry("main", 8, 8), Entry("other", 8, 8, max_m=8))}),
        ("entries", {"entries": (Entry("main", 0, 8),)}),
        ("entries", {"entries": (Entry("main", 8, -1),)}),
        ("multiple_of", {"multiple_of": (1, 0, 1)}),
        ("multiple_of", {"multiple_of": (1, 1, -2)}),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(key: str, change: dict[str, Any]) -> None:
    wrong = replace(PATH, **change)
    with pytest.raises(ConfigError) as caught:
        validate(wrong)
    assert caught.value.message.startswith(f"path {wrong.name!r}: {key} is ")
    assert ", expected " in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.hint


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("accumulate", {"accumulate": "i32"}),
        ("accumulate", {**INT8, "output": "f16"}),
        ("pack_a", {"pack_a": A_PACKERS["int8-packed"]}),
        ("pack_a", {**INT8, "pack_a": None}),
        ("pack_a", {**INT8, "pack_a": "/gone.wgsl"}),
        ("a", {**INT8, "a": "q4-block32", "accumulate": "f32"}),
        ("b", {"kernel": "", "pack": None, "call": "x", "b": "q4-block32"}),
        ("kernel", {**INT8, "kernel": "", "pack": None, "call": "x"}),
    ],
)
def test_a_packed_a_is_declared_whole(key: str, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf": {key} is "):
        validate(replace(PATH, **change))


def test_an_i32_sum_that_might_run_over_is_no_shape_for_it() -> None:
    assert 127 * 127 * MAX_K_I32 < 2**31 <= 127 * 127 * (MAX_K_I32 + 1)
    path = replace(PATH, **INT8)  # type: ignore[arg-type]
    assert path.quantized
    assert not PATH.quantized
    assert path.shape_mismatch(Shape(1, MAX_K_I32, 1)) is None
    assert path.shape_mismatch(Shape(1, MAX_K_I32 + 1, 1)) == (
        "K=133145: an i32 sum of int8 products is exact up to K=133144"
    )
    assert PATH.shape_mismatch(Shape(1, MAX_K_I32 + 1, 1)) is None
    assert [f"{file.parent.name}/{file.name}" for file in path.files()] == [
        "matmul/f16_storage.wgsl",
        "pack/int8_columns.wgsl",
        "pack/int8_rows.wgsl",
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a"},
        {"name": "0" * 40},
        {"requires": FEATURES},
        {"accumulate": "f16", "products": "f16", "output": "f16"},
        {"b": "f32", "pack": None},
        {"multiple_of": (4, 2, 8)},
        INT8,
        {**INT8, "accumulate": "f32"},
        {"b": "q4-block32", "pack": PACKERS["q4-block32"]},
        {"kernel": str(PATH.kernel_file()), "pack": str(PATH.pack_file())},
    ],
)
def test_a_right_field_is_taken(change: dict[str, Any]) -> None:
    path = replace(PATH, **change)
    assert validate(path) is path


THREE = replace(
    PATH, entries=(Entry("one", 1, 32, 1), Entry("few", 8, 32, 8), Entry("main", 64, 96))
)


@pytest.mark.parametrize(
    ("M", "name"), [(1, "one"), (2, "few"), (8, "few"), (9, "main"), (10**6, "main")]
)
def test_the_first_entry_that_takes_m_runs(M: int, name: str) -> None:
    assert THREE.entry(Shape(M, 5, 7)).name == name
    assert THREE.shape_class(Shape(M, 5, 7)) == class_of(name, Shape(M, 5, 7))


def test_a_shape_class_is_entry_with_its_constants_and_a_bucket_per_axis() -> None:
    assert str(PATH.shape_class(Shape(1, 77, 131))) == "matvec ROWS=1 · M 1, K 65–128, N 129–256"
    assert str(PATH.shape_class(Shape(3, 77, 1))) == "matvec ROWS=3 · M 2–8, K 65–128, N 1"
    assert str(PATH.shape_class(Shape(64, 128, 128))) == "main · M 33–128, K 65–128, N 65–128"
    assert str(PATH.shape_class(Shape(9, 65, 3, "mlp"))) == "main · M 9–32, K 65–128, N 3–4"
    assert str(PATH.shape_class(Shape(64, 129, 128))) == "main · M 33–128, K 129–256, N 65–128"


@settings(deadline=None)
@given(M=SIZES, N=SIZES, rows=st.integers(1, 200), cols=st.integers(1, 200))
def test_tiles_cover_c_and_none_is_outside_it(M: int, N: int, rows: int, cols: int) -> None:
    tiles = Entry("main", rows, cols).tiles(Shape(M, 1, N))
    down = len(range(0, M, rows))
    across = len(range(0, N, cols))
    assert tiles == down * across


def test_overrides_fill_in_the_shape() -> None:
    entry = Entry("main", 1, 1, constants=(("ROWS", "M"), ("DEPTH", "K"), ("W", "N"), ("T", 16)))
    assert entry.overrides(Shape(3, 5, 7)) == {"ROWS": 3.0, "DEPTH": 5.0, "W": 7.0, "T": 16.0}


@pytest.mark.parametrize(
    ("multiple_of", "says"),
    [
        ((1, 1, 1), None),
        ((3, 5, 7), None),
        ((2, 1, 1), "M=3 is not a multiple of 2 (multiple_of)"),
        ((1, 2, 1), "K=5 is not a multiple of 2 (multiple_of)"),
        ((1, 1, 2), "N=7 is not a multiple of 2 (multiple_of)"),
        ((1, 1, 14), "N=7 is not a multiple of 14 (multiple_of)"),
    ],
)
def test_a_misfit_names_the_axis(multiple_of: tuple[int, int, int], says: str | None) -> None:
    assert replace(PATH, multiple_of=multiple_of).shape_mismatch(Shape(3, 5, 7)) == says


def adapter(*features: str) -> AdapterInfo:
    """An adapter of the native engine with those features."""
    limits = AdapterLimits(1 << 31, 1 << 30, 65535, 1024, 32768, 256)
    return AdapterInfo("native", "0", 0, "a", "CPU", "Vulkan", "d", tuple(features), limits)


def test_what_is_missing() -> None:
    path = replace(PATH, requires=("shader-f16", "subgroups"))
    assert path.missing_features(adapter("subgroups", "shader-f16", "other")) == ""
    assert path.missing_features(adapter("subgroups")) == "adapter lacks shader-f16"
    assert path.missing_features(adapter()) == "adapter lacks shader-f16, subgroups"
    assert PATH.missing_features(adapter()) == ""
    assert (
        replace(path, engines=("dawn",)).missing_features(adapter())
        == "made for dawn, not for native"
    )


def test_what_is_listed_and_cannot_be_used_has_its_reason() -> None:
    path = replace(PATH, requires=("subgroup-matrix", "shader-f16"))
    found = replace(adapter("shader-f16"), unavailable=(("subgroup-matrix", "listed, but no use"),))
    assert path.missing_features(found) == "subgroup-matrix is listed, but no use"
    assert "adapter lacks shader-f16; sub" in path.missing_features(replace(found, features=()))


WIDE = MatrixConfiguration("f16", "f32", 16, 16, 16)
NARROW = MatrixConfiguration("f16", "f32", 16, 8, 16)
HALF = MatrixConfiguration("f16", "f16", 16, 16, 16)
MATRIX = replace(PATH, name="coop", requires=("subgroup-matrix",), matrix_types=("f16", "f32"))


def test_a_matrix_path_runs_on_every_configuration_the_adapter_lists() -> None:
    found = replace(adapter("subgroup-matrix"), matrices=(HALF, NARROW, WIDE, WIDE))
    first, second = MATRIX.for_adapter(found)
    assert (first.name, first.matrix_sizes) == ("coop", (16, 16, 16))
    assert (second.name, second.matrix_sizes) == ("coop-16x8x16", (16, 8, 16))
    assert first.shape_class(Shape(64, 64, 64)) != second.shape_class(Shape(64, 64, 64))


def test_an_adapter_without_a_configuration_for_it() -> None:
    found = replace(adapter("subgroup-matrix"), matrices=(HALF,))
    assert MATRIX.missing_features(found) == "adapter has no subgroup matrix f16 -> f32"
    assert MATRIX.for_adapter(found) == (MATRIX,)
    assert MATRIX.for_adapter(adapter()) == (MATRIX,)
    assert PATH.for_adapter(found) == (PATH,)


def named(name: str, *, opt_in: bool = False) -> FastPath:
    return replace(PATH, name=name, opt_in=opt_in)


PATHS = (named("a"), named("b", opt_in=True), named("c"))


@pytest.mark.parametrize(
    ("names", "chosen"),
    [([], "ac"), (["b"], "b"), (["c", "a"], "ca"), (["a", "a"], "a"), (["c", "b", "c"], "cb")],
)
def test_select(names: list[str], chosen: str) -> None:
    assert "".join(path.name for path in select(names, PATHS)) == chosen


@pytest.mark.parametrize("name", ["A", "", "d", "f32"])
def test_an_unknown_path_lists_the_registered_ones(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        select(["a", name], PATHS)
    assert repr(name) in caught.value.message
    assert "a, b, c" in caught.value.message
    assert caught.value.exit_code == 2


def test_the_reference_is_not_to_be_chosen() -> None:
    with pytest.raises(UnknownNameError):
        select([REFERENCE.name], registered())
