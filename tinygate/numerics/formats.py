"""Storage formats: how many words a matrix takes, what its words hold, and which values fit.

A format is what sits in the buffer, so this is the host's independent reading of it: the gate
decodes what a packer wrote instead of trusting the packer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tinygate.core.storage import ElementwiseSize, StorageSize
from tinygate.numerics.arrays import F32, DeviceF16, Values, Words
from tinygate.numerics.quantized import ALL, Q4, Int8, parts
from tinygate.numerics.tolerance import F16_MAX


class StorageFormat(StorageSize, Protocol):
    """One way to hold a matrix [rows, cols] in u32 words."""

    @property
    def name(self) -> str:
        """What a declaration calls it."""
        ...

    @property
    def packed(self) -> bool:
        """Whether a packer writes it; else it is the row-major f32 itself."""
        ...

    @property
    def quantized(self) -> bool:
        """Whether values share scales, so that what is stored depends on the neighbours too."""
        ...

    @property
    def max_finite(self) -> float:
        """The largest magnitude it holds; packing refuses anything over it."""
        ...

    @property
    def max_exact_int(self) -> int:
        """Whole numbers up to this are held exactly; where quantized, if the scale is 1."""
        ...

    @property
    def why(self) -> str:
        """What its packing check asks, in words."""
        ...

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> Values:
        """The whole matrix's words -> the values of [rows, cols], or of a range of its rows."""
        ...

    def padding(self, words: Words, rows: int, cols: int) -> NDArray[Any]:
        """The bits that belong to no element; a right packer leaves them 0."""
        ...

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Which values are not stored as they should be, some rows at a time: (first row, mask)."""
        ...

    def variance(self, x: F32) -> NDArray[Any]:
        """Of the error of storing x, elementwise; a quantized x must be the whole matrix."""
        ...


@dataclass(frozen=True, kw_only=True)
class Elementwise(ElementwiseSize):
    """f32 or f16, each value by itself, in rows that begin with a word."""

    name: str
    max_finite: float
    max_exact_int: int
    quantized: bool = False
    why: str = "a stored value is one of its original's two neighbours, as near as pack2x16float's"

    @property
    def packed(self) -> bool:
        """Whether a packer writes it."""
        return self.columns_per_word > 1

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> Values:
        """The values of [rows, cols], or of some of its rows, without a copy."""
        found = words.reshape(rows, self.stride(cols))[part]
        if self.columns_per_word == 1:
            return found.view(np.float32)
        return found.view("<f2")[:, :cols]

    def padding(self, words: Words, rows: int, cols: int) -> Words:
        """The bits that belong to no column; a right packer leaves them 0."""
        if cols % self.columns_per_word == 0:
            return np.zeros(0, np.uint32)
        return words.reshape(rows, self.stride(cols))[:, -1] >> np.uint32(16)

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Which values are neither neighbour of their original, or farther from it than the
        adapter's own conversion; some rows at a time: (first row, mask)."""
        rows, cols = original.shape
        for part in parts(rows, cols):
            x = original[part]
            stored = self.decode(words, rows, cols, part)
            below, above = self.neighbours(x)
            neighbour = (stored == below) | (stored == above)
            near = np.abs(device_f16(part).astype(np.float64) - x)
            yield part.start, ~neighbour | (np.abs(stored.astype(np.float64) - x) > near)

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


PLAIN = Elementwise(
    columns_per_word=1, name="f32", max_finite=float(np.finfo(np.float32).max), max_exact_int=2**24
)
HALVES = Elementwise(columns_per_word=2, name="f16-packed", max_finite=F16_MAX, max_exact_int=2**11)

# Of B[K,N], and of A[M,K].
FORMATS: dict[str, StorageFormat] = {
    "f32": PLAIN,
    "f16-packed": HALVES,
    "int8-packed": Int8("columns"),
    "q4-block32": Q4(),
}
A_FORMATS: dict[str, StorageFormat] = {"f32": PLAIN, "int8-packed": Int8("rows")}
