"""Where C is wrong: the first wrong element, how many, and a map of them, in plain characters."""

from __future__ import annotations

from tinygate.report.clean import clean
from tinygate.results import Failure

# From none wrong to all wrong; every step is darker on light and on dark paper.
_SHADES = " .:-=+*#%@"
MAX_MAPS = 3


def summary(failure: Failure) -> str:
    """`first wrong [3,7]: got 1.25, want 1; 128 of 8192 wrong, row 3`."""
    i, j = failure.first
    where = f", {clean(failure.where)}" if failure.where else ""
    return (
        f"first wrong [{i},{j}]: got {failure.got:.6g}, want {failure.want:.6g}; "
        f"{failure.count} of {failure.total} wrong{where}"
    )


def chart(failure: Failure) -> list[str]:
    """A map of C: a character per cell, rows labelled with the first index they hold. At most 64
    cells wide, so that it fits a terminal of 80 columns."""
    tall, wide = failure.cell_shape
    width = len(str(tall * (len(failure.cells) - 1)))
    columns = len(failure.cells[0])
    lines = [
        f"map of C, {tall} x {wide} elements a character, ' ' none to '@' all wrong",
        f"{'':{width}} +{'-' * columns}+",
    ]
    for row, cells in enumerate(failure.cells):
        lines.append(f"{row * tall:{width}} |{''.join(map(_shade, cells))}|")
    return [*lines, lines[1]]


def _shade(share: float) -> str:
    """One wrong element in a large cell still shows."""
    if share <= 0:
        return _SHADES[0]
    last = len(_SHADES) - 1
    return _SHADES[last if share >= 1 else max(1, min(last - 1, round(share * last)))]
