"""Products in float64, one block of C at a time, so that no float64 copy of an operand exists.

numpy's float64 matrix product is the ruler everything is measured with: its own error, about
sqrt(K) 2^-53, is far below every limit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tinygate.formats import Values

F64 = NDArray[np.float64]
Block = tuple[slice, slice]

# A block of C holds at most SIDE x SIDE elements and K is taken DEPTH at a time, so that a block
# is 2 MiB and the slices of A and B behind it at most 4 MiB each.
SIDE = 512
DEPTH = 512


def blocks(M: int, N: int) -> Iterator[Block]:
    """Row and column ranges that tile [M, N]; wide where M is small."""
    rows = min(M, SIDE)
    cols = min(N, SIDE * SIDE // rows, 2 * SIDE)
    for i in range(0, M, rows):
        for j in range(0, N, cols):
            yield slice(i, min(i + rows, M)), slice(j, min(j + cols, N))


def product(A: Values, B: Values, block: Block, each: Callable[[F64], F64] | None = None) -> F64:
    """One block of A·B in float64, operands passed through `each` (np.abs, np.square) first."""
    rows, cols = block
    total: F64 = np.zeros((rows.stop - rows.start, cols.stop - cols.start))
    for k in range(0, A.shape[1], DEPTH):
        left = A[rows, k : k + DEPTH].astype(np.float64)
        right = B[k : k + DEPTH, cols].astype(np.float64)
        total += each(left) @ each(right) if each else left @ right
    return total


def magnitude(A: Values, B: Values, block: Block, norm: str) -> F64:
    """One block of D: G = sqrt((A∘A)(B∘B)), or |A||B|."""
    if norm == "G":
        return np.sqrt(product(A, B, block, np.square))
    return product(A, B, block, np.abs)


def largest_product(A: Values, B: Values) -> float:
    """The largest element of |A||B|."""
    shape = (A.shape[0], B.shape[1])
    return max(float(product(A, B, block, np.abs).max()) for block in blocks(*shape))
