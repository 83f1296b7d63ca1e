"""The activation rule and every other check, from made-up numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tinygate.core.errors import PackingRefusedError
from tinygate.core.metrics import ErrorParts, Metrics
from tinygate.core.status import Check, Status
from tinygate.numerics import checks as gate
from tinygate.numerics.checks import decide
from tinygate.numerics.compare import Deviation, Packing, Region
from tinygate.numerics.diagnosis import Cause
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.tolerance import Tolerance

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
SHAPE = "64x128x128"


# ---- the activation rule ----


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
        (
            gate.old_c,
            "1 output reads C before writing it at [17,0]",
            "2048 outputs read C before writing it at [16,0]",
        ),
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
    assert gate.finite(ONE, Cause.OVERFLOWED).reason == (
        "1 non-finite output (overflowed) at [17,0]"
    )


def test_guards() -> None:
    assert gate.guard(None).status is PASS
    assert gate.guard((1, 0)).status is FAIL
    assert gate.guard((1, 0)).reason == "wrote past the output: 1 word, first 0 past the end"
    assert gate.guard((3, 7)).reason == "wrote past the output: 3 words, first 7 past the end"
    assert gate.inputs_kept([]).status is PASS
    assert gate.inputs_kept(["A", "B"]).status is FAIL
    assert gate.inputs_kept(["A", "B"]).reason == "changed an input: A, B"
    assert gate.packed_past().status is FAIL


@pytest.mark.parametrize(
    ("operands", "harmless", "reason"),
    [
        (("B",), True, "reads past B: what lies behind reaches C"),
        (("A", "B"), True, "reads past A and B: what lies behind reaches C"),
        (("A",), False, "reads past A: what lies behind reaches C, finite values too"),
    ],
)
def test_over_reads(operands: tuple[str, ...], harmless: bool, reason: str) -> None:
    found = gate.over_read(operands, harmless=harmless, allowed=False)
    assert (found.name, found.status, found.reason) == ("over-read", FAIL, reason)
    assert gate.over_read(operands, harmless=harmless, allowed=True).status is PASS
    warning = gate.over_read_warning(operands, "times zero")
    assert warning.startswith(f"reads past {' and '.join(operands)}: NaN that lies behind")
    assert warning.endswith(": times zero")


LIMITED = Tolerance(1e-6, "G", 0.0, "because")


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
    assert gate.conformance(found, LIMITED, Cause.STAGNATED).reason == (
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
    assert gate.refused(PackingRefusedError.over(65504, (k, n), 7e4), ONE).status is PASS
    unplaced = PackingRefusedError(f"refused: B[{k},{n}]=7.0e4")
    assert gate.refused(unplaced, ONE).status is FAIL, "words are not read"
    assert gate.refused(PackingRefusedError.over(1, (k, n), 7e4, operand="A"), ONE).status is FAIL
    wrong_place = gate.refused(PackingRefusedError.over(65504, (k, n + 1), 7e4), ONE)
    assert wrong_place.status is FAIL
    assert f"the first value over the range is B[{k},{n}]" in wrong_place.reason
    unfounded = gate.refused(PackingRefusedError.over(65504, (3, 5), 7e4), NONE)
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
def test_a_quantized_path_that_conforms_is_not_called_a_wrong_kernel(
    failing: tuple[str, ...], parts: ErrorParts | None, said: bool
) -> None:
    names = ("max_abs", "mean_rel", "conformance", "finite")
    checks = [Check(name, FAIL if name in failing else PASS) for name in names]
    hint = gate.stored_hint(checks, parts)
    assert bool(hint) == said
    assert not said or "the kernel conforms" in hint
