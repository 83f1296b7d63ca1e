"""Hold the numbers of a measured case, and those predicted beside them. Frozen data."""

from __future__ import annotations

import math
from dataclasses import dataclass

# The activation rule: max_abs below 1 % of mean |R|, and mean_rel below this.
MEAN_REL_LIMIT = 0.005
# An NMSE over this many times the prediction is warned about.
NMSE_WARNING = 2.0


def used_of(measured: float, limit: float) -> float:
    """Give the share of a limit that is used up: 0.26 is "uses 26 % of limit".

    What is not a number is over every limit: as NaN it would hide behind any other share.
    """
    if measured != measured:
        return math.inf
    if limit == 0:
        return 0.0 if measured == 0 else math.inf
    return measured / limit


@dataclass(frozen=True)
class Metrics:
    """F against R, as the activation rule has it, all float64.

    count            elements, pooled products included
    nmse             sum (F-R)^2 / sum R^2; 0 where R is all zero
    """

    mean_ref: float
    max_abs: float
    mean_rel: float
    max_rel: float
    count: int
    nmse: float = 0.0

    @property
    def max_abs_limit(self) -> float:
        """1 % of mean |R|: the limit of max_abs and the floor of the relative error."""
        return 0.01 * self.mean_ref


@dataclass(frozen=True)
class Prediction:
    """What a path that does as it declares should show on these very inputs (predict.py)."""

    nmse: float
    mean_rel: float
    max_abs: float


@dataclass(frozen=True)
class ErrorParts:
    """What a quantized path's error is made of, each as an NMSE.

    stored     of S against T, the product of the originals: what storing does
    kernel     of F against S: what the kernel adds
    """

    stored: float
    kernel: float

    @property
    def stored_rms(self) -> float:
        """Relative to the root mean square of T."""
        return math.sqrt(self.stored)

    @property
    def kernel_rms(self) -> float:
        """Relative to the root mean square of S."""
        return math.sqrt(self.kernel)


@dataclass(frozen=True)
class Comparison:
    """One predicted number beside the measured one. `limit` is what the check allows: for the NMSE
    twice the prediction, over which a path is warned about."""

    name: str
    predicted: float
    measured: float
    limit: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted if self.predicted else float("inf")

    @property
    def used(self) -> float:
        """Measured as a share of the limit; infinite where a limit of 0 is not met."""
        return used_of(self.measured, self.limit)
