"""F, R and S -> numbers: what is non-finite, how far off, and where. Pure, and in blocks.

F is the candidate's C, R the reference's, S the float64 product of the operands as the path holds
them. Nothing here decides; gate.py does. A comparison with NaN never decides anything: non-finite
is found by bit pattern first, and what is non-finite is left out of every metric after that.
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


# A region's map of C has at most this many cells on a side.
MAP_ROWS, MAP_COLS = 16, 64


@dataclass
class Region:
    """Which elements of [M, N] are bad: how many, the first, how many in each row, in each column
    and in each cell of a coarse map. `layers` are the matrices with any that were merged."""

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
        """Count a block's bad elements into the cells they lie in."""
        tall, wide = self.cell_shape
        row_edges = np.unique(np.r_[0, np.arange(-row % tall or tall, bad.shape[0], tall)])
        col_edges = np.unique(np.r_[0, np.arange(-col % wide or wide, bad.shape[1], wide)])
        sums = np.add.reduceat(bad, row_edges, axis=0, dtype=np.int64)
        sums = np.add.reduceat(sums, col_edges, axis=1)
        self.cells[np.ix_((row + row_edges) // tall, (col + col_edges) // wide)] += sums

    def merge(self, other: Region) -> None:
        """Add another region of the same shape."""
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
        """`row 3`, `rows 64-534, columns 64-1023`, `all but rows 0-63, columns 0-63`; empty where
        the bad ones are all over."""
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
    """`row 3`, `rows 0-15, 32-47`, `rows 1, 5, 9 and 12 more`: runs of indices, at most three."""
    breaks = np.flatnonzero(np.diff(indices) > 1)
    starts = indices[np.concatenate([[0], breaks + 1])]
    ends = indices[np.concatenate([breaks, [-1]])]
    runs = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return f"{name}{'s' if indices.size > 1 else ''} {', '.join(runs[:3])}{more}"


def nonfinite(bits: Words) -> Mask:
    """True where an f32 bit pattern is NaN or infinite."""
    found: Mask = (bits & _EXPONENT) == _EXPONENT
    return found


def region(bits: Words, marker: int | None = None) -> Region:
    """The non-finite elements of C[M, N], or those that still hold the marker."""
    found = Region((bits.shape[0], bits.shape[1]))
    step = max(1, _FLAT // bits.shape[1])
    for row in range(0, bits.shape[0], step):
        part = bits[row : row + step]
        found.add(nonfinite(part) if marker is None else part == np.uint32(marker), row)
    return found


def outside(arrays: Sequence[F32], largest: float) -> Region:
    """Which elements are over a format's largest value, in the first array that has any."""
    for array in arrays:
        found = Region((array.shape[0], array.shape[1]))
        step = max(1, _FLAT // array.shape[1])
        for row in range(0, array.shape[0], step):
            found.add(np.abs(array[row : row + step]) > largest, row)
        if found.count:
            return found
    return Region((1, 1))


def differing(bits: Words, other: Words) -> Region:
    """Where two runs' bits differ."""
    found = Region((bits.shape[0], bits.shape[1]))
    step = max(1, _FLAT // bits.shape[1])
    for row in range(0, bits.shape[0], step):
        found.add(bits[row : row + step] != other[row : row + step], row)
    return found


def metrics(outputs: Sequence[F32], references: Sequence[F32]) -> Metrics:
    """The seed's numbers over pooled products, in float64. Non-finite outputs are left out of the
    errors (they have failed already); the references are finite."""
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
    """Where |F-R| >= limit (> limit where strict); of pooled products, where in any of them."""
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
    """The two sides in float64, a flat block at a time."""
    for a, b in zip(left, right, strict=True):
        x, y = a.reshape(-1), b.reshape(-1)
        for start in range(0, x.size, _FLAT):
            part = slice(start, start + _FLAT)
            yield x[part].astype(np.float64), y[part].astype(np.float64)


@dataclass(frozen=True)
class Deviation:
    """The worst |C - S| against what the limit allows, as a share of it, and where it is over.

    worst      1.0 is exactly at the limit
    at         the worst element; got and want there
    """

    worst: float
    at: tuple[int, int]
    got: float
    want: float
    over: Region


def worse(a: Deviation | None, b: Deviation) -> Deviation:
    """The worse of two, with every place where either is over."""
    if a is None:
        return b
    b.over.merge(a.over)
    return b if b.worst > a.worst else replace(a, over=b.over)


def deviation(C: F32, A: Values, B: Values, limit: Tolerance) -> Deviation:
    """C against the float64 product of A and B. Non-finite elements of C are left out."""
    M, N = C.shape
    worst, at, got, want = 0.0, (0, 0), 0.0, 0.0
    found = Region((M, N))
    for block in blocks(M, N):
        rows, cols = block
        have = C[block].astype(np.float64)
        should = product(A, B, block)
        allowed = limit.value * magnitude(A, B, block, limit.norm) + limit.tiny
        allowed += limit.relative * np.abs(should)
        share = np.where(np.isfinite(have), np.abs(have - should), 0.0) / allowed
        found.add(share > 1.0, rows.start, cols.start)
        i = int(share.argmax())
        if share.flat[i] > worst:
            worst = float(share.flat[i])
            row, col = divmod(i, share.shape[1])
            at = (rows.start + row, cols.start + col)
            got, want = float(have.flat[i]), float(should.flat[i])
    return Deviation(worst, at, got, want, found)


def unequal_to_product(C: F32, A: Values, B: Values) -> Region:
    """Where C is not exactly A·B: of whole numbers whose sums are exact, or of operands one of
    which is one-hot."""
    found = Region((C.shape[0], C.shape[1]))
    for block in blocks(*C.shape):
        found.add(
            C[block].astype(np.float64) != product(A, B, block), block[0].start, block[1].start
        )
    return found


@dataclass(frozen=True)
class Packing:
    """What is wrong with a stored operand: an element's index, its original and what was stored.

    padding   words of padding that are not 0
    operand   which operand
    why       what its format asks
    """

    region: Region
    original: float = 0.0
    stored: float = 0.0
    padding: int = 0
    operand: str = "B"
    why: str = ""

    @property
    def wrong(self) -> bool:
        """Whether anything is."""
        return bool(self.region.count or self.padding)


def packing(
    storage: StorageFormat, words: Words, original: F32, device_f16: DeviceF16, operand: str = "B"
) -> Packing:
    """Check stored words against their originals, as the format asks; bits of no element must be 0.

    own: rows of `original` -> what the adapter's own conversion makes of them; f16 asks for it, a
    block at a time.
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
