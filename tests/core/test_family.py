"""The families as gate.md's table lists them, and how the command line names them."""

from __future__ import annotations

import pytest

from tinygate.core.errors import UnknownNameError
from tinygate.core.family import (
    ACTIVATING_FAMILIES,
    DEFAULT_FAMILIES,
    DEFAULT_SEED,
    FAMILIES,
    parse_families,
)


@pytest.mark.parametrize(
    ("name", "norm", "exact", "packing", "activation"),
    [
        ("uniform", "G", "", True, True),
        ("positive", "abs", "", True, True),
        ("integer", "abs", "product", True, False),
        ("identity", "abs", "stored", True, False),
        ("normal", "G", "", True, True),
        ("outlier", "G", "", False, False),
        ("cancel", "G", "", False, False),
        ("subnormal", "abs", "", True, False),
        ("overflow", "abs", "", True, False),
        ("zero", "abs", "", True, True),
    ],
)
def test_what_a_family_is_held_against(
    name: str, norm: str, exact: str, packing: bool, activation: bool
) -> None:
    family = FAMILIES[name]
    assert family.name == name
    assert (family.norm, family.exact) == (norm, exact)
    assert (family.packing, family.activation) == (packing, activation)
    assert family.summary


def test_every_family_is_in_the_table_above() -> None:
    assert len(FAMILIES) == 10


def test_the_default_families_are_those_that_activate() -> None:
    assert DEFAULT_FAMILIES == ACTIVATING_FAMILIES
    assert DEFAULT_FAMILIES == ("uniform", "positive", "integer", "identity")
    assert DEFAULT_SEED == 12345


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("uniform", ("uniform",)),
        ("zero,uniform", ("zero", "uniform")),
        (" uniform , positive ", ("uniform", "positive")),
        ("uniform,positive,uniform", ("uniform", "positive")),
        ("all", tuple(FAMILIES)),
        (" all ", tuple(FAMILIES)),
    ],
)
def test_parse(text: str, names: tuple[str, ...]) -> None:
    assert parse_families(text) == names


@pytest.mark.parametrize(
    ("text", "unknown"),
    [("", "''"), ("uniform,", "''"), ("Uniform", "'Uniform'"), ("uniform;zero", "'uniform;zero'")],
)
def test_an_unknown_family_lists_the_known_ones(text: str, unknown: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_families(text)
    assert unknown in caught.value.message
    assert all(name in caught.value.message for name in FAMILIES)
    assert caught.value.exit_code == 2
