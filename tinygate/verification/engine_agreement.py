"""Compare the bits that several engines computed; on one driver they usually agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinygate.core.adapter import Platform
from tinygate.core.results import CaseResult, EngineAgreement, PathResult

REFERENCE = "f32 reference"
# A case, and the digests of its outputs on both engines.
_Digests = tuple[CaseResult, str, str]


def agreements(
    paths: Sequence[PathResult], platforms: Sequence[Platform]
) -> tuple[EngineAgreement, ...]:
    """Compare the first engine with each other one: path by path, then the reference."""
    first, *others = platforms
    return tuple(
        found
        for other in others
        for what, digests in _shared(paths, first.engine, other.engine)
        if (found := _compared(what, digests, first, other)) is not None
    )


def _shared(
    paths: Sequence[PathResult], one: str, other: str
) -> Iterator[tuple[str, list[_Digests]]]:
    """Pair the digests of the cases that both engines ran, path by path, then the reference."""
    here, there = _cases(paths, one), _cases(paths, other)
    both = [(case, there[key]) for key, case in here.items() if key in there]
    for name in dict.fromkeys(path for path, _ in here):
        yield name, [(a, a.digests[0], b.digests[0]) for a, b in both if a.path == name]
    yield REFERENCE, [(a, a.digests[1], b.digests[1]) for a, b in both]


def _cases(paths: Sequence[PathResult], engine: str) -> dict[tuple[str, str], CaseResult]:
    return {
        (case.path, case.id): case for path in paths if path.engine == engine for case in path.cases
    }


def _compared(
    what: str, digests: Sequence[_Digests], one: Platform, other: Platform
) -> EngineAgreement | None:
    """Compare the digests that both engines have, or return None if there are none."""
    compared = [(case, left == right) for case, left, right in digests if left and right]
    if not compared:
        return None
    unlike = [case for case, same in compared if not same]
    return EngineAgreement(
        what,
        (one.engine, other.engine),
        agreeing=len(compared) - len(unlike),
        compared=len(compared),
        first=(unlike[0].shape, unlike[0].family) if unlike else None,
        drivers=_drivers(one, other),
    )


def _drivers(one: Platform, other: Platform) -> tuple[str, str] | None:
    """Name the adapter and backend of each platform, or return None if they are the same."""
    if one.adapter is None or other.adapter is None:
        return None
    a, b = (f"{it.name} on {it.backend}" for it in (one.adapter, other.adapter))
    return None if a == b else (a, b)
