"""Where a matrix is wrong: the first element, how many, and a map of them, in plain characters."""

from __future__ import annotations

from collections.abc import Sequence

from tinygate.core.results import Failure
from tinygate.core.text import clean

# From none wrong to all wrong; every step is darker on light and on dark paper.
_SHADES = " .:-=+*#%@"
MAX_MAPS = 3
# Narrower than that a map shows nothing; the terminal wraps it.
_MIN_COLUMNS = 8


def summary(failure: Failure) -> str:
    """`first wrong C[3,7]: got 1.25, want 1; 128 of 8192 wrong, row 3`."""
    i, j = failure.first
    where = f", {clean(failure.where)}" if failure.where else ""
    return (
        f"first wrong {clean(failure.operand)}[{i},{j}]{_values(failure.got, failure.want)}; "
        f"{failure.count} of {failure.total} wrong{where}"
    )


def chart(failure: Failure, width: int | None = None) -> list[str]:
    """A map of the matrix, a character per cell, at most `width` columns wide with its labels: the
    first index of each row of cells, and of the first and the last column."""
    tall, wide = failure.cell_shape
    label = len(str(tall * (len(failure.cells) - 1)))
    cells, together = failure.cells, 1
    if width is not None:
        room = max(_MIN_COLUMNS, width - label - 3)
        together = -(-len(cells[0]) // room)
        cells = tuple(_merged(row, together) for row in cells)
    columns = len(cells[0])
    last = str(wide * together * (columns - 1))
    edge = f"{'':{label}} +{'-' * columns}+"
    lines = [
        f"map of {clean(failure.operand)}, {tall} x {wide * together} elements a character, "
        "' ' none to '@' all wrong",
        f"{'':{label}}  0{last:>{columns - 1}}" if columns > len(last) + 1 else "",
        edge,
    ]
    for row, shares in enumerate(cells):
        lines.append(f"{row * tall:{label}} |{''.join(map(_shade, shares))}|")
    return [line for line in (*lines, edge) if line]


def _merged(row: Sequence[float], together: int) -> tuple[float, ...]:
    """The row with that many cells joined into one."""
    groups = (row[i : i + together] for i in range(0, len(row), together))
    return tuple(sum(group) / len(group) for group in groups)


def _values(got: float | None, want: float | None) -> str:
    """With enough digits to tell them apart."""
    if got is None or want is None:
        return ""
    short = f"{got:.6g}", f"{want:.6g}"
    a, b = short if short[0] != short[1] else (f"{got:.9g}", f"{want:.9g}")
    return f": got {a}, want {b}"


def _shade(share: float) -> str:
    """One wrong element in a large cell still shows."""
    if share <= 0:
        return _SHADES[0]
    last = len(_SHADES) - 1
    return _SHADES[last if share >= 1 else max(1, min(last - 1, round(share * last)))]
