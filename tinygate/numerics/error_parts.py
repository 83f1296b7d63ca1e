"""What a quantized path's error is made of: storing, then the kernel. Pure, and in blocks.

T  float64 product of the originals      S  of the operands as stored      F  what came out
"""

from __future__ import annotations

import numpy as np

from tinygate.core.metrics import ErrorParts
from tinygate.numerics.arrays import F32, F64, Values
from tinygate.numerics.matmul64 import blocks, product


def energies(C: F32, A: F32, B: F32, held_a: Values, held_b: Values) -> F64:
    """Sums of (S-T)^2, T^2, (F-S)^2 and S^2 over one product; what is not finite in C is left out
    of the third."""
    total: F64 = np.zeros(4)
    for block in blocks(*C.shape):
        T, S = product(A, B, block), product(held_a, held_b, block)
        F = C[block].astype(np.float64)
        off = np.where(np.isfinite(F), F - S, 0.0)
        total += [float((x * x).sum()) for x in (S - T, T, off, S)]
    return total


def parts(sums: F64) -> ErrorParts | None:
    """From the sums over a case's products; None where there is nothing to be relative to."""
    stored, truth, kernel, held = (float(x) for x in sums)
    if not truth or not held:
        return None
    return ErrorParts(stored / truth, kernel / held)
