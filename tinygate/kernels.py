"""From a declared path to something an engine can compile: source, constants, dispatch, limits."""

from __future__ import annotations

from pathlib import Path

from tinygate.adapters import Limits
from tinygate.engines.base import Access, Kernel
from tinygate.errors import LimitError
from tinygate.formats import FORMATS
from tinygate.paths import FastPath
from tinygate.shapes import Shape
from tinygate.sources import read_source

# wgsl/README.md: a, b, c, dims; a packer has its status after them.
MATMUL_LAYOUT: tuple[Access, ...] = ("read", "read", "read_write", "uniform")
PACK_LAYOUT: tuple[Access, ...] = (*MATMUL_LAYOUT, "read_write")
PACK_WORDS_PER_GROUP = 64


def matmul_kernel(path: FastPath, shape: Shape) -> Kernel:
    """The path's kernel with the entry point and constants this shape needs."""
    entry = path.entry(shape)
    return Kernel(
        code=read_source(path.kernel_file()),
        entry=entry.name,
        label=path.kernel_file().name,
        layout=MATMUL_LAYOUT,
        constants=entry.overrides(shape),
    )


def pack_kernel(file: Path) -> Kernel:
    """A packer for B."""
    return Kernel(read_source(file), "main", file.name, PACK_LAYOUT)


def grid(groups: int, limits: Limits) -> tuple[int, int, int]:
    """A linear count of workgroups as x, y, z: a kernel numbers them wid.x + wid.y * groups.x.

    Raises:
        LimitError: where even two dimensions don't hold them.
    """
    most = limits.max_compute_workgroups_per_dimension
    x = min(groups, most)
    y = -(-groups // most)
    if y > most:
        raise LimitError(
            f"{groups} workgroups over the square of max-compute-workgroups-per-dimension {most}",
            "use a smaller --shape",
        )
    return x, y, 1


def check_fits(path: FastPath, shape: Shape, limits: Limits) -> None:
    """Raise LimitError, naming buffer, limit and values, where a buffer of the product is too big.

    B counts in the path's own format: the reference's f32 B goes in panels where it must.
    """
    words = {
        "A": shape.M * shape.K,
        "B": FORMATS[path.b].words(shape.K, shape.N),
        "C": shape.M * shape.N,
    }
    for name, size in words.items():
        for limit in ("max_storage_buffer_binding_size", "max_buffer_size"):
            value = getattr(limits, limit)
            if 4 * size > value:
                raise LimitError(
                    f"{name} of {shape} is {4 * size} bytes, over the adapter's "
                    f"{limit.replace('_', '-')} of {value}",
                    "use a smaller --shape, or another --adapter",
                )
