"""Quantized storage: whole numbers with a scale per row, column or block (wgsl/README.md).

The host's own reading of what a packer wrote. What is stored is decoded to float64, where a scale
of 24 bits times a code of 8 is exact: S must not have a rounding that the kernel has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygate.core.storage import Q4_BLOCK, Int8Size, Q4Size
from tinygate.numerics.arrays import F32, F64, DeviceF16, Mask, Words

ALL = slice(None)
BLOCK = Q4_BLOCK  # what is decoded in parts begins at a multiple of it
_PART = 1 << 18  # values checked at a time
_F32_MAX = float(np.finfo(np.float32).max)
_SMALLEST_NORMAL = np.float32(2.0**-126)

_WHY = (
    "a stored value is within half a step of its original, plus 2^-21 of it since WGSL's division "
    "is 2.5 ulp off at most; the step is the declared scale"
)
_SLACK = 2.0**-21
_SCALE_ULPS = 2


@dataclass(frozen=True)
class Int8(Int8Size):
    """Symmetric int8, -127 to 127, four along K to a word: B with a scale per column, or A with
    one per row; scale = absmax / 127, or 1 where that is no normal f32."""

    name: str = "int8-packed"
    packed: bool = True
    quantized: bool = True
    max_finite: float = _F32_MAX
    max_exact_int: int = 127
    why: str = _WHY

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> F64:
        """The values of [rows, cols], or of some of its rows."""
        codes, scales = self._parts(words, rows, cols)
        if self.scales == "rows":
            return codes[part, :cols] * scales[part, None]
        return codes[:rows][part] * scales

    def padding(self, words: Words, rows: int, cols: int) -> NDArray[np.int8]:
        """The bytes that belong to no element; a right packer leaves them 0."""
        codes, _ = self._parts(words, rows, cols)
        return (codes[:, cols:] if self.scales == "rows" else codes[rows:]).reshape(-1)

    def declared(self, x: F32) -> F32:
        """The scale each row or column of x should have."""
        peak = np.abs(x).max(axis=1 if self.scales == "rows" else 0)
        scale = (peak * np.float32(1 / 127)).astype(np.float32)
        return np.where(scale < _SMALLEST_NORMAL, np.float32(1), scale)

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, Mask]]:
        """Which values are not stored as they should be, some rows at a time: (first row, mask)."""
        rows, cols = original.shape
        declared = self.declared(original)
        off = _off(self._parts(words, rows, cols)[1], declared)
        for part in parts(rows, cols, BLOCK):
            stored = self.decode(words, rows, cols, part)
            if self.scales == "rows":
                far = _far(stored, original[part], declared[part, None])
                yield part.start, far | off[part, None]
            else:
                yield part.start, _far(stored, original[part], declared) | off

    def variance(self, x: F32) -> F64:
        """Of the error of storing the whole matrix x: scale^2 / 12, as for an error spread evenly
        over a step."""
        one = self.declared(x).astype(np.float64) ** 2 / 12
        return np.broadcast_to(one[:, None] if self.scales == "rows" else one, x.shape)

    def _parts(self, words: Words, rows: int, cols: int) -> tuple[NDArray[np.int8], F64]:
        """Codes, padding included, and scales."""
        if self.scales == "rows":
            size = rows * -(-cols // 4)
            codes = words[:size].reshape(rows, -1).view("<i1")
        else:
            size = -(-rows // 4) * cols
            four = words[:size].reshape(-1, cols, 1).view("<i1")
            codes = four.transpose(0, 2, 1).reshape(-1, cols)
        scales = words[size : size + (rows if self.scales == "rows" else cols)].view(np.float32)
        return codes, scales.astype(np.float64)


@dataclass(frozen=True)
class Q4(Q4Size):
    """4-bit codes in blocks of 32 along K: (code - zero point) * scale, the zero point a whole
    number of 0 to 15 and scale = (max - min) / 15 with 0 counted in, or 1 where that is no normal
    f32."""

    name: str = "q4-block32"
    packed: bool = True
    quantized: bool = True
    max_finite: float = _F32_MAX
    max_exact_int: int = 15
    why: str = _WHY

    def decode(self, words: Words, rows: int, cols: int, part: slice = ALL) -> F64:
        """The values of [rows, cols], or of some of its rows, from a multiple of 32 on."""
        first, last, _ = part.indices(rows)
        blocks = slice(first // BLOCK, self.blocks(last))
        codes = _nibbles(words.reshape(-1, cols)[4 * blocks.start : 4 * blocks.stop])
        scales, zeros = (table[blocks] for table in self._tables(words, rows, cols))
        with np.errstate(all="ignore"):  # a wrong packer's scale may be anything
            values = (codes.reshape(-1, BLOCK, cols) - zeros[:, None]) * scales[:, None]
        return values.reshape(-1, cols)[: last - first]

    def padding(self, words: Words, rows: int, cols: int) -> NDArray[np.uint8]:
        """The nibbles past the last row; a right packer leaves them 0."""
        last = words.reshape(-1, cols)[4 * (self.blocks(rows) - 1) : 4 * self.blocks(rows)]
        return _nibbles(last)[rows - BLOCK * (self.blocks(rows) - 1) :].reshape(-1)

    def declared(self, x: F32) -> F32:
        """The scale each block of x should have, [blocks, cols]."""
        starts = np.arange(0, x.shape[0], BLOCK)
        max_ = np.maximum(np.maximum.reduceat(x, starts, axis=0), 0)
        min_ = np.minimum(np.minimum.reduceat(x, starts, axis=0), 0)
        half = np.float32(0.5)
        scale = (max_ * half - min_ * half) * np.float32(2 / 15)
        return np.where(scale < _SMALLEST_NORMAL, np.float32(1), scale)

    def wrong(
        self, words: Words, original: F32, device_f16: DeviceF16
    ) -> Iterator[tuple[int, Mask]]:
        """Which values are not stored as they should be, some rows at a time: (first row, mask)."""
        rows, cols = original.shape
        declared = self.declared(original)
        scales, zeros = self._tables(words, rows, cols)
        off = _off(scales, declared) | ~((zeros >= 0) & (zeros <= 15) & (zeros == np.trunc(zeros)))
        for part in parts(rows, cols, BLOCK):
            block = np.arange(part.start, part.stop) // BLOCK
            stored = self.decode(words, rows, cols, part)
            yield part.start, _far(stored, original[part], declared[block]) | off[block]

    def variance(self, x: F32) -> F64:
        """Of the error of storing the whole matrix x: scale^2 / 12, as for an error spread evenly
        over a step."""
        one = self.declared(x).astype(np.float64) ** 2 / 12
        return np.repeat(one, BLOCK, axis=0)[: x.shape[0]]

    def _tables(self, words: Words, rows: int, cols: int) -> tuple[F64, F64]:
        """Scales and zero points, each [blocks, cols]."""
        blocks = self.blocks(rows)
        lines = words[: 6 * blocks * cols].reshape(-1, cols)[4 * blocks :]
        table = lines.view(np.float32).astype(np.float64)
        return table[:blocks], table[blocks:]


def parts(rows: int, cols: int, multiple: int = 1) -> Iterator[slice]:
    """Ranges of rows that are worked on at a time, each from a multiple of `multiple` on."""
    step = max(multiple, _PART // cols // multiple * multiple)
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


def _nibbles(words: Words) -> NDArray[np.uint8]:
    """Words [w, cols] -> their codes [8 w, cols], low nibble first."""
    shifts = 4 * np.arange(8, dtype=np.uint32)
    codes = (words[:, None] >> shifts[:, None]) & np.uint32(15)
    return codes.astype(np.uint8).reshape(-1, words.shape[1])


def _off(stored: F64, declared: F32) -> Mask:
    """Whether a scale is farther from the declared one than rounding explains; NaN is."""
    found: Mask = ~(np.abs(stored - declared) <= _SCALE_ULPS * np.spacing(declared))
    return found


def _far(stored: F64, original: F32, step: F32) -> Mask:
    """Whether a value is farther from its original than half a step; NaN is."""
    x = original.astype(np.float64)
    found: Mask = ~(np.abs(stored - x) <= step.astype(np.float64) / 2 + _SLACK * np.abs(x))
    return found
