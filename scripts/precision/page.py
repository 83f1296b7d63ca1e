"""Write the tables of docs/precision.md, or check that they are those of the stored measurements.

    python -m scripts.precision [--check]

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; everything else is written by
hand and stays.
With --check nothing is written, and 1 is the exit code where the page is out of date. The numbers
come from docs/measurements/*.csv, the declarations from the built-in table, the faults from
tests/faults.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from .stored import StoredError, read_folder

ROOT = Path(__file__).resolve().parents[2]
# From a clone without an installation, too; the readers of fault headers lie with the tests.
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from .tables import NOT_REGISTERED, regions  # noqa: E402

PAGE = ROOT / "docs" / "precision.md"
MEASUREMENTS = ROOT / "docs" / "measurements"
COMMAND = ".venv/bin/python -m scripts.precision"
MOST_DIFF_LINES = 60
_REGION = re.compile(
    r"(<!-- table: (?P<name>[^\n>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL
)
# The regions of a path; one may stand in the page before its path is there.
_OF_A_PATH = ("numerics ", "measured ")


class PageError(Exception):
    """A page whose marks do not fit its tables."""


def fill(page: str, tables: Mapping[str, str]) -> str:
    """The page with every region's body replaced.

    Raises:
        PageError: naming a mark without an end, a region nothing fills, or a table without one.
    """
    found = _regions_of(page)
    if page.count("<!-- table: ") != len(found) or page.count("<!-- end -->") != len(found):
        raise PageError("a `<!-- table: NAME -->` without its `<!-- end -->`, or the reverse")
    for name in found:
        if name not in tables and not name.startswith(_OF_A_PATH):
            raise PageError(f"nothing fills the region {name!r}")
    if missing := [name for name in tables if name not in found]:
        raise PageError(
            f"no region for {', '.join(map(repr, missing))}: every path has its section"
        )

    def body(match: re.Match[str]) -> str:
        text = tables.get(match["name"], NOT_REGISTERED)
        return f"{match[1]}\n{text}\n\n{match[4]}"

    return _REGION.sub(body, page)


def _regions_of(page: str) -> list[str]:
    return [match["name"] for match in _REGION.finditer(page)]


def difference(old: str, new: str) -> str:
    """A unified diff, cut where it is long."""
    lines = list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), "docs/precision.md", "generated", lineterm="", n=1
        )
    )
    more = len(lines) - MOST_DIFF_LINES
    return "\n".join(lines[:MOST_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def main(arguments: list[str] | None = None, page: Path = PAGE, folder: Path = MEASUREMENTS) -> int:
    """Write or check; 0 where the page is in date, 1 where it is not or can't be made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    options = parser.parse_args(arguments)
    old = page.read_text(encoding="utf-8")
    try:
        new = fill(old, regions(read_folder(folder)))
    except (StoredError, PageError) as error:
        print(f"precision: {error}", file=sys.stderr)
        return 1
    if options.check and old != new:
        print(difference(old, new), file=sys.stderr)
        print(
            f"precision: docs/precision.md is out of date\nhint: {COMMAND} writes it",
            file=sys.stderr,
        )
        return 1
    if not options.check:
        page.write_text(new, encoding="utf-8")
    return 0
