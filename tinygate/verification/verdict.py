"""Judge a path over its cases: its verdict, its deciding case, its active shape classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinygate.core.family import ACTIVATING_FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, PathResult
from tinygate.core.shape import Shape
from tinygate.core.shape_class import ShapeClass
from tinygate.core.status import State, Status, worst
from tinygate.paths.source import source_hash
from tinygate.verification.coverage import companions

_CONFORMANCE_ONLY = "judged on conformance alone, which says nothing about a model's loss"
_UNREADABLE = "its stored weights cannot be read back, so conformance cannot be checked"


def judge_path(path: FastPath, cases: Sequence[CaseResult], *, engine: str = "") -> PathResult:
    """Judge a path by all its cases on one engine.

    It is active for the shape classes in which every activating family ran and passed on every
    shape. Any FAIL or ERROR makes it inactive for all of them.
    """
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
    if any(case.judge == "conformance" for case in cases):
        return replace(result, state=State.CONFORMS, reason=_CONFORMANCE_ONLY)
    if path.never_active_reason:
        return replace(result, state=State.CONFORMS, reason=path.never_active_reason)
    classes, lacking = _active_classes(path, cases)
    if not lacking and not classes:
        lacking = ("companions",)
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
    """Return the SKIP of a path that was not run.

    missing: the requirements that the adapter does not meet; or else
    reason: another reason.
    """
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
    """Find the case that decides a verdict: of those with its status, the one that uses most.

    If none of them measured a limit, it is the first.
    """
    candidates = [case for case in cases if case.status is status]
    return max(candidates, key=lambda case: -1.0 if case.used is None else case.used, default=None)


def _active_classes(
    path: FastPath, cases: Sequence[CaseResult]
) -> tuple[tuple[ShapeClass, ...], tuple[str, ...]]:
    """Find the classes that are measured whole, and the families that are lacking anywhere.

    A class is whole where every shape that was asked for passed every activating family, and every
    companion of the class passed what it is measured with. Shapes that were skipped count for
    nothing.
    """
    passed = [case for case in cases if case.status is Status.PASS]
    families: dict[tuple[ShapeClass, str], set[str]] = {}
    for case in (case for case in passed if not case.companion):
        families.setdefault((case.shape_class, case.shape), set()).add(case.family)
    lacking = tuple(
        name for name in ACTIVATING_FAMILIES if any(name not in have for have in families.values())
    )
    ran = {(case.shape, case.family, case.seed) for case in passed}
    by_class: dict[ShapeClass, bool] = {}
    for (shape_class, label), have in families.items():
        whole = have >= set(ACTIVATING_FAMILIES)
        for one in companions(path, Shape.parse(label)):
            whole = whole and any(
                (one.shape.label, one.family) == (shape, family)
                and (one.seed is None or one.seed == seed)
                for shape, family, seed in ran
            )
        by_class[shape_class] = by_class.get(shape_class, True) and whole
    return tuple(name for name, whole in by_class.items() if whole), lacking
