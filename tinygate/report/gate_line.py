"""Render the `[ops]` lines: one per case, one per path, one per pair of engines.

No other module writes any. Scripts grep these lines, so their format changes only on purpose.
Numbers look as JavaScript prints them, since the format comes from a JavaScript console.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from tinygate.core.metrics import MEAN_REL_LIMIT
from tinygate.core.results import CaseResult, EngineAgreement, PathResult, Report
from tinygate.core.status import State, Status

_OPS = "[ops]"
MAX_CLASSES = 3


def case_line(case: CaseResult, *, single_shape: bool = False) -> str:
    """Render a case: the gate line for measured families, the exact one for exact families.

    single_shape: the run has one shape, so its uniform line names neither shape nor family.
    """
    verdict = str(case.status)
    if case.reason and case.status is not Status.PASS:
        verdict += f": {case.reason}"
    if case.status is Status.FAIL and case.failed < case.runs:
        verdict += f" (in {case.failed} of {case.runs} runs)"
    if not (single_shape and case.family == "uniform" and not case.companion):
        verdict += f" · {case.shape} {case.family}"
    head = f"{_OPS} {case.path}"
    if case.status not in (Status.PASS, Status.FAIL):
        return f"{head} gate: {verdict}"
    if case.metrics is not None and case.judge == "activation":
        m = case.metrics
        numbers = (
            f"mean|ref|={exponential(m.mean_ref)}, max_abs={exponential(m.max_abs)} "
            f"(limit {exponential(m.max_abs_limit)}), mean_rel={percent(m.mean_rel, 3)} "
            f"(limit {percent(MEAN_REL_LIMIT, 3)}), max_rel={percent(m.max_rel, 2)}"
        )
        return f"{head} gate: {numbers} — {verdict}"
    if case.exact is not None:
        wrong, total = case.exact
        return f"{head} exact: {wrong} of {total} wrong — {verdict}"
    used = next((c.measured for c in case.checks if c.name == "conformance"), None)
    if used is not None:
        return f"{head} conformance: worst |F-S| {percent(used, 1)} of limit — {verdict}"
    return f"{head} gate: {verdict}"


def path_line(path: PathResult) -> str:
    """Render a path's verdict: `[ops] f16-storage gate verdict: PASS — f16-storage path active`."""
    skipped = 0 if path.status is Status.SKIP else path.skipped_shapes
    tail = f" · {skipped} shape{'s' if skipped > 1 else ''} skipped" if skipped else ""
    return f"{_OPS} {path.path} gate verdict: {path.status} — {_outcome(path)}{tail}"


def agreement_line(found: EngineAgreement) -> str:
    """Render whether two engines computed the same bits."""
    one, other = found.engines
    head = f"{_OPS} {found.what}: {one} and {other}"
    drivers = f" ({found.drivers[0]} beside {found.drivers[1]})" if found.drivers else ""
    if found.first is None:
        return f"{head} agree bit for bit in {found.agreeing} of {found.compared} cases{drivers}"
    unlike = found.compared - found.agreeing
    shape, family = found.first
    return f"{head} differ in {unlike} of {found.compared} cases, first {shape} {family}{drivers}"


def lines(report: Report) -> Iterable[str]:
    """Render every line of a run, in its order."""
    for path in report.paths:
        yield from (case_line(case, single_shape=report.single_shape) for case in path.cases)
        yield path_line(path)
    yield from map(agreement_line, report.agreements)


def classes(path: PathResult) -> str:
    """Say which sizes a path is active for: `M 33–128, K 65–128, N 65–128`."""
    sizes = list(dict.fromkeys(one.sizes for one in path.active_classes))
    more = f"; and {len(sizes) - MAX_CLASSES} more classes" if len(sizes) > MAX_CLASSES else ""
    return "; ".join(sizes[:MAX_CLASSES]) + more


def _outcome(path: PathResult) -> str:
    """Say what follows from the verdict: the path that runs, or why this one does not."""
    if path.status is Status.SKIP:
        return path.missing or path.reason
    if path.status is Status.FAIL:
        return f"falling back to {path.fallback}"
    if path.status is Status.ERROR:
        why = path.reason if path.reason and not path.cases else "could not be verified"
        return f"{why}, falling back to {path.fallback}"
    if path.active:
        return f"{path.path} path active · {classes(path)}"
    if path.state is State.PASSES_SOME:
        return f"{path.state_words}; not active without {', '.join(path.lacking)}"
    word = "never" if path.state is State.CONFORMS else "not"
    return f"{path.state_words}; {word} active: {path.reason}"


def exponential(x: float) -> str:
    """Format like JavaScript's x.toExponential(2): `1.22e-1`, ties away from zero."""
    if not math.isfinite(x):
        return _non_finite(x)
    if x == 0:
        return "0.00e+0"
    value = Decimal(x)
    exponent = value.adjusted()
    digits = value.scaleb(-exponent).quantize(Decimal("1.00"), ROUND_HALF_UP)
    if abs(digits) >= 10:
        digits, exponent = (digits / 10).quantize(Decimal("1.00")), exponent + 1
    return f"{digits}e{exponent:+d}"


def percent(x: float, decimals: int) -> str:
    """Format like JavaScript's (100 * x).toFixed(decimals) + "%"."""
    value = 100 * x
    if not math.isfinite(value):
        return f"{_non_finite(value)}%"
    if abs(value) >= 1e21:  # toFixed gives up its digits here, and a Decimal has no room for them
        return f"{float(value)!r}%"
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)}%"


def _non_finite(x: float) -> str:
    return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
