"""Define verdicts: the Status of a check, case or path, the State of a path, and Check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tinygate.core.metrics import used_of


class Status(StrEnum):
    """A verdict. A result starts as ERROR "not run", so nothing is green by omission."""

    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"
    ERROR = "ERROR"


class State(StrEnum):
    """The consequence of a path's verdict. Only an ACTIVE path may run."""

    ACTIVE = "active"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"
    UNVERIFIED = "unverified"
    CONFORMS = "conforms"  # passes everything, but its declared precision is too low to activate
    PASSES_ACTIVATION = "passes activation"  # conformance could not be checked
    PASSES_SOME = "passes"  # not every activating family ran


@dataclass(frozen=True)
class Check:
    """One comparison of a measured number with its limit.

    measured, limit    None if the check is a yes or no
    reason             what is wrong; empty on PASS
    why                where the limit comes from
    """

    name: str
    status: Status
    reason: str = ""
    measured: float | None = None
    limit: float | None = None
    why: str = ""

    @property
    def used(self) -> float | None:
        """The fraction of the limit that is used; None if the check has no limit."""
        if self.measured is None or self.limit is None:
            return None
        return used_of(self.measured, self.limit)


def worst(statuses: Iterable[Status]) -> Status:
    """Combine several verdicts: FAIL before ERROR before PASS before SKIP; none at all is ERROR.

    SKIP comes last because it neither fails nor counts as having run.
    """
    present = set(statuses)
    order = (Status.FAIL, Status.ERROR, Status.PASS, Status.SKIP)
    return next((status for status in order if status in present), Status.ERROR)
