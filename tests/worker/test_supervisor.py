"""What happens to a run when its worker, its device or its user goes away."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import faults
import pytest

from tinygate.core.case import Case
from tinygate.core.errors import DeviceError, ShaderError
from tinygate.core.family import DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, PathResult
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gpu.engines.base import Device
from tinygate.paths.builtin import BUILTIN
from tinygate.verification.plan import Plan
from tinygate.verification.run import Silent, run
from tinygate.verification.verify import verify_plan
from tinygate.worker.process import WorkerLoop
from tinygate.worker.protocol import Open, Opened
from tinygate.worker.supervisor import Supervisor

pytestmark = pytest.mark.slow

STORAGE = BUILTIN[0]
SMALL = Shape(17, 33, 65)
NEXT = Case(STORAGE, SMALL, "uniform", DEFAULT_SEED)
OPEN = Open("native", None, (), every_backend=False)
# Each thread takes minutes; a driver that ends long loops early still has 16,384 workgroups of it.
LONG = """\
  var x = f32(m + n);
  for (var i = 0u; i < 60000u; i++) { x = sin(x) + cos(x * 1.5) + exp(-x * x); }
  c[m * dims.N + n] = sum + x;
"""


@pytest.fixture
def endless(tmp_path: Path) -> Case:
    """A case that no adapter here ends in time."""
    right = faults.right("right_f32").path
    text = right.kernel_file().read_text(encoding="utf-8")
    kernel = tmp_path / "endless.wgsl"
    kernel.write_text(text.replace("  c[m * dims.N + n] = sum;\n", LONG), encoding="utf-8")
    path = replace(right, name="endless", kernel=str(kernel))
    return Case(path, Shape(1024, 1, 1024), "uniform", DEFAULT_SEED)


@pytest.fixture
def supervisor(device: Device) -> Iterator[Supervisor]:
    """With more patience than any test here has."""
    with Supervisor(None, (), 600) as worker:
        worker.start("native")
        yield worker


def pid(supervisor: Supervisor) -> int:
    assert supervisor._worker is not None
    return supervisor._worker._process.pid


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_crash_is_that_cases_error(supervisor: Supervisor, endless: Case, name: str) -> None:
    supervisor.open("native")
    crashed = pid(supervisor)
    # Whenever it comes, the case is under way or about to be: it takes minutes.
    timer = threading.Timer(0.5, os.kill, (crashed, signal.Signals[name]))
    timer.start()
    result = supervisor.run(endless)
    timer.join()
    assert result.status is Status.ERROR
    assert result.reason.startswith(f"the driver crashed: {name}")
    assert result.hint
    assert supervisor.run(NEXT).status is Status.PASS
    assert pid(supervisor) != crashed


def test_a_crash_between_cases_is_the_next_ones_error(supervisor: Supervisor) -> None:
    assert supervisor.run(NEXT).status is Status.PASS
    os.kill(pid(supervisor), signal.SIGSEGV)
    result = supervisor.run(NEXT)
    assert result.status is Status.ERROR
    assert "SIGSEGV" in result.reason
    assert supervisor.run(NEXT).status is Status.PASS


def test_a_crash_in_a_run_leaves_the_rest(
    device: Device, endless: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crashing(Supervisor):
        def run(self, case: Case) -> CaseResult:
            if case.path.name != endless.path.name:
                return super().run(case)
            self.open("native")
            timer = threading.Timer(0.5, os.kill, (pid(self), signal.SIGSEGV))
            timer.start()
            result = super().run(case)
            timer.join()
            return result

    plan = Plan((endless.path, STORAGE), (endless.shape,), families=("uniform",))
    with Crashing(None, (), 600) as worker:
        report = run(plan, worker)
    first, second = report.paths
    assert first.status is Status.ERROR
    assert "SIGSEGV" in first.reason
    assert second.status is Status.PASS
    assert report.exit_code == 3


@pytest.mark.parametrize("text", ["", "PROGRAM"])
def test_the_worker_runs_on_the_python_that_is_named(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    program, started = tmp_path / "a python", tmp_path / "started"
    program.write_text(f"#!/bin/sh\ntouch '{started}'\nexec '{sys.executable}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("TINYGATE_WORKER_PYTHON", text and str(program))
    with Supervisor(None, (), 600) as worker:
        worker.start("native")
        assert worker.run(NEXT).status is Status.PASS
    assert started.exists() == bool(text)


def test_a_python_that_is_not_there_is_an_error_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TINYGATE_WORKER_PYTHON", str(tmp_path / "none"))
    with pytest.raises(DeviceError, match=r"the worker does not start: .*none") as caught:
        Supervisor(None, (), 600).start("native")
    assert "TINYGATE_WORKER_PYTHON" in caught.value.hint


def opened_loop() -> WorkerLoop:
    loop = WorkerLoop()
    assert isinstance(loop.answer(OPEN), Opened)
    return loop


def test_a_lost_device_is_not_used_again(device: Device) -> None:
    """The worker answers with the error itself, on which the supervisor starts a new one."""
    loop = opened_loop()
    result = loop.answer(NEXT)
    assert isinstance(result, CaseResult)
    assert result.status is Status.PASS
    assert loop._device is not None
    loop._device.harness.device.close()
    answer = loop.answer(NEXT)
    assert isinstance(answer, DeviceError)
    assert answer.message.startswith("device lost: ")


def test_a_supervisor_replaces_a_worker_that_lost_its_device(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert supervisor.run(NEXT).status is Status.PASS
    before = pid(supervisor)
    assert supervisor._worker is not None
    monkeypatch.setattr(
        supervisor._worker, "receive", lambda _: DeviceError("device lost: so it says", "run again")
    )
    result = supervisor.run(NEXT)
    assert (result.status, result.reason) == (Status.ERROR, "device lost: so it says")
    assert supervisor.run(NEXT).status is Status.PASS
    assert pid(supervisor) != before


def test_a_kernel_that_does_not_compile_costs_no_worker(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    kernel = tmp_path / "broken.wgsl"
    kernel.write_text("not WGSL", encoding="utf-8")
    broken = replace(STORAGE, name="broken", kernel=str(kernel))
    assert supervisor.run(NEXT).status is Status.PASS
    before = pid(supervisor)
    result = supervisor.run(Case(broken, SMALL, "uniform", DEFAULT_SEED))
    assert result.status is Status.ERROR
    assert "broken.wgsl" in result.reason
    assert supervisor.run(NEXT).status is Status.PASS
    assert pid(supervisor) == before


def test_a_fault_of_tinygates_own_is_no_verdict(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    loop = opened_loop()
    monkeypatch.setattr("tinygate.gate.case_run.generate", broken)
    answer = loop.answer(NEXT)
    assert isinstance(answer, DeviceError)
    assert answer.message == "internal error: ZeroDivisionError: oh"


def test_errors_cross_the_pipe_whole() -> None:
    error = pickle.loads(pickle.dumps(ShaderError("message", "hint")))
    assert isinstance(error, ShaderError)
    assert (error.message, error.hint) == ("message", "hint")


def start_worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tinygate.worker.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_the_worker_ends_with_its_parent(device: Device, endless: Case, busy: bool) -> None:
    with start_worker() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(OPEN, process.stdin)
        process.stdin.flush()
        assert isinstance(pickle.load(process.stdout), Opened)
        if busy:
            pickle.dump(endless, process.stdin)
        process.stdin.close()  # what a parent that dies does
        assert process.wait(timeout=60) == 0
        assert process.stdout.read() == b""


def test_ctrl_c_is_the_parents_to_handle(device: Device) -> None:
    with start_worker() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump(OPEN, process.stdin)
        process.stdin.flush()
        assert isinstance(pickle.load(process.stdout), Opened)
        process.send_signal(signal.SIGINT)
        pickle.dump(NEXT, process.stdin)
        process.stdin.flush()
        result = pickle.load(process.stdout)
        assert isinstance(result, CaseResult)
        assert result.status is Status.PASS
        process.stdin.close()
        assert process.wait(timeout=60) == 0


class InterruptedAt(Supervisor):
    """Ctrl-C in the middle of the case with that number."""

    def __init__(self, number: int) -> None:
        super().__init__(None, (), 600)
        self.left = number

    def run(self, case: Case) -> CaseResult:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().run(case)


class Heard(Silent):
    """Everything that was told."""

    def __init__(self) -> None:
        self.cases: list[str] = []
        self.paths: list[str] = []

    def finished(self, result: CaseResult) -> None:
        self.cases.append(result.id)

    def judged(self, result: PathResult) -> None:
        self.paths.append(result.state)


@pytest.mark.parametrize("number", [0, 2, 3])
def test_ctrl_c_keeps_what_is_finished(device: Device, number: int) -> None:
    heard = Heard()
    other = replace(STORAGE, name="other")
    plan = Plan((STORAGE, other), (SMALL,))
    with InterruptedAt(number) as worker:
        report = run(plan, worker, heard)
    assert report.interrupted
    assert report.exit_code == 130
    statuses = [case.status for case in report.cases]
    total = len(plan.cases(STORAGE)) + len(plan.cases(other))
    assert statuses == [Status.PASS] * number + [Status.ERROR] * (total - number)
    assert report.cases[number].reason == "not run: interrupted"
    assert all(case.reason == "not run" for case in report.cases[number + 1 :])
    assert [case.id for case in report.cases[:number]] == heard.cases
    assert not report.active
    assert not any(path.active or path.active_classes for path in report.paths)


def test_ctrl_c_after_a_path_keeps_its_verdict(device: Device) -> None:
    """A path whose every case had run is what it is; the next one is not."""
    other: FastPath = replace(STORAGE, name="other")
    plan = Plan((STORAGE, other), (SMALL,))
    with InterruptedAt(len(plan.cases(STORAGE)) + 1) as worker:
        report = run(plan, worker)
    first, second = report.paths
    assert (first.status, second.status) == (Status.PASS, Status.ERROR)
    assert first.active
    assert not second.active
    assert report.exit_code == 130


@pytest.mark.parametrize("moment", ["started", "finished"])
def test_ctrl_c_between_cases(device: Device, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches the program wherever it is, in the listener too."""
    heard = Heard()
    calls = []

    def interrupt(*_: object) -> None:
        calls.append(moment)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(heard, moment, interrupt)
    report = verify_plan(Plan((STORAGE,), (SMALL,)), heard)
    assert report.interrupted
    assert report.exit_code == 130
    assert report.cases[0].status is Status.PASS
    assert report.cases[-1].status is Status.ERROR
    assert not report.active
