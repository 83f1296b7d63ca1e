"""GitHub Actions: the gate lines for the log, then annotations; and a step summary.

The caller appends `summary` to the file that GITHUB_STEP_SUMMARY names.
"""

from __future__ import annotations

import re

from tinygate.core.results import Report
from tinygate.core.text import clean
from tinygate.report import failure_map, gate_line, markdown
from tinygate.report.summary import identity, problems, warnings


def render(report: Report) -> str:
    """`[ops]` lines as they are, a warning per note, an error per failure, the status line."""
    lines = [inert(f"tinygate {report.version} · {identity(one)}") for one in report.platforms]
    lines += map(inert, gate_line.lines(report))
    lines += [command("warning", "tinygate", note) for note in report.notes]
    lines += [command("warning", f"tinygate: {where}", text) for where, text in warnings(report)]
    for problem in problems(report):
        parts = [problem.reason]
        if problem.failure is not None:
            parts.append(failure_map.summary(problem.failure))
        parts += [f"hint: {problem.hint}"] * bool(problem.hint)
        parts += [f"replay: {again}" for again in problem.replays]
        title = f"tinygate {problem.status.value}: {problem.where}"
        lines.append(command("error", title, *parts))
    lines.append(inert(report.status_line))
    return "".join(f"{line}\n" for line in lines)


def summary(report: Report) -> str:
    """The pill table, status line, failures and predictions as Markdown; without the gate lines,
    because a step summary is limited to 1 MiB."""
    return markdown.summary(report)


def command(name: str, title: str, *lines: str) -> str:
    """A workflow command. Its message may have several lines."""
    return f"::{name} title={_property(clean(title))}::{_data(chr(10).join(map(clean, lines)))}"


def inert(text: str) -> str:
    """A line that the runner will not take for a workflow command, in either syntax."""
    return re.sub(r"^\s*::", ": :", clean(text)).replace("##[", "# #[")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
