"""Size the buffers of each storage format, and the dispatches of its packer (wgsl/README.md).

This is arithmetic on sizes and needs no numpy; numerics/formats.py reads and writes the words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Q4_BLOCK = 32  # weights that share a scale and a zero point


class StorageSize(Protocol):
    """The size of an operand [rows, cols] in one storage format."""

    def words(self, rows: int, cols: int) -> int:
        """Count the u32 words of the operand, scales and zero points included."""
        ...

    def groups(self, rows: int, cols: int) -> int:
        """Count the workgroups of its packer."""
        ...


@dataclass(frozen=True)
class ElementwiseSize:
    """The size in f32 or f16, in which each row begins on a word.

    columns_per_word   columns that share a word
    """

    columns_per_word: int

    def stride(self, cols: int) -> int:
        """Count the words of a row."""
        return -(-cols // self.columns_per_word)

    def words(self, rows: int, cols: int) -> int:
        """Count the words of the operand."""
        return rows * self.stride(cols)

    def groups(self, rows: int, cols: int) -> int:
        """Count the packer's workgroups: 64 words each."""
        return -(-self.words(rows, cols) // 64)


@dataclass(frozen=True)
class Int8Size:
    """The size in int8, four values along K to a word.

    scales   B has a scale per column, A one per row
    """

    scales: Literal["columns", "rows"]

    def words(self, rows: int, cols: int) -> int:
        """Count the words of the operand, scales included."""
        if self.scales == "rows":
            return rows * (-(-cols // 4) + 1)
        return (-(-rows // 4) + 1) * cols

    def groups(self, rows: int, cols: int) -> int:
        """Count the packer's workgroups: one per row of A, or 64 columns of B each."""
        return rows if self.scales == "rows" else -(-cols // 64)


@dataclass(frozen=True)
class Q4Size:
    """The size in 4-bit codes: blocks of 32 along K, each with a scale and a zero point."""

    def blocks(self, rows: int) -> int:
        """Count the blocks of a column."""
        return -(-rows // Q4_BLOCK)

    def words(self, rows: int, cols: int) -> int:
        """Count the words of the operand, scales and zero points included."""
        return 6 * self.blocks(rows) * cols

    def groups(self, rows: int, cols: int) -> int:
        """Count the packer's workgroups: 64 blocks each."""
        return -(-self.blocks(rows) * cols // 64)


# Of B[K,N], and of A[M,K].
B_SIZES: Mapping[str, StorageSize] = {
    "f32": ElementwiseSize(1),
    "f16-packed": ElementwiseSize(2),
    "int8-packed": Int8Size("columns"),
    "q4-block32": Q4Size(),
}
A_SIZES: Mapping[str, StorageSize] = {"f32": ElementwiseSize(1), "int8-packed": Int8Size("rows")}
