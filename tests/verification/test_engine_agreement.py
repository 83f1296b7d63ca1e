"""Several engines in one run: a table of both, whether they agree, and what one lacks."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import cast

import pytest
from test_run import PATH, PLAN, SECOND, Worker, failing, passing

from tinygate.core import engine
from tinygate.core.adapter import Platform
from tinygate.core.case import Case
from tinygate.core.errors import NoAdapterError, UsageError
from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.status import State, Status
from tinygate.gpu.engines import tint
from tinygate.report import FORMATS
from tinygate.report.gate_line import agreement_line, path_line
from tinygate.verification.engine_agreement import agreements
from tinygate.verification.plan import Plan
from tinygate.verification.run import run
from tinygate.worker.protocol import Opened
from tinygate.worker.supervisor import Supervisor

BOTH = replace(PLAN, engines=("native", "dawn"), families=("uniform", "positive"))


def digests(outputs: str, reference: str = "r") -> object:
    return lambda case: replace(passing(case), digests=(outputs, reference))


class On(Worker):
    """A worker of another engine."""

    def __init__(self, engine: str, answer: object = passing) -> None:
        super().__init__(answer)  # type: ignore[arg-type]
        self.info = replace(self.info, engine=engine)


class Both:
    """One worker per engine, as the supervisor has one after the other."""

    def __init__(self, workers: dict[str, Worker]) -> None:
        self.workers = workers
        self.current: Worker | None = None

    def open(self, engine: str) -> Opened:
        self.current = self.workers[engine]
        return self.current.open(engine)

    def run(self, case: Case) -> CaseResult:
        assert self.current is not None
        return self.current.run(case)


def verified(plan: Plan, *workers: Worker) -> Report:
    by_engine = dict(zip(plan.engines, workers, strict=True))
    return run(plan, cast(Supervisor, Both(by_engine)))


def agreement_lines(report: Report) -> tuple[str, ...]:
    return tuple(map(agreement_line, report.agreements))


def test_one_verdict_per_path_and_engine() -> None:
    native, dawn = On("native"), On("dawn", failing)
    report = verified(BOTH, native, dawn)
    assert [(path.engine, path.status) for path in report.paths] == [
        ("native", Status.PASS),
        ("dawn", Status.FAIL),
    ]
    assert [case.engine for case in report.cases] == ["native"] * 2 + ["dawn"] * 2
    assert [platform.engine for platform in report.platforms] == ["native", "dawn"]
    assert report.exit_code == 1
    assert all("--engine dawn" in case.replay for case in report.paths[1].cases)
    assert not any("--engine" in case.replay for case in report.paths[0].cases)


def test_an_engine_without_a_device_is_its_own_error_and_the_other_still_runs() -> None:
    class Bare(On):
        def open(self, engine: str) -> Opened:
            raise NoAdapterError("no adapter at all", "install one")

    report = verified(BOTH, Bare("native"), On("dawn"))
    first, second = report.paths
    assert (first.engine, first.status) == ("native", Status.ERROR)
    assert {case.reason for case in first.cases} == {"no adapter at all"}
    assert (second.engine, second.status) == ("dawn", Status.PASS)
    assert report.exit_code == 3
    assert "native: no adapter at all" in report.notes


def test_engines_that_compute_the_same_bits_agree() -> None:
    report = verified(BOTH, On("native", digests("a")), On("dawn", digests("a")))
    assert agreement_lines(report) == (
        "[ops] f16-storage: native and dawn agree bit for bit in 2 of 2 cases",
        "[ops] f32 reference: native and dawn agree bit for bit in 2 of 2 cases",
    )


def test_engines_that_do_not_are_named_with_the_first_case() -> None:
    def odd(case: Case) -> CaseResult:
        outputs = "b" if case.family == "positive" else "a"
        return replace(passing(case), digests=(outputs, "other"))

    report = verified(BOTH, On("native", digests("a")), On("dawn", odd))
    assert agreement_lines(report) == (
        "[ops] f16-storage: native and dawn differ in 1 of 2 cases, first 64x128x128 positive",
        "[ops] f32 reference: native and dawn differ in 2 of 2 cases, first 64x128x128 uniform",
    )


def test_other_adapters_are_said_beside_it() -> None:
    here, there = On("native", digests("a")), On("dawn", digests("b"))
    there.info = replace(there.info, name="another")
    (line, _) = agreement_lines(verified(BOTH, here, there))
    assert line.endswith("(llvmpipe on Vulkan beside another on Vulkan)")


def test_what_was_not_compared_is_not_called_agreement() -> None:
    assert verified(BOTH, On("native"), On("dawn")).agreements == ()
    not_run = Platform("native", None, None)
    assert agreements([], [not_run, replace(not_run, engine="dawn")]) == ()
    assert agreements([PathResult("p", "p", Status.PASS, State.ACTIVE)], [not_run]) == ()


def test_a_path_required_is_required_on_every_engine() -> None:
    plan = replace(BOTH, paths=(PATH, SECOND), required=("second",))
    able, unable = On("native"), On("dawn")
    able.info = replace(able.info, features=("subgroups",))
    assert verified(plan, able, unable).exit_code == 3


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_the_engines_apart(name: str) -> None:
    report = verified(BOTH, On("native", digests("a")), On("dawn", failing))
    text = FORMATS[name](report)
    assert "dawn" in text
    assert "native" in text


def test_what_a_path_builds_on_failed_first() -> None:
    after = replace(PATH, name="after", depends_on=PATH.name)
    plan = replace(PLAN, paths=(PATH, after))
    one = On("native", failing)
    report = verified(plan, one)
    assert report.paths[1].status is Status.SKIP
    assert report.paths[1].detected
    assert path_line(report.paths[1]) == "[ops] after gate verdict: SKIP — f16-storage failed first"
    assert not any(asked.startswith("after/") for asked in one.asked)
    assert verified(plan, On("native")).paths[1].active
    alone = verified(replace(plan, paths=(after,)), On("native", failing))
    assert alone.paths[0].status is Status.FAIL


def test_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        engine.installed("dawn")
    assert caught.value.exit_code == 2
    assert "pip install 'tinygate[dawn]'" in caught.value.hint
    assert engine.installed("native") == "native"


PARSING = """
Error while parsing WGSL: :2:49 error: unresolved value 'y'
@compute @workgroup_size(1) fn main() { let x = y; }
                                                ^


 - While calling [Device].CreateShaderModule([ShaderModuleDescriptor "k.wgsl"]).
