"""The words of a verdict: Status of a check, case or path; State of a path; Check."""

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
    """What a path's verdict leads to. Only ACTIVE lets anything run on it."""

    ACTIVE = "active"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"
    UNVERIFIED = "unverified"
    CONFORMS = "conforms"  # passes everything, and declares what no model should use
    PASSES_ACTIVATION = "passes activation"  # nothing shows that it conforms
    PASSES_SOME = "passes"  # not every activating family ran


@dataclass(frozen=True)
class Check:
    """One comparison: what was measured, against which limit, and the limit's reason.

    `measured` and `limit` are None where the check is a yes or no. `reason` says what is wrong and
    is empty on PASS.
    """

    name: str
    status: Status
    reason: str = ""
    measured: float | None = None
    limit: float | None = None
    why: str = ""

    @property
    def used(self) -> float | None:
        """The share of the limit that is used; None where nothing was measured against one."""
        if self.measured is None or self.limit is None:
            return None
        return used_of(self.measured, self.limit)


def worst(statuses: Iterable[Status]) -> Status:
    """The verdict over several: FAIL before ERROR before PASS before SKIP; nothing is an ERROR.

    SKIP weighs least because it neither fails nor counts as having run.
    """
    present = set(statuses)
    order = (Status.FAIL, Status.ERROR, Status.PASS, Status.SKIP)
    return next((status for status in order if status in present), Status.ERROR)
