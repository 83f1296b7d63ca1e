"""Word what every human-readable format says, as plain text: identity, pill rows, problems.

The formats differ in layout and escaping only; the words are chosen here, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinygate.core.adapter import AdapterInfo, MeasuredNumerics, Platform
from tinygate.core.results import CaseResult, Failure, PathResult, Report
from tinygate.core.status import Check, Status
from tinygate.core.text import clean
from tinygate.report import gate_line

NOT_MEASURED = "—"
PILL_COLUMNS = ("pill", "path", "detected", "gate", "speed-up", "state")
MAX_PROBLEMS = 10


@dataclass(frozen=True)
class PillRow:
    """One row of the pill table, in the order of PILL_COLUMNS."""

    pill: str
    path: str
    detected: str
    gate: str
    speed_up: str
    state: str
    status: Status
    engine: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the texts of the row; with the engine in a report of several engines."""
        engine = (self.engine,) if self.engine else ()
        return (self.pill, self.path, *engine, self.detected, self.gate, self.speed_up, self.state)


def pill_columns(report: Report) -> tuple[str, ...]:
    """Return the names of the pill table's columns, in the order of PillRow.cells."""
    if not report.multi_engine:
        return PILL_COLUMNS
    return (*PILL_COLUMNS[:2], "engine", *PILL_COLUMNS[2:])


@dataclass(frozen=True)
class Problem:
    """A reason for an exit code other than 0, and how to reproduce it.

    where            a case id, a path, or "run"
    path, engine     the path it belongs to; empty for the whole run
    """

    where: str
    status: Status
    reason: str
    hint: str = ""
    replay: str = ""
    path: str = ""
    engine: str = ""
    failure: Failure | None = None
    replay_saved: str = ""

    @property
    def replays(self) -> tuple[str, ...]:
        """Return the commands that run it again, the one from the saved file last."""
        return tuple(command for command in (self.replay, self.replay_saved) if command)


def identity(platform: Platform) -> str:
    """Describe the platform on one line.

    In order: engine, version, adapter, kind, driver, backend, subgroup size, engine toggles.
    """
    adapter, numerics = platform.adapter, platform.numerics
    if adapter is None:
        return f"{clean(platform.engine)} · no adapter"
    toggles = (f"toggles {', '.join(adapter.toggles)}",) if adapter.toggles else ()
    parts = (
        f"{adapter.engine} {adapter.engine_version}",
        f"{adapter.name or 'unnamed adapter'} ({adapter.kind})",
        f"driver {adapter.driver or 'unknown'}",
        adapter.backend or "unknown backend",
        subgroup(adapter, numerics),
        *toggles,
    )
    return " · ".join(clean(part).strip() for part in parts)


def subgroup(adapter: AdapterInfo, numerics: MeasuredNumerics | None) -> str:
    """Give measured and advertised subgroup sizes: "subgroup 8 (4 to 128 advertised)"."""
    low, high = adapter.subgroup_min, adapter.subgroup_max
    size = numerics.subgroup_size if numerics else None
    if low is None or high is None:
        advertised = ""
    else:
        advertised = f"{low} advertised" if low == high else f"{low} to {high} advertised"
    if size is None:
        return f"subgroup not measured ({advertised})" if advertised else "no subgroups"
    return f"subgroup {size} ({advertised})" if advertised else f"subgroup {size}"


def wgsl_promises(numerics: MeasuredNumerics) -> list[str]:
    """Say of two of WGSL's promises whether the adapter keeps them."""
    zeroed = "starts" if numerics.workgroup_memory_zeroed else "does not start"
    loops = (
        f"end after {numerics.loop_limit:,} iterations"
        if numerics.loop_limit
        else "run to their end"
    )
    return [f"workgroup memory {zeroed} at zero", f"loops {loops}"]


def uses(used: float) -> str:
    """Say how much of a limit is used: "uses 26 % of limit".

    Only a value that reaches the limit reads 100 % or more.
    """
    if math.isnan(used):
        return "not a number"
    if math.isinf(used):
        return "over limit"
    if 0 < used < 0.005:
        return "uses <1 % of limit"
    if used >= 10:
        return f"uses {used:.3g} times the limit"
    return f"uses {min(round(used * 100), 99) if used < 1 else round(used * 100)} % of limit"


def gate(path: PathResult) -> str:
    """Give the verdict and the largest use of a limit.

    "PASS, uses 12 % of limit (conformance) at 64x128x128 uniform".
    """
    tightest = max(
        (case for case in path.cases if case.used is not None),
        key=lambda case: case.used or 0.0,
        default=None,
    )
    if tightest is None or tightest.tightest is None or not math.isfinite(tightest.used or 0.0):
        return path.status.value
    used = tightest.used or 0.0
    # A FAIL for another reason (a NaN, a guard word) would be puzzling beside a little-used limit.
    if path.status is Status.PASS or (path.status is Status.FAIL and used >= 1):
        # A FAIL's state names its case already.
        at = f" at {tightest.shape} {tightest.family}" if path.status is Status.PASS else ""
        text = f"{path.status.value}, {uses(used)} ({tightest.tightest.name}){at}"
        return clean(text)
    return path.status.value