"""
NOTED = """
:3:5 error: cannot assign to value of type 'i32'
  a = 1;
  ^
:1:3 note: 'let' variables are immutable
"""
PIPELINE = """
Entry point "main" doesn't exist in the shader module [ShaderModule "k.wgsl"].
 - While validating compute stage.
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PARSING, "k.wgsl:2:49: unresolved value 'y'"),
        (
            NOTED,
            "k.wgsl:3:5: cannot assign to value of type 'i32': 'let' variables are immutable",
        ),
        (
            PIPELINE,
            'k.wgsl: Entry point "main" doesn\'t exist in the shader module '
            '[ShaderModule "k.wgsl"].',
        ),
        ("", "k.wgsl: no reason given"),
    ],
)
def test_tint_on_one_line(text: str, line: str) -> None:
    assert tint.one_line("k.wgsl", text) == line


def test_every_engine_of_the_paths_is_known() -> None:
    assert set(engine.ENGINES) <= set(engine.TARGETS)
    for name in engine.ENGINES:
        assert importlib.util.find_spec(f"tinygate.gpu.engines.{name}")


def test_what_others_build_on_runs_first_and_is_reported_where_it_was_named() -> None:
    after = replace(PATH, name="after", depends_on=PATH.name)
    one = On("native", failing)
    report = verified(replace(PLAN, paths=(after, PATH)), one)
    assert [path.path for path in report.paths] == ["after", PATH.name]
    assert report.paths[0].status is Status.SKIP
    assert one.asked[0].startswith(PATH.name)
