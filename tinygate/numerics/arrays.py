"""Name the arrays that the arithmetic of the gate works on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]
# An operand as stored: float32, float16 (widened where it is used), or float64 (scaled codes).
Values = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.float64]
# A range of an operand's rows -> the device's f16 conversion (pack2x16float) of those rows.
DeviceF16 = Callable[[slice], NDArray[np.float16]]


def as_words(x: F32) -> Words:
    """Return the bits of a float32 array as flat uint32, without a copy."""
    return x.reshape(-1).view(np.uint32)
