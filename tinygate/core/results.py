"""What a run produces: Metrics, Check, CaseResult, PathResult, Report. Plain frozen data.

Everything a report prints is in here, so a renderer is one pure function of a Report.
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
from tinygate.core.status import Check, State, Status

SCHEMA_VERSION = 3


@dataclass(frozen=True)
class Failure:
    """Where a matrix is wrong. Of several products the wrong elements are counted together.

    first            [row, column] of the first wrong element
    got, want        what is there and what should be; None where only the place is known
    where            the rows and columns that hold the wrong ones, in words
    cells            a map: the share of wrong elements in each cell_shape block, row by row
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
    """One path x shape x family on one engine, judged.

    exact            (wrong, total) for families compared exactly
    runs, failed     fresh dispatches made, and how many of them failed
    pooled           independently seeded products behind the metrics
    predicted        beside `metrics`, where the path declares enough to predict them
    parts            of a quantized path's error: storing and kernel apart
    failure          where C or B is wrong, on a FAIL that has a place
    warnings         what is not wrong, yet not as declared
    digests          SHA-256 of the first run's outputs, of the path and of the reference, where
                     there were any: what another engine's are compared with
    not_run          nothing of it has run yet, nor was tried
    saved            the file that holds the operands and results of a failure
    replay           the command that runs exactly this case again
    """

    path: str
    shape: str
    shape_class: str
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
    engine: str = ""
    saved: str = ""
    seconds: float | None = None
    replay: str = ""

    @property
    def id(self) -> str:
        """`path/MxKxN/family`: what --list prints and -k matches; a named shape has its name."""
        return f"{self.path}/{self.shape}/{self.family}"

    @property
    def replay_saved(self) -> str:
        """The command that runs the saved file again and compares with it."""
        return f"tinygate replay {shlex.quote(self.saved)}" if self.saved else ""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Predicted beside measured, where both are there."""
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
        """The check that uses most of its limit; how far the reference is to be trusted says
        nothing about the path."""
        measured = [c for c in self.checks if c.used is not None and c.name != "reference"]
        return max(measured, key=lambda check: check.used or 0.0, default=None)

    @property
    def used(self) -> float | None:
        """The largest share of a limit that is used."""
        return self.tightest.used if self.tightest else None

    def __repr__(self) -> str:
        return f"<CaseResult {self.id} {self.status}{_because(self.reason, self.status)}>"


@dataclass(frozen=True, repr=False)
class PathResult:
    """One path over all its cases on one engine: one verdict, and the shape classes it is active
    for.

    missing          what the adapter lacks; empty where the path is detected
    deciding         the case that decided: on PASS the one nearest to its limit
    lacking          activating families that did not run everywhere, on PASS
    fallback         the path that runs in its place
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
    active_classes: tuple[str, ...] = ()
    fallback: str = "f32"
    source_hash: str = ""
    cases: tuple[CaseResult, ...] = ()
    engine: str = ""

    @property
    def detected(self) -> bool:
        """Whether the adapter has what the path requires. Says nothing about trust."""
        return not self.missing

    @property
    def active(self) -> bool:
        """Verified: every activating family ran on every shape asked for, and all passed."""
        return self.state is State.ACTIVE

    @property
    def used(self) -> float | None:
        """The largest share of a limit that any case uses."""
        return max((c.used for c in self.cases if c.used is not None), default=None)

    @property
    def state_words(self) -> str:
        """The state as a reader sees it: "active", "rejected", "passes uniform"."""
        if self.state is not State.PASSES_SOME:
            return self.state.value
        ran = sorted({case.family for case in self.cases if case.status is Status.PASS})
        return f"{self.state} {', '.join(ran)}"

    def __repr__(self) -> str:
        why = _because(self.missing or self.reason, self.status)
        classes = f" for {', '.join(self.active_classes)}" if self.active_classes else ""
        return f"<PathResult {self.path} {self.status}, {self.state_words}{classes}{why}>"


@dataclass(frozen=True)
class EngineAgreement:
    """Whether two engines computed the same bits.

    what             a path, or "f32 reference"
    engines          the two
    agreeing         of `compared` cases, how many agree bit for bit
    first            shape and family of the first case that differs
    drivers          what explains a difference beforehand: adapter and backend of each
    """

    what: str
    engines: tuple[str, str]
    agreeing: int
    compared: int
    first: tuple[str, str] | None = None
    drivers: tuple[str, str] | None = None


@dataclass(frozen=True, repr=False)
class Report:
    """A whole run. `required` are the paths without whose PASS it is exit 3; `agreements` say
    whether engines computed the same bits."""

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
        """Whether engines have to be told apart."""
        return len(self.platforms) > 1

    @property
    def single_shape(self) -> bool:
        """Whether one shape was asked for, so that lines need not name it."""
        return len(set(self.shapes)) == 1

    def platform(self, engine: str) -> Platform:
        """What a result of that engine belongs to."""
        return next(one for one in self.platforms if one.engine == engine)

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """Every case of every path, in the order they ran."""
        return tuple(case for path in self.paths for case in path.cases)

    @property
    def active(self) -> tuple[PathResult, ...]:
        """The paths that may be used."""
        return tuple(path for path in self.paths if path.active)

    @property
    def status_line(self) -> str:
        """The status bar: `f16-storage matmul active`, joined by ` · `."""
        active = " · ".join(
            f"{path.path} matmul active" + (f" on {path.engine}" if self.multi_engine else "")
            for path in self.active
        )
        return active or "no fast path active: everything runs f32"

    @property
    def exit_code(self) -> int:
        """0 all passed and something ran, 1 a FAIL, 3 could not verify, 130 interrupted."""
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
    """The reason, shortened, where a verdict is not a PASS."""
    if not reason or status is Status.PASS:
        return ""
    return f": {reason if len(reason) <= 100 else reason[:99] + '…'}"
