"""Measure how far F is from R and S, and where. Pure, and a block of C at a time.

F is the candidate's C, R the f32 reference's C, S the float64 product of the stored operands.
checks.py decides what the numbers mean. Non-finite values are found by bit pattern first and left
out of every metric after that, because NaN is neither below nor above any limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tinygate.core.metrics import Metrics
from tinygate.numerics.arrays import F32, DeviceF16, Values, Words
from tinygate.numerics.formats import StorageFormat
from tinygate.numerics.matmul64 import blocks, magnitude, product
from tinygate.numerics.tolerance import Tolerance

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

_EXPONENT = np.uint32(0x7F800000)
_FLAT = 1 << 18  # elements compared at a time

# A region's failure map of C has at most this many cells on a side.
MAP_ROWS, MAP_COLS = 16, 64


@dataclass
class Region:
    """The bad elements of [M, N]: their count, the first, and counts per row, column and map cell.

    layers: how many arrays with any bad element were merged into this region.
    """

    shape: tuple[int, int]
    count: int = 0
    layers: int = 0
    first: tuple[int, int] | None = None
    rows: Counts = field(init=False)
    cols: Counts = field(init=False)
    cells: NDArray[np.int64] = field(init=False)
    cell_shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        M, N = self.shape
        self.rows = np.zeros(M, np.int64)
        self.cols = np.zeros(N, np.int64)
        self.cell_shape = (-(-M // MAP_ROWS), -(-N // MAP_COLS))
        self.cells = np.zeros((-(-M // self.cell_shape[0]), -(-N // self.cell_shape[1])), np.int64)

    def add(self, bad: Mask, row: int = 0, col: int = 0) -> None:
        """Add a block's bad elements; the block's first element is [row, col]."""
        count = int(np.count_nonzero(bad))
        if not count:
            return
        self.count += count
        self.layers = max(self.layers, 1)
        in_rows, in_cols = np.count_nonzero(bad, axis=1), np.count_nonzero(bad, axis=0)
        self.rows[row : row + bad.shape[0]] += in_rows
        self.cols[col : col + bad.shape[1]] += in_cols
        self._map(bad, row, col)
        i = int((in_rows > 0).argmax())
        at = (row + i, col + int(bad[i].argmax()))
        self.first = at if self.first is None else min(self.first, at)

    def _map(self, bad: Mask, row: int, col: int) -> None:
        """Count a block's bad elements into the cells of the failure map."""
        tall, wide = self.cell_shape
        row_edges = np.unique(np.r_[0, np.arange(-row % tall or tall, bad.shape[0], tall)])
        col_edges = np.unique(np.r_[0, np.arange(-col % wide or wide, bad.shape[1], wide)])
        sums = np.add.reduceat(bad, row_edges, axis=0, dtype=np.int64)
        sums = np.add.reduceat(sums, col_edges, axis=1)
        self.cells[np.ix_((row + row_edges) // tall, (col + col_edges) // wide)] += sums

    def merge(self, other: Region) -> None:
        """Add the counts of another region of the same shape."""
        if other.first is None:
            return
        self.count += other.count
        self.layers += other.layers
        self.rows += other.rows
        self.cols += other.cols
        self.cells += other.cells
        self.first = other.first if self.first is None else min(self.first, other.first)

    @property
    def where(self) -> str:
        """Describe the bad rows and columns in words; empty where they are all over.

        `row 3`, `rows 64-534, columns 64-1023`, `all but rows 0-63, columns 0-63`.
        """
        M, N = self.shape
        kept = (self.rows < self.layers * N, self.cols < self.layers * M)
        right = int(kept[0].sum()) * int(kept[1].sum())
        if self.rows.all() and self.cols.all() and right:
            if self.count + self.layers * right != self.layers * M * N:
                return ""
            rows, cols = (np.flatnonzero(axis) for axis in kept)
            return f"all but {_spell('row', rows)}, {_spell('column', cols)}"
        parts = []
        for name, axis in (("row", self.rows), ("column", self.cols)):
            if not axis.all() and axis.any():
                parts.append(_spell(name, np.flatnonzero(axis)))
        return ", ".join(parts)


def _spell(name: str, indices: NDArray[np.int64]) -> str:
    """Spell indices as at most three ranges.

    `row 3`, `rows 0-15, 32-47`, `rows 1, 5, 9 and 12 more`.
    """
    breaks = np.flatnonzero(np.diff(indices) > 1)
    starts = indices[np.concatenate([[0], breaks + 1])]
    ends = indices[np.concatenate([breaks, [-1]])]
    runs = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return f"{name}{'s' if indices.size > 1 else ''} {', '.join(runs[:3])}{more}"


def nonfinite(bits: Words) -> Mask:
    """Mark the f32 bit patterns that are NaN or infinite."""
    found: Mask = (bits & _EXPONENT) == _EXPONENT
    return found


def region(bits: Words, marker: int | None = None) -> Region:
    """Find the non-finite elements of C[M, N], or with a marker those that still hold it."""
    found = Region((bits.shape[0], bits.shape[1]))
    step = max(1, _FLAT // bits.shape[1])
    for row in range(0, bits.shape[0], step):
        part = bits[row : row + step]
        found.add(nonfinite(part) if marker is None else part == np.uint32(marker), row)
    return found


def outside(arrays: Sequence[F32], largest: float) -> Region:
    """Find the elements over a format's largest value, in the first array that has any."""
    for array in arrays:
        found = Region((array.shape[0], array.shape[1]))
        step = max(1, _FLAT // array.shape[1])
        for row in range(0, array.shape[0], step):
            found.add(np.abs(array[row : row + step]) > largest, row)
        if found.count:
            return found
    return Region((1, 1))


def differing(bits: Words, other: Words) -> Region:
    """Find where the bits of two runs differ."""
    found = Region((bits.shape[0], bits.shape[1]))
    step = max(1, _FLAT // bits.shape[1])
    for row in range(0, bits.shape[0], step):
        found.add(bits[row : row + step] != other[row : row + step], row)
    return found


def metrics(outputs: Sequence[F32], references: Sequence[F32]) -> Metrics:
    """Compute the activation rule's metrics over pooled products, in float64.

    Non-finite outputs have failed already and are left out of the errors; references are finite.
    """
    count = sum(R.size for R in references)
    total = sum(float(np.abs(r).sum()) for _, r in _pairs(references, references))
    mean_ref = total / count
    floor = 0.01 * mean_ref
    max_abs = max_rel = sum_rel = squares = energy = 0.0
    compared = 0
    for f, r in _pairs(outputs, references):
        kept = np.isfinite(f)
        error = np.abs(f - r)[kept]
        scale = np.maximum(np.abs(r), floor)[kept]
        compared += error.size
        squares += float(error @ error)
        energy += float(r @ r)
        if error.size and mean_ref > 0:
            relative = error / scale
            max_rel = max(max_rel, float(relative.max()))
            sum_rel += float(relative.sum())
        max_abs = max(max_abs, float(error.max(initial=0.0)))
    mean_rel = sum_rel / compared if compared else float("nan")
    max_abs = max_abs if compared else float("nan")
    nmse = squares / energy if energy else 0.0
    return Metrics(mean_ref, max_abs, mean_rel, max_rel, count, nmse)


def over(
    outputs: Sequence[F32], references: Sequence[F32], limit: float, *, strict: bool = False
) -> Region:
    """Find where |F-R| >= limit (> limit where strict), in any of the pooled products."""
    M, N = references[0].shape
    found = Region((M, N))
    step = max(1, _FLAT // N)
    for F, R in zip(outputs, references, strict=True):
        one = Region((M, N))
        for row in range(0, M, step):
            error = np.abs(F[row : row + step].astype(np.float64) - R[row : row + step])
            one.add(error > limit if strict else error >= limit, row)
        found.merge(one)
    return found


def _pairs(
    left: Sequence[F32], right: Sequence[F32]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield both sides in float64, a flat block at a time."""
    for a, b in zip(left, right, strict=True):
        x, y = a.reshape(-1), b.reshape(-1)
        for start in range(0, x.size, _FLAT):
            part = slice(start, start + _FLAT)
            yield x[part].astype(np.float64), y[part].astype(np.float64)


@dataclass(frozen=True)
class Deviation:
    """How much of a limit the largest |C - S| uses, and where the limit is exceeded.

    worst      the largest fraction of the limit used; 1.0 is exactly at the limit
    at         the element that uses it; got and want are its values in C and S
    over       every element that exceeds the limit
    """

    worst: float
    at: tuple[int, int]
    got: float
    want: float
    over: Region


def worse(a: Deviation | None, b: Deviation) -> Deviation:
    """Return the deviation that uses more of its limit, with every location over either limit."""
    if a is None:
        return b
    b.over.merge(a.over)
    return b if b.worst > a.worst else replace(a, over=b.over)


def deviation(C: F32, A: Values, B: Values, limit: Tolerance) -> Deviation:
    """Compare C with the float64 product of A and B, leaving out non-finite elements of C."""
    M, N = C.shape
    worst, at, got, want = 0.0, (0, 0), 0.0, 0.0
    found = Region((M, N))
    for block in blocks(M, N):
        rows, cols = block
        have = C[block].astype(np.float64)
        should = product(A, B, block)
        allowed = limit.value * magnitude(A, B, block, limit.norm) + limit.tiny
        allowed += limit.relative * np.abs(should)
        used = np.where(np.isfinite(have), np.abs(have - should), 0.0) / allowed
        found.add(used > 1.0, rows.start, cols.start)
        i = int(used.argmax())
        if used.flat[i] > worst:
            worst = float(used.flat[i])
            row, col = divmod(i, used.shape[1])
            at = (rows.start + row, cols.start + col)
            got, want = float(have.flat[i]), float(should.flat[i])
    return Deviation(worst, at, got, want, found)


def unequal_to_product(C: F32, A: Values, B: Values) -> Region:
    """Find where C is not exactly A·B.

    The operands are integers whose sums are exact, or one of them is one-hot.
    """
    found = Region((C.shape[0], C.shape[1]))
    for block in blocks(*C.shape):
        found.add(
            C[block].astype(np.float64) != product(A, B, block), block[0].start, block[1].start
        )
    return found


@dataclass(frozen=True)
class Packing:
    """The errors found in a stored operand, and the first of them with its original value.

    region    elements that are stored wrong
    padding   how many padding words or codes are not 0
    operand   "A" or "B"
    why       the rule of its format
    """

    region: Region
    original: float = 0.0
    stored: float = 0.0
    padding: int = 0
    operand: str = "B"
    why: str = ""

    @property
    def wrong(self) -> bool:
        """Tell whether an element or the padding is stored wrong."""
        return bool(self.region.count or self.padding)


def packing(
    storage: StorageFormat, words: Words, original: F32, device_f16: DeviceF16, operand: str = "B"
) -> Packing:
    """Compare stored words with their originals by the format's rule; padding must be 0.

    device_f16: the device's f16 conversion (pack2x16float) of a range of rows of `original`; only
    f16 formats call it, a block at a time.
    """
    rows, cols = original.shape
    found = Region((rows, cols))
    for first, wrong in storage.wrong(words, original, device_f16):
        found.add(wrong, first)
    padding = int(np.count_nonzero(storage.padding(words, rows, cols)))
    if found.first is None:
        return Packing(found, padding=padding, operand=operand, why=storage.why)
    i, j = found.first
    stored = float(storage.decode(words, rows, cols)[i, j])
    return Packing(found, float(original[i, j]), stored, padding, operand, storage.why)
