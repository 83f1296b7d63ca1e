"""paths x shapes x families -> Report: plan the cases, have the worker run them, judge paths."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from tinygate import __version__, adapters, gate, verdicts
from tinygate.cases import Case
from tinygate.engines import DEFAULT_ENGINE
from tinygate.errors import CannotVerifyError
from tinygate.families import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.messages import Opened
from tinygate.paths import FastPath
from tinygate.results import CaseResult, PathResult, Report, Status
from tinygate.shapes import Shape
from tinygate.sources import source_hash
from tinygate.supervisor import DEFAULT_TIMEOUT, Supervisor


@dataclass(frozen=True)
class Plan:
    """What to verify. `keep` is a regular expression over case ids; `save_failures` a folder."""

    paths: tuple[FastPath, ...]
    shapes: tuple[Shape, ...]
    families: tuple[str, ...] = DEFAULT_FAMILIES
    seed: int = DEFAULT_SEED
    repeat: int = 2
    timeout: float = DEFAULT_TIMEOUT
    engine: str = DEFAULT_ENGINE
    adapter: str | None = None
    keep: str | None = None
    required: tuple[str, ...] = ()
    save_failures: str = ""

    def cases(self, path: FastPath) -> list[Case]:
        """The path's cases, in the order they run."""
        every = [
            Case(path, shape, family, self.seed, self.repeat, self.save_failures)
            for shape in dict.fromkeys(self.shapes)
            for family in self.families
        ]
        return [case for case in every if self.keep is None or re.search(self.keep, case.id)]

    @property
    def features(self) -> tuple[str, ...]:
        """What to switch on, where the adapter has it; subgroups so that their size is measured."""
        return tuple(dict.fromkeys(["subgroups", *(f for p in self.paths for f in p.requires)]))


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

    worker: one that was started already, to overlap its start with the caller's.

    Raises:
        TinygateError: where no device could be opened at all, or the plan holds no case.
    """
    tell = listener or Silent()
    supervisor = worker or Supervisor(plan.engine, plan.adapter, plan.features, plan.timeout)
    try:
        return _Run(plan, tell, supervisor).report()
    finally:
        supervisor.close()


def blank(plan: Plan) -> Report:
    """The report of a plan of which nothing has run: every case ERROR "not run"."""
    paths = []
    for path in plan.paths:
        if cases := [case.blank() for case in plan.cases(path)]:
            paths.append(
                verdicts.judge_path(path.name, path.pill, cases, source_hash=source_hash(path))
            )
    return Report(
        version=__version__,
        engine=plan.engine,
        adapter=None,
        traits=None,
        seed=plan.seed,
        shapes=tuple(shape.label for shape in dict.fromkeys(plan.shapes)),
        families=plan.families,
        paths=tuple(paths),
        required=plan.required,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


class _Run:
    """The state of one run."""

    def __init__(self, plan: Plan, listener: Listener, worker: Supervisor) -> None:
        self.plan = plan
        self.listener = listener
        self.worker = worker
        self.interrupted = False
        self.done = 0
        self.cases = {path.name: plan.cases(path) for path in plan.paths}
        self.total = sum(map(len, self.cases.values()))
        if not self.total:
            raise CannotVerifyError(
                f"nothing was verified: no case matches -k {plan.keep!r}"
                if plan.keep
                else "nothing was verified: no path, shape or family was left to run",
                "tinygate verify --list shows the cases",
            )

    def report(self) -> Report:
        started = time.monotonic()
        outline = blank(self.plan)
        opened = self.worker.open()
        notes = adapters.notes(opened.adapters, opened.adapter)
        self.listener.opened(opened, notes)
        paths = tuple(self._path(path, opened) for path in self.plan.paths if self.cases[path.name])
        return replace(
            outline,
            adapter=opened.adapter,
            traits=opened.traits,
            paths=paths,
            notes=notes,
            interrupted=self.interrupted,
            seconds=time.monotonic() - started,
        )

    def _path(self, path: FastPath, opened: Opened) -> PathResult:
        missing = path.missing(opened.adapter.features, self.plan.engine)
        results = [] if missing else [self._case(case) for case in self.cases[path.name]]
        judged = verdicts.judge_path(
            path.name,
            path.pill,
            results,
            missing=missing,
            source_hash=source_hash(path),
            readable=path.readable,
        )
        self.listener.judged(judged)
        return judged

    def _case(self, case: Case) -> CaseResult:
        result = case.blank()
        if not self.interrupted:
            began = time.monotonic()
            try:
                self.listener.started(case, self.done, self.total)
                result = self.worker.run(case)
            except KeyboardInterrupt:
                self.interrupted = True
                result = replace(result, reason="not run: interrupted")
            result = replace(result, seconds=time.monotonic() - began)
        single = len(set(self.plan.shapes)) == 1
        result = replace(result, replay=self._replay(case))
        line = gate.case_line(result, suffix=not (single and case.family == "uniform"))
        result = replace(result, line=line)
        self.done += 1
        if not self.interrupted or result.status is not Status.ERROR:
            try:
                self.listener.finished(result)
            except KeyboardInterrupt:
                self.interrupted = True
        return result

    def _replay(self, case: Case) -> str:
        """The command that runs exactly this case again."""
        words = [
            "tinygate verify",
            f"--shape {case.shape.label}",
            f"--path {shlex.quote(case.path.argument)}",
            f"--inputs {case.family}",
            f"--seed {case.seed}",
        ]
        if case.repeat != 2:
            words.append(f"--repeat {case.repeat}")
        if self.plan.engine != DEFAULT_ENGINE:
            words.append(f"--engine {self.plan.engine}")
        if self.plan.adapter is not None:
            words.append(f"--adapter {shlex.quote(self.plan.adapter)}")
        return " ".join(words)
