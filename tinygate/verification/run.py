"""engines x paths x shapes x families -> Report: have workers run the cases, judge the paths."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from tinygate import __version__
from tinygate.core import adapter
from tinygate.core.adapter import Platform
from tinygate.core.case import Case
from tinygate.core.errors import CannotVerifyError, TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, PathResult, Report, Status
from tinygate.numerics import checks
from tinygate.paths.source import source_hash
from tinygate.verification import verdict
from tinygate.verification.engine_agreement import agreements
from tinygate.verification.plan import Plan
from tinygate.worker.protocol import Opened
from tinygate.worker.supervisor import Supervisor


class Listener(Protocol):
    """Told what happens while it happens, so that a person sees it."""

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """The device is there."""

    def started(self, case: Case, done: int, total: int) -> None:
        """A case begins; `done` of `total` are behind it."""

    def finished(self, result: CaseResult) -> None:
        """A case has its verdict."""

    def judged(self, result: PathResult) -> None:
        """A path has its verdict."""


class Silent:
    """A listener that listens to nothing."""

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        """Ignored."""

    def started(self, case: Case, done: int, total: int) -> None:
        """Ignored."""

    def finished(self, result: CaseResult) -> None:
        """Ignored."""

    def judged(self, result: PathResult) -> None:
        """Ignored."""


def run(plan: Plan, listener: Listener | None = None, worker: Supervisor | None = None) -> Report:
    """Verify everything the plan names. Ctrl-C ends it early: what is left is ERROR "not run".

    worker: one for the first engine that was started already, to overlap its start with the
    caller's.

    Raises:
        TinygateError: where no device could be opened at all, or the plan holds no case.
    """
    try:
        checked = _Run(plan, listener or Silent())
    except CannotVerifyError:
        if worker is not None:
            worker.close()
        raise
    return checked.report(worker)


def supervisor(plan: Plan, engine: str) -> Supervisor:
    """A worker for one engine of the plan, not yet started."""
    return Supervisor(engine, plan.adapter, plan.features, plan.timeout)


def blank(plan: Plan) -> Report:
    """The report of a plan of which nothing has run: every case ERROR "not run"."""
    return Report(
        version=__version__,
        platforms=tuple(Platform(engine, None, None) for engine in plan.engines),
        seed=plan.seed,
        shapes=tuple(shape.label for shape in dict.fromkeys(plan.shapes)),
        families=plan.families,
        paths=tuple(path for engine in plan.engines for path in _unrun(plan, engine)),
        required=plan.required,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _unrun(plan: Plan, engine: str, reason: str = "", hint: str = "") -> Iterator[PathResult]:
    for path in plan.paths:
        cases = [replace(case.blank(), engine=engine) for case in plan.cases(path)]
        if reason:
            cases = [replace(case, reason=reason, hint=hint) for case in cases]
        if cases:
            judged = verdict.judge_path(path.name, path.pill, cases, source_hash=source_hash(path))
            yield replace(judged, engine=engine)


class _Run:
    """The state of one run."""

    def __init__(self, plan: Plan, listener: Listener) -> None:
        self.plan = plan
        self.listener = listener
        self.interrupted = False
        self.done = 0
        self.total = len(plan.engines) * sum(len(plan.cases(path)) for path in plan.paths)
        if not self.total:
            raise CannotVerifyError(
                f"nothing was verified: no case matches -k {plan.keep!r}"
                if plan.keep
                else "nothing was verified: no path, shape or family was left to run",
                "tinygate verify --list shows the cases",
            )

    def report(self, worker: Supervisor | None) -> Report:
        started = time.monotonic()
        outline = blank(self.plan)
        platforms: list[Platform] = []
        paths: list[PathResult] = []
        notes: list[str] = []
        for engine in self.plan.engines:
            worker = worker or supervisor(self.plan, engine)
            try:
                opened = worker.open()
                said = adapter.notes(opened.adapters, opened.adapter)
                self.listener.opened(opened, said)
                notes += said
                platforms.append(Platform(engine, opened.adapter, opened.traits))
                paths += _Engine(self, engine, opened, worker).paths()
            except TinygateError as error:
                # Where others are left to answer, one engine without a device is its own ERROR.
                if len(self.plan.engines) == 1:
                    raise
                notes.append(f"{engine}: {error.message}")
                platforms.append(Platform(engine, None, None))
                paths += _unrun(self.plan, engine, error.message, error.hint)
            finally:
                worker.close()
                worker = None
        return replace(
            outline,
            platforms=tuple(platforms),
            paths=tuple(paths),
            notes=tuple(dict.fromkeys(notes)),
            agreements=agreements(paths, platforms),
            interrupted=self.interrupted,
            seconds=time.monotonic() - started,
        )


class _Engine:
    """One engine's part of a run."""

    def __init__(self, run: _Run, engine: str, opened: Opened, worker: Supervisor) -> None:
        self.run = run
        self.plan = run.plan
        self.engine = engine
        self.opened = opened
        self.worker = worker
        self.judged: dict[str, PathResult] = {}

    def paths(self) -> list[PathResult]:
        """Every path's verdict, in the plan's order. What others build on runs first, in whatever
        order they were named."""
        needed = {path.needs for path in self.plan.paths}
        named = [path.on(self.opened.adapter) for path in self.plan.paths]
        for path in sorted(itertools.chain(*named), key=lambda path: path.name not in needed):
            if cases := self.plan.cases(path):
                self.judged[path.name] = self._path(path, cases)
        order = [path.name for path in itertools.chain(*named)]
        return [self.judged[name] for name in order if name in self.judged]

    def _path(self, path: FastPath, cases: list[Case]) -> PathResult:
        missing = path.lacks(self.opened.adapter)
        skip = "" if missing else self._failed_first(path)
        results = [] if missing or skip else [self._case(case) for case in cases]
        self.run.done += 0 if results else len(cases)
        judged = verdict.judge_path(
            path.name,
            path.pill,
            results,
            missing=missing,
            skip=skip,
            source_hash=source_hash(path),
            readable=path.readable,
            inactive=path.inactive,
        )
        judged = replace(judged, engine=self.engine)
        self.run.listener.judged(judged)
        return judged

    def _failed_first(self, path: FastPath) -> str:
        """Why the path need not run: another one that it builds on has failed here."""
        other = self.judged.get(path.needs)
        bad = other is not None and other.status in (Status.FAIL, Status.ERROR)
        return f"{path.needs} failed first" if bad else ""

    def _case(self, case: Case) -> CaseResult:
        run = self.run
        result = case.blank()
        if not run.interrupted:
            began = time.monotonic()
            try:
                run.listener.started(case, run.done, run.total)
                result = self.worker.run(case)
            except KeyboardInterrupt:
                run.interrupted = True
                result = replace(result, reason="not run: interrupted")
            result = replace(result, seconds=time.monotonic() - began)
        single = len(set(self.plan.shapes)) == 1
        again = self.plan.replay(case, self.engine)
        result = replace(result, engine=self.engine, replay=again)
        line = checks.case_line(result, suffix=not (single and case.family == "uniform"))
        result = replace(result, line=line)
        run.done += 1
        if not run.interrupted or result.status is not Status.ERROR:
            try:
                run.listener.finished(result)
            except KeyboardInterrupt:
                run.interrupted = True
        return result
