"""`tinygate paths`: the registered paths, as declared."""

from __future__ import annotations

import json

from tinygate.paths import FastPath
from tinygate.report.clean import clean


def render_json(paths: tuple[FastPath, ...]) -> str:
    """For programs."""
    return (
        json.dumps({"schema_version": 1, "paths": [_row(path) for path in paths]}, indent=2) + "\n"
    )


def render_text(paths: tuple[FastPath, ...]) -> str:
    """One path per line: name, pill, numerics, what it requires, where it comes from; then why it
    may be tried."""
    rows = [("path", "pill", "B stored", "products", "sums", "requires", "from")]
    for path in paths:
        rows.append(
            (
                path.name,
                path.pill,
                path.b,
                path.products,
                path.accumulate,
                ", ".join(path.requires) or "nothing",
                path.source + (", opt-in" * path.opt_in),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    reasons = [f"{path.name}: {path.why}" for path in paths]
    return "".join(f"{clean(line.rstrip())}\n" for line in [*table, "", *reasons])


def _row(path: FastPath) -> dict[str, object]:
    return {
        "path": path.name,
        "pill": path.pill,
        "kernel": path.kernel or None,
        "call": path.call or None,
        "pack": path.pack,
        "requires": path.requires,
        "a": path.a,
        "b": path.b,
        "products": path.products,
        "accumulate": path.accumulate,
        "output": path.output,
        "deterministic": path.deterministic,
        "opt_in": path.opt_in,
        "engines": path.engines,
        "multiple_of": path.multiple_of,
        "source": path.source,
        "why": path.why,
    }
