"""Run `tinygate paths`: list the registered paths, as declared."""

from __future__ import annotations

import json
import sys
import textwrap

from tinygate.cli import options
from tinygate.cli.lookup import load_paths
from tinygate.cli.terminal import Terminal
from tinygate.core.fast_path import FastPath
from tinygate.core.text import clean

_HEAD = ("path", "pill", "B stored", "products", "sums", "requires", "from")


def paths(
    manifests: options.Manifests = None,
    as_json: options.Json = False,
    no_plugins: options.NoPlugins = False,
    debug: options.Debug = False,
) -> None:
    """List the registered paths and where each comes from.

    FILE.toml: manifests to list too.

    Example: tinygate paths
    """
    every = load_paths(no_plugins, manifests or ()).paths
    if as_json:
        sys.stdout.write(render_json(every))
    else:
        sys.stdout.write(render_text(every, Terminal.of("auto", sys.stdout).width))


def render_json(paths: tuple[FastPath, ...]) -> str:
    """Write the declarations as JSON."""
    return (
        json.dumps({"schema_version": 1, "paths": [_row(path) for path in paths]}, indent=2) + "\n"
    )


def render_text(paths: tuple[FastPath, ...], width: int | None = None) -> str:
    """Write a table of the paths, then why each is safe to try.

    width: columns of the terminal, None for a pipe. If a line of the table does not fit, each path
        is a block of lines instead.
    """
    rows = [
        (
            path.name,
            path.pill,
            path.b,
            path.products,
            path.accumulate,
            ", ".join(path.requires) or "nothing",
            path.source + (", opt-in" * path.opt_in),
        )
        for path in paths
    ]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    table = [
        clean("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())
        for row in (_HEAD, *rows)
    ]
    reasons = [f"{path.name}: {path.why}" for path in paths]
    if width is None or max(map(len, table)) <= width:
        return "".join(f"{line}\n" for line in [*table, "", *_folded(reasons, width)])
    blocks = []
    for path, row in zip(paths, rows, strict=True):
        cells = [f"  {head}: {cell}" for head, cell in zip(_HEAD[1:], row[1:], strict=True)]
        blocks.append([row[0], *cells, f"  {path.why}"])
    return "\n".join("".join(f"{line}\n" for line in _folded(block, width)) for block in blocks)


def _folded(lines: list[str], width: int | None) -> list[str]:
    """Make lines safe to print, and wrap those that are longer than the terminal is wide."""
    folded = []
    for line in map(clean, lines):
        if width is None or len(line) <= width:
            folded.append(line)
        else:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            folded += textwrap.wrap(
                line,
                max(width, 20),
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return folded


def _row(path: FastPath) -> dict[str, object]:
    return {
        "path": path.name,
        "pill": path.pill,
        "kernel": path.kernel or None,
        "call": path.call or None,
        "pack": path.pack,
        "pack_a": path.pack_a,
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
