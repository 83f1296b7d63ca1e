"""Run a plan and return its Report; the worker runs the cases."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from tinygate import __version__
from tinygate.core import adapter as adapters
from tinygate.core.adapter import Platform
from tinygate.core.case import Case
from tinygate.core.errors import CannotVerifyError, TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.status import Status
from tinygate.paths.source import undeclared_features
from tinygate.verification.engine_agreement import agreements
from tinygate.verification.plan import Plan
from tinygate.verification.verdict import judge_path, skip_path
from tinygate.worker.protocol import Opened
from tinygate.worker.supervisor import Supervisor


class Listener(Protocol):
    """Receives each event of a run as it happens, to show it."""

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """Handle an opened device."""

    def started(self, case: Case, done: int, total: int) -> None:
        """Handle the start of a case; `done` of `total` cases are finished."""

    def finished(self, result: CaseResult) -> None:
        """Handle the result of a case."""

    def judged(self, result: PathResult) -> None:
        """Handle the verdict on a path."""


class Silent:
    """A listener that ignores every event."""

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """Ignore an opened device."""

    def started(self, case: Case, done: int, total: int) -> None:
        """Ignore the start of a case."""

    def finished(self, result: CaseResult) -> None:
        """Ignore the result of a case."""

    def judged(self, result: PathResult) -> None:
        """Ignore the verdict on a path."""


def not_run(plan: Plan) -> Report:
    """Make the report of a plan before it runs: every case is ERROR "not run"."""
    return Report(
        version=__version__,
        platforms=tuple(Platform(engine, None, None) for engine in plan.engines),
        seed=plan.seed,
        shapes=tuple(shape.label for shape in dict.fromkeys((*plan.shapes, *plan.suite_shapes))),
        families=plan.families,
        paths=tuple(path for engine in plan.engines for path in _not_run(plan, engine)),
        required=plan.required,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def run(
    plan: Plan,
    worker: Supervisor,
    listener: Listener | None = None,
    outline: Report | None = None,
) -> Report:
    """Run every case of the plan and report the verdicts.

    Ctrl-C ends the run early; the remaining cases stay ERROR "not run".

    worker: may have been started for the first engine already.
    outline: the result of `not_run(plan)`, if the caller has it already.

    Raises:
        TinygateError: the only engine has no device, or the plan has no case.
    """
    started = time.monotonic()
    outline = outline or not_run(plan)
    progress = _Progress(plan, listener or Silent())
    platforms: list[Platform] = []
    paths: list[PathResult] = []
    notes: list[str] = []
    notes += _undeclared(plan)
    for engine in plan.engines:
        try:
            opened = worker.open(engine)
        except TinygateError as error:
            # One engine without a device must not keep the others from giving a verdict.
            if len(plan.engines) == 1:
                raise
            notes.append(f"{engine}: {error.message}")
            platforms.append(Platform(engine, None, None))
            paths += _not_run(plan, engine, error)
            continue
        said = adapters.notes(opened.adapters, opened.adapter)
        progress.listener.opened(opened, (*said, *notes) if not platforms else said)
        notes += said
        platforms.append(Platform(engine, opened.adapter, opened.numerics))
        paths += _EngineRun(progress, engine, opened, worker).paths()
    return replace(
        outline,
        platforms=tuple(platforms),
        paths=tuple(paths),
        notes=tuple(dict.fromkeys(notes)),
        agreements=agreements(paths, platforms),
        interrupted=progress.interrupted,
        seconds=time.monotonic() - started,
    )


def _undeclared(plan: Plan) -> Iterator[str]:
    """Warn of paths that run only because others have a feature switched on."""
    for path in plan.paths:
        if features := undeclared_features(path):
            yield (
                f"{path.name} uses {', '.join(features)}, which its requires does not name: "
                "beside other paths it may pass, and alone it fails"
            )


def _not_run(plan: Plan, engine: str, error: TinygateError | None = None) -> Iterator[PathResult]:
    """Judge every path of the plan without running its cases, for an error if there is one."""
    for path in plan.paths:
        cases = [replace(case.not_run(), engine=engine) for case in plan.cases(path)]
        if error is not None:
            cases = [
                replace(case, reason=error.message, hint=error.hint, not_run=False)
                for case in cases
            ]
        if cases:
            yield judge_path(path, cases, engine=engine)


class _Progress:
    """The progress of a run, over all its engines."""

    def __init__(self, plan: Plan, listener: Listener) -> None:
        self.plan = plan
        self.listener = listener
        self.interrupted = False
        self.done = 0
        self.total = len(plan.engines) * sum(len(plan.cases(path)) for path in plan.paths)
        if not self.total:
            raise CannotVerifyError(
                f"nothing was verified: no case matches -k {plan.filter!r}"
                if plan.filter
                else "nothing was verified: no path, shape or family was left to run",
                "tinygate verify --list shows the cases",
            )


class _EngineRun:
    """One engine's part of a run."""

    def __init__(
        self, progress: _Progress, engine: str, opened: Opened, worker: Supervisor
    ) -> None:
        self.progress = progress
        self.plan = progress.plan
        self.engine = engine
        self.adapter = opened.adapter
        self.worker = worker
        self.judged: dict[str, PathResult] = {}

    def paths(self) -> list[PathResult]:
        """Judge every path and return the verdicts in the plan's order.

        A path that others depend on runs before them.
        """
        needed = {path.depends_on for path in self.plan.paths}
        named = [*itertools.chain(*(path.for_adapter(self.adapter) for path in self.plan.paths))]
        for path in sorted(named, key=lambda path: path.name not in needed):
            if cases := self.plan.cases(path):
                self.judged[path.name] = self._path(path, cases)
                self.progress.listener.judged(self.judged[path.name])
        return [self.judged[path.name] for path in named if path.name in self.judged]

    def _path(self, path: FastPath, cases: list[Case]) -> PathResult:
        missing = path.missing_features(self.adapter)
        if missing or (reason := self._failed_first(path)):
            self.progress.done += len(cases)
            return skip_path(
                path, missing=missing, reason="" if missing else reason, engine=self.engine
            )
        return judge_path(path, [self._case(case) for case in cases], engine=self.engine)

    def _failed_first(self, path: FastPath) -> str:
        """Say which path it depends on has failed, or return an empty string if none has."""
        other = self.judged.get(path.depends_on)
        bad = other is not None and other.status in (Status.FAIL, Status.ERROR)
        return f"{path.depends_on} failed first" if bad else ""

    def _case(self, case: Case) -> CaseResult:
        progress = self.progress
        result = case.not_run()
        if not progress.interrupted:
            began = time.monotonic()
            try:
                progress.listener.started(case, progress.done, progress.total)
                result = self.worker.run(case)
            except KeyboardInterrupt:
                progress.interrupted = True
                result = replace(result, reason="not run: interrupted")
            result = replace(result, seconds=time.monotonic() - began)
        replay = self.plan.replay(case, self.engine)
        result = replace(result, engine=self.engine, replay=replay)
        progress.done += 1
        if not progress.interrupted or result.status is not Status.ERROR:
            try:
                progress.listener.finished(result)
            except KeyboardInterrupt:
                progress.interrupted = True
        return result
