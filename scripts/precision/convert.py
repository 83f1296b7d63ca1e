"""Store a report of `tinygate verify --export-json` as the CSV that docs/measurements keeps.

    python -m scripts.precision.convert REPORT.json FILE.csv --command 'what made the report'

The CSV is about a fortieth of the report's size. FILE is written only if the whole report could be
read. Exit 1 if it could not, 3 if an engine of it found no adapter.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .stored import COLUMNS, KIND, StoredError

Object = dict[str, Any]
VERSIONS = (2, 3)
# The tables show at most three digits of a number.
DIGITS = 7


class NoAdapterError(Exception):
    """An engine of the report found no adapter, so nothing was measured on it."""


def convert(name: str, document: object, command: str) -> str:
    """Convert one report to CSV.

    Raises:
        StoredError: the report cannot be read; the message says what is wrong with it.
        NoAdapterError: an engine found no adapter.
    """
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or version not in VERSIONS:
        known = " or ".join(map(str, VERSIONS))
        raise StoredError(f"{name}: schema_version is {version!r}, expected {known}")
    try:
        text = io.StringIO()
        for key, value in _identity(document, command):
            text.write(f"# {key}: {' '.join(_text(value).splitlines())}".rstrip() + "\n")
        writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for row in _rows(document):
            writer.writerow({key: _text(value) for key, value in row.items()})
        return text.getvalue()
    except KeyError as error:
        raise StoredError(f"{name}: schema version {version} without {error}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise StoredError(f"{name}: not as schema version {version} has it: {error}") from error


def _identity(document: Object, command: str) -> Iterator[tuple[str, object]]:
    """List what was run on what; the keys of an engine begin with its name."""
    yield "kind", KIND
    yield "command", command
    for key in ("tinygate", "schema_version", "started", "seed", "exit_code"):
        yield key, document[key]
    for platform in document["platforms"]:
        engine, adapter = platform["engine"], platform["adapter"]
        if adapter is None:
            raise NoAdapterError(f"no adapter for {engine['name']}")
        name = engine["name"]
        yield f"{name} version", engine["version"]
        for key, value in (("adapter", "name"), ("driver", "driver"), ("backend", "backend")):
            yield f"{name} {key}", adapter[value]
        yield f"{name} subgroup_size", (platform["numerics"] or {}).get("subgroup_size")
        if adapter["toggles"]:
            yield f"{name} toggles", ", ".join(adapter["toggles"])
    for agreement in document["agreements"]:
        path, _, said = agreement.removeprefix("[ops] ").partition(": ")
        yield f"{path} agreement", said


def _rows(document: Object) -> Iterator[Object]:
    for path in document["paths"]:
        at = {"path": path["path"], "engine": path["engine"]}
        reason = path["reason"] or path["missing"]
        yield {**at, "status": path["state"], "reason": reason}
        for case in path["cases"]:
            yield at | _case(case)


def _case(case: Object) -> Object:
    metrics = case["metrics"] or {"max_abs": None, "mean_rel": None, "nmse": None}
    predicted = (case["predicted"] or {}).get("mean_rel") or {"predicted": None}
    failed = [check["name"] for check in case["checks"] if check["status"] == "FAIL"]
    return {
        "shape": case["shape"],
        "family": case["family"],
        "status": case["status"],
        **{key: _number(metrics[key]) for key in ("max_abs", "mean_rel", "nmse")},
        "predicted": _number(predicted["predicted"]),
        "used": _number(_used(case)),
        "check": _deciding(case),
        "failed": ";".join(failed),
        # A failed check explains a FAIL; without one, only the reason does.
        "reason": "" if failed or case["status"] == "PASS" else case["reason"],
    }


def _used(item: Object) -> Any:
    """Return how much of its limit a case or a check used."""
    return item["used"]


def _deciding(case: Object) -> str:
    """Name the path's check that used most of its limit; the reference's does not count."""
    used = _used(case)
    return next(
        (
            str(check["name"])
            for check in case["checks"]
            if used and check["name"] != "reference" and _used(check) == used
        ),
        "",
    )


def _number(value: float | str | None) -> str:
    """Format a number of a report; the report writes a non-finite one as a string."""
    return "" if value is None else f"{float(value):.{DIGITS}g}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def main(arguments: list[str] | None = None) -> int:
    """Write the file, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--command", required=True, help="what made the report")
    options = parser.parse_args(arguments)
    try:
        try:
            document = json.loads(options.report.read_text(encoding="utf-8"))
        except ValueError as error:
            raise StoredError(f"{options.report.name}: not JSON: {error}") from error
        text = convert(options.report.name, document, options.command)
    except (StoredError, NoAdapterError) as error:
        print(f"precision: {error}", file=sys.stderr)
        return 3 if isinstance(error, NoAdapterError) else 1
    options.file.write_text(text, encoding="utf-8", newline="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
