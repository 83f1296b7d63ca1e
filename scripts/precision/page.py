"""Write the generated parts of docs/precision.md and README.md, or check them.

    python -m scripts.precision [--check]

A table is between `<!-- table: NAME -->` and `<!-- end -->`; everything else is written by hand and
stays. A path without a section gets a skeleton of one, to complete by hand. With --check nothing is
written, and the exit code is 1 if the page is out of date. The numbers come from
docs/measurements/*.csv, the declarations from the built-in table, the faults from tests/faults.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from .stored import StoredError, read_folder

ROOT = Path(__file__).resolve().parents[2]
# So that this runs in a clone without an installation; the readers of fault headers are in tests.
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tinygate.core.fast_path import FastPath  # noqa: E402
from tinygate.paths.builtin import BUILTIN  # noqa: E402

from .tables import NOT_REGISTERED, default_paths, regions  # noqa: E402

PAGE = ROOT / "docs" / "precision.md"
README = ROOT / "README.md"
MEASUREMENTS = ROOT / "docs" / "measurements"
COMMAND = ".venv/bin/python -m scripts.precision"
MAX_DIFF_LINES = 60
_REGION = re.compile(
    r"(<!-- table: (?P<name>[^\n>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL
)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# The regions of a path; the page may have one before its path is registered.
_OF_A_PATH = ("numerics ", "measured ")
# Start, end, title and regions of a `## ` section.
Section = tuple[int, int, str, list[str]]


class PageError(Exception):
    """The marks of the page do not match the tables."""


def fill(page: str, tables: Mapping[str, str]) -> str:
    """Replace the body of every region of the page.

    Raises:
        PageError: a mark has no end, a region has no table, or a table no region.
    """
    found = _regions_of(page)
    if page.count("<!-- table: ") != len(found) or page.count("<!-- end -->") != len(found):
        raise PageError("a `<!-- table: NAME -->` without its `<!-- end -->`, or the reverse")
    for name in found:
        if name not in tables and not name.startswith(_OF_A_PATH):
            raise PageError(f"no table for the region {name!r}")
    if missing := [name for name in tables if name not in found]:
        raise PageError(f"no region for {', '.join(map(repr, missing))}")

    def body(match: re.Match[str]) -> str:
        text = tables.get(match["name"], NOT_REGISTERED)
        return f"{match[1]}\n{text}\n\n{match[4]}"

    return _REGION.sub(body, page)


def _regions_of(page: str) -> list[str]:
    return [match["name"] for match in _REGION.finditer(page)]


def _missing(page: str, path: FastPath) -> list[str]:
    """List the regions of a path that the page does not have."""
    found = _regions_of(page)
    return [name for kind in _OF_A_PATH if (name := kind + path.name) not in found]


def without_section(page: str, paths: Sequence[FastPath]) -> list[str]:
    """Name the paths that have no section on the page, or a section without one of its regions."""
    return [path.name for path in paths if _missing(page, path)]


def add_sections(page: str, paths: Sequence[FastPath]) -> str:
    """Add the missing sections and regions of the paths to the page.

    A new section follows that of the path before it in `paths`; the first comes before the others.
    A section without one of its regions gets it at its end.
    """
    for at, path in enumerate(paths):
        if not (missing := _missing(page, path)):
            continue
        marks = "".join(f"<!-- table: {name} -->\n<!-- end -->\n\n" for name in missing)
        sections = list(_sections(page))
        ends = [end for _, end, title, names in sections if _tells_of(path, title, names)]
        if ends:
            offset, text = ends[0], marks
        else:
            offset = _place(page, sections, paths[:at])
            text = f"## {path.name}\n\nSafe to try because: {path.why}.\n\n{marks}"
        before, after = page[:offset].rstrip("\n"), page[offset:]
        page = f"{before}\n\n{text}{after}" if after else f"{before}\n\n{text.rstrip()}\n"
    return page


def _sections(page: str) -> Iterator[Section]:
    """Find every `## ` section of the page."""
    headings = list(_HEADING.finditer(page))
    edges = [match.start() for match in headings] + [len(page)]
    for match, (start, end) in zip(headings, pairwise(edges), strict=True):
        yield start, end, match[1], _regions_of(page[start:end])


def _tells_of(path: FastPath, title: str, names: list[str]) -> bool:
    return title == path.name or any(kind + path.name in names for kind in _OF_A_PATH)


def _place(page: str, sections: list[Section], before: Sequence[FastPath]) -> int:
    """Find the offset for a new section: after the section of the last path in `before`."""
    for path in reversed(before):
        for _, end, title, names in sections:
            if _tells_of(path, title, names):
                return end
    of_paths = (s for s, _, _, names in sections if any(n.startswith(_OF_A_PATH) for n in names))
    return next(of_paths, len(page))


def difference(old: str, new: str, name: str = "docs/precision.md") -> str:
    """Return a unified diff of at most MAX_DIFF_LINES lines."""
    lines = list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), name, "generated", lineterm="", n=1
        )
    )
    more = len(lines) - MAX_DIFF_LINES
    return "\n".join(lines[:MAX_DIFF_LINES] + ([f"… and {more} more lines"] if more > 0 else []))


def main(
    arguments: list[str] | None = None,
    page: Path = PAGE,
    folder: Path = MEASUREMENTS,
    paths: Sequence[FastPath] = BUILTIN,
    readme: Path = README,
) -> int:
    """Write or check both pages; return 1 if one is out of date or cannot be made, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if out of date")
    options = parser.parse_args(arguments)
    old = page.read_text(encoding="utf-8")
    missing = without_section(old, paths)
    if options.check and missing:
        print(
            f"precision: docs/precision.md has no section for {', '.join(missing)}\n"
            f"hint: {COMMAND} writes it; then describe the path in it",
            file=sys.stderr,
        )
        return 1
    welcome = readme.read_text(encoding="utf-8")
    try:
        new = fill(add_sections(old, paths), regions(read_folder(folder), paths))
        filled = fill(welcome, {"default paths": default_paths(paths)})
    except (StoredError, PageError) as error:
        print(f"precision: {error}", file=sys.stderr)
        return 1
    stale = [
        (name, before, after)
        for name, before, after in (
            ("docs/precision.md", old, new),
            ("README.md", welcome, filled),
        )
        if before != after
    ]
    if options.check and stale:
        for name, before, after in stale:
            print(difference(before, after, name), file=sys.stderr)
            print(f"precision: {name} is out of date\nhint: {COMMAND} writes it", file=sys.stderr)
        return 1
    if not options.check:
        page.write_text(new, encoding="utf-8")
        readme.write_text(filled, encoding="utf-8")
        for name in missing:
            print(f"precision: new section {name}: describe the path in it", file=sys.stderr)
    return 0
