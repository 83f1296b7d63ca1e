"""The seed's rule, the lines a user reads character for character, and one verdict per path."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.metrics import ErrorParts, Metrics
from tinygate.core.results import ACTIVATING_FAMILIES, CaseResult, Check, PathResult, Status
from tinygate.numerics import checks as gate
from tinygate.numerics.checks import case_line, decide
from tinygate.numerics.compare import Deviation, Packing, Region
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.tolerance import Limit
from tinygate.report.gate_line import exponential, percent
from tinygate.verification.verdict import judge_path

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
SHAPE = "64x128x128"


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


# ---- the seed's rule ----


def metrics(
    max_abs: float = 1.33e-4, mean_rel: float = 0.00075, mean_ref: float = 0.122
) -> Metrics:
    return Metrics(mean_ref, max_abs, mean_rel, 0.054, 8192)


def statuses(found: Metrics) -> tuple[Status, Status]:
    first, second = gate.activation(found)
    assert (first.name, second.name) == ("max_abs", "mean_rel")
    return first.status, second.status


LIMIT = 0.01 * 0.122


@pytest.mark.parametrize(
    ("max_abs", "mean_rel", "expected"),
    [
        (1.33e-4, 0.00075, (PASS, PASS)),
        (0.0, 0.0, (PASS, PASS)),
        (LIMIT, 0.0, (FAIL, PASS)),
        (math.nextafter(LIMIT, 0), 0.0, (PASS, PASS)),
        (math.nextafter(LIMIT, 1), 0.0, (FAIL, PASS)),
        (0.0, 0.005, (PASS, FAIL)),
        (0.0, math.nextafter(0.005, 0), (PASS, PASS)),
        (0.0, math.nextafter(0.005, 1), (PASS, FAIL)),
        (math.nan, 0.0, (FAIL, PASS)),
        (0.0, math.nan, (PASS, FAIL)),
        (math.inf, math.inf, (FAIL, FAIL)),
    ],
)
def test_both_comparisons_are_strict_and_nan_never_passes(
    max_abs: float, mean_rel: float, expected: tuple[Status, Status]
) -> None:
    assert statuses(metrics(max_abs, mean_rel)) == expected


@pytest.mark.parametrize("mean_ref", [0.0, math.nan])
def test_without_a_reference_to_measure_by_nothing_passes(mean_ref: float) -> None:
    assert statuses(metrics(0.0, 0.0, mean_ref))[0] is FAIL


def test_max_rel_informs_and_never_decides() -> None:
    assert statuses(replace(metrics(), max_rel=1e9)) == (PASS, PASS)
    assert statuses(replace(metrics(), max_rel=math.nan)) == (PASS, PASS)


def test_a_failed_activation_says_which_limit_and_where() -> None:
    outside = region((64, 128), (3, slice(None)))
    first, second = gate.activation(metrics(0.1, 0.1), outside)
    assert (first.reason, second.reason) == ("max_abs over limit, row 3", "mean_rel over limit")
    assert gate.activation(metrics(0.1))[0].reason == "max_abs over limit"
    assert (first.measured, first.limit, second.limit) == (0.1, LIMIT, 0.005)
    for check in gate.activation(metrics(), outside):
        assert check.reason == ""
        assert check.why


# ---- the other checks ----


def region(shape: tuple[int, int], *bad: tuple[int | slice, int | slice]) -> Region:
    mask = np.zeros(shape, bool)
    for place in bad:
        mask[place] = True
    found = Region(shape)
    found.add(mask)
    return found


NONE, ONE = region((64, 128)), region((64, 128), (17, 0))
SOME = region((64, 128), (slice(16, 32), slice(None)))


@pytest.mark.parametrize(
    ("check", "one", "some"),
    [
        (gate.finite, "1 non-finite output at [17,0]", "2048 non-finite outputs at [16,0]"),
        (gate.written, "1 never written at [17,0]", "2048 never written at [16,0]"),
        (gate.exact, "1 wrong at [17,0]", "2048 wrong at [16,0]"),
        (
            gate.deterministic,
            "1 output differs from the first run at [17,0]",
            "2048 outputs differ from the first run at [16,0]",
        ),
        (
            gate.zero_rule,
            "1 not zero where the reference is all zero at [17,0]",
            "2048 not zero where the reference is all zero at [16,0]",
        ),
    ],
)
def test_checks_of_every_element(check: Callable[[Region], Check], one: str, some: str) -> None:
    assert check(NONE).status is PASS
    assert check(NONE).reason == ""
    assert (check(ONE).status, check(ONE).reason) == (FAIL, one)
    assert (check(SOME).status, check(SOME).reason) == (FAIL, f"{some}, rows 16-31")
    assert check(NONE).why


def test_an_overflow_is_named() -> None:
    assert gate.finite(ONE, "overflowed").reason == "1 non-finite output (overflowed) at [17,0]"


def test_guards() -> None:
    assert gate.guard(None).status is PASS
    assert gate.guard((1, 0)).status is FAIL
    assert gate.guard((1, 0)).reason == "wrote past the output: 1 word, first 0 past the end"
    assert gate.guard((3, 7)).reason == "wrote past the output: 3 words, first 7 past the end"
    assert gate.inputs_kept([]).status is PASS
    assert gate.inputs_kept(["A", "B"]).status is FAIL
    assert gate.inputs_kept(["A", "B"]).reason == "changed an input: A, B"
    assert gate.packed_past().status is FAIL


LIMITED = Limit(1e-6, "G", 0.0, "because")


def deviation(worst: float) -> Deviation:
    return Deviation(worst, (3, 5), 1.5, 1.0, ONE if worst > 1 else NONE)


@pytest.mark.parametrize(
    ("worst", "trusted", "conforms"),
    [
        (0.0, PASS, PASS),
        (1.0, PASS, PASS),
        (1.0000001, ERROR, FAIL),
        (math.inf, ERROR, FAIL),
        (math.nan, ERROR, FAIL),
    ],
)
def test_a_wrong_reference_is_an_error_and_a_wrong_path_a_fail(
    worst: float, trusted: Status, conforms: Status
) -> None:
    reference = gate.reference(deviation(worst), LIMITED)
    conformance = gate.conformance(deviation(worst), LIMITED)
    assert reference.status is trusted
    assert conformance.status is conforms
    assert (reference.name, conformance.name) == ("reference", "conformance")
    assert (reference.reason == "", conformance.reason == "") == (worst <= 1, worst <= 1)
    assert reference.why == conformance.why == "because"
    assert (conformance.limit, reference.limit) == (1.0, 1.0)


def test_the_words_of_a_deviation() -> None:
    found = deviation(6.25)
    assert gate.reference(found, LIMITED).reason == (
        "reference untrusted: got 1.5, want 1 at [3,5]"
    )
    assert gate.conformance(found, LIMITED, "stagnated").reason == (
        "stagnated: conformance 6.25 times over limit: got 1.5, want 1 at [3,5], row 17, column 0"
    )


def test_packing() -> None:
    assert gate.packing(Packing(NONE)).status is PASS
    padding = gate.packing(Packing(NONE, padding=2))
    assert (padding.status, padding.reason) == (
        FAIL,
        "packing: padding is not zero in 2 places",
    )
    wrong = gate.packing(Packing(ONE, original=0.1, stored=0.25))
    assert (wrong.status, wrong.reason) == (
        FAIL,
        "packing: 1 of 8192 stored wrong, B[17,0]=0.1 stored as 0.25",
    )
    flushed = gate.packing(Packing(SOME, original=3e-6, stored=0.0))
    assert flushed.reason.startswith("subnormals flushed: packing: 2048 of 8192 stored wrong")
    assert flushed.reason.endswith(", rows 16-31")
    dropped = gate.packing(Packing(ONE, original=2.0**-14, stored=0.0))
    assert dropped.reason.startswith("packing: ")


def test_a_refusal_is_right_only_where_something_does_not_fit() -> None:
    assert ONE.first is not None
    k, n = ONE.first
    assert gate.refused(f"refused: B[{k},{n}]=7.0e4", ONE).status is PASS
    wrong_place = gate.refused(f"refused: B[{k},{n + 1}]=7.0e4", ONE)
    assert wrong_place.status is FAIL
    assert f"the first value over the range is B[{k},{n}]" in wrong_place.reason
    unfounded = gate.refused("refused: B[3,5]=7.0e4", NONE)
    assert unfounded.status is FAIL
    assert "every value fits" in unfounded.reason
    B = np.array([[1.0, 7e4]], np.float32)
    words = np.array([0x7BFF3C00], np.uint32)
    clamped = gate.not_refused(region((1, 2), (0, 1)), B, FORMATS["f16-packed"], words)
    assert clamped.status is FAIL
    assert clamped.reason == (
        "not refused: B[0,1]=7.0e+04 is over the format's 65504 and was stored as 65504"
    )


# ---- one verdict over checks ----


def check(status: Status, reason: str = "") -> Check:
    return Check("x", status, reason)


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([], (ERROR, "")),
        ([check(PASS), check(PASS)], (PASS, "")),
        ([check(PASS), check(FAIL, "a"), check(FAIL, "b")], (FAIL, "a; b")),
        ([check(FAIL, "a"), check(FAIL, "a")], (FAIL, "a")),
        ([check(FAIL, "a"), check(ERROR, "e"), check(PASS)], (ERROR, "e")),
    ],
)
def test_decide(checks: list[Check], verdict: tuple[Status, str]) -> None:
    assert decide(checks) == verdict


# ---- lines ----

CASE = CaseResult(
    "f16-storage", SHAPE, "main/K128", "uniform", 12345, PASS, "", metrics=metrics(), runs=2
)
SEED = (
    "[ops] f16-storage gate: mean|ref|=1.22e-1, max_abs=1.33e-4 (limit 1.22e-3), "
    "mean_rel=0.075% (limit 0.500%), max_rel=5.40% — PASS"
)


def test_the_seeds_line_character_for_character() -> None:
    assert case_line(CASE, suffix=False) == SEED


def test_any_other_case_has_shape_and_family_at_its_end() -> None:
    positive = replace(CASE, shape="64x1024x128", family="positive")
    assert case_line(positive, suffix=True) == f"{SEED} · 64x1024x128 positive"
    named = replace(CASE, shape="64x128x128:mlp")
    assert case_line(named, suffix=True) == f"{SEED} · 64x128x128:mlp uniform"


def test_a_fail_has_its_reason_in_the_same_line() -> None:
    failed = replace(
        CASE,
        status=FAIL,
        reason="max_abs over limit",
        metrics=metrics(0.5),
        failed=2,
    )
    line = case_line(failed, suffix=False)
    assert line == SEED.replace("1.33e-4", "5.00e-1").replace("PASS", "FAIL: max_abs over limit")
    infinite = replace(failed, reason=gate.finite(ONE).reason)
    assert case_line(infinite, suffix=False).endswith("— FAIL: 1 non-finite output at [17,0]")


def test_a_case_that_fails_now_and_then_says_how_often() -> None:
    failed = replace(CASE, status=FAIL, reason="1 wrong", runs=20, failed=3)
    assert case_line(failed, suffix=True).endswith(
        "— FAIL: 1 wrong (in 3 of 20 runs) · 64x128x128 uniform"
    )
    assert "runs" not in case_line(replace(failed, failed=20), suffix=True)
    assert "runs" not in case_line(replace(CASE, runs=20, failed=0), suffix=True)


def test_a_reason_is_not_printed_on_pass() -> None:
    assert case_line(replace(CASE, reason="left over"), suffix=False) == SEED


def test_huge_and_missing_numbers_still_make_a_line() -> None:
    numbers = Metrics(0.122, 3e38, math.nan, 2.5e41, 8192)
    line = case_line(replace(CASE, status=FAIL, reason="r", metrics=numbers), suffix=False)
    assert "max_abs=3.00e+38 (limit 1.22e-3), mean_rel=NaN% " in line
    assert "max_rel=2.5e+43% — FAIL: r" in line


def test_the_exact_line() -> None:
    exact = replace(CASE, family="integer", metrics=None, exact=(0, 8192))
    assert case_line(exact, suffix=True) == (
        "[ops] f16-storage exact: 0 of 8192 wrong — PASS · 64x128x128 integer"
    )
    wrong = replace(exact, exact=(1, 8192), status=FAIL, reason="1 wrong at [17,0]", failed=2)
    assert case_line(wrong, suffix=True) == (
        "[ops] f16-storage exact: 1 of 8192 wrong — FAIL: 1 wrong at [17,0] · 64x128x128 integer"
    )


def test_a_family_judged_on_conformance_alone() -> None:
    found = replace(
        CASE, family="cancel", metrics=None, checks=(Check("conformance", PASS, "", 0.1234, 1.0),)
    )
    assert case_line(found, suffix=True) == (
        "[ops] f16-storage conformance: worst |F-S| 12.3% of limit — PASS · 64x128x128 cancel"
    )


@pytest.mark.parametrize("status", [ERROR, SKIP])
def test_nothing_is_measured_where_nothing_was_verified(status: Status) -> None:
    for extra in ({}, {"metrics": None}, {"metrics": None, "exact": (0, 8192)}):
        case = replace(CASE, status=status, reason="device lost", **extra)
        assert case_line(case, suffix=False) == f"[ops] f16-storage gate: {status}: device lost"
        assert case_line(case, suffix=True).endswith(": device lost · 64x128x128 uniform")


def test_a_blank_case_is_not_green() -> None:
    blank = CaseResult("f16-storage", SHAPE, "main/K128", "uniform", 12345)
    assert case_line(blank, suffix=False) == "[ops] f16-storage gate: ERROR: not run"


# ---- one verdict per path ----


def case(
    family: str, status: Status = PASS, shape: str = SHAPE, group: str = "main/K128"
) -> CaseResult:
    reason = "" if status is PASS else f"{family} is {status}"
    return CaseResult("f16-storage", shape, group, family, 12345, status, reason)


FOUR = [case(family) for family in ACTIVATING_FAMILIES]
VERDICT = "[ops] f16-storage gate verdict: "


def judged(*cases: CaseResult, missing: str = "") -> PathResult:
    return judge_path("f16-storage", "f16 storage", cases, missing=missing, source_hash="abc")


def test_active() -> None:
    found = judged(*FOUR)
    assert (found.status, found.state, found.active, found.detected) == (PASS, "active", True, True)
    assert found.line == f"{VERDICT}PASS — f16-storage path active"
    assert found.active_classes == ("main/K128",)
    assert (found.cases, found.source_hash, found.reason) == (tuple(FOUR), "abc", "")


def test_rejected() -> None:
    failed = case("positive", FAIL)
    found = judged(FOUR[0], failed, *FOUR[2:])
    assert (found.status, found.state, found.active) == (FAIL, "rejected", False)
    assert found.line == f"{VERDICT}FAIL — falling back to f32"
    assert found.reason == "64x128x128 positive: positive is FAIL"
    assert found.deciding == failed.id
    assert found.active_classes == ()


def test_an_error_is_not_a_rejection_and_never_active() -> None:
    found = judged(*FOUR[:3], case("identity", ERROR))
    assert (found.status, found.state, found.active) == (ERROR, "unverified", False)
    assert found.line == f"{VERDICT}ERROR — could not be verified, falling back to f32"
    assert found.reason == "64x128x128 identity: identity is ERROR"
    assert found.active_classes == ()


def test_no_case_at_all_is_an_error() -> None:
    found = judged()
    assert (found.status, found.state, found.reason) == (ERROR, "unverified", "not run")


def test_a_path_of_which_nothing_fits() -> None:
    found = judged(case("uniform", SKIP), case("positive", SKIP))
    assert (found.status, found.state, found.active) == (SKIP, "unavailable", False)
    assert found.line == f"{VERDICT}SKIP — 64x128x128 uniform: uniform is SKIP"


def test_what_the_adapter_lacks() -> None:
    found = judged(*FOUR, missing="adapter lacks subgroups")
    assert (found.status, found.state, found.detected) == (SKIP, "unavailable", False)
    assert found.line == f"{VERDICT}SKIP — adapter lacks subgroups"
    assert (found.active, found.cases) == (False, ())


def test_a_weaker_word_without_all_four_families() -> None:
    found = judged(FOUR[0])
    assert (found.status, found.state, found.active) == (PASS, "passes uniform", False)
    assert found.active_classes == ()
    assert found.line == (
        f"{VERDICT}PASS — passes uniform; not active without positive, integer, identity"
    )
    assert judged(*FOUR[:2]).state == "passes positive, uniform"


@pytest.mark.parametrize("missing", ACTIVATING_FAMILIES)
def test_not_active_when_one_family_is_left_out(missing: str) -> None:
    found = judged(*(c for c in FOUR if c.family != missing))
    assert not found.active
    assert found.reason == f"needs {missing} too"
    skipped = [case(c.family, SKIP if c.family == missing else PASS) for c in FOUR]
    assert not judged(*skipped).active


@settings(deadline=None)
@given(
    given=st.lists(
        st.tuples(
            st.sampled_from([*ACTIVATING_FAMILIES, "normal"]),
            st.sampled_from(Status),
            st.sampled_from(
                [("1x77x131", "matvec/K128"), (SHAPE, "main/K128"), ("9x99x9", "main/K128")]
            ),
        ),
        max_size=16,
        unique_by=lambda each: (each[0], each[2]),
    )
)
def test_active_means_that_every_family_passed_on_every_shape(
    given: list[tuple[str, Status, tuple[str, str]]],
) -> None:
    found = judged(*(case(family, status, *place) for family, status, place in given))
    ran = [each for each in given if each[1] is not SKIP]
    places = {place for *_, place in ran}
    complete = {
        place: all((family, PASS, place) in ran for family in ACTIVATING_FAMILIES)
        for place in places
    }
    clean = all(status is PASS for _, status, _ in ran)
    assert found.active == (bool(ran) and clean and all(complete.values()))
    whole = {
        group
        for _, group in places
        if all(done for (_, other), done in complete.items() if other == group)
    }
    assert set(found.active_classes) == (whole if clean else set())
    assert len(set(found.active_classes)) == len(found.active_classes)


def test_a_class_counts_only_where_each_of_its_shapes_is_complete() -> None:
    whole = [case(family, shape="9x99x9") for family in ACTIVATING_FAMILIES]
    other = [case(family, shape="1x77x131", group="matvec/K128") for family in ACTIVATING_FAMILIES]
    for cases in ((*FOUR[:3], *whole, *other), (*other, *whole, *FOUR[:3])):
        found = judged(*cases)
        assert found.active_classes == ("matvec/K128",)
        assert (found.status, found.active) == (PASS, False)


def test_the_deciding_case_is_the_one_nearest_its_limit_or_farthest_over() -> None:
    def using(share: float | None, status: Status, family: str) -> CaseResult:
        checks = (Check("conformance", status, "", share, 1.0),)
        return replace(case(family, status), checks=checks if share is not None else ())

    passing = [
        using(0.1, PASS, "uniform"),
        using(0.3, PASS, "positive"),
        using(None, PASS, "integer"),
    ]
    for order in itertools.permutations(passing):
        assert judged(*order).deciding.endswith("/positive")
    failing = [using(2.0, FAIL, "normal"), using(9.0, FAIL, "outlier")]
    for order in itertools.permutations([*passing, *failing]):
        assert judged(*order).deciding.endswith("/outlier")
    exact = [using(None, FAIL, "integer"), using(None, FAIL, "identity")]
    assert judged(*exact).deciding.endswith("/integer")


def test_a_path_that_is_never_active_conforms_at_most() -> None:
    found = judge_path("sums", "sums", FOUR, inactive="it loses with K")
    assert (found.status, found.state, found.active) == (PASS, "conforms", False)
    assert found.active_classes == ()
    assert found.line == f"{VERDICT}PASS — conforms; never active: it loses with K".replace(
        "f16-storage", "sums"
    )
    failed = judge_path("sums", "sums", [*FOUR[:3], case("identity", FAIL)], inactive="it loses")
    assert (failed.status, failed.state) == (FAIL, "rejected")


@pytest.mark.parametrize(
    ("failing", "parts", "said"),
    [
        (("max_abs", "mean_rel"), ErrorParts(1e-4, 1e-14), True),
        (("max_abs",), ErrorParts(1e-4, 1e-14), True),
        (("max_abs", "conformance"), ErrorParts(1e-4, 1e-4), False),
        (("finite",), ErrorParts(1e-4, 1e-14), False),
        (("max_abs",), None, False),
        ((), ErrorParts(1e-4, 1e-14), False),
    ],
)
def test_a_quantised_path_that_conforms_is_not_called_a_wrong_kernel(
    failing: tuple[str, ...], parts: ErrorParts | None, said: bool
) -> None:
    names = ("max_abs", "mean_rel", "conformance", "finite")
    checks = [Check(name, FAIL if name in failing else PASS) for name in names]
    hint = gate.stored_hint(checks, parts)
    assert bool(hint) == said
    assert not said or "the kernel conforms" in hint
