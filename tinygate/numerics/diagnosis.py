"""Why a kernel that is out of bounds is so: the verdict names the cause where the numbers show it.

Pure. Each cause is tested, not guessed: the operands are changed as the fault would change them,
and only if that explains what came out is the fault named.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tinygate.numerics.arrays import F32, Values
from tinygate.numerics.compare import deviation, nonfinite
from tinygate.numerics.matmul64 import blocks, product
from tinygate.numerics.tolerance import F16_MAX, F16_MIN_NORMAL, Tolerance


class Cause(StrEnum):
    """Why a kernel is out of bounds."""

    OVERFLOWED = "overflowed"
    FLUSHED = "subnormals flushed"
    CLAMPED = "clamped at 65504"
    STAGNATED = "stagnated"


_SAMPLES = 8
_INFINITY = np.uint32(0x7F800000)


def flushed(C: F32, A: Values, B: Values, limit: Tolerance) -> bool:
    """Whether C is what a kernel gives that takes f16 subnormals for zero."""
    held = B.astype(np.float32)
    held[np.abs(held) < F16_MIN_NORMAL] = 0
    return deviation(C, A, held, limit).worst <= 1.0


def overflowed(C: F32) -> bool:
    """Whether every non-finite output is an infinity, or comes with one: a sum ran over."""
    bits = C.view(np.uint32)
    return bool(((bits & np.uint32(0x7FFFFFFF)) == _INFINITY).any())


def clamped(C: F32) -> bool:
    """Whether outputs stop exactly at f16's largest value."""
    return bool((np.abs(C) == np.float32(F16_MAX)).any())


def stagnated(C: F32, A: Values, B: Values) -> bool:
    """Whether sums of positive terms fall short as a running sum in f16 does, which has grown so
    large that a term no longer moves it.

    Of the elements that are off by over 0.1 %, all must be short, and most of the first few by
    about as much as such a sum is; a kernel that drops terms is short, too, but by another amount.
    """
    picked: list[tuple[int, int, float]] = []
    for block in blocks(C.shape[0], C.shape[1]):
        have = C[block].astype(np.float64)
        want = product(A, B, block)
        off = np.abs(have - want) > 1e-3 * want
        off &= ~nonfinite(C[block].view(np.uint32))
        if bool((off & (have >= want)).any()):
            return False
        for i, j in np.argwhere(off)[: _SAMPLES - len(picked)]:
            at = (block[0].start + int(i), block[1].start + int(j))
            picked.append((*at, float(want[i, j] - have[i, j])))
    alike = 0
    for i, j, short in picked:
        terms = A[i].astype(np.float64) * B[:, j].astype(np.float64)
        running = np.float16(0)
        with np.errstate(over="ignore"):
            for term in terms.astype(np.float16):
                running += term
        missing = float(terms.sum()) - float(running)
        alike += abs(short - missing) < 0.25 * max(short, missing)
    return 4 * alike > 3 * len(picked)


def cause(family: str, C: F32, A: Values, B: Values, limit: Tolerance) -> Cause | None:
    """Name the cause of a failed conformance check, where the numbers show one."""
    if overflowed(C):
        return Cause.OVERFLOWED
    if family == "subnormal" and flushed(C, A, B, limit):
        return Cause.FLUSHED
    if family in {"overflow", "integer"} and clamped(C):
        return Cause.CLAMPED
    if family == "positive" and stagnated(C, A, B):
        return Cause.STAGNATED
    return None
