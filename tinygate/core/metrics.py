"""The numbers of a measured case: the seed's, and those predicted beside them. Frozen data."""

from __future__ import annotations

import math
from dataclasses import dataclass

# An NMSE over this many times the prediction is warned about.
NMSE_WARNING = 2.0


@dataclass(frozen=True)
class Metrics:
    """The seed's numbers: F against R, all float64. `count` elements, pooled products included.

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
    """What a quantised path's error is made of, each as an NMSE.

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
    def margin(self) -> float:
        """The share of the limit that is left."""
        return 1 - self.measured / self.limit if self.limit else 0.0