def state(path: PathResult) -> str:
    """Give the path's state with its reason: "active", "rejected (…)", "unavailable (…)"."""
    if path.active:
        return f"active: {gate_line.classes(path)}"
    why = path.missing or path.reason
    return clean(f"{path.state_words} ({why})" if why else path.state_words)


def pill_rows(report: Report) -> list[PillRow]:
    """Make the rows of the pill table; this version measures no speed-up."""
    return [
        PillRow(
            pill=clean(path.pill),
            path=clean(path.path),
            detected="yes" if path.detected else "no",
            gate=gate(path),
            speed_up=NOT_MEASURED,
            state=state(path),
            status=path.status,
            engine=clean(path.engine) if report.multi_engine else "",
        )
        for path in report.paths
    ]


def problems(report: Report) -> list[Problem]:
    """List everything that failed or could not be verified, in the order it ran."""
    found = [problem for path in report.paths for problem in _path_problems(path, report)]
    absent = set(report.required) - {path.path for path in report.paths}
    found += [
        Problem(clean(name), Status.ERROR, "required, but did not run", path=name)
        for name in sorted(absent)
    ]
    if report.interrupted:
        left = sum(map(_left_out, report.cases))
        reason = f"interrupted: {left} case{'' if left == 1 else 's'} not run"
        found.append(Problem("run", Status.ERROR, reason))
    if not found and report.exit_code != 0:
        # A run of SKIPs only, or of nothing at all: it must not look like a success.
        found.append(Problem("run", Status.ERROR, "nothing ran, so nothing is verified"))
    return found


def _path_problems(path: PathResult, report: Report) -> list[Problem]:
    """List a path's failed cases, or the path itself where it failed without a case."""
    bad = [case for case in path.cases if case.status in (Status.FAIL, Status.ERROR)]
    if bad:
        return [
            Problem(
                where=named(case.id, case.engine, report),
                status=case.status,
                reason=clean(case.reason) or "no reason given",
                hint=clean(case.hint),
                replay=clean(case.replay),
                path=path.path,
                engine=path.engine,
                failure=case.failure,
                replay_saved=clean(case.replay_saved),
            )
            for case in bad
            # Cases that an interrupt left out would push the real failures off the list.
            if not (report.interrupted and _left_out(case))
        ]
    why = clean(path.missing or path.reason) or "no reason given"
    if path.status in (Status.FAIL, Status.ERROR):
        where = named(path.path, path.engine, report)
        return [Problem(where, path.status, why, path=path.path, engine=path.engine)]
    if path.status is Status.SKIP and path.path in report.required:
        reason = f"required, but skipped: {why}"
        where = named(path.path, path.engine, report)
        return [Problem(where, Status.ERROR, reason, path=path.path, engine=path.engine)]
    return []


def named(what: str, engine: str, report: Report) -> str:
    """Name a case or path; with its engine in a report of several engines."""
    return clean(f"{what} on {engine}" if report.multi_engine else what)


def _left_out(case: CaseResult) -> bool:
    """Tell whether the case never ran, as opposed to having run into an error."""
    return case.status is Status.ERROR and case.not_run


def check_words(check: Check) -> tuple[str, str]:
    """Word a check: its name, and after its verdict measured value, limit, use and reasons."""
    parts = []
    if check.measured is not None:
        parts.append(f", measured {check.measured:.3e}")
    if check.limit is not None:
        parts.append(f", limit {check.limit:.3e}")
    if check.used is not None:
        parts.append(f", {uses(check.used)}")
    if check.reason:
        parts.append(f", {check.reason}")
    if check.why:
        parts.append(f" — {check.why}")
    return clean(check.name), clean("".join(parts))


def comparisons(case: CaseResult) -> list[str]:
    """Compare predicted and measured: "mean_rel: predicted 8.0e-04, measured 7.7e-04, …"."""
    return [
        "{}: predicted {}, measured {}, ratio {}, limit {}, {}".format(*row)
        for row in comparison_rows(case)
    ]


def error_parts(case: CaseResult) -> list[str]:
    """Split a quantized path's error: "stored error: relative rms 7.3e-03, NMSE 5.3e-05"."""
    if case.parts is None:
        return []
    rows = (
        ("stored error", case.parts.stored_rms, case.parts.stored),
        ("kernel error", case.parts.kernel_rms, case.parts.kernel),
    )
    return [f"{name}: relative rms {rms:.3e}, NMSE {nmse:.3e}" for name, rms, nmse in rows]


def comparison_rows(case: CaseResult) -> list[tuple[str, ...]]:
    """Make a row per predicted number: name, predicted, measured, ratio, limit, used."""
    return [
        (
            one.name,
            f"{one.predicted:.3e}",
            f"{one.measured:.3e}",
            f"{one.ratio:.3g}",
            f"{one.limit:.3e}",
            uses(one.used),
        )
        for one in case.comparisons
    ]


def warnings(report: Report) -> list[tuple[str, str]]:
    """List (case id, warning) for every warning of every case."""
    return [
        (named(case.id, case.engine, report), clean(text))
        for case in report.cases
        for text in case.warnings
    ]
