"""One `verify` as a person sees it: lines as they come, progress, exports, the final report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from tinygate.cli.progress import Progress
from tinygate.cli.terminal import Terminal
from tinygate.core.adapter import Platform
from tinygate.core.case import Case
from tinygate.core.errors import TinygateError
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.report.files import Exports
from tinygate.verification import run as verify
from tinygate.verification.plan import Plan
from tinygate.worker.protocol import Opened


@dataclass(frozen=True)
class View:
    """How the run is shown: format of stdout, exports by format, -1 quiet to 1 verbose; whether
    saved failures are named, which are not to be where they will be gone after the run."""

    output_format: str = "text"
    exports: Mapping[str, str] = field(default_factory=dict)
    verbosity: int = 0
    color: str = "auto"
    names_saved: bool = True


def list_cases(plan: Plan) -> str:
    """Every case id, one per line."""
    return "".join(f"{case.id}\n" for path in plan.paths for case in plan.cases(path))


def run(plan: Plan, view: View) -> Report:
    """Verify, show, export; the report.

    Raises:
        TinygateError: where nothing could be run at all; the exports then say so too.
    """
    worker = verify.supervisor(plan, plan.engines[0])
    worker.start()  # it opens the device while this process still imports its renderers
    try:
        from tinygate.report import FORMATS

        exports = Exports(view.exports, verify.blank(plan))
        # With an export on stdout, the text a person reads goes to stderr.
        out = sys.stderr if "-" in view.exports.values() else sys.stdout
        show = _Show(out, view)
        try:
            report = verify.run(plan, show, worker)
        except TinygateError as error:
            report = replace(verify.blank(plan), notes=(error.message,))
            exports.write(report)
            if view.output_format != "text":
                out.write(FORMATS[view.output_format](report))
            raise
        finally:
            show.progress.stop()
        exports.write(report)
        show.end(report)
        return report
    finally:
        worker.close()


class _Show:
    """Prints text while the run goes on; other formats come whole, at the end."""

    def __init__(self, out: TextIO, view: View) -> None:
        from tinygate.report import console

        self._console = console
        self._out = out
        self._view = view
        self._terminal = Terminal.of(view.color, out)
        self._text = view.output_format == "text"
        self.progress = Progress(sys.stderr)

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """The first line, and what a reader must know."""
        if self._text and self._view.verbosity >= 0:
            from tinygate import __version__

            platform = Platform(opened.adapter.engine, opened.adapter, opened.traits)
            self._write(self._console.header(__version__, platform))
        with self.progress.paused():
            sys.stderr.write(self._console.notes(notes))

    def started(self, case: Case, done: int, total: int) -> None:
        """Move the progress line."""
        self.progress.update(case.id, done, total)

    def finished(self, result: CaseResult) -> None:
        """The case's line."""
        if self._text:
            self._write(
                self._console.case(
                    result, color=self._terminal.color, verbosity=self._view.verbosity
                )
            )

    def judged(self, result: PathResult) -> None:
        """The path's line."""
        if self._text:
            self._write(self._console.path(result))

    def end(self, report: Report) -> None:
        """Everything that comes after the last case."""
        from tinygate.report import FORMATS, github

        if not self._view.names_saved:
            report = _without_saved(report)
        if self._text:
            terminal = self._terminal
            self._write(
                self._console.tail(
                    report,
                    color=terminal.color,
                    width=terminal.width,
                    verbosity=self._view.verbosity,
                )
            )
        else:
            self._write(FORMATS[self._view.output_format](report))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if self._view.output_format == "github" and summary:
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(github.summary(report))

    def _write(self, text: str) -> None:
        if text:
            with self.progress.paused():
                self._out.write(text)
                self._out.flush()


def _without_saved(report: Report) -> Report:
    """The report without the names of saved failures."""
    paths = (
        replace(path, cases=tuple(replace(case, saved="") for case in path.cases))
        for path in report.paths
    )
    return replace(report, paths=tuple(paths))
