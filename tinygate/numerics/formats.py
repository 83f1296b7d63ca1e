"""Decode and check stored operands, one class per storage format.

The host reads the buffer's words independently of the packer that wrote them: the gate decodes
what is stored instead of trusting the packer.
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
    """A way to store an operand [rows, cols] in u32 words."""

    @property
    def name(self) -> str:
        """Return the name that declarations use."""
        ...

    @property
    def packed(self) -> bool:
        """Tell whether a packer writes it; otherwise it is the row-major f32 itself."""
        ...

    @property
    def quantized(self) -> bool:
        """Tell whether values share scales, so that a stored value depends on others too."""
        ...

    @property
    def max_finite(self) -> float:
        """Return the largest magnitude it holds; packing refuses anything over it."""
        ...

    @property
    def max_exact_int(self) -> int:
        """Return the n up to which it holds every integer exactly; where quantized, at scale 1."""
        ...

    @property
    def why(self) -> str:
        """Return the rule of its packing check, in words."""
        ...

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> Values:
        """Decode the words of all [rows, cols] values; return all rows or the range `part`."""
        ...

    def padding(self, words: Words, rows: int, cols: int) -> NDArray[Any]:
        """Return the bits that belong to no element; a correct packer leaves them 0."""
        ...

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Find values that break the format's rule; yield (first row, mask) for some rows each."""
        ...

    def variance(self, x: F32) -> NDArray[Any]:
        """Return the variance of the error of storing x; a quantized format needs all of x."""
        ...


@dataclass(frozen=True, kw_only=True)
class Elementwise(ElementwiseSize):
    """The format of f32 or f16 values, each stored by itself; every row begins with a new word."""

    name: str
    max_finite: float
    max_exact_int: int
    quantized: bool = False
    why: str = "a stored value is one of its original's two neighbours, as near as pack2x16float's"

    @property
    def packed(self) -> bool:
        """Tell whether a packer writes it."""
        return self.columns_per_word > 1

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> Values:
        """Decode the values of [rows, cols], or of the rows `part`, without a copy."""
        found = words.reshape(rows, self.stride(cols))[part]
        if self.columns_per_word == 1:
            return found.view(np.float32)
        return found.view("<f2")[:, :cols]

    def padding(self, words: Words, rows: int, cols: int) -> Words:
        """Return the bits that belong to no column; a correct packer leaves them 0."""
        if cols % self.columns_per_word == 0:
            return np.zeros(0, np.uint32)
        return words.reshape(rows, self.stride(cols))[:, -1] >> np.uint32(16)

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Find wrong values; yield (first row, mask) for some rows each.

        A value is wrong if it is neither neighbour of its original, or farther from it than the
        device's f16 conversion (pack2x16float) is.
        """
        rows, cols = original.shape
        for part in parts(rows, cols):
            x = original[part]
            stored = self.decode(words, rows, cols, part)
            below, above = self.neighbours(x)
            neighbour = (stored == below) | (stored == above)
            near = np.abs(device_f16(part).astype(np.float64) - x)
            yield part.start, ~neighbour | (np.abs(stored.astype(np.float64) - x) > near)

    def neighbours(self, x: F32) -> tuple[F32, F32]:
        """Return the largest storable value <= x and the smallest >= x, equal where x is exact."""
        if self.columns_per_word == 1:
            return x, x
        with np.errstate(over="ignore"):  # the neighbour of 65504 is infinity
            nearest = x.astype(np.float16)
            value = nearest.astype(np.float32)
            below = np.where(value > x, np.nextafter(nearest, np.float16(-np.inf)), nearest)
            above = np.where(value < x, np.nextafter(nearest, np.float16(np.inf)), nearest)
        return below.astype(np.float32), above.astype(np.float32)

    def variance(self, x: F32) -> NDArray[np.float64]:
        """Return gap^2 / 12, the variance of an error spread evenly over the gap of x's neighbours.

        It is 0 where x is exact.
        """
        below, above = self.neighbours(x)
        gap = np.where(np.isfinite(above), above, x).astype(np.float64) - np.where(
            np.isfinite(below), below, x
        )
        return gap * gap / 12


PLAIN = Elementwise(
    columns_per_word=1, name="f32", max_finite=float(np.finfo(np.float32).max), max_exact_int=2**24
)
HALVES = Elementwise(columns_per_word=2, name="f16-packed", max_finite=F16_MAX, max_exact_int=2**11)

# FORMATS are for B[K,N], A_FORMATS for A[M,K].
FORMATS: dict[str, StorageFormat] = {
    "f32": PLAIN,
    "f16-packed": HALVES,
    "int8-packed": Int8("columns"),
    "q4-block32": Q4(),
}
A_FORMATS: dict[str, StorageFormat] = {"f32": PLAIN, "int8-packed": Int8("rows")}
