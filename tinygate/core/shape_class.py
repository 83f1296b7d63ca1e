"""Name the shapes that one verdict holds for: an entry point x buckets of M, N and K.

A kernel that is right at one shape may be wrong at another, so a verdict holds where it was
measured: sizes of a bucket run through the same code, with the same constants, in about as many
workgroups. A smaller bucket is never implied by a larger one, nor the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinygate.core.shape import Shape

# Few rows are a kernel of their own, and a tile has some tens of them; then powers of four.
_M_ENDS = (1, 8, 32, 128, 512)


@dataclass(frozen=True, order=True)
class Bucket:
    """The sizes low, low + 1, …, high of one axis."""

    low: int
    high: int

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True, order=True, repr=False)
class ShapeClass:
    """What a verdict holds for.

    entry   the entry point, with the constants it is compiled with: others are another kernel
    """

    entry: str
    M: Bucket
    K: Bucket
    N: Bucket

    @property
    def sizes(self) -> str:
        """`M 33–128, K 65–128, N 65–128`: how a verdict's line says it."""
        return f"M {self.M}, K {self.K}, N {self.N}"

    def __str__(self) -> str:
        return f"{self.entry} · {self.sizes}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def axis(self, name: str) -> Bucket:
        """Give the bucket of "M", "K" or "N"."""
        return {"M": self.M, "K": self.K, "N": self.N}[name]


def class_of(entry: str, shape: Shape) -> ShapeClass:
    """Find the class of a shape that this entry point runs."""
    return ShapeClass(entry, bucket_of_rows(shape.M), bucket(shape.K), bucket(shape.N))


def bucket(size: int) -> Bucket:
    """Find the bucket of K or N: up to a power of two, from the one before it."""
    high = 1 << (size - 1).bit_length()
    return Bucket(high // 2 + 1, high)


def bucket_of_rows(M: int) -> Bucket:
    """Find the bucket of M: 1, 2–8, 9–32, 33–128, 129–512, then powers of four."""
    low = 0
    for high in _M_ENDS:
        if high >= M:
            return Bucket(low + 1, high)
        low = high
    while low * 4 < M:
        low *= 4
    return Bucket(low + 1, low * 4)
