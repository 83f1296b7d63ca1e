"""Judge a path over its cases: one verdict, the shape classes it is active for, what decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinygate.core.family import ACTIVATING_FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, PathResult
from tinygate.core.status import State, Status, worst
from tinygate.paths.source import source_hash

_UNREADABLE = "what it stores cannot be read back, so nothing shows that it conforms"


def judge_path(path: FastPath, cases: Sequence[CaseResult], *, engine: str = "") -> PathResult:
    """Give the verdict over a path's cases. It is active only for the classes where every
    activating family ran on every shape and passed; any FAIL or ERROR rejects it as a whole."""
    status = worst(case.status for case in cases)
    deciding = _deciding(cases, status)
    result = PathResult(
        path.name,
        path.pill,
        status,
        State.UNVERIFIED,
        deciding=deciding,
        fallback=path.fallback,
        source_hash=source_hash(path),
        cases=tuple(cases),
        engine=engine,
    )
    if status is not Status.PASS:
        states = {Status.FAIL: State.REJECTED, Status.SKIP: State.UNAVAILABLE}
        state = states.get(status, State.UNVERIFIED)
        reason = f"{deciding.shape} {deciding.family}: {deciding.reason}" if deciding else "not run"
        return replace(result, state=state, reason=reason)
    if not path.readback:
        return replace(result, state=State.PASSES_ACTIVATION, reason=_UNREADABLE)
    if path.never_active_reason:
        return replace(result, state=State.CONFORMS, reason=path.never_active_reason)
    classes, lacking = _active_classes(cases)
    if lacking:
        reason = f"needs {', '.join(lacking)} too"
        return replace(
            result,
            state=State.PASSES_SOME,
            reason=reason,
            lacking=lacking,
            active_classes=classes,
        )
    return replace(result, state=State.ACTIVE, active_classes=classes)


def skip_path(
    path: FastPath, *, missing: str = "", reason: str = "", engine: str = ""
) -> PathResult:
    """Give the verdict of a path that was not run: for what the adapter is missing, or for another
    reason."""
    return PathResult(
        path.name,
        path.pill,
        Status.SKIP,
        State.UNAVAILABLE,
        reason=missing or reason,
        missing=missing,
        fallback=path.fallback,
        source_hash=source_hash(path),
        engine=engine,
    )


def _deciding(cases: Sequence[CaseResult], status: Status) -> CaseResult | None:
    """The case that decides a path's verdict: of those that have it, the one nearest to or
    farthest over its limit; the first where no limit is measured."""
    having = [case for case in cases if case.status is status]
    return max(having, key=lambda case: -1.0 if case.used is None else case.used, default=None)


def _active_classes(
    cases: Sequence[CaseResult],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shape classes in which every shape passed every activating family, and the families
    that are lacking anywhere. Shapes that were skipped count for nothing."""
    families: dict[tuple[str, str], set[str]] = {}
    for case in (case for case in cases if case.status is Status.PASS):
        families.setdefault((case.shape_class, case.shape), set()).add(case.family)
    lacking = tuple(
        name for name in ACTIVATING_FAMILIES if any(name not in have for have in families.values())
    )
    by_class: dict[str, bool] = {}
    for (shape_class, _), have in families.items():
        complete = have >= set(ACTIVATING_FAMILIES)
        by_class[shape_class] = by_class.get(shape_class, True) and complete
    return tuple(name for name, complete in by_class.items() if complete), lacking
