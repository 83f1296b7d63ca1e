"""Draw seeded float32 values a block at a time, so that numpy's float64 draws stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygate.numerics.arrays import F32
from tinygate.numerics.tolerance import F16_MIN_NORMAL

DRAW = 1 << 18  # float64 values drawn at a time: 2 MiB beside the float32 result


@dataclass(frozen=True)
class Weights:
    """One B[K,N] and the A[M,K] that multiply it; `activations` draws these when it is called."""

    B: F32
    activations: Callable[[], Iterator[F32]]


def weights(A: F32, B: F32) -> Weights:
    """Pair B with a single A: one product."""
    return Weights(B, lambda: iter((A,)))


def stream(seed: int, product: int) -> np.random.Generator:
    """Return the random stream of one product of a case.

    Product 0 draws from `default_rng(seed)`; the others have streams that no other seed's product 0
    has.
    """
    return np.random.default_rng(seed if product == 0 else [seed, product])


def uniform(rng: np.random.Generator, rows: int, cols: int, low: float, high: float) -> F32:
    """Draw U[low, high], row by row, without f16 subnormals."""
    return no_subnormals(_drawn(rows, cols, lambda size: rng.uniform(low, high, size)))


def normal(rng: np.random.Generator, rows: int, cols: int, sigma: float) -> F32:
    """Draw N(0, sigma), row by row, without f16 subnormals."""
    return no_subnormals(_drawn(rows, cols, lambda size: rng.normal(0.0, sigma, size)))


def around(rng: np.random.Generator, rows: int, cols: int, size: float, octaves: float = 1) -> F32:
    """Draw both signs, magnitudes within `octaves` factors of two of `size`; keep subnormals."""
    low, high = np.log2(size) - octaves, np.log2(size) + octaves

    def draw(count: int) -> NDArray[np.float64]:
        signs = rng.choice(np.array([-1.0, 1.0]), count)
        magnitudes: NDArray[np.float64] = np.exp2(rng.uniform(low, high, count)) * signs
        return magnitudes

    return _drawn(rows, cols, draw)


def no_subnormals(x: F32) -> F32:
    """Move 0 < |x| < 2^-14 to ±2^-14, in place, since WGSL allows flushing f16 subnormals."""
    flat = x.reshape(-1)
    for start in range(0, flat.size, DRAW):
        part = flat[start : start + DRAW]
        small = (part != 0) & (np.abs(part) < F16_MIN_NORMAL)
        part[small] = np.copysign(np.float32(F16_MIN_NORMAL), part[small])
    return x


def _drawn(rows: int, cols: int, draw: Callable[[int], NDArray[np.float64]]) -> F32:
    out = np.empty(rows * cols, np.float32)
    for start in range(0, out.size, DRAW):
        part = out[start : start + DRAW]
        part[:] = draw(part.size)
    return out.reshape(rows, cols)
