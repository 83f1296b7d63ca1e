"""Name the input families, and say what each is compared with and how strictly.

The numbers are drawn elsewhere, so that the command line can name families without numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tinygate.core.errors import UnknownNameError
from tinygate.core.text import shown

DEFAULT_SEED = 12345


@dataclass(frozen=True)
class Family:
    """A named distribution of inputs, and which checks apply to it.

    norm         D of the conformance check: G or |A||B|
    exact        compared bit for bit with the exact product, or with the stored B; empty if neither
    packing      stored weights are compared with their originals
    activation   the activation rule applies, F against R; the other families are judged on
                 conformance alone, because a right kernel breaks the rule on them
    """

    name: str
    norm: Literal["G", "abs"]
    exact: Literal["", "product", "stored"] = ""
    packing: bool = True
    activation: bool = False
    summary: str = ""


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("uniform", "G", activation=True, summary="U[-0.2, 0.2] both"),
        Family(
            "positive",
            "abs",
            activation=True,
            summary="U[0, 0.4] both: no cancellation, so stagnation shows",
        ),
        Family("integer", "abs", "product", summary="whole numbers whose sums are exact"),
        Family("identity", "abs", "stored", summary="one-hot rows of A: C is rows of stored B"),
        Family("normal", "G", activation=True, summary="N(0, 1) x N(0, 0.02)"),
        Family(
            "outlier",
            "G",
            packing=False,
            summary="normal with one column of A and one of B far larger",
        ),
        Family("cancel", "G", packing=False, summary="halves of K that cancel to 1e-4 noise"),
        Family("subnormal", "abs", summary="weights around 3e-6, activations around 1e3"),
        Family("overflow", "abs", summary="a weight over 65504; partial sums over 65504"),
        Family("zero", "abs", activation=True, summary="all-zero weights"),
    )
}
# All of these must have run and passed before a path may be active for a shape class.
ACTIVATING_FAMILIES = ("uniform", "positive", "integer", "identity")
DEFAULT_FAMILIES = ACTIVATING_FAMILIES
DEFAULT_INPUTS = ",".join(DEFAULT_FAMILIES)


def parse_families(text: str) -> tuple[str, ...]:
    """Read `uniform,positive`, or `all`.

    Raises:
        UnknownNameError: no family has such a name; the message lists them.
    """
    if text.strip() == "all":
        return tuple(FAMILIES)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name == "all":
            raise UnknownNameError(
                "'all' already holds every input family and cannot be combined with others",
                "tinygate verify --inputs all",
            )
        if name not in FAMILIES:
            raise UnknownNameError(
                f"unknown input family {shown(name, 40)!r}; "
                f"the families are {', '.join(FAMILIES)}, or 'all'",
                "tinygate verify --inputs uniform,positive",
            )
    return names
