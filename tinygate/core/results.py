"""What a run produces: Metrics, Check, CaseResult, PathResult, Report. Plain frozen data.

Everything a report prints is in here, so a renderer is one pure function of a Report.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from tinygate.core.adapter import Platform
from tinygate.core.metrics import NMSE_WARNING, Comparison, ErrorParts, Metrics, Prediction

SCHEMA_VERSION = 2

# The families that must all have run and passed before a path may be active for a class.
ACTIVATING_FAMILIES = ("uniform", "positive", "integer", "identity")


class Status(StrEnum):
    """A verdict. A result starts as ERROR "not run", so nothing is green by omission."""

    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Check:
    """One comparison: what was measured, against which limit, and the limit's reason.

    `measured` and `limit` are None where the check is a yes or no. `reason` says what is wrong and
    is empty on PASS.
    """

    name: str
    status: Status
    reason: str = ""
    measured: float | None = None
    limit: float | None = None
    why: str = ""

    @property
    def budget(self) -> float | None:
        """Share of the limit used up: 0.12 is "12% of budget". What is not a number is over every
        limit: as NaN it would hide behind any other share."""
        if self.measured is None or self.limit is None:
            return None
        if self.measured != self.measured:
            return float("inf")
        if self.limit == 0:
            return 0.0 if self.measured == 0 else float("inf")
        return self.measured / self.limit


@dataclass(frozen=True)
class Failure:
    """Where a matrix is wrong. Of several products the wrong elements are counted together.

    first            [row, column] of the first wrong element
    got, want        what is there and what should be; None where only the place is known
    where            the rows and columns that hold the wrong ones, in words
    cells            a map: the share of wrong elements in each cell_shape block, row by row
    matrix           C, or the operand that is stored wrong
    """

    count: int
    total: int
    first: tuple[int, int]
    got: float | None
    want: float | None
    where: str
    cells: tuple[tuple[float, ...], ...]
    cell_shape: tuple[int, int]
    matrix: str = "C"


@dataclass(frozen=True)
class CaseResult:
    """One path x shape x family on one engine, judged.

    exact            (wrong, total) for families compared exactly
    runs, failed     fresh dispatches made, and how many of them failed
    pooled           independently seeded products behind the metrics
    predicted        beside `metrics`, where the path declares enough to predict them
    parts            of a quantised path's error: storing and kernel apart
    failure          where C or B is wrong, on a FAIL that has a place
    warnings         what is not wrong, yet not as declared
    digests          SHA-256 of the first run's outputs, of the path and of the reference, where
                     there were any: what another engine's are compared with
    saved            the file that holds the operands and results of a failure
    line             the `[ops]` line a user reads
    replay           the command that runs exactly this case again
    """

    path: str
    shape: str
    shape_class: str
    family: str
    seed: int
    status: Status = Status.ERROR
    reason: str = "not run"
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
    line: str = ""
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
    def budget(self) -> float | None:
        """The worst share of a limit over this case's checks of the path; how far the reference is
        to be trusted says nothing about the path's own margin."""
        shares = (c.budget for c in self.checks if c.name != "reference")
        return max((share for share in shares if share is not None), default=None)


@dataclass(frozen=True)
class PathResult:
    """One path over all its cases on one engine: one verdict, and the shape classes it is active
    for.

    missing          what the adapter lacks; empty where the path is detected
    state            "active", "rejected", "unavailable", "unverified", or a weaker word for a path
                     that passed without all the activating families ("passes uniform")
    deciding         the id of the case that decided: on PASS the one nearest to its limit
    source_hash      SHA-256 over kernel, packer and constants: part of a verdict's identity
    """

    path: str
    pill: str
    status: Status
    state: str
    reason: str = ""
    missing: str = ""
    deciding: str = ""
    active_classes: tuple[str, ...] = ()
    source_hash: str = ""
    cases: tuple[CaseResult, ...] = ()
    line: str = ""
    engine: str = ""

    @property
    def detected(self) -> bool:
        """Whether the adapter has what the path requires. Says nothing about trust."""
        return not self.missing

    @property
    def active(self) -> bool:
        """Verified: every activating family ran on every shape asked for, and all passed."""
        return self.state == "active"

    @property
    def budget(self) -> float | None:
        """The worst share of a limit over all cases."""
        return max((c.budget for c in self.cases if c.budget is not None), default=None)


@dataclass(frozen=True)
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
    agreements: tuple[str, ...] = ()
    interrupted: bool = False
    started: str = ""
    seconds: float | None = None
    schema_version: int = field(default=SCHEMA_VERSION)

    @property
    def several(self) -> bool:
        """Whether engines have to be told apart."""
        return len(self.platforms) > 1

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
        """The seed's status bar: `f16-storage matmul active`, joined by ` · `."""
        active = " · ".join(
            f"{path.path} matmul active" + (f" on {path.engine}" if self.several else "")
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


def worst(statuses: Iterable[Status]) -> Status:
    """The verdict over several: FAIL before ERROR before PASS before SKIP; nothing is an ERROR.

    SKIP weighs least because it neither fails nor counts as having run.
    """
    present = set(statuses)
    order = (Status.FAIL, Status.ERROR, Status.PASS, Status.SKIP)
    return next((status for status in order if status in present), Status.ERROR)
