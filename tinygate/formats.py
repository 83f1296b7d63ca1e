"""Storage formats: how many words a matrix takes, what its words hold, and which values fit.

A format is what sits in the buffer, so this is the host's independent reading of it: the gate
decodes what a packer wrote instead of trusting the packer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygate.engines.base import Words
from tinygate.precision import F16_MAX

F32 = NDArray[np.float32]
# A matrix as stored: float32, or float16 that is widened where it is used.
Values = NDArray[np.float32] | NDArray[np.float16]


@dataclass(frozen=True)
class StorageFormat:
    """One way to hold B[K,N] in u32 words.

    columns_per_word   columns that share a word
    max_finite         the largest magnitude it holds; packing refuses anything over it
    significand        bits of significand, so integers up to 2^significand are exact
    """

    name: str
    columns_per_word: int
    max_finite: float
    significand: int

    def stride(self, N: int) -> int:
        """Words per row of K."""
        return -(-N // self.columns_per_word)

    def words(self, K: int, N: int) -> int:
        """Words of the whole matrix."""
        return K * self.stride(N)

    def decode(self, words: Words, N: int) -> Values:
        """Rows of words[..., stride] -> the values they hold, [..., N], without a copy."""
        rows = words.reshape(-1, self.stride(N))
        if self.columns_per_word == 1:
            return rows.view(np.float32)
        return rows.view("<f2")[:, :N]

    def padding(self, words: Words, N: int) -> Words:
        """The bits that belong to no column; a right packer leaves them 0."""
        rows = words.reshape(-1, self.stride(N))
        if N % self.columns_per_word == 0:
            return np.zeros(0, np.uint32)
        return rows[:, -1] >> np.uint32(16)

    def neighbours(self, x: F32) -> tuple[F32, F32]:
        """The largest stored value <= x and the smallest >= x, elementwise; equal where exact."""
        if self.columns_per_word == 1:
            return x, x
        with np.errstate(over="ignore"):  # the neighbour of 65504 is infinity
            nearest = x.astype(np.float16)
            value = nearest.astype(np.float32)
            below = np.where(value > x, np.nextafter(nearest, np.float16(-np.inf)), nearest)
            above = np.where(value < x, np.nextafter(nearest, np.float16(np.inf)), nearest)
        return below.astype(np.float32), above.astype(np.float32)

    def variance(self, x: F32) -> NDArray[np.float64]:
        """Of the rounding error of storing x: gap^2 / 12 with the gap between its neighbours, as
        for an error spread evenly over it; 0 where x is exact."""
        below, above = self.neighbours(x)
        gap = np.where(np.isfinite(above), above, x).astype(np.float64) - np.where(
            np.isfinite(below), below, x
        )
        return gap * gap / 12


FORMATS = {
    "f32": StorageFormat("f32", 1, float(np.finfo(np.float32).max), 24),
    "f16-packed": StorageFormat("f16-packed", 2, F16_MAX, 11),
}
