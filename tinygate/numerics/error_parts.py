"""Split a quantized path's error into the part from storing and the part from the kernel.

T  float64 product of the originals    S  float64 product of the stored operands    F  the output

Pure, and a block of C at a time.
"""

from __future__ import annotations

import numpy as np

from tinygate.core.metrics import ErrorParts
from tinygate.numerics.arrays import F32, F64, Values
from tinygate.numerics.matmul64 import blocks, product


def energies(C: F32, A: F32, B: F32, stored_a: Values, stored_b: Values) -> F64:
    """Sum (S-T)^2, T^2, (F-S)^2 and S^2 over one product.

    Non-finite elements of C are left out of the third sum.
    """
    total: F64 = np.zeros(4)
    for block in blocks(*C.shape):
        T, S = product(A, B, block), product(stored_a, stored_b, block)
        F = C[block].astype(np.float64)
        off = np.where(np.isfinite(F), F - S, 0.0)
        total += [float((x * x).sum()) for x in (S - T, T, off, S)]
    return total


def parts(sums: F64) -> ErrorParts | None:
    """Divide the sums over a case's products into two NMSEs; None where T or S is all zero."""
    storing, t_energy, kernel, s_energy = (float(x) for x in sums)
    if not t_energy or not s_energy:
        return None
    return ErrorParts(storing / t_energy, kernel / s_energy)
