"""Run gates in the background, with a future for every path and shape class asked for."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace

from tinygate.core.adapter import AdapterInfo, Platform
from tinygate.core.errors import TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import PathResult, Report
from tinygate.core.shape import Shape
from tinygate.core.shape_class import ShapeClass
from tinygate.core.status import State, Status
from tinygate.report.gate_line import case_line, path_line
from tinygate.verification.plan import Plan
from tinygate.verification.verdict import skip_path
from tinygate.verification.verify import verify_plan

log = logging.getLogger("tinygate.ops")

Verdict = Future[PathResult]
_CLOSED = "closed before the gate had run"


@dataclass(frozen=True)
class Job:
    """One gate to run.

    verdict   the future that it settles
    needed    the future of the path that this one depends on; None where it depends on none
    """

    path: FastPath
    shape: Shape
    verdict: Verdict
    needed: Verdict | None


class Background:
    """A thread that runs gates one after the other, each in its own process.

    platform   the platform that verdicts are for; a verdict from another platform is void
    features   the features that the device was opened with
    paths      every path by name
    """

    def __init__(
        self,
        platform: Platform,
        features: tuple[str, ...],
        paths: Mapping[str, FastPath],
        seed: int,
        timeout: float,
    ) -> None:
        assert platform.adapter is not None, "a gate runs on an adapter"
        self._adapter: AdapterInfo = platform.adapter
        self._numerics = platform.numerics
        self._features = features
        self._paths = paths
        self._seed = seed
        self._timeout = timeout
        self._verdicts: dict[tuple[str, ShapeClass], Verdict] = {}
        self._unavailable: dict[str, Verdict] = {}
        self._closed = threading.Event()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="tinygate-gate").start()

    @property
    def active(self) -> tuple[tuple[str, ShapeClass], ...]:
        """Return the (path, shape class) of every verdict that makes a path active."""
        return tuple(key for key, verdict in self._verdicts.items() if _passed(verdict))

    def is_active(self, path: FastPath, shape: Shape) -> bool:
        """Tell whether a settled verdict lets the path run the shape; starts no gate."""
        verdict = self._verdicts.get((path.name, path.shape_class(shape)))
        return verdict is not None and _passed(verdict) and path.shape_mismatch(shape) is None

    def verdict(self, path: FastPath, shape: Shape) -> Verdict:
        """Return the verdict for the shape's class, and queue its gate if there is none yet.

        The gate of a path that this one depends on is queued first. A path that cannot run on this
        adapter or shape is not queued, and settles as SKIP.
        """
        if path.name in self._unavailable:
            return self._unavailable[path.name]
        if missing := path.missing_features(self._adapter):
            self._unavailable[path.name] = _settled(skip_path(path, missing=missing))
            log.info("%s", path_line(self._unavailable[path.name].result()))
            return self._unavailable[path.name]
        if mismatch := path.shape_mismatch(shape):
            # Not kept as the class's verdict: other shapes of the class may fit.
            return _settled(skip_path(path, reason=mismatch))
        key = (path.name, path.shape_class(shape))
        if key not in self._verdicts:
            verdict = self._verdicts[key] = Verdict()
            if self._closed.is_set():
                verdict.set_result(_unverified(path, _CLOSED))
            else:
                first = self._paths.get(path.depends_on)
                needed = self.verdict(first, shape) if first else None
                self._jobs.put(Job(path, shape, verdict, needed))
        return self._verdicts[key]

    def close(self) -> None:
        """Start no more gates, and settle the verdicts still open as ERROR."""
        self._closed.set()
        self._jobs.put(None)

    def _work(self) -> None:
        """Settle verdicts one at a time; once closed, settle the rest as ERROR."""
        while job := self._jobs.get():
            result = None if self._closed.is_set() else self._result(job)
            if result is None or self._closed.is_set():
                result = _unverified(job.path, _CLOSED)
            job.verdict.set_result(result)

    def _result(self, job: Job) -> PathResult:
        try:
            return self._gate(job)
        except TinygateError as error:
            return _unverified(job.path, error.message)
        except Exception as error:  # whatever it was, nothing was verified
            return _unverified(job.path, f"{type(error).__name__}: {error}")

    def _gate(self, job: Job) -> PathResult:
        path, lines = job.path, []
        # An earlier job has settled it, unless two paths depend on each other.
        needed = job.needed.result() if job.needed and job.needed.done() else None
        here = True
        if needed is not None and needed.status in (Status.FAIL, Status.ERROR):
            result = skip_path(path, reason=f"{needed.path} failed first")
        else:
            plan = Plan(
                paths=(path,),
                shapes=(job.shape,),
                seed=self._seed,
                timeout=self._timeout,
                engines=(self._adapter.engine,),
                adapter=str(self._adapter.index),
                extra_features=self._features,
            )
            report = verify_plan(plan)
            (result,) = report.paths
            lines = [case_line(one, single_shape=report.single_shape) for one in result.cases]
            here = self._here(report)
        for line in [*lines, path_line(result)]:
            log.info("%s", line)
        return result if here else _unverified(path, "the gate ran on another adapter")

    def _here(self, report: Report) -> bool:
        """Tell whether the gate ran on this adapter, with the same measured numerics."""
        (platform,) = report.platforms
        if platform.adapter is None or platform.numerics != self._numerics:
            return False
        return _adapter_itself(platform.adapter) == _adapter_itself(self._adapter)


def _adapter_itself(adapter: AdapterInfo) -> AdapterInfo:
    """Drop the fields that depend on what a process switched on.

    A program that used the engine before keeps its instance, and sees fewer features than the
    gate's process.
    """
    return replace(adapter, toggles=(), features=(), unavailable=(), matrices=())


def _unverified(path: FastPath, reason: str) -> PathResult:
    return PathResult(
        path.name,
        path.pill,
        Status.ERROR,
        State.UNVERIFIED,
        reason=reason,
        fallback=path.fallback,
    )


def _settled(result: PathResult) -> Verdict:
    verdict = Verdict()
    verdict.set_result(result)
    return verdict


def _passed(verdict: Verdict) -> bool:
    return verdict.done() and verdict.result().active
