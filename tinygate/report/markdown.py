"""Markdown: the pill table, and every gate line in a code block. For pull requests and wikis."""

from __future__ import annotations

import re

from tinygate.core.results import Report
from tinygate.core.text import clean
from tinygate.report import failure_map, gate_line
from tinygate.report.summary import (
    MAX_PROBLEMS,
    Problem,
    comparison_rows,
    identity,
    named,
    pill_columns,
    pill_rows,
    problems,
    warnings,
)

# Everything that starts a construct inside a line: emphasis, code, links, cells, HTML, maths.
_SPECIAL = re.compile(r"([\\`*_\[\]|~$#!])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(report: Report) -> str:
    """The whole report: identity, notes, pill table, status line, failures, predictions, gate
    lines."""
    blocks = [*_summary(report), *_lines(report)]
    return "\n\n".join(blocks) + "\n"


def summary(report: Report) -> str:
    """The report without its gate lines."""
    return "\n\n".join(_summary(report)) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, in a table cell too."""
    plain = re.sub("[&<>]", lambda match: _HTML[match[0]], clean(text))
    return _SPECIAL.sub(r"\\\1", plain)


def _summary(report: Report) -> list[str]:
    blocks = [
        f"## tinygate {escape(report.version)}",
        "<br>".join(escape(identity(platform)) for platform in report.platforms),
    ]
    if report.notes:
        blocks.append("\n".join(f"- note: {escape(note)}" for note in report.notes))
    if found := warnings(report):
        blocks.append("\n".join(f"- warning: {escape(id_)}: {escape(text)}" for id_, text in found))
    rows = pill_rows(report)
    if rows:
        names = pill_columns(report)
        table = [names, tuple("---" for _ in names)]
        table += [tuple(escape(cell) for cell in row.cells) for row in rows]
        blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in table))
    blocks.append(f"**{escape(report.status_line)}**")
    bad = problems(report)
    if bad:
        items = [_item(problem) for problem in bad[:MAX_PROBLEMS]]
        if len(bad) > MAX_PROBLEMS:
            items.append(f"- and {len(bad) - MAX_PROBLEMS} more")
        blocks += ["### Failures", "\n".join(items), *_maps(bad)]
    return blocks + _predictions(report)


def _item(problem: Problem) -> str:
    text = f"- **{problem.status.value}** {escape(problem.where)}: {escape(problem.reason)}"
    if problem.failure is not None:
        text += f"<br>{escape(failure_map.summary(problem.failure))}"
    if problem.hint:
        text += f"<br>hint: {escape(problem.hint)}"
    return text + "".join(f"<br>replay: {_code(command)}" for command in problem.replays)


def _lines(report: Report) -> list[str]:
    text = "\n".join(map(clean, gate_line.lines(report)))
    fence = "`" * max(3, _longest_run(text) + 1)
    return ["### Gate lines", f"{fence}text\n{text}\n{fence}"] if text else []


def _predictions(report: Report) -> list[str]:
    """Predicted beside measured, a row per number."""
    rows = [
        (named(case.id, case.engine, report), *row)
        for case in report.cases
        for row in comparison_rows(case)
    ]
    if not rows:
        return []
    head = ("case", "number", "predicted", "measured", "ratio", "limit", "used")
    table = [head, tuple("---" for _ in head), *(tuple(map(escape, row)) for row in rows)]
    return ["### Predicted and measured", "\n".join(f"| {' | '.join(row)} |" for row in table)]


def _maps(bad: list[Problem]) -> list[str]:
    """Where the first failures are wrong, each as a code block under its name."""
    blocks = []
    placed = [(problem.where, problem.failure) for problem in bad if problem.failure]
    for where, failure in placed[: failure_map.MAX_MAPS]:
        blocks += [escape(where), "\n".join(["```text", *failure_map.chart(failure), "```"])]
    return blocks


def _code(text: str) -> str:
    """A code span, whatever backticks are in the text."""
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
