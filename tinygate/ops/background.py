"""Gates in the background: a future for every path and shape class that was asked for."""

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
    """One gate to run: a path at a shape, the future it settles, and that of the path it needs."""

    path: FastPath
    shape: Shape
    verdict: Verdict
    needed: Verdict | None


class Background:
    """Runs gates one after the other in a thread; each in a process of its own.

    platform   where the verdicts are for; one that was made elsewhere is void
    features   what the device there was opened with
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
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._unavailable: dict[str, Verdict] = {}
        self._closed = threading.Event()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="tinygate-gate").start()

    @property
    def active(self) -> tuple[tuple[str, str], ...]:
        """(path, shape class) of every verdict that lets a path run."""
        return tuple(key for key, verdict in self._verdicts.items() if _passed(verdict))

    def is_active(self, path: FastPath, shape: Shape) -> bool:
        """Whether the path may run the shape, by what is settled now; starts nothing."""
        verdict = self._verdicts.get((path.name, path.shape_class(shape)))
        return verdict is not None and _passed(verdict) and path.shape_mismatch(shape) is None

    def verdict(self, path: FastPath, shape: Shape) -> Verdict:
        """The verdict for the shape's class: the one there is, or a gate that is queued now, behind
        that of the path it needs. What cannot run here is never queued and settles as SKIP."""
        if path.name in self._unavailable:
            return self._unavailable[path.name]
        if missing := path.missing_features(self._adapter):
            self._unavailable[path.name] = _settled(skip_path(path, missing=missing))
            log.info("%s", path_line(self._unavailable[path.name].result()))
            return self._unavailable[path.name]
        if misfit := path.shape_mismatch(shape):
            # This shape's alone: the class has others that fit.
            return _settled(skip_path(path, reason=misfit))
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
        """Start no other gate; verdicts still open settle as ERROR."""
        self._closed.set()
        self._jobs.put(None)

    def _work(self) -> None:
        """Settle verdicts, one at a time, until closed; then whatever is left."""
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
        # Not settled only where two paths need each other.
        needed = job.needed.result() if job.needed and job.needed.done() else None
        here = True
        if needed is not None and needed.status in (Status.FAIL, Status.ERROR):
            result = skip_path(path, reason=f"{needed.path} failed first")
        else:
            plan = Plan(
                paths=(path,),
                shapes=gate_shapes(path, job.shape),
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
        """Whether the verdicts are from this adapter, with the same lanes and rounding."""
        (platform,) = report.platforms
        if platform.adapter is None or platform.numerics != self._numerics:
            return False
        return _adapter_itself(platform.adapter) == _adapter_itself(self._adapter)


def gate_shapes(path: FastPath, shape: Shape) -> tuple[Shape, ...]:
    """Where a class is gated, since a verdict at a shape is for all of its class: the shape, its
    neighbour, one of two ragged tiles and more each way at the class's smallest K, and one of a
    single row and column at its largest; each as far as the class allows it."""
    entry = path.entry(shape)
    per = {step.axis: step.per for step in entry.axes if step}
    rows, cols = (per.get("M", 1), per.get("N", 1)) if entry.axes else (entry.rows, entry.cols)
    first = shape.k_class // 2 + 1
    wide = {"M": rows + 3, "K": first, "N": 2 * cols + 5}
    small = {"M": 1, "K": shape.k_class, "N": 1}
    found = [shape, neighbour(path, shape)]
    for wanted in (wide, small):
        near = shape
        for axis, step in zip("MKN", path.multiple_of, strict=True):
            moved = replace(near, **{axis: -(-wanted[axis] // step) * step}, name="")
            if path.shape_class(moved) == path.shape_class(shape):
                near = moved
        found.append(near)
    return tuple(dict.fromkeys(found))


def neighbour(path: FastPath, shape: Shape) -> Shape:
    """A shape of the same class with every size one step off, where the class allows it; a step is
    one, or what the path wants sizes to be multiples of.

    What is even becomes odd and what fills whole tiles does not any more: a kernel that is right at
    64x128x128 and wrong at 63x127x127 must not be active for the class of both.
    """
    near = shape
    for axis, step in zip("MKN", path.multiple_of, strict=True):
        size = getattr(shape, axis)
        for other in (size - step, size + step):
            moved = replace(near, **{axis: other}, name="")
            if other > 0 and path.shape_class(moved) == path.shape_class(shape):
                near = moved
                break
    return near


def _adapter_itself(adapter: AdapterInfo) -> AdapterInfo:
    """Without what a process may have switched on: a program that used the engine before keeps the
    instance it has, and sees fewer features than the gate's process."""
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
