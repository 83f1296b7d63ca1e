"""Cases -> one verdict per path: is it active, for which shape classes, and which case decided?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinygate.core.results import ACTIVATING_FAMILIES, CaseResult, PathResult, Status, worst


def judge_path(
    path: str,
    pill: str,
    cases: Sequence[CaseResult],
    *,
    missing: str = "",
    skip: str = "",
    source_hash: str = "",
    readable: bool = True,
    inactive: str = "",
) -> PathResult:
    """One verdict over a path's cases. It is active only for the classes where every activating
    family ran on every shape and passed; any FAIL or ERROR rejects it as a whole.

    skip: why it was not run though the adapter has all it needs.
    readable: what it stores can be read back; a path of which that is not so is never active.
    inactive: why the path is never active, whatever it passes.
    """
    if missing or skip:
        why = missing or skip
        line = f"[ops] {path} gate verdict: SKIP — {why}"
        skipped = PathResult(path, pill, Status.SKIP, "unavailable", why, missing)
        return replace(skipped, source_hash=source_hash, line=line)
    status = worst(case.status for case in cases)
    deciding = _deciding(cases, status)
    reason = ""
    if deciding is not None and status is not Status.PASS:
        reason = f"{deciding.shape} {deciding.family}: {deciding.reason}"
    state = "unverified"
    classes: tuple[str, ...] = ()
    if status is Status.FAIL:
        state, outcome = "rejected", "falling back to f32"
    elif status is Status.ERROR:
        outcome = "could not be verified, falling back to f32"
        reason = reason or "not run"
    elif status is Status.SKIP:
        state, outcome = "unavailable", reason
    else:
        classes, lacking = _active_classes(cases)
        if not readable:
            classes, state = (), "passes activation"
            reason = "what it stores cannot be read back, so nothing shows that it conforms"
            outcome = f"{state}; not active: {reason}"
        elif inactive:
            classes, state, reason = (), "conforms", inactive
            outcome = f"{state}; never active: {reason}"
        elif not lacking:
            state, outcome = "active", f"{path} path active"
        else:
            ran = {case.family for case in cases if case.status is Status.PASS}
            state = "passes uniform" if ran == {"uniform"} else f"passes {', '.join(sorted(ran))}"
            outcome = f"{state}; not active without {', '.join(lacking)}"
            reason = f"needs {', '.join(lacking)} too"
    decided_by = "" if deciding is None else deciding.id
    return PathResult(
        path,
        pill,
        status,
        state,
        reason,
        "",
        decided_by,
        classes,
        source_hash,
        tuple(cases),
        f"[ops] {path} gate verdict: {status} — {outcome}",
    )


def _deciding(cases: Sequence[CaseResult], status: Status) -> CaseResult | None:
    """The case that decides a path's verdict: of those that have it, the one nearest to or
    farthest over its limit; the first where no limit is measured."""
    having = [case for case in cases if case.status is status]
    return max(having, key=lambda case: -1.0 if case.budget is None else case.budget, default=None)


def _active_classes(cases: Sequence[CaseResult]) -> tuple[tuple[str, ...], list[str]]:
    """The shape classes in which every shape passed every activating family, and the families
    that are lacking anywhere. Shapes that were skipped count for nothing."""
    ran = [case for case in cases if case.status is Status.PASS]
    families: dict[tuple[str, str], set[str]] = {}
    for case in ran:
        families.setdefault((case.shape_class, case.shape), set()).add(case.family)
    lacking = [
        name for name in ACTIVATING_FAMILIES if any(name not in have for have in families.values())
    ]
    by_class: dict[str, bool] = {}
    for (shape_class, _), have in families.items():
        complete = have >= set(ACTIVATING_FAMILIES)
        by_class[shape_class] = by_class.get(shape_class, True) and complete
    return tuple(name for name, complete in by_class.items() if complete), lacking
