"""Multiply in float64, one block of C at a time, so that no float64 copy of an operand exists.

Every error is measured against numpy's float64 product, whose own error, about sqrt(K) 2^-53, is
far below every limit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tinygate.numerics.arrays import F64, Values

Block = tuple[slice, slice]

# A block of C holds at most SIDE x SIDE elements and K is taken DEPTH at a time, so that a block
# is 2 MiB and the slices of A and B behind it at most 4 MiB each.
SIDE = 512
DEPTH = 512


def blocks(M: int, N: int) -> Iterator[Block]:
    """Yield row and column ranges that tile [M, N]; they are wider where M is small."""
    rows = min(M, SIDE)
    cols = min(N, SIDE * SIDE // rows, 2 * SIDE)
    for i in range(0, M, rows):
        for j in range(0, N, cols):
            yield slice(i, min(i + rows, M)), slice(j, min(j + cols, N))


Map = Callable[[Values], NDArray[np.floating]]


def _plain(x: Values) -> NDArray[np.floating]:
    return x


def product(
    A: Values, B: Values, block: Block, left: Map = _plain, right: Map | None = None
) -> F64:
    """Compute one block of left(A)·right(B) in float64; `right` defaults to `left`.

    The maps get slices of the operands in their stored type, before these are widened.
    """
    rows, cols = block
    second = left if right is None else right
    total: F64 = np.zeros((rows.stop - rows.start, cols.stop - cols.start))
    for k in range(0, A.shape[1], DEPTH):
        a = left(A[rows, k : k + DEPTH]).astype(np.float64)
        b = second(B[k : k + DEPTH, cols]).astype(np.float64)
        total += a @ b
    return total


def magnitude(A: Values, B: Values, block: Block, norm: str) -> F64:
    """Compute one block of the limit's norm D: G = sqrt((A∘A)(B∘B)), or |A||B|."""
    if norm == "G":
        return np.sqrt(product(A, B, block, _squared))
    return product(A, B, block, np.abs)


def _squared(x: Values) -> F64:
    # Widened first: the square of an f16 or f32 may not fit its own format.
    wide = x.astype(np.float64)
    return wide * wide


def largest_product(A: Values, B: Values) -> float:
    """Return the largest element of |A||B|."""
    shape = (A.shape[0], B.shape[1])
    return max(float(product(A, B, block, np.abs).max()) for block in blocks(*shape))
