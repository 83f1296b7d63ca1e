"""Storing and kernel apart: each error measured by itself against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from runs import Run

from tinygate.core.fast_path import FastPath
from tinygate.core.metrics import ErrorParts
from tinygate.numerics.error_parts import energies, parts
from tinygate.paths.builtin import BUILTIN

pytestmark = pytest.mark.slow

PATHS = [path for path in BUILTIN if path.quantized]


def test_each_error_is_of_its_own_stage() -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.normal(0, 1, size).astype(np.float32) for size in ((700, 9), (9, 800)))
    held_a, held_b = A.astype(np.float16).astype(np.float64), np.round(B.astype(np.float64), 1)
    T = A.astype(np.float64) @ B.astype(np.float64)
    S = held_a @ held_b
    F = (S + rng.normal(0, 1e-3, S.shape)).astype(np.float32)
    found = parts(energies(F, A, B, held_a, held_b))
    assert found is not None
    assert found.stored == pytest.approx(((S - T) ** 2).sum() / (T**2).sum())
    assert found.kernel == pytest.approx(((F - S) ** 2).sum() / (S**2).sum())
    assert found.stored_rms == pytest.approx(np.sqrt(((S - T) ** 2).mean() / (T**2).mean()))
    assert found.kernel_rms == pytest.approx(np.sqrt(((F - S) ** 2).mean() / (S**2).mean()))


def test_sums_of_several_products_add_up() -> None:
    one = np.array([1.0, 4.0, 2.0, 8.0])
    assert parts(one + one) == parts(one) == ErrorParts(0.25, 0.25)


def test_what_is_not_finite_is_no_part_of_an_error() -> None:
    A = B = np.eye(2, dtype=np.float32)
    C = np.array([[np.nan, 0], [0, 1]], np.float32)
    assert parts(energies(C, A, B, A, B)) == ErrorParts(0.0, 0.0)


def test_nothing_to_be_relative_to() -> None:
    zero = np.zeros((2, 2), np.float32)
    assert parts(energies(zero, zero, zero, zero, zero)) is None


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
@pytest.mark.parametrize("family", ["uniform", "normal", "outlier"])
def test_a_right_kernel_adds_nearly_nothing_to_what_storing_does(
    run: Run, path: FastPath, family: str
) -> None:
    result = run(path, "17x130x65", family)
    assert result.parts is not None
    assert 1e-3 < result.parts.stored_rms < 0.2
    assert 0 < result.parts.kernel_rms < 1e-6
    if result.metrics is not None:
        assert result.parts.stored == pytest.approx(result.metrics.nmse, rel=1e-3)


@pytest.mark.parametrize("family", ["integer", "identity", "zero"])
def test_no_parts_where_there_is_no_error_to_measure(run: Run, family: str) -> None:
    for path in PATHS:
        assert run(path, "17x33x65", family).parts is None


def test_no_parts_of_a_path_that_is_not_quantized(run: Run) -> None:
    assert run(BUILTIN[0], "17x33x65", "uniform").parts is None
