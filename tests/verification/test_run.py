"""The order of cases, the command that replays one, and a run whose worker says what it is told."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import pytest

from tinygate import __version__
from tinygate.core.adapter import AdapterInfo, AdapterLimits, MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.errors import CannotVerifyError, DeviceError, NoAdapterError
from tinygate.core.family import parse_families
from tinygate.core.fast_path import FastPath
from tinygate.core.metrics import Metrics
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.paths.builtin import BUILTIN
from tinygate.report.gate_line import lines
from tinygate.verification.coverage import companions
from tinygate.verification.plan import Plan
from tinygate.verification.run import not_run, run
from tinygate.worker.protocol import Opened
from tinygate.worker.supervisor import Supervisor

PASS, FAIL, SKIP, ERROR = Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR
PATH = BUILTIN[0]
SECOND = replace(PATH, name="second", pill="second", requires=("subgroups",))
SMALL, TILE = Shape(1, 77, 131), Shape(64, 128, 128)
FOUR = ("uniform", "positive", "integer", "identity")
PLAN = Plan((PATH,), (TILE,))


def asked(plan: Plan) -> list[Case]:
    """The cases at shapes that the plan names."""
    return [case for case in plan.cases(PATH) if not case.companion]


def adapter(*features: str) -> AdapterInfo:
    limits = AdapterLimits(1 << 28, 1 << 27, 65535, 256, 16384, 256)
    return AdapterInfo("native", "1.0", 0, "llvmpipe", "CPU", "Vulkan", "1.2", features, limits)


def passing(case: Case) -> CaseResult:
    metrics = Metrics(0.122, 1.33e-4, 0.00075, 0.054, 8192)
    return replace(case.not_run(), status=PASS, reason="", not_run=False, metrics=metrics, runs=2)


def failing(case: Case) -> CaseResult:
    return replace(passing(case), status=FAIL, reason="mean_rel over limit", failed=2)


class Worker:
    """Gives the results it is told to and remembers what it was asked."""

    def __init__(self, answer: Callable[[Case], CaseResult] = passing, *features: str) -> None:
        self.answer = answer
        self.info = adapter(*features)
        self.asked: list[str] = []

    def open(self, engine: str) -> Opened:
        return Opened(self.info, (self.info,), MeasuredNumerics(subgroup_size=8))

    def run(self, case: Case) -> CaseResult:
        self.asked.append(case.id)
        return self.answer(case)


class Log:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def opened(self, opened: Opened, notes: Sequence[str]) -> None:
        self.events.append(f"opened {opened.adapter.name} {len(notes)}")

    def started(self, case: Case, done: int, total: int) -> None:
        self.events.append(f"started {case.family} {done}/{total}")

    def finished(self, result: CaseResult) -> None:
        self.events.append(f"finished {result.family} {result.status}")

    def judged(self, result: PathResult) -> None:
        self.events.append(f"judged {result.path} {result.status}")


def verified(plan: Plan, worker: Worker, log: Log | None = None) -> Report:
    return run(plan, cast(Supervisor, worker), log)


# ---- the plan ----


def test_shapes_before_families_in_the_order_they_were_given() -> None:
    plan = replace(PLAN, shapes=(SMALL, TILE), families=("integer", "uniform"))
    assert [case.id for case in plan.cases(PATH)] == [
        "f16-storage/1x77x131/integer",
        "f16-storage/1x77x131/uniform",
        "f16-storage/64x128x128/integer",
        "f16-storage/64x128x128/uniform",
    ]


def test_a_case_is_whole() -> None:
    plan = replace(PLAN, seed=7, repeat=20)
    for case, family in zip(asked(plan), FOUR, strict=True):
        assert (case.path, case.shape, case.family) == (PATH, TILE, family)
        assert (case.seed, case.repeat) == (7, 20)
        assert case.id == case.not_run().id
        assert case.not_run().shape_class == PATH.shape_class(TILE)
        assert (case.not_run().status, case.not_run().reason) == (ERROR, "not run")


def test_a_shape_that_is_named_twice_runs_once() -> None:
    named = replace(TILE, name="mlp")
    plan = replace(PLAN, shapes=(TILE, SMALL, TILE, named), families=("uniform",))
    assert [case.shape.label for case in plan.cases(PATH)] == [
        "64x128x128",
        "1x77x131",
        "64x128x128:mlp",
    ]
    assert not_run(plan).shapes == ("64x128x128", "1x77x131", "64x128x128:mlp")


@pytest.mark.parametrize(
    ("keep", "count"),
    [
        (None, 8),
        ("", 8),
        ("integer", 2),
        ("64x", 4),
        ("^f16-storage/1x77x131/(uniform|identity)$", 2),
        ("^uniform", 0),
        ("UNIFORM", 0),
        ("second", 0),
    ],
)
def test_k_searches_the_printed_id(keep: str | None, count: int) -> None:
    plan = replace(PLAN, shapes=(SMALL, TILE), filter=keep)
    assert len(asked(plan)) == count


def test_the_features_to_switch_on() -> None:
    assert PLAN.features == ("subgroups",)
    half = replace(PATH, requires=("shader-f16", "subgroups"))
    assert replace(PLAN, paths=(SECOND, half)).features == ("subgroups", "shader-f16")


def test_a_blank_report_is_not_green() -> None:
    report = not_run(replace(PLAN, paths=(PATH, SECOND), seed=9, required=("second",)))
    assert (report.exit_code, report.seed, report.required) == (3, 9, ("second",))
    assert report.version == __version__
    assert [path.status for path in report.paths] == [ERROR, ERROR]
    assert {case.reason for case in report.cases} == {"not run"}
    assert len(report.cases) == 2 * len(PLAN.cases(PATH))
    assert not report.active
    assert len(report.paths[0].source_hash) == 64
    assert not_run(replace(PLAN, filter="nothing")).exit_code == 3


# ---- a run ----


def test_a_run_that_passes() -> None:
    worker, log = Worker(), Log()
    report = verified(PLAN, worker, log)
    assert report.exit_code == 0
    assert report.status_line == "f16-storage matmul active"
    assert report.platforms[0].adapter == worker.info
    assert report.platforms[0].numerics == MeasuredNumerics(subgroup_size=8)
    assert report.notes == ("llvmpipe is a CPU adapter: its verdicts say nothing about a GPU",)
    assert worker.asked == [case.id for case in PLAN.cases(PATH)]
    assert worker.asked[:4] == [f"f16-storage/64x128x128/{family}" for family in FOUR]
    assert log.events == [
        "opened llvmpipe 1",
        *(
            event
            for i, case in enumerate(PLAN.cases(PATH))
            for event in (f"started {case.family} {i}/8", f"finished {case.family} PASS")
        ),
        "judged f16-storage PASS",
    ]
    assert report.seconds is not None
    assert all(case.seconds is not None for case in report.cases)


def test_the_uniform_line_of_a_single_shape_has_no_suffix_and_any_other_has() -> None:
    *cases, _ = lines(verified(PLAN, Worker()))
    assert cases[0].endswith("— PASS")
    assert [line.split(" · ")[1:] for line in cases[1:]] == [
        [f"{case.shape} {case.family}"] for case in PLAN.cases(PATH)[1:]
    ]
    twice = verified(replace(PLAN, shapes=(TILE, TILE)), Worker())
    assert next(iter(lines(twice))) == cases[0]
    *several, _ = lines(verified(replace(PLAN, shapes=(TILE, SMALL)), Worker()))
    assert all(" · " in line for line in several)


def test_what_the_adapter_lacks_is_skipped_without_a_run() -> None:
    plan = replace(PLAN, paths=(PATH, SECOND))
    worker = Worker()
    report = verified(plan, worker)
    assert [path.status for path in report.paths] == [PASS, SKIP]
    assert report.paths[1].missing == "adapter lacks subgroups"
    assert report.exit_code == 0
    assert not any("second" in case for case in worker.asked)
    assert verified(replace(plan, required=("second",)), Worker()).exit_code == 3
    assert verified(replace(plan, paths=(SECOND,)), Worker()).exit_code == 3
    there = verified(plan, Worker(passing, "subgroups"))
    assert [path.status for path in there.paths] == [PASS, PASS]


def test_one_family_that_fails_rejects_the_path_and_the_rest_still_runs() -> None:
    worker = Worker(lambda case: (failing if case.family == "positive" else passing)(case))
    report = verified(replace(PLAN, shapes=(TILE, SMALL)), worker)
    assert report.exit_code == 1
    assert report.paths[0].state == "rejected"
    assert len(worker.asked) == 16
    assert not report.active


def test_an_error_is_exit_3() -> None:
    def lost(case: Case) -> CaseResult:
        return (
            case.error(DeviceError("device lost", "run again"))
            if case.family == "integer"
            else passing(case)
        )

    report = verified(PLAN, Worker(lost))
    assert report.exit_code == 3
    assert [*lines(report)][2].endswith("ERROR: device lost · 64x128x128 integer")


def interrupting(family: str, before: Callable[[Case], CaseResult]) -> Callable[[Case], CaseResult]:
    def answer(case: Case) -> CaseResult:
        if case.family == family:
            raise KeyboardInterrupt
        return before(case)

    return answer


def test_an_interrupted_run_reports_what_is_finished() -> None:
    worker, log = Worker(interrupting("positive", passing)), Log()
    report = verified(replace(PLAN, paths=(PATH, replace(PATH, name="other"))), worker, log)
    assert report.interrupted
    assert report.exit_code == 130
    assert len(worker.asked) == 2, "nothing is started after an interruption"
    first, second, *rest = report.cases
    assert (first.status, second.status) == (PASS, ERROR)
    assert second.reason == "not run: interrupted"
    assert {case.reason for case in rest} == {"not run"}
    assert [path.status for path in report.paths] == [ERROR, ERROR]
    assert not report.active
    assert [event for event in log.events if event.startswith("finished")] == [
        "finished uniform PASS"
    ]


def test_a_fail_before_an_interruption_is_still_told() -> None:
    report = verified(PLAN, Worker(interrupting("identity", failing)))
    assert report.exit_code == 130
    assert report.paths[0].status is FAIL


@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, paths=()),
        replace(PLAN, shapes=()),
        replace(PLAN, families=()),
        replace(PLAN, filter="no-such-case"),
    ],
)
def test_an_empty_plan_is_an_error(plan: Plan) -> None:
    worker = Worker()
    with pytest.raises(CannotVerifyError) as caught:
        verified(plan, worker)
    assert caught.value.message.startswith("nothing was verified")
    assert (plan.filter or "") in caught.value.message
    assert caught.value.exit_code == 3
    assert worker.asked == []


def test_a_path_without_a_case_left_is_not_judged() -> None:
    plan = replace(PLAN, paths=(PATH, SECOND), filter="^f16-storage/")
    report = verified(plan, Worker(passing, "subgroups"))
    assert [path.path for path in report.paths] == ["f16-storage"]
    required = verified(replace(plan, required=("second",)), Worker(passing, "subgroups"))
    assert required.exit_code == 3


def test_no_device_at_all_ends_the_run() -> None:
    class Bare(Worker):
        def open(self, engine: str) -> Opened:
            raise NoAdapterError("no adapter", "install one")

    with pytest.raises(NoAdapterError):
        verified(PLAN, Bare())


# ---- replay ----


def replays(plan: Plan) -> list[str]:
    return [case.replay for case in verified(plan, Worker()).cases]


def test_the_command_that_replays_a_case() -> None:
    assert replays(replace(PLAN, families=("positive",))) == [
        "tinygate verify --shape 64x128x128 --path f16-storage --inputs positive --seed 12345"
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 7}, ["--seed", "7"]),
        ({"repeat": 20}, ["--repeat", "20"]),
        ({"adapter": "0"}, ["--adapter", "0"]),
        ({"adapter": "Big GPU (x)'s; rm"}, ["--adapter", "Big GPU (x)'s; rm"]),
        ({"engines": ("dawn",)}, ["--engine", "dawn"]),
        ({"shapes": (replace(TILE, name="mlp"),)}, ["--shape", "64x128x128:mlp"]),
    ],
)
def test_a_replay_repeats_what_was_asked_for(change: dict[str, object], words: list[str]) -> None:
    plan = replace(PLAN, families=("uniform",), **change)  # type: ignore[arg-type]
    (command,) = replays(plan)
    parsed = shlex.split(command)
    assert parsed[:2] == ["tinygate", "verify"]
    at = parsed.index(words[0])
    assert parsed[at : at + 2] == words


def test_a_replay_names_exactly_its_case() -> None:
    plan = replace(PLAN, paths=(PATH, SECOND), shapes=(TILE, replace(SMALL, name="head")))
    report = verified(plan, Worker(passing, "subgroups"))
    paths: dict[str, FastPath] = {path.name: path for path in plan.paths}
    for case in report.cases:
        words = shlex.split(case.replay)[2:]
        options = dict(zip(words[::2], words[1::2], strict=True))
        again = Plan(
            (paths[options["--path"]],),
            (Shape.parse(options["--shape"]),),
            parse_families(options["--inputs"]),
            int(options["--seed"]),
        )
        assert [found.id for path in again.paths for found in again.cases(path)] == [case.id]


def test_a_class_is_measured_beside_the_shape_where_all_families_run() -> None:
    beside = [case for case in PLAN.cases(PATH) if case.companion]
    assert {(case.shape, case.family) for case in beside} == {
        (one.shape, one.family) for one in companions(PATH, TILE)
    }
    assert not replace(PLAN, families=("uniform", "integer")).cases(PATH)[2:]
    twice = replace(PLAN, shapes=(TILE, Shape(65, 127, 100)))
    assert len(twice.cases(PATH)) == len(PLAN.cases(PATH)) + 4, "a class is measured once"


def test_a_companion_that_was_asked_for_runs_once_and_as_often_as_it_must() -> None:
    one = Plan((PATH,), (Shape(1, 1, 1),)).cases(PATH)
    integer = [case for case in one if case.family == "integer"]
    assert [(case.repeat, case.companion) for case in integer] == [(10, False)]


def test_a_suites_shape_moves_up_to_what_the_path_takes_and_a_typed_one_is_skipped() -> None:
    path = replace(PATH, multiple_of=(1, 4, 8))
    suite = replace(PLAN, paths=(path,), shapes=(), suite_shapes=(Shape(17, 33, 65),))
    assert suite.cases(path)[0].shape == Shape(17, 36, 72)
    typed = replace(suite, shapes=(Shape(17, 33, 65),), suite_shapes=())
    (shape,) = {case.shape for case in typed.cases(path)}
    assert shape == Shape(17, 33, 65)
