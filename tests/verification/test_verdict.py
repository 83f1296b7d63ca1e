"""One verdict per path over its cases, and the line that says it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.family import ACTIVATING_FAMILIES
from tinygate.core.results import CaseResult, PathResult
from tinygate.core.shape import Shape
from tinygate.core.status import Check, State, Status
from tinygate.paths.builtin import BUILTIN
from tinygate.paths.source import source_hash
from tinygate.report.gate_line import path_line
from tinygate.verification.coverage import companions
from tinygate.verification.verdict import judge_path, skip_path

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
SHAPE = "64x128x128"
PATH = BUILTIN[0]


def case(family: str, status: Status = PASS, shape: str = SHAPE, seed: int = 12345) -> CaseResult:
    reason = "" if status is PASS else f"{family} is {status}"
    group = PATH.shape_class(Shape.parse(shape))
    return CaseResult("f16-storage", shape, group, family, seed, status, reason)


def beside(shape: str = SHAPE) -> list[CaseResult]:
    """What the class of a shape is measured at beside it, all passed."""
    return [
        replace(case(one.family, shape=one.shape.label, seed=one.seed or 12345), companion=True)
        for one in companions(PATH, Shape.parse(shape))
    ]


FOUR = [case(family) for family in ACTIVATING_FAMILIES]
WHOLE = [*FOUR, *beside()]
CLASS = PATH.shape_class(Shape.parse(SHAPE))
VERDICT = "[ops] f16-storage gate verdict: "


def judged(*cases: CaseResult) -> PathResult:
    return judge_path(PATH, cases)


def test_active() -> None:
    found = judged(*WHOLE)
    assert (found.status, found.state, found.active, found.detected) == (PASS, "active", True, True)
    assert path_line(found) == (
        f"{VERDICT}PASS — f16-storage path active · M 33–128, K 65–128, N 65–128"
    )
    assert found.active_classes == (CLASS,)
    assert (found.cases, found.reason) == (tuple(WHOLE), "")
    assert found.source_hash == source_hash(PATH)


def test_rejected() -> None:
    failed = case("positive", FAIL)
    found = judged(FOUR[0], failed, *FOUR[2:])
    assert (found.status, found.state, found.active) == (FAIL, "rejected", False)
    assert path_line(found) == f"{VERDICT}FAIL — falling back to f32"
    assert found.reason == "64x128x128 positive: positive is FAIL"
    assert found.deciding is failed
    assert found.active_classes == ()


def test_an_error_is_not_a_rejection_and_never_active() -> None:
    found = judged(*FOUR[:3], case("identity", ERROR))
    assert (found.status, found.state, found.active) == (ERROR, "unverified", False)
    assert path_line(found) == f"{VERDICT}ERROR — could not be verified, falling back to f32"
    assert found.reason == "64x128x128 identity: identity is ERROR"
    assert found.active_classes == ()


def test_no_case_at_all_is_an_error() -> None:
    found = judged()
    assert (found.status, found.state, found.reason) == (ERROR, "unverified", "not run")


def test_a_path_of_which_nothing_fits() -> None:
    found = judged(case("uniform", SKIP), case("positive", SKIP))
    assert (found.status, found.state, found.active) == (SKIP, "unavailable", False)
    assert path_line(found) == f"{VERDICT}SKIP — 64x128x128 uniform: uniform is SKIP"


def test_what_the_adapter_lacks() -> None:
    found = skip_path(PATH, missing="adapter lacks subgroups")
    assert (found.status, found.state, found.detected) == (SKIP, "unavailable", False)
    assert path_line(found) == f"{VERDICT}SKIP — adapter lacks subgroups"
    assert (found.active, found.cases) == (False, ())


def test_a_weaker_word_without_all_four_families() -> None:
    found = judged(FOUR[0])
    assert (found.status, found.state, found.active) == (PASS, State.PASSES_SOME, False)
    assert found.state_words == "passes uniform"
    assert found.active_classes == ()
    assert path_line(found) == (
        f"{VERDICT}PASS — passes uniform; not active without positive, integer, identity"
    )
    assert judged(*FOUR[:2]).state_words == "passes positive, uniform"


@pytest.mark.parametrize("missing", ACTIVATING_FAMILIES)
def test_not_active_when_one_family_is_left_out(missing: str) -> None:
    found = judged(*(c for c in FOUR if c.family != missing))
    assert not found.active
    assert found.reason == f"needs {missing} too"
    skipped = [case(c.family, SKIP if c.family == missing else PASS) for c in FOUR]
    assert not judged(*skipped).active


@settings(deadline=None)
@given(left_out=st.sets(st.integers(0, len(WHOLE) - 1), max_size=3))
def test_active_means_that_all_of_the_class_was_measured(left_out: set[int]) -> None:
    """The four families at the shape, and every companion; skipped is as good as not there."""
    kept = [one for at, one in enumerate(WHOLE) if at not in left_out]
    skipped = [replace(WHOLE[at], status=SKIP) for at in left_out]
    for cases in (kept, [*kept, *skipped]):
        found = judged(*cases)
        assert found.active == (not left_out)
        assert found.active_classes == ((CLASS,) if not left_out else ())


def test_a_class_counts_only_where_each_of_its_shapes_is_complete() -> None:
    again = [case(family, shape="99x100x101") for family in ACTIVATING_FAMILIES]
    row = "1x77x131"
    other = [*(case(family, shape=row) for family in ACTIVATING_FAMILIES), *beside(row)]
    for cases in ((*FOUR[:3], *beside(), *again, *other), (*other, *again, *beside(), *FOUR[:3])):
        found = judged(*cases)
        assert found.active_classes == (PATH.shape_class(Shape.parse(row)),)
        assert (found.status, found.active) == (PASS, False)


def test_a_companion_that_fails_rejects_the_path() -> None:
    *rest, last = beside()
    found = judged(*FOUR, *rest, replace(last, status=FAIL, reason="wrong"))
    assert (found.status, found.active_classes) == (FAIL, ())


def test_shapes_that_do_not_fit_are_counted() -> None:
    odd = [case(family, SKIP, shape="64x129x128") for family in ACTIVATING_FAMILIES]
    assert path_line(judged(*WHOLE, *odd)).endswith(", N 65–128 · 1 shape skipped")


def test_many_classes_are_counted() -> None:
    shapes = ("64x128x128", "64x256x128", "64x512x128", "64x128x256", "64x128x512")
    cases = [
        one
        for shape in shapes
        for one in (*(case(family, shape=shape) for family in ACTIVATING_FAMILIES), *beside(shape))
    ]
    line = path_line(judged(*cases))
    assert line.count("M 33–128") == 3
    assert line.endswith("; and 2 more classes")


def test_the_deciding_case_is_the_one_nearest_its_limit_or_farthest_over() -> None:
    def using(share: float | None, status: Status, family: str) -> CaseResult:
        checks = (Check("conformance", status, "", share, 1.0),)
        return replace(case(family, status), checks=checks if share is not None else ())

    def decided(*cases: CaseResult) -> str:
        deciding = judged(*cases).deciding
        return deciding.family if deciding else ""

    passing = [
        using(0.1, PASS, "uniform"),
        using(0.3, PASS, "positive"),
        using(None, PASS, "integer"),
    ]
    for order in itertools.permutations(passing):
        assert decided(*order) == "positive"
    failing = [using(2.0, FAIL, "normal"), using(9.0, FAIL, "outlier")]
    for order in itertools.permutations([*passing, *failing]):
        assert decided(*order) == "outlier"
    exact = [using(None, FAIL, "integer"), using(None, FAIL, "identity")]
    assert decided(*exact) == "integer"


def test_a_path_that_is_never_active_conforms_at_most() -> None:
    sums = replace(PATH, name="sums", accumulate="f16")
    found = judge_path(sums, FOUR)
    assert (found.status, found.state, found.active) == (PASS, "conforms", False)
    assert found.active_classes == ()
    assert path_line(found) == (
        "[ops] sums gate verdict: PASS — conforms; never active: "
        "f16 sums lose precision as K grows, which a small shape does not show"
    )
    failed = judge_path(sums, [*FOUR[:3], case("identity", FAIL)])
    assert (failed.status, failed.state) == (FAIL, "rejected")


def test_what_cannot_be_read_back_is_never_active() -> None:
    found = judge_path(replace(PATH, readback=False), FOUR)
    assert (found.state, found.active) == ("passes activation", False)
    assert path_line(found).startswith(f"{VERDICT}PASS — passes activation; not active: its stored")


def test_a_fail_names_the_path_that_runs_instead() -> None:
    half = replace(PATH, name="half", fallback="f16-storage")
    failed = judge_path(half, [case("positive", FAIL)])
    assert path_line(failed) == "[ops] half gate verdict: FAIL — falling back to f16-storage"


def test_a_verdict_is_short_to_look_at() -> None:
    assert repr(judged(*WHOLE)) == (
        "<PathResult f16-storage PASS, active for main · M 33–128, K 65–128, N 65–128>"
    )
    rejected = judged(case("positive", FAIL))
    assert repr(rejected) == (
        "<PathResult f16-storage FAIL, rejected: 64x128x128 positive: positive is FAIL>"
    )
    assert repr(FOUR[0]) == "<CaseResult f16-storage/64x128x128/uniform PASS>"
    long = replace(FOUR[0], status=FAIL, reason="x" * 500)
    assert len(repr(long)) < 170
