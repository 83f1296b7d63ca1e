"""Draw the stress families, which show faults that representative inputs hide.

Each function draws one case from a stream: weights with their activations. All but `subnormal`
avoid f16 subnormals, which an adapter may flush.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.inputs.random import Weights, around, no_subnormals, normal, uniform, weights
from tinygate.numerics.tolerance import F16_MAX

_SIGMA = 0.02  # of a trained layer's weights
OVER_F16 = 7.0e4
_OVER_SUM = 1.25 * F16_MAX

Draw = Callable[[np.random.Generator, Shape, FastPath], Iterator[Weights]]


def _normal(rng: np.random.Generator, shape: Shape, _path: FastPath) -> Iterator[Weights]:
    A = normal(rng, shape.M, shape.K, 1.0)
    yield weights(A, normal(rng, shape.K, shape.N, _SIGMA))


def _outlier(rng: np.random.Generator, shape: Shape, path: FastPath) -> Iterator[Weights]:
    """Make one column of A and one of B far larger than the rest, as trained models have them."""
    A = normal(rng, shape.M, shape.K, 1.0)
    B = normal(rng, shape.K, shape.N, _SIGMA)
    # The factors are smaller where an f16 product, sum or output would overflow.
    A[:, rng.integers(shape.K)] *= 30 if path.holds_f16 else 300
    B[:, rng.integers(shape.N)] *= 100 if path.holds_f16 else 1000
    yield weights(A, B)


def _cancel(rng: np.random.Generator, shape: Shape, _path: FastPath) -> Iterator[Weights]:
    """Draw A = [a, a] and B = [b; -b + noise], whose sums are far smaller than their terms.

    For an odd K the last column of A and the last row of B are zero.
    """
    half = shape.K // 2
    A = np.zeros((shape.M, shape.K), np.float32)
    B = np.zeros((shape.K, shape.N), np.float32)
    A[:, :half] = A[:, half : 2 * half] = normal(rng, shape.M, half, 1.0)
    B[:half] = normal(rng, half, shape.N, _SIGMA)
    B[half : 2 * half] = normal(rng, half, shape.N, 1e-4) - B[:half]
    yield weights(A, no_subnormals(B))


def _subnormal(rng: np.random.Generator, shape: Shape, _path: FastPath) -> Iterator[Weights]:
    """Draw weights that are subnormal in f16, and activations large enough to make them matter."""
    A = around(rng, shape.M, shape.K, 1e3)
    # From 2^-22.3 to 2^-14.3: nearly all of f16's subnormals, centred at 3e-6.
    yield weights(A, around(rng, shape.K, shape.N, 3e-6, octaves=4))


def _overflow(rng: np.random.Generator, shape: Shape, path: FastPath) -> Iterator[Weights]:
    """Draw weights, then partial sums, that overflow f16.

    Four products have one weight over f16's range: far over and just over, of both signs. The last
    has finite operands whose partial sums overflow.
    """
    for over in (OVER_F16, -OVER_F16, 65505.0, -65519.0):
        A = uniform(rng, shape.M, shape.K, -0.2, 0.2)
        B = uniform(rng, shape.K, shape.N, -0.2, 0.2)
        B[rng.integers(shape.K), rng.integers(shape.N)] = over
        yield weights(A, B)
    if shape.K == 1 and path.products == "f16":
        return  # a sum of one term is a product, and that has to fit
    A = np.full((shape.M, shape.K), 16, np.float32)
    # For K = 256 these are 16 x 20, give or take a tenth, whose sum is 81920: equal terms would
    # round alike, so the error of a correct sum would grow with K and not with its square root.
    mean = _OVER_SUM / 16 / shape.K
    yield weights(A, uniform(rng, shape.K, shape.N, 0.9 * mean, 1.1 * mean))


def _zero(rng: np.random.Generator, shape: Shape, _path: FastPath) -> Iterator[Weights]:
    yield weights(
        uniform(rng, shape.M, shape.K, -0.2, 0.2), np.zeros((shape.K, shape.N), np.float32)
    )


DRAWS: dict[str, Draw] = {
    "normal": _normal,
    "outlier": _outlier,
    "cancel": _cancel,
    "subnormal": _subnormal,
    "overflow": _overflow,
    "zero": _zero,
}
