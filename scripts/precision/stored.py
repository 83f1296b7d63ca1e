"""Read the stored measurements of `tinygate verify`: one CSV file for each run.

Lines that begin with `# ` say what was run on what, as `key: value`; a key that is an engine's
begins with its name. Then come COLUMNS and a row per case. A row without a shape is the verdict on
the path whose cases follow: its state is in `status`, its reason in `reason`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

KIND = "verify"
COLUMNS = (
    "path",
    "engine",
    "shape",
    "family",
    "status",
    "max_abs",
    "mean_rel",
    "nmse",
    "predicted",
    "used",
    "check",
    "failed",
    "reason",
)
_STATUSES = ("PASS", "FAIL", "ERROR", "SKIP")
_PARENTHESES = re.compile(r" \([^)]*\)")
# The case whose numbers the tables show for every path.
CANONICAL = ("64x128x128", "uniform")


class StoredError(Exception):
    """A stored file or report cannot be read; the message names it."""


@dataclass(frozen=True, order=True)
class Platform:
    """The adapter, driver and engine that a verdict was measured on."""

    adapter: str
    driver: str
    engine: str

    def __str__(self) -> str:
        # A compiler's version in parentheses makes rows too wide, and some drivers begin with the
        # adapter's own name; the stored file has both.
        adapter = _PARENTHESES.sub("", self.adapter)
        maker, _, rest = _PARENTHESES.sub("", self.driver).partition(": ")
        driver = rest if rest and maker in adapter else _PARENTHESES.sub("", self.driver)
        return ", ".join(part for part in (adapter, driver, self.engine) if part)


@dataclass(frozen=True)
class Case:
    """One case of one path.

    max_abs, mean_rel, nmse: measured against the reference. predicted: the mean_rel that the path's
    declaration predicts. used: the largest fraction of a limit that is used, and `check` the check
    whose limit that is. failed: the checks that FAIL. None and "" are "not measured".
    """

    shape: str
    family: str
    status: str
    max_abs: float | None = None
    mean_rel: float | None = None
    nmse: float | None = None
    predicted: float | None = None
    used: float | None = None
    check: str = ""
    failed: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Stored:
    """One path of one stored run."""

    file: str
    day: str
    platform: Platform
    path: str
    state: str
    reason: str
    cases: tuple[Case, ...]


def read_folder(folder: Path) -> list[Stored]:
    """Read every path of every stored run, by file name; other kinds of tables are ignored.

    Raises:
        StoredError: a file cannot be read; the message names it and says what is wrong.
    """
    found: list[Stored] = []
    for file in sorted(folder.glob("*.csv")):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise StoredError(f"{file.name}: not UTF-8: {error}") from error
        found += parse(file.name, text)
    return found


def parse(name: str, text: str) -> list[Stored]:
    """Parse the paths of one stored run; a file of another kind has none.

    Raises:
        StoredError: the identity or a column is missing, or a cell has a wrong value.
    """
    identity, table = _split(text)
    if "kind" not in identity:
        raise StoredError(f"{name}: no line `# kind: …` at the top")
    if identity["kind"] != KIND:
        return []
    try:
        return list(_paths(name, identity, table))
    except KeyError as error:
        raise StoredError(f"{name}: no line `# {error.args[0]}: …` at the top") from error
    except csv.Error as error:
        raise StoredError(f"{name}: not CSV: {error}") from error


def _split(text: str) -> tuple[dict[str, str], str]:
    """Split a file into its identity and the CSV below it."""
    identity: dict[str, str] = {}
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        key, _, value = line.removeprefix("#").partition(":")
        identity[key.strip()] = value.strip()
    return identity, text


def _paths(name: str, identity: Mapping[str, str], table: str) -> Iterator[Stored]:
    day = identity["started"][:10]
    verdict: dict[str, str] | None = None
    cases: list[Case] = []

    def done() -> Iterator[Stored]:
        if verdict is not None:
            platform = _platform(identity, verdict["engine"])
            told = (verdict["path"], verdict["status"], verdict["reason"])
            yield Stored(name, day, platform, *told, tuple(cases))

    for at, row in _rows(name, table):
        if not row["shape"]:
            yield from done()
            verdict, cases = row, []
        elif verdict is None or any(row[key] != verdict[key] for key in ("path", "engine")):
            raise StoredError(
                f"{at}: a case of {row['path']!r} on {row['engine']!r} "
                "that is not below its path's verdict"
            )
        else:
            cases.append(_case(at, row))
    if verdict is None:
        raise StoredError(f"{name}: no rows")
    yield from done()


def _platform(identity: Mapping[str, str], engine: str) -> Platform:
    adapter, driver = identity[f"{engine} adapter"], identity[f"{engine} driver"]
    return Platform(adapter, driver, f"{engine} {identity[f'{engine} version']}".strip())


def _rows(name: str, table: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Read each row by column, with its location for messages."""
    lines = csv.reader(io.StringIO(table), strict=True)
    head = next(lines, [])
    if missing := [column for column in COLUMNS if column not in head]:
        raise StoredError(f"{name}: no column {', '.join(missing)}")
    for number, cells in enumerate(lines, start=1):
        if len(cells) != len(head):
            raise StoredError(f"{name}: row {number}: {len(cells)} cells under {len(head)} columns")
        yield f"{name}: row {number}", dict(zip(head, cells, strict=True))


def _case(at: str, row: Mapping[str, str]) -> Case:
    if row["status"] not in _STATUSES:
        raise StoredError(
            f"{at}: status is {row['status']!r}, expected one of {', '.join(_STATUSES)}"
        )

    def number(key: str) -> float | None:
        try:
            return float(row[key]) if row[key] else None
        except ValueError:
            raise StoredError(f"{at}: {key} is {row[key]!r}, expected a number") from None

    return Case(
        shape=row["shape"],
        family=row["family"],
        status=row["status"],
        max_abs=number("max_abs"),
        mean_rel=number("mean_rel"),
        nmse=number("nmse"),
        predicted=number("predicted"),
        used=number("used"),
        check=row["check"],
        failed=tuple(filter(None, row["failed"].split(";"))),
        reason=row["reason"],
    )


def share(case: Case) -> float:
    """Return how much of a limit a case used; NaN is over every limit."""
    used = case.used or 0.0
    return math.inf if math.isnan(used) else used


def most_used(cases: list[Case]) -> Case | None:
    """Return the case that used most of a limit, if one used any."""

    def rank(case: Case) -> tuple[float, str]:
        return share(case), f"{case.shape} {case.family}"

    return max((case for case in cases if case.used), key=rank, default=None)


def canonical(cases: list[Case]) -> Case | None:
    """Return the case 64x128x128 uniform, if it was run and measured."""
    return next(
        (c for c in cases if (c.shape, c.family) == CANONICAL and c.max_abs is not None), None
    )


def failing(cases: list[Case]) -> dict[tuple[str, str], list[str]]:
    """Group the shapes of failing cases by family and failed checks."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        if case.status == "FAIL":
            found.setdefault((case.family, ", ".join(case.failed)), []).append(case.shape)
    return found
