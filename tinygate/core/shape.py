"""Describe shapes: parse "MxKxN", and list the named suites."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tinygate.core.errors import ShapeError, UnknownNameError

_SHAPE_HINT = "tinygate verify --shape 64x128x128"
_U32_MAX = 2**32 - 1


@dataclass(frozen=True, order=True)
class Shape:
    """The sizes of a product: A[M,K] activations x B[K,N] weights = C[M,N], all row-major."""

    M: int
    K: int
    N: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.M}x{self.K}x{self.N}"

    @property
    def label(self) -> str:
        """`MxKxN` or `MxKxN:name`, which `parse` reads back."""
        return f"{self}:{self.name}" if self.name else str(self)

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Read `MxKxN` or `MxKxN:name`.

        Raises:
            ShapeError: a part is missing, not a number, zero or over 2^32-1.
        """
        dims, colon, name = text.strip().partition(":")
        if colon and not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", name):
            raise ShapeError(
                f"{_shown(text)} is not a shape: a name is 1 to 40 letters, digits, '.', '_', '-'",
                f"{_SHAPE_HINT}:mlp",
            )
        parts = dims.split("x")
        if len(parts) != 3:
            raise ShapeError(
                f"{_shown(text)} is not a shape: expected MxKxN, three positive integers",
                _SHAPE_HINT,
            )
        values = [_dimension(text, axis, part) for axis, part in zip("MKN", parts, strict=True)]
        return cls(values[0], values[1], values[2], name)


def _dimension(text: str, axis: str, part: str) -> int:
    """Parse one of M, K and N; an error names it."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", part):
        raise ShapeError(
            f"{_shown(text)} is not a shape: {axis} is {_cut(part)!r}, expected a positive integer"
            if part
            else f"{_shown(text)} is not a shape: {axis} is missing, expected MxKxN",
            _SHAPE_HINT,
        )
    value = int(part)
    if not 1 <= value <= _U32_MAX:
        raise ShapeError(
            f"{_shown(text)} is not a shape: {axis} is {value}, expected 1 to {_U32_MAX}",
            _SHAPE_HINT,
        )
    return value


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shown(text: str) -> str:
    """Quote a text for an error message, on one line."""
    short = _cut(text)
    return short if short.isprintable() and short.strip() else repr(short)


DEFAULT_SUITE = "smoke"
SUITES: dict[str, tuple[Shape, ...]] = {
    name: tuple(Shape.parse(shape) for shape in shapes.split())
    for name, shapes in {
        # One full tile, partial tiles on every side, and the matrix-vector entry point.
        "smoke": "64x128x128 17x33x65 1x77x131",
        # Every residue modulo 8 of each axis, every M of a matrix-vector entry and the one after,
        # a single column, a single k, a square, a tall and a wide product; K is N in the square
        # alone. Small first, since most faults show there.
        "ragged": "1x1x1 1x64x1 2x67x10 4x38x7 5x19x41 6x39x14 7x31x6 8x20x35 9x21x3 33x37x1 "
        "19x1x36 40x40x40 300x12x5 3x11x700 3x257x129 17x33x65 65x130x63 535x96x1024",
        "inference": "1x256x256 1x256x1024 8x256x1024 64x256x256",
        "training": "256x1024x256 256x1024x1024",
        "head": "1x256x50257 4x50257x256",
    }.items()
}
SUITES["production"] = (
    *SUITES["inference"],
    *SUITES["training"],
    *SUITES["head"],
    # A long sum of few terms' width; more columns than 16 bits number, in an operand of more
    # elements than a 24-bit significand numbers.
    Shape(8, 4096, 96),
    Shape(1, 257, 65_541),
)


def suite(name: str) -> tuple[Shape, ...]:
    """Return the shapes of a named suite.

    Raises:
        UnknownNameError: no suite has this name; the message lists them.
    """
    if name not in SUITES:
        raise UnknownNameError(
            f"unknown suite {name!r}; the suites are {', '.join(SUITES)}",
            "tinygate verify --suite smoke --suite ragged",
        )
    return SUITES[name]


def parse_all(texts: Iterable[str]) -> tuple[Shape, ...]:
    """Parse each text with Shape.parse.

    Raises:
        ShapeError: as Shape.parse.
    """
    return tuple(map(Shape.parse, texts))


def suites(names: Iterable[str]) -> tuple[Shape, ...]:
    """Concatenate the shapes of several suites.

    Raises:
        UnknownNameError: as suite.
    """
    return tuple(shape for name in names for shape in suite(name))
