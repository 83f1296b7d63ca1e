"""Show a run: a line for each case as it finishes, a progress line, the table at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tinygate import __version__
from tinygate.cli.progress import Progress
from tinygate.cli.terminal import Terminal
from tinygate.core.adapter import Platform
from tinygate.core.case import Case
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.report import FORMATS, ReportFormat, console, github
from tinygate.worker.protocol import Opened


@dataclass(frozen=True)
class View:
    """The options for showing a run.

    output_format   the format of stdout
    exports         further files to write, by format
    verbosity       -1 quiet, 0 normal, 1 verbose
    names_saved     whether to name the files of saved failures; not if they are deleted afterwards
    """

    output_format: ReportFormat = ReportFormat.TEXT
    exports: Mapping[str, str] = field(default_factory=dict)
    verbosity: int = 0
    color: str = "auto"
    names_saved: bool = True


class Show:
    """Prints text during the run; other formats are printed at the end."""

    def __init__(self, view: View, *, single_shape: bool) -> None:
        # With an export on stdout, the text a person reads goes to stderr.
        self._out = sys.stderr if "-" in view.exports.values() else sys.stdout
        self._view = view
        self._single_shape = single_shape
        self._terminal = Terminal.of(view.color, self._out)
        self._text = view.output_format is ReportFormat.TEXT
        self._progress = Progress(sys.stderr)

    def __enter__(self) -> Show:
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """Print the first line, and the notes on stderr."""
        if self._text and self._view.verbosity >= 0:
            platform = Platform(opened.adapter.engine, opened.adapter, opened.numerics)
            self._write(console.header(__version__, platform))
        with self._progress.paused():
            sys.stderr.write(console.notes(notes))

    def started(self, case: Case, done: int, total: int) -> None:
        """Update the progress line."""
        self._progress.update(case.id, done, total)

    def finished(self, result: CaseResult) -> None:
        """Print the case's line."""
        if self._text:
            self._write(
                console.case(
                    result,
                    single_shape=self._single_shape,
                    color=self._terminal.color,
                    verbosity=self._view.verbosity,
                )
            )

    def judged(self, result: PathResult) -> None:
        """Print the path's line."""
        if self._text:
            self._write(console.path(result))

    def end(self, report: Report) -> None:
        """Print everything that comes after the last case."""
        self._progress.stop()
        if not self._view.names_saved:
            report = _without_saved(report)
        if not self._text:
            self._write(FORMATS[self._view.output_format](report))
        else:
            self._write(
                console.tail(
                    report,
                    color=self._terminal.color,
                    width=self._terminal.width,
                    verbosity=self._view.verbosity,
                )
            )
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if self._view.output_format is ReportFormat.GITHUB and summary:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(github.summary(report))

    def failed(self, report: Report) -> None:
        """Print the report of a run that could not begin, in any format but text."""
        self._progress.stop()
        if not self._text:
            self._out.write(FORMATS[self._view.output_format](report))

    def _write(self, text: str) -> None:
        if text:
            with self._progress.paused():
                self._out.write(text)
                self._out.flush()


def _without_saved(report: Report) -> Report:
    """Remove the names of saved failures from a report."""
    paths = (
        replace(path, cases=tuple(replace(case, saved="") for case in path.cases))
        for path in report.paths
    )
    return replace(report, paths=tuple(paths))
