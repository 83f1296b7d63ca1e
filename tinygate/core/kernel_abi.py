"""Describe how to run a kernel: its entry points and dispatch, its bindings, its uniform.

The defaults are the interface of the built-in kernels (wgsl/README.md). A kernel that was written
for another program declares its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tinygate.core.errors import CannotVerifyError
from tinygate.core.shape import Shape

Axis = Literal["M", "K", "N"]
StorageAccess = Literal["read", "read_write"]

AXES: tuple[Axis, ...] = ("M", "K", "N")
# A symbol stands for a number that is known only once the shape or the adapter is.
SUBGROUP_SIZE = "subgroup_size"
SYMBOLS = (*AXES, SUBGROUP_SIZE)

MAX_BINDINGS = 16
MAX_FIELDS = 64
MAX_CONSTANTS = 64


def size_of(shape: Shape, axis: str) -> int:
    """Return M, K or N of a shape, by name."""
    return {"M": shape.M, "K": shape.K, "N": shape.N}[axis]


@dataclass(frozen=True)
class Steps:
    """One dimension of a dispatch: ceil(axis / per) workgroups."""

    axis: Axis
    per: int

    def groups(self, shape: Shape) -> int:
        """Count the workgroups."""
        return -(-size_of(shape, self.axis) // self.per)


@dataclass(frozen=True)
class Entry:
    """One WGSL entry point, its dispatch, and the largest M that it runs.

    rows, cols   the tile of C that one workgroup writes; the dispatch is then linear
    max_m        the largest M it runs; None for any
    axes         instead of a tile: workgroups along x, y and z, at most one of each
    constants    pipeline overrides; "M", "K" and "N" stand for the shape's sizes, and
                 "subgroup_size" for the size that was measured on the adapter
    """

    name: str
    rows: int = 1
    cols: int = 1
    max_m: int | None = None
    constants: tuple[tuple[str, float | str], ...] = ()
    axes: tuple[Steps | None, ...] = ()

    def tiles(self, shape: Shape) -> int:
        """Count the workgroups that cover C."""
        return -(-shape.M // self.rows) * -(-shape.N // self.cols)

    def overrides(self, shape: Shape, subgroup_size: int | None = None) -> dict[str, float]:
        """Resolve the pipeline constants for a shape and a subgroup size.

        Raises:
            CannotVerifyError: a constant needs the subgroup size, which is unknown.
        """
        return {
            name: self._number(name, value, shape, subgroup_size) for name, value in self.constants
        }

    def named_constants(self, shape: Shape) -> str:
        """Format each constant as ` NAME=value`, as part of a shape class."""
        return "".join(
            f" {name}={value}"
            if value == SUBGROUP_SIZE
            else f" {name}={self._number(name, value, shape):g}"
            for name, value in self.constants
        )

    @staticmethod
    def _number(
        name: str, value: float | str, shape: Shape, subgroup_size: int | None = None
    ) -> float:
        if not isinstance(value, str):
            return float(value)
        if value != SUBGROUP_SIZE:
            return float(size_of(shape, value))
        if subgroup_size is None:
            raise CannotVerifyError(
                f"the subgroup size of this adapter is not known, and constant {name} needs it",
                "give the constant a number, or require subgroups",
            )
        return float(subgroup_size)


@dataclass(frozen=True)
class Layout:
    """The slots of bind group 0.

    unused   slots that the kernel declares and does not need; each gets a small scratch buffer
    access   how the kernel declares A and B; it must leave them unchanged either way
    """

    a: int = 0
    b: int = 1
    c: int = 2
    dims: int = 3
    unused: tuple[int, ...] = ()
    access: StorageAccess = "read"

    @property
    def slots(self) -> tuple[int, ...]:
        """Every slot, in the order a, b, c, dims, unused."""
        return (self.a, self.b, self.c, self.dims, *self.unused)


Field = str | int | float
DEFAULT_DIMS: tuple[Field, ...] = ("M", "K", "N", 0)
BUILT_IN_LAYOUT = Layout()
