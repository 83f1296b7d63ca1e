"""Name the arrays that the arithmetic of the gate works on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
# A matrix as stored: float32, float16 that is widened where it is used, or what only float64 holds.
Values = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.float64]
# Some rows of a matrix -> what the adapter's own pack2x16float makes of them.
DeviceF16 = Callable[[slice], NDArray[np.float16]]


def as_words(x: F32) -> Words:
    """Give the bits of a float32 array, flat, without a copy."""
    return x.reshape(-1).view(np.uint32)
