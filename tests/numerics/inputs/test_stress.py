"""The stress families: what they draw, and that a right path passes them all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.inputs.generate import generate
from tinygate.numerics.tolerance import F16_MAX, F16_MIN_NORMAL
from tinygate.paths.builtin import BUILTIN

PATH = BUILTIN[0]
SHAPE = Shape(8, 256, 40)


def draw(
    family: str, shape: Shape = SHAPE, path: FastPath = PATH
) -> list[tuple[np.ndarray, np.ndarray]]:
    """All products of a case."""
    return [(A, w.B) for w in generate(family, shape, path, 7) for A in w.activations()]


def test_normal() -> None:
    ((A, B),) = draw("normal", Shape(64, 256, 300))
    assert A.std() == pytest.approx(1.0, rel=0.02)
    assert B.std() == pytest.approx(0.02, rel=0.02)
    rng = np.random.default_rng(7)
    plain = rng.normal(0.0, 1.0, (64, 256)).astype(np.float32)
    moved = np.abs(plain) < F16_MIN_NORMAL
    assert (A[~moved] == plain[~moved]).all()


@pytest.mark.parametrize(
    ("path", "wide_a", "wide_b"),
    [
        (PATH, 300, 1000),
        (replace(PATH, products="f16"), 30, 100),
        (replace(PATH, accumulate="f16"), 30, 100),
        (replace(PATH, output="f16"), 30, 100),
    ],
)
def test_outlier_has_one_wide_column_in_each(path: FastPath, wide_a: int, wide_b: int) -> None:
    ((A, B),) = draw("outlier", Shape(64, 64, 64), path)
    for matrix, wide in ((A, wide_a), (B, wide_b)):
        scale = np.sort(matrix.std(axis=0))
        assert scale[-1] / np.median(scale) == pytest.approx(wide, rel=0.5)
        assert scale[-2] / np.median(scale) < 2
    assert np.abs(B).max() < F16_MAX


@pytest.mark.parametrize("K", [1, 2, 33, 256])
def test_cancel_cancels(K: int) -> None:
    ((A, B),) = draw("cancel", Shape(8, K, 40))
    half = K // 2
    assert (A[:, :half] == A[:, half : 2 * half]).all()
    assert not B[2 * half :].any()
    if half > 10:
        size = np.abs(A) @ np.abs(B)
        assert np.abs(A.astype(np.float64) @ B).mean() < 0.02 * size.mean()


def test_subnormal_weights_are_f16_subnormals() -> None:
    ((A, B),) = draw("subnormal")
    assert (np.abs(B) < F16_MIN_NORMAL).all()
    assert np.abs(B).min() < 4e-7
    assert np.abs(B).max() > 2.5e-5
    assert np.abs(A).min() >= 500
    assert np.abs(A).max() <= 2000
    assert (B < 0).any()
    assert (B > 0).any()


@pytest.mark.parametrize("K", [1, 7, 256, 5000])
def test_overflow_has_a_weight_and_a_sum_over_f16(K: int) -> None:
    *refused, (A2, B2) = draw("overflow", Shape(3, K, 5))
    over = [B[np.abs(B) > F16_MAX].tolist() for _, B in refused]
    assert over == [[7e4], [-7e4], [65505], [-65519]]
    assert np.abs(B2).max() <= F16_MAX
    sums = A2.astype(np.float64) @ B2.astype(np.float16)
    assert (sums > 0.85 * 81920).all()
    if K == 256:
        assert (A2 == 16).all()
        assert B2.mean() == pytest.approx(20, rel=0.02)


def test_zero() -> None:
    products = draw("zero")
    assert not any(B.any() for _, B in products)
    assert all(A.any() for A, _ in products)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "subnormal"])
def test_no_family_but_one_holds_f16_subnormals(family: str) -> None:
    for A, B in draw(family):
        # The operands of overflow's second product are smaller than they look at a large K only.
        # The A of identity's mirrored round has every class of f32, which this path holds.
        for matrix in (B,) if family == "identity" else (A, B):
            small = (matrix != 0) & (np.abs(matrix) < F16_MIN_NORMAL)
            assert not small.any(), family


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_same_seed_draws_the_same_bits(family: str) -> None:
    for (A, B), (A2, B2) in zip(draw(family), draw(family), strict=True):
        assert (A.view(np.uint32) == A2.view(np.uint32)).all()
        assert (B.view(np.uint32) == B2.view(np.uint32)).all()
