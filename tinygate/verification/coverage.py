"""Choose the shapes that a class is measured at, from the kernel's own dispatch.

Whoever asks for one shape is told about its whole class, so the class is measured where a kernel
that is right at that shape is usually wrong: in a first, a middle, a last and a ragged workgroup of
each axis, at other residues, at sizes that are not equal. Each axis in turn is wide, and the others
are thin, so that all of it costs less than the shape asked for. `verify` and GpuOps ask the same
function, so they can never disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.core.shape_class import Bucket
from tinygate.paths.source import source_hash

# Exact, and no index fault that touches an element escapes it.
FAMILY = "integer"
# Runs at the smallest shape of a class: what happens by chance happens in one of them.
RUNS = 10
# Above this a size costs more than it shows, and a wide axis stays at the lower end of its bucket.
_LARGE = 4096


@dataclass(frozen=True)
class Companion:
    """A shape of the class beside the one asked for, and how it is measured.

    seed   None for the run's own; the kernel's where a kernel must not know it
    runs   how often at least
    """

    shape: Shape
    family: str = FAMILY
    seed: int | None = None
    runs: int = 2


def companions(path: FastPath, shape: Shape) -> tuple[Companion, ...]:
    """List what a shape's class is measured at beside the shape itself; the same for every shape
    of the class."""
    shapes = tuple(dict.fromkeys(_shapes(path, shape)))
    if not shapes:
        return ()
    smallest = min(shapes, key=lambda s: (s.M * s.K + s.K * s.N + s.M * s.N, s))
    found = [Companion(s, runs=RUNS if s == smallest else 2) for s in shapes]
    return (*found, Companion(smallest, "uniform", seed=_seed(path)))


def _seed(path: FastPath) -> int:
    """Make a seed that the kernel cannot know, since it follows from the kernel's own text."""
    return int(source_hash(path)[:15], 16)


def _shapes(path: FastPath, shape: Shape) -> Iterator[Shape]:
    """One shape with each axis wide and the others thin, as far as the class has them.

    Over the three, every axis has three sizes, with the residues 1, 2 and 3 modulo 4 where any are
    allowed; what is a multiple of 4 is what people ask for by themselves. No two axes are equal.
    """
    shape_class = path.shape_class(shape)
    for wide, thin, other in (("M", "K", "N"), ("N", "M", "K"), ("K", "N", "M")):
        found = shape
        for axis, size in (
            (wide, _wide(shape_class.axis(wide), _per(path, shape, wide), path.step(wide))),
            (thin, _thin(shape_class.axis(thin), 0, path.step(thin))),
            (other, _thin(shape_class.axis(other), 1, path.step(other))),
        ):
            # An axis that a constant of the kernel is made of stays as it is.
            moved = replace(found, **{axis: size}, name="")
            if path.shape_class(moved) == shape_class:
                found = moved
        if path.shape_mismatch(found) is None:
            yield found


def _per(path: FastPath, shape: Shape, axis: str) -> int:
    """How much of an axis one workgroup takes; all of K, where the dispatch does not divide it."""
    entry = path.entry(shape)
    if entry.axes:
        return next((step.per for step in entry.axes if step and step.axis == axis), 1 << 32)
    return {"M": entry.rows, "N": entry.cols}.get(axis, 1 << 32)


def _thin(bucket: Bucket, more: int, step: int) -> int:
    """Choose the smallest size of the bucket, or the one after it."""
    first = -(-bucket.low // step) * step
    return min(first + more * step, bucket.high // step * step)


def _wide(bucket: Bucket, per: int, step: int) -> int:
    """Choose a size of three workgroups with a ragged last one, as far as the bucket has it."""
    size = min(2 * per + max(1, per // 2) + 3, bucket.high)
    if size < bucket.low or bucket.high > _LARGE:
        size = min(bucket.low + 6, bucket.high)
    while step == 1 and size > bucket.low and size % 4 != 3:
        size -= 1
    return max(size, bucket.low) // step * step
