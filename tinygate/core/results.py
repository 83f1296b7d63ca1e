"""Describe the results of a run: CaseResult, PathResult, EngineAgreement, Report. Frozen data.

They hold everything that a report prints, so each renderer is a pure function of a Report.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from tinygate.core.adapter import Platform
from tinygate.core.metrics import (
    NMSE_WARNING,
    Comparison,
    ErrorParts,
    Metrics,
    Prediction,
)
from tinygate.core.shape_class import ShapeClass
from tinygate.core.status import Check, State, Status
from tinygate.core.vocabulary import Judge

SCHEMA_VERSION = 3


@dataclass(frozen=True)
class Failure:
    """The location of the wrong elements of C or of a stored operand.

    count, total     wrong elements and all elements, over all pooled products
    first            [row, column] of the first wrong element
    got, want        its value and the right one; None if only its location is known
    where            the rows and columns of the wrong elements, in words
    cells            the failure map: the fraction of wrong elements in each cell_shape block, row
                     by row
    operand          C, or the operand that is stored wrong
    """

    count: int
    total: int
    first: tuple[int, int]
    got: float | None
    want: float | None
    where: str
    cells: tuple[tuple[float, ...], ...]
    cell_shape: tuple[int, int]
    operand: str = "C"


@dataclass(frozen=True, repr=False)
class CaseResult:
    """The judged result of one path x shape x family on one engine.

    exact            (wrong, total) for families compared exactly
    runs, failed     dispatches made, and how many of them failed
    pooled           independently seeded products behind the metrics
    predicted        the predicted metrics, if the path declares enough to predict them
    parts            a quantized path's error, split into storing and kernel
    failure          where C or B is wrong, on a FAIL that has a location
    warnings         deviations from the declaration that are no FAIL
    digests          SHA-256 of the first run's outputs, of the path and of the reference, compared
                     between engines; empty if there were no outputs
    companion        at a shape that the gate chose for the class, not one that was asked for
    not_run          the case has not been started
    saved            the file that holds the operands and results of a failure
    seconds          wall time of the case
    replay           the command that runs exactly this case again
    """

    path: str
    shape: str
    shape_class: ShapeClass
    family: str
    seed: int
    status: Status = Status.ERROR
    reason: str = "not run"
    not_run: bool = True
    hint: str = ""
    metrics: Metrics | None = None
    exact: tuple[int, int] | None = None
    checks: tuple[Check, ...] = ()
    runs: int = 0
    failed: int = 0
    pooled: int = 1
    predicted: Prediction | None = None
    parts: ErrorParts | None = None
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()
    digests: tuple[str, str] = ("", "")
    companion: bool = False
    judge: Judge = "activation"
    engine: str = ""
    saved: str = ""
    seconds: float | None = None
    replay: str = ""

    @property
    def id(self) -> str:
        """The case's name, `path/MxKxN/family`: --list prints it and -k matches it."""
        return f"{self.path}/{self.shape}/{self.family}"

    @property
    def replay_saved(self) -> str:
        """The command that runs the saved failure again and compares; empty if none was saved."""
        return f"tinygate replay {shlex.quote(self.saved)}" if self.saved else ""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Each measured number with its prediction; empty if either is missing."""
        if self.metrics is None or self.predicted is None:
            return ()
        m, p = self.metrics, self.predicted
        mean_rel_limit = next((c.limit for c in self.checks if c.name == "mean_rel"), None)
        return (
            Comparison("mean_rel", p.mean_rel, m.mean_rel, mean_rel_limit or 0.0),
            Comparison("max_abs", p.max_abs, m.max_abs, m.max_abs_limit),
            Comparison("nmse", p.nmse, m.nmse, NMSE_WARNING * p.nmse),
        )

    @property
    def tightest(self) -> Check | None:
        """The check that uses most of its limit; the reference's does not count, being no path."""
        measured = [c for c in self.checks if c.used is not None and c.name != "reference"]
        return max(measured, key=lambda check: check.used or 0.0, default=None)

    @property
    def used(self) -> float | None:
        """The largest fraction of a limit that is used, over all checks."""
        return self.tightest.used if self.tightest else None

    def __repr__(self) -> str:
        return f"<CaseResult {self.id} {self.status}{_because(self.reason, self.status)}>"


