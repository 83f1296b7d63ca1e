"""Text for a terminal or a pipe, in pieces for streaming, and `render`, which is their sum.

`[ops]` lines are copied: never wrapped, coloured or read as markup. Only the pill table is laid
out, by rich on a terminal (`width` columns) and in plain aligned columns in a pipe (`width` None).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tinygate.core.adapter import Platform
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.status import Status
from tinygate.core.text import clean
from tinygate.report import failure_map
from tinygate.report.gate_line import agreement_line, case_line, path_line
from tinygate.report.summary import (
    MAX_PROBLEMS,
    PillRow,
    check_words,
    comparisons,
    error_parts,
    identity,
    pill_columns,
    pill_rows,
    problems,
)

QUIET, NORMAL, VERBOSE = -1, 0, 1

_INDENT = "    "
# What the gate and state columns need together before their words are broken in the middle.
_ROOM = 24

_SGR = {Status.PASS: "32", Status.FAIL: "1;31", Status.ERROR: "1;33", Status.SKIP: "2"}
_STYLE = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.ERROR: "bold yellow",
    Status.SKIP: "dim",
}


def header(version: str, platform: Platform) -> str:
    """The first line: tinygate's version and what it runs on."""
    return f"tinygate {clean(version)} · {identity(platform)}\n"


def notes(texts: Iterable[str]) -> str:
    """One line per note. A command line that streams may send these to stderr."""
    return "".join(f"note: {clean(text)}\n" for text in texts)


def case(
    result: CaseResult,
    *,
    single_shape: bool = False,
    color: bool = False,
    verbosity: int = NORMAL,
) -> str:
    """The case's `[ops]` line as it is; with VERBOSE every check below it."""
    if verbosity <= QUIET:
        return ""
    lines = [clean(case_line(result, single_shape=single_shape))]
    if verbosity >= VERBOSE:
        for check in result.checks:
            name, rest = check_words(check)
            lines.append(f"    {name}: {_word(check.status, color)}{rest}")
        lines += [f"    predicted: {text}" for text in comparisons(result)]
        lines += [f"    {text}" for text in error_parts(result)]
    lines += [f"    warning: {clean(text)}" for text in result.warnings]
    return "".join(f"{line}\n" for line in lines)


def path(result: PathResult) -> str:
    """The path's verdict line, after its cases."""
    return f"{clean(path_line(result))}\n"


def pills(report: Report, *, color: bool = False, width: int | None = None) -> str:
    """The pill table: one row per path and engine. Text is wrapped on a terminal and never cut."""
    rows = pill_rows(report)
    if not rows:
        return ""
    names = pill_columns(report)
    if width is None:
        return _columns(names, rows, color)
    widths = _fit(names, rows, width)
    return _stacked(names, rows, color) if widths is None else _table(names, rows, color, widths)


def status(report: Report) -> str:
    """The status line: which paths are active."""
    return f"{clean(report.status_line)}\n"


def failures(report: Report, *, color: bool = False, width: int | None = None) -> str:
    """What failed or could not be verified, at most ten times, each with where it is wrong and how
    to run it again; maps only of the first."""
    found = problems(report)
    if not found:
        return ""
    shown = found[:MAX_PROBLEMS]
    lines = [f"Failures ({len(shown)} of {len(found)}):" if found != shown else "Failures:"]
    maps = 0
    for problem in shown:
        lines.append(f"  {_word(problem.status, color)} {problem.where}: {problem.reason}")
        if problem.failure is not None:
            lines.append(_INDENT + failure_map.summary(problem.failure))
            if maps < failure_map.MAX_MAPS:
                maps += 1
                room = None if width is None else width - len(_INDENT)
                lines += [_INDENT + line for line in failure_map.chart(problem.failure, room)]
        lines += [f"{_INDENT}hint: {problem.hint}"] * bool(problem.hint)
        lines += [f"{_INDENT}replay: {command}" for command in problem.replays]
    if len(found) > len(shown):
        lines.append(f"  and {len(found) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def tail(
    report: Report, *, color: bool = False, width: int | None = None, verbosity: int = NORMAL
) -> str:
    """What follows the last path: whether engines agree, pill table, status line, failures."""
    parts = (
        "".join(f"{clean(agreement_line(one))}\n" for one in report.agreements)
        if verbosity > QUIET
        else "",
        pills(report, color=color, width=width),
        status(report) if verbosity > QUIET else "",
        failures(report, color=color, width=width),
    )
    return "".join(f"\n{part}" for part in parts if part)


