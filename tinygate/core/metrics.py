"""Hold the measured and the predicted numbers of a case. Frozen data."""

from __future__ import annotations

import math
from dataclasses import dataclass

# The activation rule: max_abs below 1 % of mean |R|, and mean_rel below this.
MEAN_REL_LIMIT = 0.005
# An NMSE over this multiple of the prediction gets a warning.
NMSE_WARNING = 2.0


def used_of(measured: float, limit: float) -> float:
    """Return the fraction of a limit that is used: 0.26 is "uses 26 % of limit".

    NaN uses infinitely much, since max() over several cases could drop a NaN.
    """
    if math.isnan(measured):
        return math.inf
    if limit == 0:
        return 0.0 if measured == 0 else math.inf
    return measured / limit


@dataclass(frozen=True)
class Metrics:
    """The candidate F compared with the reference R, as the activation rule defines it, in float64.

    mean_ref         mean |R|
    max_abs          max |F-R|
    mean_rel         mean of |F-R| / max(|R|, max_abs_limit)
    max_rel          max of the same
    count            elements, pooled products included
    nmse             sum (F-R)^2 / sum R^2; 0 if R is all zero
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
    """The error that a path's declaration predicts for these inputs (numerics/error_model.py)."""

    nmse: float
    mean_rel: float
    max_abs: float


@dataclass(frozen=True)
class ErrorParts:
    """The two parts of a quantized path's error, each as an NMSE.

    stored     from storing: S, the product of the stored operands, against T, that of the originals
    kernel     from the kernel: F against S
    """

    stored: float
    kernel: float

    @property
    def stored_rms(self) -> float:
        """The error from storing, relative to the root mean square of T."""
        return math.sqrt(self.stored)

    @property
    def kernel_rms(self) -> float:
        """The kernel's error, relative to the root mean square of S."""
        return math.sqrt(self.kernel)


@dataclass(frozen=True)
class Comparison:
    """One measured number, its prediction and its limit.

    The limit of the NMSE is twice the prediction; over it the case gets a warning.
    """

    name: str
    predicted: float
    measured: float
    limit: float

    @property
    def ratio(self) -> float:
        """The measured number divided by the predicted one."""
        return self.measured / self.predicted if self.predicted else float("inf")

    @property
    def used(self) -> float:
        """The fraction of the limit that is used; infinite if a limit of 0 is not met."""
        return used_of(self.measured, self.limit)
