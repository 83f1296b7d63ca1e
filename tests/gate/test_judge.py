"""Conformance alone: a right kernel of low precision passes by one plain command, never active."""

from __future__ import annotations

import re
from dataclasses import replace

import faults
import pytest
from runs import Run

from tinygate.cli.main import run as tinygate
from tinygate.core.case import Case
from tinygate.core.family import DEFAULT_SEED
from tinygate.core.shape import Shape
from tinygate.core.status import State, Status
from tinygate.gate.case_run import CaseRun
from tinygate.paths.builtin import BUILTIN
from tinygate.report.gate_line import case_line
from tinygate.verification.verdict import judge_path

BY_NAME = {path.name: path for path in BUILTIN}
SHAPE = Shape(17, 33, 65)


def judged(run: Run, path: str, family: str, judge: str) -> Status:
    case = Case(BY_NAME[path], SHAPE, family, DEFAULT_SEED, judge=judge)  # type: ignore[arg-type]
    return CaseRun(run.harness, run.numerics, case).run().status


@pytest.mark.parametrize("path", ["int8-dot4", "q4-block32"])
def test_what_a_format_stores_fails_activation_and_passes_conformance(run: Run, path: str) -> None:
    assert judged(run, path, "uniform", "activation") is Status.FAIL
    assert judged(run, path, "uniform", "conformance") is Status.PASS


def test_a_wrong_kernel_fails_conformance_too(run: Run) -> None:
    wrong = faults.fault("int8_drops_the_last_word").path
    case = Case(wrong, SHAPE, "uniform", DEFAULT_SEED, judge="conformance")
    result = CaseRun(run.harness, run.numerics, case).run()
    assert result.status is Status.FAIL
    assert "conformance" in result.reason
    assert case_line(result).startswith(f"[ops] {wrong.name} conformance: worst |F-S| ")


def test_it_is_never_active() -> None:
    case = Case(BUILTIN[0], SHAPE, "uniform", 1, judge="conformance")
    passed = replace(case.not_run(), status=Status.PASS, reason="")
    found = judge_path(BUILTIN[0], [passed])
    assert (found.state, found.active, found.active_classes) == (State.CONFORMS, False, ())


@pytest.mark.slow
@pytest.mark.parametrize("path", ["int8-dot4", "q4-block32"])
def test_one_plain_command(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tinygate(["verify", "--path", path, "--shape", "4x40x8", "--check", "conformance"]) == 0
    out = capsys.readouterr().out
    assert f"{path} gate verdict: PASS — conforms; never active: judged on conformance" in out
    assert "no fast path active" in out
    assert tinygate(["verify", "--path", path, "--shape", "4x40x8"]) == 1
    replay = re.search(r"replay: (tinygate verify .*)", capsys.readouterr().out)
    assert replay
    assert "--check" not in replay[1]
