"""Name the cause of a failed conformance check where the numbers show it.

Pure. Each cause is tested, not guessed: a fault is named only if its effect explains the output.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from tinygate.numerics.arrays import F32, Values
from tinygate.numerics.compare import deviation, nonfinite
from tinygate.numerics.matmul64 import blocks, product
from tinygate.numerics.tolerance import F16_MAX, F16_MIN_NORMAL, Tolerance


class Cause(StrEnum):
    """A known cause of outputs over the conformance limit."""

    OVERFLOWED = "overflowed"
    FLUSHED = "subnormals flushed"
    CLAMPED = "clamped at 65504"
    STAGNATED = "stagnated"


_SAMPLES = 8
_INFINITY = np.uint32(0x7F800000)


def flushed(C: F32, A: Values, B: Values, limit: Tolerance) -> bool:
    """Tell whether flushing B's f16 subnormals to zero brings C within the limit."""
    without = B.astype(np.float32)
    without[np.abs(without) < F16_MIN_NORMAL] = 0
    return deviation(C, A, without, limit).worst <= 1.0


def overflowed(C: F32) -> bool:
    """Tell whether any output is infinite, as when a sum overflows."""
    bits = C.view(np.uint32)
    return bool(((bits & np.uint32(0x7FFFFFFF)) == _INFINITY).any())


def clamped(C: F32) -> bool:
    """Tell whether any output is exactly f16's largest value."""
    return bool((np.abs(C) == np.float32(F16_MAX)).any())


def stagnated(C: F32, A: Values, B: Values) -> bool:
    """Tell whether sums of positive terms fall short as a running f16 sum does.

    Such a sum stagnates: it grows so large that adding a term no longer changes it. All elements
    that are off by over 0.1 % must be too small, and over three quarters of the first eight by
    about as much as a simulated f16 sum. A kernel that drops terms is too small by another amount.
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
    """Name the cause of a failed conformance check; None where the numbers show none."""
    if overflowed(C):
        return Cause.OVERFLOWED
    if family == "subnormal" and flushed(C, A, B, limit):
        return Cause.FLUSHED
    if family in {"overflow", "integer"} and clamped(C):
        return Cause.CLAMPED
    if family == "positive" and stagnated(C, A, B):
        return Cause.STAGNATED
    return None
