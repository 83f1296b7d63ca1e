"""The `[ops]` lines, character for character."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.metrics import Metrics
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.core.shape_class import class_of
from tinygate.core.status import Check, Status
from tinygate.report.gate_line import case_line, exponential, percent

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
SHAPE = "64x128x128"
CLASS = class_of("main", Shape.parse(SHAPE))


# ---- numbers as JavaScript prints them; the expected ones were printed by node ----


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.1222, "1.22e-1"),
        (1.33e-4, "1.33e-4"),
        (0.00122, "1.22e-3"),
        (0.0, "0.00e+0"),
        (-0.0, "0.00e+0"),
        (1.0, "1.00e+0"),
        (0.5, "5.00e-1"),
        (123456.0, "1.23e+5"),
        (1.125, "1.13e+0"),  # exact ties go away from zero
        (12.25, "1.23e+1"),
        (1235.0, "1.24e+3"),
        (1245.0, "1.25e+3"),
        (-1.125, "-1.13e+0"),
        (1.005, "1.00e+0"),  # no tie: just under 1.005
        (1.145, "1.15e+0"),
        (2.675, "2.67e+0"),
        (0.0001245, "1.24e-4"),
        (9.995, "9.99e+0"),
        (9.985, "9.98e+0"),
        (0.09995, "9.99e-2"),
        (99.95, "1.00e+2"),
        (9995.0, "1.00e+4"),
        (99950.0, "1.00e+5"),
        (99950000000.0, "1.00e+11"),
        (9.996e-7, "1.00e-6"),
        (1e21, "1.00e+21"),
        (1.7976931348623157e308, "1.80e+308"),
        (5e-324, "4.94e-324"),
        (2.5e-323, "2.47e-323"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_exponential(x: float, text: str) -> None:
    assert exponential(x) == text
    assert exponential(np.float64(x)) == text


@pytest.mark.parametrize(
    ("x", "decimals", "text"),
    [
        (0.0, 3, "0.000%"),
        (0.00075, 3, "0.075%"),
        (0.005, 3, "0.500%"),
        (0.054, 2, "5.40%"),
        (0.0540001, 2, "5.40%"),
        (0.000005, 3, "0.001%"),
        (0.0000049, 3, "0.000%"),
        (0.0000625, 3, "0.006%"),
        (0.00125, 2, "0.13%"),
        (0.000125, 2, "0.01%"),
        (0.12345, 2, "12.35%"),
        (0.12355, 2, "12.35%"),
        (0.10005, 2, "10.01%"),
        (1.005, 2, "100.50%"),
        (12345.678, 2, "1234567.80%"),
        (1e18, 2, "100000000000000000000.00%"),
        (1e19, 2, "1e+21%"),
        (3e41, 2, "2.9999999999999997e+43%"),
        (3.4e38, 3, "3.4e+40%"),
        (1.7e308, 2, "Infinity%"),
        (math.nan, 2, "NaN%"),
        (math.inf, 3, "Infinity%"),
    ],
)
def test_percent(x: float, decimals: int, text: str) -> None:
    assert percent(x, decimals) == text
    if x < 1e300:
        assert percent(np.float64(x), decimals) == text


@settings(deadline=None)
@given(st.floats())
def test_any_number_can_be_printed(x: float) -> None:
    assert exponential(x)
    assert percent(x, 2).endswith("%")
    if 1e-300 < abs(x) < 1e300:
        assert abs(float(exponential(x)) / x - 1) <= 0.005 * (1 + 1e-9)


def metrics(
    max_abs: float = 1.33e-4, mean_rel: float = 0.00075, mean_ref: float = 0.122
) -> Metrics:
    return Metrics(mean_ref, max_abs, mean_rel, 0.054, 8192)


# ---- lines ----

CASE = CaseResult(
    "f16-storage",
    SHAPE,
    CLASS,
    "uniform",
    12345,
    PASS,
    "",
    metrics=metrics(),
    runs=2,
)
CANONICAL = (
    "[ops] f16-storage gate: mean|ref|=1.22e-1, max_abs=1.33e-4 (limit 1.22e-3), "
    "mean_rel=0.075% (limit 0.500%), max_rel=5.40% — PASS"
)


def test_the_canonical_line_character_for_character() -> None:
    assert case_line(CASE, single_shape=True) == CANONICAL


def test_any_other_case_has_shape_and_family_at_its_end() -> None:
    positive = replace(CASE, shape="64x1024x128", family="positive")
    assert case_line(positive) == f"{CANONICAL} · 64x1024x128 positive"
    named = replace(CASE, shape="64x128x128:mlp")
    assert case_line(named) == f"{CANONICAL} · 64x128x128:mlp uniform"


def test_a_fail_has_its_reason_in_the_same_line() -> None:
    failed = replace(
        CASE,
        status=FAIL,
        reason="max_abs over limit",
        metrics=metrics(0.5),
        failed=2,
    )
    line = case_line(failed, single_shape=True)
    assert line == CANONICAL.replace("1.33e-4", "5.00e-1").replace(
        "PASS", "FAIL: max_abs over limit"
    )
    infinite = replace(failed, reason="1 non-finite output at [17,0]")
    assert case_line(infinite, single_shape=True).endswith("— FAIL: 1 non-finite output at [17,0]")


def test_a_case_that_fails_now_and_then_says_how_often() -> None:
    failed = replace(CASE, status=FAIL, reason="1 wrong", runs=20, failed=3)
    assert case_line(failed).endswith("— FAIL: 1 wrong (in 3 of 20 runs) · 64x128x128 uniform")
    assert "runs" not in case_line(replace(failed, failed=20))
    assert "runs" not in case_line(replace(CASE, runs=20, failed=0))


def test_a_reason_is_not_printed_on_pass() -> None:
    assert case_line(replace(CASE, reason="left over"), single_shape=True) == CANONICAL


def test_huge_and_missing_numbers_still_make_a_line() -> None:
    numbers = Metrics(0.122, 3e38, math.nan, 2.5e41, 8192)
    line = case_line(replace(CASE, status=FAIL, reason="r", metrics=numbers), single_shape=True)
    assert "max_abs=3.00e+38 (limit 1.22e-3), mean_rel=NaN% " in line
    assert "max_rel=2.5e+43% — FAIL: r" in line


def test_the_exact_line() -> None:
    exact = replace(CASE, family="integer", metrics=None, exact=(0, 8192))
    assert case_line(exact) == (
        "[ops] f16-storage exact: 0 of 8192 wrong — PASS · 64x128x128 integer"
    )
    wrong = replace(exact, exact=(1, 8192), status=FAIL, reason="1 wrong at [17,0]", failed=2)
    assert case_line(wrong) == (
        "[ops] f16-storage exact: 1 of 8192 wrong — FAIL: 1 wrong at [17,0] · 64x128x128 integer"
    )


def test_a_family_judged_on_conformance_alone() -> None:
    found = replace(
        CASE, family="cancel", metrics=None, checks=(Check("conformance", PASS, "", 0.1234, 1.0),)
    )
    assert case_line(found) == (
        "[ops] f16-storage conformance: worst |F-S| 12.3% of limit — PASS · 64x128x128 cancel"
    )


@pytest.mark.parametrize("status", [ERROR, SKIP])
def test_nothing_is_measured_where_nothing_was_verified(status: Status) -> None:
    for extra in ({}, {"metrics": None}, {"metrics": None, "exact": (0, 8192)}):
        case = replace(CASE, status=status, reason="device lost", **extra)
        assert (
            case_line(case, single_shape=True) == f"[ops] f16-storage gate: {status}: device lost"
        )
        assert case_line(case).endswith(": device lost · 64x128x128 uniform")


def test_a_blank_case_is_not_green() -> None:
    not_run = CaseResult("f16-storage", SHAPE, CLASS, "uniform", 12345)
    assert case_line(not_run, single_shape=True) == "[ops] f16-storage gate: ERROR: not run"
