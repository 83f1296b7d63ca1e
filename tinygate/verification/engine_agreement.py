"""Whether engines computed the same bits: two compilers over one driver as a rule do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tinygate.core.adapter import Platform
from tinygate.core.results import CaseResult, PathResult


def agreements(paths: Sequence[PathResult], platforms: Sequence[Platform]) -> tuple[str, ...]:
    """A line for the reference and one for each path, and for each engine after the first."""
    first, *others = platforms
    lines: list[str] = []
    for other in others:
        here = _cases(paths, first.engine)
        there = _cases(paths, other.engine)
        both = [(case, there[key]) for key, case in here.items() if key in there]
        compared = {
            name: [(a, a.digests[0], b.digests[0]) for a, b in both if a.path == name]
            for name in dict.fromkeys(path for path, _ in here)
        }
        compared["f32 reference"] = [(a, a.digests[1], b.digests[1]) for a, b in both]
        drivers = _drivers(first, other)
        lines += [
            _line(what, first.engine, other.engine, digests, drivers)
            for what, digests in compared.items()
        ]
    return tuple(line for line in lines if line)


def _cases(paths: Sequence[PathResult], engine: str) -> dict[tuple[str, str], CaseResult]:
    return {
        (case.path, case.id): case for path in paths if path.engine == engine for case in path.cases
    }


def _line(
    what: str, a: str, b: str, digests: Sequence[tuple[CaseResult, str, str]], drivers: str
) -> str:
    compared = [(case, left == right) for case, left, right in digests if left and right]
    if not compared:
        return ""
    unlike = [case for case, same in compared if not same]
    head = f"[ops] {what}: {a} and {b}"
    if not unlike:
        return f"{head} agree bit for bit in {len(compared)} of {len(compared)} cases{drivers}"
    one = unlike[0]
    return (
        f"{head} differ in {len(unlike)} of {len(compared)} cases, "
        f"first {one.shape} {one.family}{drivers}"
    )


def _drivers(a: Platform, b: Platform) -> str:
    """What explains a difference beforehand."""
    if a.adapter is None or b.adapter is None:
        return ""
    one, other = (f"{p.adapter.name} on {p.adapter.backend}" for p in (a, b) if p.adapter)
    return "" if one == other else f" ({one} beside {other})"