def render(
    report: Report, *, color: bool = False, width: int | None = None, verbosity: int = NORMAL
) -> str:
    """The whole report. `width` None is a pipe; a number is a terminal of that many columns."""
    parts = []
    if verbosity > QUIET:
        if not report.multi_engine:
            parts.append(header(report.version, report.platforms[0]))
        parts.append(notes(report.notes))
    engine = ""
    for result in report.paths:
        if report.multi_engine and result.engine != engine and verbosity > QUIET:
            engine = result.engine
            parts.append(header(report.version, report.platform(engine)))
        parts += [
            case(one, single_shape=report.single_shape, color=color, verbosity=verbosity)
            for one in result.cases
        ]
        parts.append(path(result))
    parts.append(tail(report, color=color, width=width, verbosity=verbosity))
    return "".join(parts).lstrip("\n")


def _word(verdict: Status, color: bool) -> str:
    """PASS, FAIL, SKIP or ERROR, coloured where asked."""
    return f"\x1b[{_SGR[verdict]}m{verdict.value}\x1b[0m" if color else verdict.value


def _columns(names: Sequence[str], rows: list[PillRow], color: bool) -> str:
    """Aligned columns without borders, two spaces apart, so that grep and awk can read them."""
    table = [names, *(row.cells for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells, row in zip(table, [None, *rows], strict=True):
        padded = [
            cell + " " * (wide - cell_len(cell)) for cell, wide in zip(cells, widths, strict=True)
        ]
        line = "  ".join(padded).rstrip()
        if color and row is not None:
            start = len("  ".join(padded[: names.index("gate")])) + 2
            word = row.status.value
            line = line[:start] + _word(row.status, color) + line[start + len(word) :]
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _stacked(names: Sequence[str], rows: list[PillRow], color: bool) -> str:
    """One line per field, for a terminal too narrow for all columns."""
    lines = []
    for row in rows:
        lines.append(row.pill)
        for name, value in zip(names[1:], row.cells[1:], strict=True):
            if name == "gate":
                value = _word(row.status, color) + value[len(row.status.value) :]
            lines.append(f"  {name:9} {value}")
    return "".join(f"{line}\n" for line in lines)


def _fit(names: Sequence[str], rows: list[PillRow], width: int) -> list[int] | None:
    """A width per column, or None where the columns do not fit next to each other.

    Names stay whole; a pill may break between words, and gate and state share what is left.
    """
    columns = list(zip(names, *(row.cells for row in rows), strict=True))
    full = dict(zip(names, (max(map(cell_len, column)) for column in columns), strict=True))
    gaps = 2 * (len(full) - 1)
    whole = sum(wide for name, wide in full.items() if name not in ("pill", "gate", "state"))
    longest = max(cell_len(word) for text in columns[0] for word in text.split())
    for pill in (full["pill"], longest):
        room = width - gaps - pill - whole
        if room >= min(_ROOM, full["gate"] + full["state"]):
            gate = min(full["gate"], max(room * 2 // 5, room - full["state"]))
            given = {"pill": pill, "gate": gate, "state": min(full["state"], room - gate)}
            return [given.get(name, wide) for name, wide in full.items()]
    return None


def _table(names: Sequence[str], rows: list[PillRow], color: bool, widths: list[int]) -> str:
    """rich's table. Cells are Text, so that nothing in them is read as markup or an emoji code."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name, wide in zip(names, widths, strict=True):
        table.add_column(name, overflow="fold", width=wide)
    for row in rows:
        cells = [Text(cell) for cell in row.cells]
        cells[names.index("gate")].stylize(_STYLE[row.status], 0, len(row.status.value))
        table.add_row(*cells)
    out = io.StringIO()
    # An empty environment: colour and width are the caller's decision, not this module's.
    Console(
        file=out,
        width=sum(widths) + 2 * len(widths),
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        _environ={},
    ).print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
