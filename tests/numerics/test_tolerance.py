"""The limits of gate.md's table, row by row, and their values at the sizes that matter."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.numerics.tolerance import (
    F16_MAX,
    F16_MIN_NORMAL,
    MATRIX_FACTOR,
    U16,
    U32,
    Norm,
    conformance_tolerance,
    exact_tolerance,
    reference_tolerance,
)
from tinygate.paths.builtin import BUILTIN, REFERENCE

STORED = BUILTIN[0]
ROUNDED = replace(STORED, products="f16")
OUTPUT = replace(STORED, output="f16")
SUMMED = replace(STORED, accumulate="f16")
ALL_HALF = replace(STORED, accumulate="f16", products="f16", output="f16")
SIZES = [1, 128, 4096, 50257]


def test_unit_roundoffs() -> None:
    assert 1 + 2 * U32 == 1 + 2.0**-23
    assert (U32, U16) == (2.0**-24, 2.0**-11)
    assert (F16_MIN_NORMAL, F16_MAX) == (2.0**-14, 65504.0)


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize(
    ("path", "norm", "factor", "extra"),
    [
        (REFERENCE, "G", 8, 0.0),
        (REFERENCE, "abs", 4, 0.0),
        (STORED, "G", 8, 0.0),
        (STORED, "abs", 4, 0.0),
        (ROUNDED, "G", 8, 2.0**-9),
        (ROUNDED, "abs", 4, 2.0**-10),
        (replace(ROUNDED, b="f32"), "G", 8, 3 * 2.0**-10),
        (replace(ROUNDED, b="f32"), "abs", 4, 3 * 2.0**-11),
        (OUTPUT, "G", 8, 0.0),
        (OUTPUT, "abs", 4, 0.0),
        (replace(ROUNDED, output="f16"), "G", 8, 2.0**-9),
        (replace(ROUNDED, output="f16"), "abs", 4, 2.0**-10),
    ],
)
def test_f32_accumulation(K: int, path: FastPath, norm: Norm, factor: int, extra: float) -> None:
    limit = conformance_tolerance(path, K, norm)
    assert limit.norm == norm
    assert limit.value == pytest.approx(factor * K**0.5 / 2**24 + extra, rel=1e-14)


@pytest.mark.parametrize(
    ("K", "value"),
    [(1, 3 / 2048), (128, 4 * 128**0.5 / 2048), (4096, 256 / 2048), (50257, 4 * 50257**0.5 / 2048)],
)
@pytest.mark.parametrize("norm", ["G", "abs"])
def test_f16_accumulation_is_held_against_the_magnitudes_on_every_family(
    K: int, value: float, norm: Norm
) -> None:
    limit = conformance_tolerance(SUMMED, K, norm)
    assert limit.norm == "abs"
    assert limit.value == pytest.approx(value, rel=1e-14)
    assert conformance_tolerance(ALL_HALF, K, norm).value == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("path", "nearest", "cuts"),
    [
        (REFERENCE, 0.0, 0.0),
        (STORED, 0.0, 0.0),
        (SUMMED, 0.0, 0.0),
        (OUTPUT, 2.0**-11, 2.0**-10),
        (ROUNDED, 0.0, 2.0**-10),
        (replace(REFERENCE, products="f16"), 0.0, 2.0**-9),
        (replace(ROUNDED, output="f16"), 2.0**-11, 2.0**-9),
    ],
)
def test_what_is_rounded_as_a_whole_errs_by_a_share_of_the_sum(
    path: FastPath, nearest: float, cuts: float
) -> None:
    assert conformance_tolerance(path, 128, "G").relative == nearest
    assert conformance_tolerance(path, 128, "G", f16_round_to_nearest=False).relative == cuts


@given(K=st.integers(1, 10**6))
def test_f16_accumulation_takes_the_smaller_of_both_bounds(K: int) -> None:
    value = conformance_tolerance(SUMMED, K, "abs").value
    assert value <= (K + 2) * 2.0**-11
    assert value <= 4 * math.sqrt(K) * 2.0**-11
    assert value in ((K + 2) * 2.0**-11, 4 * math.sqrt(K) * 2.0**-11)


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (REFERENCE, 2.0**-126),
        (STORED, 2.0**-126),
        (ROUNDED, 2.0**-25),
        (OUTPUT, 2.0**-25),
        (SUMMED, 2.0**-25),
        (ALL_HALF, 2.0**-25),
    ],
)
@pytest.mark.parametrize("K", SIZES)
def test_tiny(path: FastPath, unit: float, K: int) -> None:
    assert conformance_tolerance(path, K, "G").tiny == K * unit


@pytest.mark.parametrize(
    ("K", "G", "magnitude"),
    [
        (1, 4.76837158203125e-07, 2.384185791015625e-07),
        (128, 5.394796609394339e-06, 2.6973983046971693e-06),
        (4096, 3.0517578125e-05, 1.52587890625e-05),
        (50257, 1.0689770e-04, 5.3448851e-05),
    ],
)
def test_the_numbers_at_the_sizes_that_matter(K: int, G: float, magnitude: float) -> None:
    assert conformance_tolerance(STORED, K, "G").value == pytest.approx(G, rel=1e-6)
    assert conformance_tolerance(STORED, K, "abs").value == pytest.approx(magnitude, rel=1e-6)
    assert reference_tolerance(K, round_to_nearest=True).value == pytest.approx(magnitude, rel=1e-6)


@pytest.mark.parametrize("K", SIZES)
def test_the_reference_gets_twice_as_much_where_sums_do_not_round_to_nearest(K: int) -> None:
    near = reference_tolerance(K, round_to_nearest=True)
    far = reference_tolerance(K, round_to_nearest=False)
    assert near.norm == far.norm == "abs"
    assert near.value == pytest.approx(4 * math.sqrt(K) * 2.0**-24, rel=1e-14)
    assert far.value == 2 * near.value
    assert near.tiny == far.tiny == K * 2.0**-126
    assert "does not round to nearest" in far.why
    assert "does not round to nearest" not in near.why


@pytest.mark.parametrize("path", [REFERENCE, STORED, ROUNDED, OUTPUT, SUMMED, ALL_HALF])
@pytest.mark.parametrize("norm", ["G", "abs"])
def test_every_limit_gives_its_reason(path: FastPath, norm: Norm) -> None:
    why = conformance_tolerance(path, 128, norm).why
    assert ("f16 accumulation" in why) == (path.accumulate == "f16")
    assert ("f16 output" in why) == (path.output == "f16")
    if path.accumulate == "f32":
        assert ("sqrt((A∘A)(B∘B))" in why) == (norm == "G")
        assert ("rounded to f16" in why) == (path.products == "f16")
        if path.products == "f16":
            assert ("4 2^-11" if norm == "G" else "2 2^-11") in why


@pytest.mark.parametrize("norm", ["G", "abs"])
def test_a_matrix_unit_takes_its_factor_of_the_sum_and_what_rounding_takes(norm: Norm) -> None:
    path = replace(STORED, products="matrix")
    assert 1 <= MATRIX_FACTOR <= 4
    own = (
        conformance_tolerance(path, 1024, norm).value
        - conformance_tolerance(ROUNDED, 1024, norm).value
    )
    e32 = conformance_tolerance(STORED, 1024, norm).value
    assert own == pytest.approx((MATRIX_FACTOR - 1) * e32, abs=1e-18)
    assert "matrix unit" in conformance_tolerance(path, 1024, norm).why


@pytest.mark.parametrize(("path", "often"), [(ROUNDED, 64), (OUTPUT, 1), (SUMMED, 64)])
def test_where_f16_subnormals_are_flushed_what_is_one_may_become_zero(
    path: FastPath, often: int
) -> None:
    tiny = conformance_tolerance(path, 64, "G", f16_subnormals=False).tiny
    assert tiny == 64 * 2.0**-25 + often * F16_MIN_NORMAL
    assert conformance_tolerance(STORED, 64, "G", f16_subnormals=False).tiny == 64 * 2.0**-126


def test_a_quantized_operand_that_is_rounded_inside_counts_as_one() -> None:
    quantized = replace(STORED, b="q4-block32", products="f16")
    plain = replace(STORED, b="f32", products="f16")
    for norm in ("G", "abs"):
        assert conformance_tolerance(quantized, 64, norm) == conformance_tolerance(plain, 64, norm)


@pytest.mark.parametrize(
    ("change", "halves"),
    [({}, 0), ({"products": "f16"}, 3), ({"output": "f16"}, 1), ({"accumulate": "f16"}, 1)],
)
def test_identity_of_a_quantized_path_allows_what_it_rounds_to_f16(
    change: dict[str, str], halves: int
) -> None:
    path = replace(STORED, b="q4-block32", **change)  # type: ignore[arg-type]
    limit = exact_tolerance(path, FAMILIES["identity"], 64)
    assert limit is not None
    assert limit.relative == 4 * U32 + halves * U16
    assert exact_tolerance(path, FAMILIES["integer"], 64) is None
