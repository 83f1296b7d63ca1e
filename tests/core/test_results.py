"""What a run produces: nothing is green by omission, and how verdicts become an exit code."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygate.core.adapter import Platform
from tinygate.core.family import ACTIVATING_FAMILIES
from tinygate.core.metrics import Metrics
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.shape import Shape
from tinygate.core.shape_class import class_of
from tinygate.core.status import Check, State, Status, worst

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
STATUSES = st.lists(st.sampled_from(Status), max_size=6)
BLANK = CaseResult(
    "f16-storage", "64x128x128", class_of("main", Shape(64, 128, 128)), "uniform", 12345
)


def path(name: str, status: Status, state: State = State.UNVERIFIED) -> PathResult:
    return PathResult(name, name, status, state)


def report(*statuses: Status, required: tuple[str, ...] = (), interrupted: bool = False) -> Report:
    """A report of paths named a, b, c …"""
    paths = tuple(path(name, status) for name, status in zip("abcdef", statuses, strict=False))
    return Report(
        version="1",
        platforms=(Platform("", None, None),),
        seed=1,
        shapes=(),
        families=(),
        paths=paths,
        required=required,
        interrupted=interrupted,
    )


def test_a_result_starts_as_an_error_that_says_so() -> None:
    assert BLANK.status is ERROR
    assert BLANK.reason == "not run"
    assert (BLANK.metrics, BLANK.exact, BLANK.checks, BLANK.runs) == (None, None, (), 0)


def expected_code(statuses: tuple[Status, ...]) -> int:
    """The table of cli.md."""
    if FAIL in statuses:
        return 1
    return 0 if PASS in statuses and ERROR not in statuses else 3


@pytest.mark.parametrize("size", range(5))
def test_the_exit_code_of_every_combination(size: int) -> None:
    for statuses in itertools.product(Status, repeat=size):
        assert report(*statuses).exit_code == expected_code(statuses), statuses
        assert report(*statuses, interrupted=True).exit_code == 130


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ((), 3),
        ((PASS,), 0),
        ((FAIL,), 1),
        ((ERROR,), 3),
        ((SKIP,), 3),
        ((SKIP, SKIP), 3),
        ((PASS, SKIP), 0),
        ((PASS, ERROR), 3),
        ((ERROR, FAIL), 1),
        ((FAIL, ERROR), 1),
        ((PASS, FAIL, ERROR, SKIP), 1),
    ],
)
def test_exit_codes(statuses: tuple[Status, ...], code: int) -> None:
    assert report(*statuses).exit_code == code


@pytest.mark.parametrize(("status", "code"), [(PASS, 0), (SKIP, 3), (ERROR, 3), (FAIL, 1)])
def test_a_required_path_must_have_passed(status: Status, code: int) -> None:
    assert report(PASS, status, required=("b",)).exit_code == code
    assert report(status, PASS, required=("a", "b")).exit_code == code


def test_a_required_path_that_is_not_there() -> None:
    assert report(PASS, required=("z",)).exit_code == 3
    assert report(PASS, required=("a",)).exit_code == 0
    assert report(FAIL, required=("z",)).exit_code == 1


@given(statuses=STATUSES)
def test_worst(statuses: list[Status]) -> None:
    found = worst(statuses)
    if FAIL in statuses:
        assert found is FAIL
    elif ERROR in statuses or not statuses:
        assert found is ERROR
    elif PASS in statuses:
        assert found is PASS
    else:
        assert found is SKIP
    assert worst(iter(reversed(statuses))) is found


def test_max_abs_is_held_against_one_hundredth_of_the_mean() -> None:
    assert Metrics(0.122, 0, 0, 0, 1).max_abs_limit == 0.01 * 0.122


@pytest.mark.parametrize(
    ("measured", "limit", "used"),
    [
        (0.12, 1.0, 0.12),
        (3.0, 1.5, 2.0),
        (0.0, 0.0, 0.0),
        (1e-9, 0.0, math.inf),
        (math.inf, 1.0, math.inf),
        (math.nan, 1.0, math.inf),
        (math.nan, 0.0, math.inf),
        (None, 1.0, None),
        (1.0, None, None),
        (None, None, None),
    ],
)
def test_the_share_of_a_limit(
    measured: float | None, limit: float | None, used: float | None
) -> None:
    assert Check("x", PASS, measured=measured, limit=limit).used == used


def test_a_case_uses_what_its_tightest_check_uses_and_not_the_reference() -> None:
    def check(name: str, measured: float | None) -> Check:
        return Check(name, PASS, measured=measured, limit=1.0)

    assert BLANK.used is None
    assert replace(BLANK, checks=(check("finite", None),)).used is None
    assert replace(BLANK, checks=(check("reference", 0.9),)).used is None
    checks = (check("reference", 0.9), check("max_abs", 0.1), check("mean_rel", 0.2))
    case = replace(BLANK, checks=(*checks, check("conformance", 0.15)))
    assert case.used == 0.2
    for order in itertools.permutations((*checks, check("conformance", math.nan))):
        assert replace(BLANK, checks=order).used == math.inf
    whole = replace(path("a", PASS), cases=(BLANK, replace(BLANK, checks=checks), case, BLANK))
    assert whole.used == 0.2
    assert path("a", PASS).used is None


def test_ids() -> None:
    assert BLANK.id == "f16-storage/64x128x128/uniform"
    assert replace(BLANK, shape="64x128x128:mlp").id == "f16-storage/64x128x128:mlp/uniform"


@pytest.mark.parametrize("state", [state for state in State if state is not State.ACTIVE])
def test_only_active_is_active(state: State) -> None:
    found = path("a", PASS, state)
    assert found.detected
    assert not found.active
    assert replace(found, state=State.ACTIVE).active
    assert not replace(found, missing="adapter lacks subgroups").detected


def test_the_status_line_names_the_active_paths_only() -> None:
    paths = tuple(
        path(name, status, state)
        for name, status, state in (
            ("f16-storage", PASS, State.ACTIVE),
            ("coop", FAIL, State.REJECTED),
            ("shader-f16", PASS, State.ACTIVE),
            ("other", PASS, State.PASSES_SOME),
        )
    )
    whole = replace(report(), paths=paths)
    assert whole.status_line == "f16-storage matmul active · shader-f16 matmul active"
    assert [found.path for found in whole.active] == ["f16-storage", "shader-f16"]
    alone = replace(report(), paths=paths[:1])
    assert alone.status_line == "f16-storage matmul active"
    assert "active" in report().status_line
    assert report().status_line.startswith("no fast path")


def test_a_report_lists_every_case_in_order() -> None:
    cases = [replace(BLANK, family=name) for name in ACTIVATING_FAMILIES]
    paths = (
        replace(path("a", PASS), cases=tuple(cases[:3])),
        path("b", SKIP),
        replace(path("c", PASS), cases=tuple(cases[3:])),
    )
    assert replace(report(), paths=paths).cases == tuple(cases)


def test_the_families_that_activate() -> None:
    assert ACTIVATING_FAMILIES == ("uniform", "positive", "integer", "identity")
