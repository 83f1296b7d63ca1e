"""Read the stored reports of `tinygate verify --export-json`, of schema version 1 and 2."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Object = dict[str, Any]
_PARENTHESES = re.compile(r" \([^)]*\)")
# The one case that the framework's own numbers are for.
CANONICAL = ("64x128x128", "uniform")


class StoredError(Exception):
    """A stored file that can't be read, with its name in the message."""


@dataclass(frozen=True, order=True)
class Platform:
    """What a verdict was measured on."""

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
class Stored:
    """One path of one stored report."""

    file: str
    day: str
    platform: Platform
    path: str
    state: str
    reason: str
    cases: tuple[Object, ...]


def read_folder(folder: Path) -> list[Stored]:
    """Every path of every stored report, by file name; measurements of other kinds are left out.

    Raises:
        StoredError: naming the file and what is wrong with it.
    """
    found: list[Stored] = []
    for file in sorted(folder.glob("*.json")):
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise StoredError(f"{file.name}: not JSON: {error}") from error
        if is_report(document):
            found += parse(file.name, document)
    return found


def is_report(document: object) -> bool:
    """Whether a stored file is a report of `verify`, and not of `probe` or a benchmark."""
    return (
        isinstance(document, dict) and "schema_version" in document and "adapters" not in document
    )


def parse(name: str, document: Object) -> list[Stored]:
    """The paths of one report.

    Raises:
        StoredError: where the version is unknown or a key is missing or of another kind.
    """
    version = document.get("schema_version")
    if version not in (1, 2):
        raise StoredError(f"{name}: schema_version is {version!r}, expected 1 or 2")
    try:
        return list(_paths(name, document, version))
    except KeyError as error:
        raise StoredError(f"{name}: schema version {version} without {error}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise StoredError(f"{name}: not as schema version {version} has it: {error}") from error


def _paths(name: str, document: Object, version: int) -> Iterator[Stored]:
    platforms = [document] if version == 1 else document["platforms"]
    by_engine = {platform["engine"]["name"]: _platform(platform) for platform in platforms}
    for path in document["paths"]:
        engine = document["engine"]["name"] if version == 1 else path["engine"]
        for case in path["cases"]:
            _expect(case)
        yield Stored(
            file=name,
            day=str(document["started"] or "")[:10],
            platform=by_engine[engine],
            path=path["path"],
            state=path["state"],
            reason=path["reason"] or path["missing"] or "",
            cases=tuple(path["cases"]),
        )


def _platform(found: Object) -> Platform:
    adapter, engine = found["adapter"], found["engine"]
    if adapter is None:
        return Platform("no adapter", "—", engine["name"])
    words = f"{engine['name']} {engine['version'] or ''}".strip()
    return Platform(adapter["name"], adapter["driver"], words)


def _expect(case: Object) -> None:
    """Meet a case that lacks what the tables show here, where the file's name is known."""
    for key in ("shape", "family", "status", "budget", "metrics", "predicted", "reason"):
        case[key]
    for check in case["checks"]:
        check["name"], check["status"]
    number(case["budget"])


def number(value: float | str | None) -> float | None:
    """A number as the reports write it, where what is not finite is a string."""
    return None if value is None else float(value)


def worst(cases: list[Object]) -> tuple[float, str] | None:
    """The largest share of a limit that a case used, and the case; NaN counts as the largest."""
    shares = [(number(case["budget"]), f"{case['shape']} {case['family']}") for case in cases]
    known = [(math.inf if math.isnan(share) else share, at) for share, at in shares if share]
    return max(known, default=None)


def canonical(cases: list[Object]) -> Object | None:
    """The case 64x128x128 uniform, if it was run and has metrics."""
    return next(
        (c for c in cases if (c["shape"], c["family"]) == CANONICAL and c["metrics"]),
        None,
    )


def failing(cases: list[Object]) -> dict[tuple[str, str], list[str]]:
    """(family, the checks that failed) -> shapes, of cases that FAIL."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        if case["status"] == "FAIL":
            checks = [c["name"] for c in case["checks"] if c["status"] == "FAIL"]
            found.setdefault((case["family"], ", ".join(checks)), []).append(case["shape"])
    return found
