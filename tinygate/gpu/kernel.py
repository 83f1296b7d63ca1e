"""From a declared path to something an engine can compile: source, constants, dispatch, limits."""

from __future__ import annotations

import math
import re
from pathlib import Path

from tinygate.core.adapter import AdapterInfo, AdapterLimits
from tinygate.core.errors import CannotVerifyError, LimitError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import SUBGROUP_SIZE, Entry, Layout
from tinygate.core.shape import Shape
from tinygate.core.storage import A_SIZES, B_SIZES
from tinygate.gpu.engines.base import Access, Kernel
from tinygate.paths.include import Source
from tinygate.paths.source import load_source

# wgsl/README.md: a, b, c, dims; a packer has its status after them.
MATMUL_LAYOUT: tuple[Access, ...] = ("read", "read", "read_write", "uniform")
PACK_LAYOUT: tuple[Access, ...] = (*MATMUL_LAYOUT, "read_write")

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# `@group(0) @binding(2) var<storage, read_write>`, in any order of the attributes.
_DECLARATION = re.compile(
    r"((?:@\w+\s*(?:\([^()]{0,99}\))?\s*){1,9})var\s*<\s*(storage|uniform)\s*(?:,\s*(\w+)\s*)?,?\s*>"
)
_BINDING = re.compile(r"@binding\s*\(\s*(\d{1,4})[uif]?\s*,?\s*\)")
_GROUP_0 = re.compile(r"@group\s*\(\s*0[ui]?\s*,?\s*\)")


def matmul_kernel(path: FastPath, shape: Shape, subgroup_size: int | None = None) -> Kernel:
    """Build the path's kernel with the entry point and constants this shape needs.

    Raises:
        CannotVerifyError: where a constant is the subgroup size and that is None.
    """
    entry = path.entry(shape)
    source = load_source(path.kernel_file())
    if path.matrix_types is not None:
        source = _for_matrices(source, path, subgroup_size)
    return Kernel(
        source=source,
        entry=entry.name,
        layout=group_layout(path.layout, source.text),
        constants=entry.overrides(shape, subgroup_size),
    )


def _for_matrices(source: Source, path: FastPath, subgroup_size: int | None) -> Source:
    """Fill in the path's configuration of subgroup matrices and the adapter's lanes."""
    if path.matrix_types is None or path.matrix_sizes is None or subgroup_size is None:
        raise CannotVerifyError(
            "the adapter's subgroup matrices are not known, and this kernel is compiled for them",
            "tinygate probe shows what the adapter has",
        )
    sizes = (*path.matrix_sizes, subgroup_size)
    names = ("MATRIX_M", "MATRIX_N", "MATRIX_K", "SUBGROUP")
    lines = {f"const {name} = ": f"{size}u;" for name, size in zip(names, sizes, strict=True)}
    return source.with_lines({"alias Total = ": f"{path.matrix_types[1]};", **lines})


def group_layout(layout: Layout, code: str) -> tuple[Access | None, ...]:
    """Group 0 slot by slot. An unused slot is what the kernel's text declares it to be, because the
    compiler insists on it wherever the kernel names that slot."""
    slots: list[Access | None] = [None] * (max(layout.slots) + 1)
    slots[layout.a] = slots[layout.b] = layout.access
    slots[layout.c] = "read_write"
    slots[layout.dims] = "uniform"
    declared = declared_access(code) if layout.unused else {}
    for slot in layout.unused:
        slots[slot] = declared.get(slot, "read")
    return tuple(slots)


def declared_access(code: str) -> dict[int, Access]:
    """How a kernel's text declares the slots of group 0."""
    text = _COMMENT.sub(" ", code)
    found: dict[int, Access] = {}
    for attributes, space, access in _DECLARATION.findall(text):
        slot = _BINDING.search(attributes)
        if slot is not None and _GROUP_0.search(attributes):
            uniform: Access = "uniform"
            storage: Access = "read_write" if access == "read_write" else "read"
            found[int(slot[1])] = uniform if space == "uniform" else storage
    return found


def pack_kernel(file: Path) -> Kernel:
    """Build a packer for B or A."""
    return Kernel(load_source(file), "main", PACK_LAYOUT)


def dispatch_size(
    entry: Entry, shape: Shape, limits: AdapterLimits, *, square: bool = False
) -> tuple[int, int, int]:
    """Workgroups in x, y, z for a product.

    Raises:
        LimitError: where a dimension has more than the adapter takes.
    """
    if not entry.axes:
        return grid(entry.tiles(shape), limits, square=square)
    max_ = limits.max_compute_workgroups_per_dimension
    sizes = [1, 1, 1]
    for i, step in enumerate(entry.axes):
        sizes[i] = step.groups(shape) if step else 1
        if step and sizes[i] > max_:
            raise LimitError(
                f"dispatch {'xyz'[i]} of {shape} is {sizes[i]} workgroups (ceil({step.axis} / "
                f"{step.per})), over the adapter's max-compute-workgroups-per-dimension of {max_}",
                "use a smaller --shape, or a kernel that does more per workgroup",
            )
    return sizes[0], sizes[1], sizes[2]


def grid(groups: int, limits: AdapterLimits, *, square: bool = False) -> tuple[int, int, int]:
    """Spread a count of workgroups over x and y; a kernel numbers them wid.x + wid.y * groups.x.

    square: about as many in x as in y. The gate's later runs ask for it, since a kernel that knows
    only wid.x is right until a product has more groups than fit into x.

    Raises:
        LimitError: where even two dimensions don't hold them.
    """
    max_ = limits.max_compute_workgroups_per_dimension
    x = min(groups, math.isqrt(groups - 1) + 1 if square else max_)
    y = -(-groups // x)
    if y > max_:
        raise LimitError(
            f"{groups} workgroups over the square of max-compute-workgroups-per-dimension {max_}",
            "use a smaller --shape",
        )
    return x, y, 1


def check_fits(path: FastPath, shape: Shape, limits: AdapterLimits) -> None:
    """Raise LimitError, naming limit and values, where a buffer of the product or its dispatch is
    too big.

    B counts in the path's own format: the reference's f32 B goes in panels where it must.
    """
    words = {
        "A": max(shape.M * shape.K, A_SIZES[path.a].words(shape.M, shape.K)),
        "B": B_SIZES[path.b].words(shape.K, shape.N),
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
    if not path.call:
        dispatch_size(path.entry(shape), shape, limits)


def check_lanes(path: FastPath, measured: int | None, info: AdapterInfo) -> None:
    """Raise CannotVerifyError where the path works with subgroups and theirs have another number of
    lanes than the adapter reports: one of the two is wrong, and so is whatever relies on it.

    measured: the lanes that were counted, None where nobody has.
    """
    constants = (value for entry in path.entries for _, value in entry.constants)
    if measured is None or ("subgroups" not in path.requires and SUBGROUP_SIZE not in constants):
        return
    low, high = info.subgroup_min, info.subgroup_max
    if not (low or 0) <= measured <= (high or measured):
        raise CannotVerifyError(
            f"subgroups have {measured} lanes here, and the adapter reports {low or '?'} to "
            f"{high or '?'}",
            "the driver is wrong about its subgroups: use another, or a path without them",
        )
