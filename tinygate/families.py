"""The input families by name: what each is compared with, and how strictly. No numbers are drawn
here, so that the command line can name families without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tinygate.errors import UnknownNameError

DEFAULT_SEED = 12345


@dataclass(frozen=True)
class Family:
    """A named distribution. `norm` is D of the conformance check: G or |A||B|; `exact` families are
    compared bit for bit with what they must give: the product, or the stored B."""

    name: str
    norm: Literal["G", "abs"]
    exact: Literal["", "product", "stored"] = ""
    summary: str = ""


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("uniform", "G", summary="U[-0.2, 0.2] both"),
        Family("positive", "abs", summary="U[0, 0.4] both: no cancellation, so stagnation shows"),
        Family("integer", "abs", "product", "whole numbers whose sums are exact"),
        Family("identity", "abs", "stored", "one-hot rows of A: C is rows of the stored B"),
    )
}
DEFAULT_FAMILIES = ("uniform", "positive", "integer", "identity")


def parse_families(text: str) -> tuple[str, ...]:
    """Read `uniform,positive`, or `all`.

    Raises:
        UnknownNameError: with the list of families.
    """
    if text.strip() == "all":
        return tuple(FAMILIES)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in FAMILIES:
            raise UnknownNameError(
                f"unknown input family {name!r}; the families are {', '.join(FAMILIES)}, all",
                "tinygate verify --inputs uniform,positive",
            )
    return names
