"""What the adapter does against WGSL is named before the kernel is blamed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import faults
import pytest
from runs import Run

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.core.status import Check, Status
from tinygate.gate.ground import explain, uses_workgroup_memory

ONE_PER_THREAD = faults.right("right_f32").path
TILED = faults.right("right_split_k").path
ENDS = "the driver ends loops after 65,535 iterations: "
NOT_ZERO = "workgroup memory does not start at zero"
BROKEN = MeasuredNumerics(workgroup_memory_zeroed=False, loop_limit=65_535)


def result(path: FastPath, K: int, status: Status, numerics: MeasuredNumerics) -> CaseResult:
    """A case of that K, judged so for a reason of its own, as it is explained."""
    one = Case(path, Shape(4, K, 4), "uniform", 1)
    checks = (Check("reference", status, "wrong"),)
    judged = replace(one.not_run(), status=status, reason="wrong", hint="look", checks=checks)
    return explain(judged, one, numerics)


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR])
@pytest.mark.parametrize("K", [65_535, 70_000])
def test_a_loop_limit_comes_first(status: Status, K: int) -> None:
    found = result(ONE_PER_THREAD, K, status, BROKEN)
    assert found.reason == ENDS + "wrong"
    assert found.hint.startswith(f"K={K} may take more iterations")
    assert found.hint.endswith("; look")


def test_workgroup_memory_is_the_first_sentence_of_a_hint() -> None:
    found = result(TILED, 64, Status.FAIL, BROKEN)
    assert found.reason == "wrong"
    assert found.hint.startswith(NOT_ZERO)
    assert found.hint.endswith("; look")


@pytest.mark.parametrize(
    ("path", "K", "status", "numerics"),
    [
        (ONE_PER_THREAD, 65_534, Status.FAIL, BROKEN),
        (ONE_PER_THREAD, 70_000, Status.PASS, BROKEN),
        (ONE_PER_THREAD, 70_000, Status.FAIL, MeasuredNumerics()),
        (TILED, 64, Status.FAIL, MeasuredNumerics()),
        (TILED, 64, Status.ERROR, BROKEN),
        (TILED, 64, Status.PASS, BROKEN),
    ],
)
def test_nothing_else_is_explained(
    path: FastPath, K: int, status: Status, numerics: MeasuredNumerics
) -> None:
    found = result(path, K, status, numerics)
    assert (found.reason, found.hint) == ("wrong", "look")


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("var<workgroup> x: u32;", True),
        ("var < workgroup > x: u32;", True),
        ("var<workgroup,> x: u32;", True),
        ("// var<workgroup> x: u32;", False),
        ("/* var<workgroup> x */ var<private> x: u32;", False),
    ],
)
def test_what_uses_workgroup_memory(tmp_path: Path, text: str, uses: bool) -> None:
    file = tmp_path / "k.wgsl"
    file.write_text(text)
    assert uses_workgroup_memory(replace(ONE_PER_THREAD, kernel=str(file))) is uses


def test_a_kernel_that_relies_on_zeroed_memory(run: Run) -> None:
    found = run(faults.fault("relies_on_zeroed_memory").path, "17x33x65", "integer")
    if run.numerics.workgroup_memory_zeroed:
        assert found.status is Status.PASS, found.reason
        return
    assert found.status is Status.FAIL
    assert found.hint.startswith(NOT_ZERO)


@pytest.mark.slow
def test_a_long_loop(run: Run) -> None:
    """One thread per element; the reference takes fewer iterations, and stays right."""
    found = run(ONE_PER_THREAD, "1x70000x64")
    if run.numerics.loop_limit is None:
        assert found.status is Status.PASS, found.reason
        return
    assert found.status is Status.FAIL
    assert found.reason.startswith(ENDS)
