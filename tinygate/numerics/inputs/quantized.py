"""The exact families for quantized operands: whole numbers whose scales are 1, and every code.

A scale comes from the extremes of its row, column or block, so data that is to be held exactly has
them put there: a 127 in each row of an int8 A and column of an int8 B, both ends of 15 steps in
each block of a q4 B. Zeros are held as they are, too: their scale is 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.arrays import F32
from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.numerics.inputs.random import Weights, weights
from tinygate.numerics.quantized import BLOCK

Whole = NDArray[np.int64]


def integer(
    rng: np.random.Generator, shape: Shape, path: FastPath, bound: int
) -> Iterator[Weights]:
    """Whole numbers with |A||B| within bound, all scales 1, and every k live in a round."""
    M, K, N = shape.M, shape.K, shape.N
    a_peak, b_peak = A_FORMATS[path.a].max_exact_int, FORMATS[path.b].max_exact_int
    packed = A_FORMATS[path.a].quantized
    others = 3 if bound > 2**11 else 1
    if not packed:
        a_peak = others
    elif K * a_peak * b_peak <= bound:
        others = a_peak
    # The worst column has the extremes on each other: a_peak b_peak + (live - 1) others largest.
    if path.b == "q4-block32":
        largest = b_peak
        live = (bound - a_peak * b_peak) // (others * largest) + 1
        live = K if live >= K else live // BLOCK * BLOCK
    else:
        if path.b != "int8-packed":
            b_peak = min(b_peak, bound // (a_peak + others * (K - 1)))
        room = (bound - a_peak * b_peak) // others
        largest = max(1, min(b_peak, room // max(1, K - 1)))
        live = min(K, room // largest + 1)
    for first in range(0, K, live):
        A = _signed(rng, (M, K), others)
        if packed:
            A[np.arange(M), rng.integers(0, K, M)] = _signed(rng, (M,), 1) * a_peak
        rows = min(live, K - first)
        B = np.zeros((K, N), np.float32)
        if path.b == "q4-block32":
            codes, zeros = _codes(rng, rows, N)
            B[first : first + rows] = codes - zeros
        else:
            part = _signed(rng, (rows, N), largest)
            part[rng.integers(0, rows, N), np.arange(N)] = _signed(rng, (N,), 1) * b_peak
            B[first : first + rows] = part
        yield weights(A.astype(np.float32), B)


def every_code(rng: np.random.Generator, rows: int, cols: int, name: str, *, by_rows: bool) -> F32:
    """A matrix whose rows, columns or blocks each have a scale of their own, 2^-14 to 2^6, with
    every code there is, values between two codes, ties among them, and zeros of both signs."""
    if name == "q4-block32":
        codes, zeros = _codes(rng, rows, cols)
        groups = (-(-rows // BLOCK), cols)
        low, high = -zeros.astype(np.float64), 15.0 - zeros
        ends = (codes == 0) | (codes == 15)
        values = (codes - zeros).astype(np.float64)
        scale = np.repeat(_scales(rng, groups), BLOCK, axis=0)[:rows]
    else:
        low, high = -127.0, 127.0  # type: ignore[assignment]
        values = _signed(rng, (rows, cols), 127).astype(np.float64)
        if by_rows:
            values[np.arange(rows), rng.integers(0, cols, rows)] = 127 * _signed(rng, (rows,), 1)
        else:
            values[rng.integers(0, rows, cols), np.arange(cols)] = 127 * _signed(rng, (cols,), 1)
        ends = np.abs(values) == 127
        scale = _scales(rng, (rows, 1) if by_rows else (1, cols))
    between = rng.choice(np.array([0.0, 0.0, 0.5, -0.5, 0.25, 0.4999, -0.3]), values.shape)
    values = np.where(ends, values, np.clip(values + between, low, high))
    values[~ends & (rng.random(values.shape) < 0.02)] = 0.0
    values[~ends & (rng.random(values.shape) < 0.02)] = -0.0
    return (values * scale).astype(np.float32)


def _codes(rng: np.random.Generator, rows: int, cols: int) -> tuple[Whole, Whole]:
    """4-bit codes and zero points, both [rows, cols]: in each block 0 and 15 occur, except where
    they would stand for 0, which no code does."""
    codes: Whole = np.empty((rows, cols), np.int64)
    zeros: Whole = np.empty((rows, cols), np.int64)
    n = np.arange(cols)
    for first in range(0, rows, BLOCK):
        size = min(BLOCK, rows - first)
        zero = rng.integers(0, 16, cols) if size > 1 else rng.choice(np.array([0, 15]), cols)
        code = (zero + 1 + rng.integers(0, 15, (size, cols))) % 16
        low = rng.integers(0, size, cols)
        high = (low + rng.integers(1, size, cols)) % size if size > 1 else low
        code[low, n] = np.where(zero == 0, 15, 0)
        code[high, n] = np.where(zero == 15, 0, 15)
        codes[first : first + size], zeros[first : first + size] = code, zero
    return codes, zeros


def _scales(rng: np.random.Generator, groups: tuple[int, ...]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.exp2(rng.uniform(-14, 6, groups))
    return found


def _signed(rng: np.random.Generator, size: tuple[int, ...], largest: int) -> Whole:
    """±1 … ±largest, no zeros."""
    magnitude: Whole = rng.integers(1, largest, size, endpoint=True)
    sign: Whole = rng.choice(np.array([-1, 1]), size)
    return magnitude * sign