@dataclass(frozen=True, repr=False)
class PathResult:
    """The verdict on one path over all its cases on one engine.

    missing          requirements that the adapter does not meet; empty if the path is detected
    deciding         the case that decided: on PASS the one nearest to its limit
    lacking          activating families that did not run everywhere, on PASS
    active_classes   the shape classes for which the path is active
    fallback         the path to run instead
    source_hash      SHA-256 over kernel, packer and constants: part of a verdict's identity
    """

    path: str
    pill: str
    status: Status
    state: State
    reason: str = ""
    missing: str = ""
    deciding: CaseResult | None = None
    lacking: tuple[str, ...] = ()
    active_classes: tuple[ShapeClass, ...] = ()
    fallback: str = "f32"
    source_hash: str = ""
    cases: tuple[CaseResult, ...] = ()
    engine: str = ""

    @property
    def detected(self) -> bool:
        """Whether the adapter has what the path requires, verified or not."""
        return not self.missing

    @property
    def active(self) -> bool:
        """Whether every activating family ran and passed on every requested shape."""
        return self.state is State.ACTIVE

    @property
    def used(self) -> float | None:
        """The largest fraction of a limit that any case uses."""
        return max((c.used for c in self.cases if c.used is not None), default=None)

    @property
    def skipped_shapes(self) -> int:
        """How many shapes that were asked for do not fit the path."""
        return len({case.shape for case in self.cases if case.status is Status.SKIP})

    @property
    def state_words(self) -> str:
        """The state in words, such as "active", "rejected" or "passes uniform"."""
        if self.state is not State.PASSES_SOME:
            return self.state.value
        ran = sorted({case.family for case in self.cases if case.status is Status.PASS})
        return f"{self.state} {', '.join(ran)}"

    def __repr__(self) -> str:
        why = _because(self.missing or self.reason, self.status)
        classes = f" for {'; '.join(map(str, self.active_classes))}" if self.active_classes else ""
        return f"<PathResult {self.path} {self.status}, {self.state_words}{classes}{why}>"


@dataclass(frozen=True)
class EngineAgreement:
    """Whether two engines computed the same bits.

    what             a path, or "f32 reference"
    engines          the two engines
    agreeing         how many of the `compared` cases agree bit for bit
    first            shape and family of the first case that differs; None if all agree
    drivers          adapter and backend of each engine if those differ: a reason for other bits
    """

    what: str
    engines: tuple[str, str]
    agreeing: int
    compared: int
    first: tuple[str, str] | None = None
    drivers: tuple[str, str] | None = None


@dataclass(frozen=True, repr=False)
class Report:
    """The report of one run.

    required         paths that must PASS, or the exit code is 3
    agreements       whether the engines computed the same bits
    """

    version: str
    platforms: tuple[Platform, ...]
    seed: int
    shapes: tuple[str, ...]
    families: tuple[str, ...]
    paths: tuple[PathResult, ...]
    notes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    agreements: tuple[EngineAgreement, ...] = ()
    interrupted: bool = False
    started: str = ""
    seconds: float | None = None
    schema_version: int = field(default=SCHEMA_VERSION)

    @property
    def multi_engine(self) -> bool:
        """Whether the run used several engines."""
        return len(self.platforms) > 1

    @property
    def single_shape(self) -> bool:
        """Whether the run has one shape, so that lines need not name it."""
        return len(set(self.shapes)) == 1

    def platform(self, engine: str) -> Platform:
        """Return the engine's platform."""
        return next(one for one in self.platforms if one.engine == engine)

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """Every case of every path, in the order they ran."""
        return tuple(case for path in self.paths for case in path.cases)

    @property
    def active(self) -> tuple[PathResult, ...]:
        """The active paths."""
        return tuple(path for path in self.paths if path.active)

    @property
    def status_line(self) -> str:
        """The status line: `f16-storage matmul active` for each active path, joined by ` · `."""
        active = " · ".join(
            f"{path.path} matmul active" + (f" on {path.engine}" if self.multi_engine else "")
            for path in self.active
        )
        return active or "no fast path active: everything runs f32"

    @property
    def exit_code(self) -> int:
        """0 if all passed and something ran, 1 on a FAIL, 3 on no verdict, 130 if interrupted."""
        if self.interrupted:
            return 130
        statuses = [path.status for path in self.paths]
        if Status.FAIL in statuses:
            return 1
        if Status.ERROR in statuses or Status.PASS not in statuses:
            return 3
        passed = {(path.engine, path.path) for path in self.paths if path.status is Status.PASS}
        wanted = {(one.engine, name) for one in self.platforms for name in self.required}
        return 0 if passed >= wanted else 3

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{path.path} {path.state_words}" for path in self.paths)
        return f"<Report {verdicts or 'of nothing'}, exit {self.exit_code}>"


def _because(reason: str, status: Status) -> str:
    """Shorten the reason of a verdict other than PASS."""
    if not reason or status is Status.PASS:
        return ""
    return f": {reason if len(reason) <= 100 else reason[:99] + '…'}"
