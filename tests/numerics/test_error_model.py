"""Predicted errors against brute force in float64 and against simulated storage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.fast_path import FastPath
from tinygate.core.metrics import Prediction
from tinygate.core.shape import Shape
from tinygate.numerics import compare, error_model, tolerance
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.inputs.generate import generate
from tinygate.paths.builtin import BUILTIN, REFERENCE

F16_STORAGE = next(path for path in BUILTIN if path.name == "f16-storage")
HALF_PRODUCTS = replace(F16_STORAGE, products="f16")


def products(family: str, shape: Shape, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A and B of the family's first product."""
    first = next(generate(family, shape, F16_STORAGE, seed))
    return next(first.activations()), first.B


def predicted(path: FastPath, A: np.ndarray, B: np.ndarray) -> Prediction:
    """The prediction for one product whose reference is exact."""
    found = error_model.Predictor(path, A.shape[1])
    found.add([A], [B], [(A.astype(np.float64) @ B).astype(np.float32)])
    result = found.result()
    assert result is not None
    return result


@given(M=st.integers(1, 40), K=st.integers(1, 700), N=st.integers(1, 1100), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_blockwise_equals_the_formula_written_out(M: int, K: int, N: int, seed: int) -> None:
    A, B = products("uniform", Shape(M, K, N), seed)
    ulp = np.abs(np.spacing(B.astype(np.float16)).astype(np.float64))
    V = (A.astype(np.float64) ** 2) @ (ulp**2 / 12)
    C = A.astype(np.float64) @ B
    R = C.astype(np.float32).astype(np.float64)
    energy = (R**2).sum()
    V = V + tolerance.accumulated_nmse(F16_STORAGE, K) * energy / R.size
    floor = np.maximum(np.abs(R), 0.01 * np.abs(R).mean())
    found = predicted(F16_STORAGE, A, B)
    # A value just under a power of two has a smaller gap than np.spacing of what it rounds to.
    assert found.nmse == pytest.approx(V.sum() / energy, rel=0.02)
    assert found.mean_rel == pytest.approx(
        math.sqrt(2 / math.pi) * (np.sqrt(V) / floor).mean(), rel=0.02
    )
    assert found.max_abs == pytest.approx(
        math.sqrt(V.max()) * math.sqrt(2 * math.log(2 * M * N)), rel=0.05
    )


@pytest.mark.slow
@given(
    family=st.sampled_from(["uniform", "normal", "positive"]),
    M=st.integers(64, 96),
    K=st.integers(6, 12).map(lambda bits: 2**bits),
    N=st.integers(512, 600),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=20)
def test_nmse_of_f16_storage_is_as_predicted(
    family: str, M: int, K: int, N: int, seed: int
) -> None:
    A, B = products(family, Shape(M, K, N), seed)
    R = (A.astype(np.float64) @ B).astype(np.float32)
    F = (A.astype(np.float64) @ B.astype(np.float16).astype(np.float64)).astype(np.float32)
    measured = compare.metrics([F], [R])
    ratio = measured.nmse / predicted(F16_STORAGE, A, B).nmse
    assert 0.8 < ratio < 1.25


@pytest.mark.parametrize("family", ["uniform", "normal"])
def test_rounding_both_operands_counts_both(family: str) -> None:
    A, B = products(family, Shape(64, 256, 512), 1)
    C = A.astype(np.float64) @ B
    F = A.astype(np.float16).astype(np.float64) @ B.astype(np.float16).astype(np.float64)
    measured = ((F - C) ** 2).sum() / (C**2).sum()
    both = predicted(HALF_PRODUCTS, A, B).nmse
    assert 0.8 < measured / both < 1.25
    assert both == pytest.approx(2 * predicted(F16_STORAGE, A, B).nmse, rel=0.15)


def test_f32_predicts_only_what_summing_adds() -> None:
    A, B = products("uniform", Shape(64, 128, 128), 1)
    assert predicted(REFERENCE, A, B).nmse == pytest.approx(0.09 * 128 * 2.0**-48, rel=0.1)


def test_f16_accumulation_is_a_random_walk() -> None:
    """0.09 K u^2 against sums really made in f16, term by term."""
    K, path = 512, replace(REFERENCE, accumulate="f16")
    A, B = products("normal", Shape(64, K, 64), 3)
    total = np.zeros((64, 64), np.float16)
    for k in range(K):
        total = (total + np.outer(A[:, k], B[k]).astype(np.float32)).astype(np.float16)
    C = A.astype(np.float64) @ B
    measured = ((total - C) ** 2).sum() / (C**2).sum()
    assert 0.5 < measured / predicted(path, A, B).nmse < 2


def test_closed_form_is_the_seeds_number() -> None:
    """0.079 % for f16 storage on zero-mean data, and what a simulation gives."""
    A, B = products("normal", Shape(64, 512, 512), 5)
    nmse = predicted(F16_STORAGE, A, B).nmse
    assert tolerance.mean_rel_of_zero_mean(nmse) == pytest.approx(7.9e-4, abs=0.3e-4)
    rng = np.random.default_rng(0)
    C, error = rng.normal(size=2_000_000), rng.normal(size=2_000_000) * math.sqrt(nmse)
    simulated = (np.abs(error) / np.maximum(np.abs(C), 0.01 * np.abs(C).mean())).mean()
    assert tolerance.mean_rel_of_zero_mean(nmse) == pytest.approx(simulated, rel=0.02)


def test_pooled_products_add_up() -> None:
    pairs = [products("uniform", Shape(1, 64, 3), seed) for seed in range(5)]
    together = error_model.Predictor(F16_STORAGE, 64)
    As, Bs = [A for A, _ in pairs], [B for _, B in pairs]
    together.add(As, Bs, [(A.astype(np.float64) @ B).astype(np.float32) for A, B in pairs])
    result = together.result()
    assert result is not None
    assert together.count == 15
    singles = [predicted(F16_STORAGE, A, B) for A, B in pairs]
    assert min(s.nmse for s in singles) < result.nmse < max(s.nmse for s in singles)


def test_an_all_zero_reference_predicts_nothing() -> None:
    found = error_model.Predictor(F16_STORAGE, 4)
    zero = np.zeros((2, 2), np.float32)
    found.add([np.ones((2, 4), np.float32)], [np.zeros((4, 2), np.float32)], [zero])
    assert found.result() is None


def test_variance_is_zero_where_storage_is_exact() -> None:
    storage = FORMATS["f16-packed"]
    x = np.array([0.0, 1.0, -0.5, 65504.0, 2.0**-14, 2049.0, 1 / 3], np.float32)
    found = storage.variance(x)
    assert (found[:5] == 0).all()
    assert found[5] == pytest.approx(2.0**2 / 12)
    assert found[6] == pytest.approx((2.0**-12) ** 2 / 12)
    assert (FORMATS["f32"].variance(x) == 0).all()


def test_the_warning_comes_over_twice_the_prediction_and_not_for_few_outputs() -> None:
    prediction = Prediction(nmse=4e-8, mean_rel=8e-4, max_abs=1e-4)
    assert error_model.warning(F16_STORAGE, 8e-8, prediction, 8192) == ""
    assert "2.5 times the predicted" in error_model.warning(F16_STORAGE, 1e-7, prediction, 8192)
    assert error_model.warning(F16_STORAGE, 1e-7, prediction, 255) == ""
