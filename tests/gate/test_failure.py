"""From checks and facts to the place of a failure: which check tells, and where its numbers are."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tinygate.cli.main import run
from tinygate.core.case import Case
from tinygate.core.kernel_abi import Entry
from tinygate.core.metrics import MEAN_REL_LIMIT, Metrics
from tinygate.core.results import CaseResult, Failure
from tinygate.core.shape import Shape
from tinygate.core.status import Check, Status
from tinygate.gate import failure as failures
from tinygate.gate.observations import RunObservations, Sample
from tinygate.numerics import compare
from tinygate.numerics.compare import Packing, Region
from tinygate.numerics.tolerance import conformance_tolerance
from tinygate.paths import builtin
from tinygate.report.files import writable_folder

M, K, N = 5, 7, 6
SHAPE = Shape(M, K, N)
PATH = replace(builtin.REFERENCE, name="wrong")
LIMIT = conformance_tolerance(PATH, K, "G")
RNG = np.random.default_rng(7)
A = RNG.integers(-3, 4, (M, K)).astype(np.float32)
B = RNG.integers(-3, 4, (K, N)).astype(np.float32)
C = A @ B
NAN = np.float32("nan")


def case(family: str = "uniform") -> Case:
    return Case(PATH, SHAPE, family, 1)


def failed(one: Case, *names: str, **changed: object) -> CaseResult:
    """A FAIL of these checks."""
    checks = tuple(Check(name, Status.FAIL, "wrong") for name in names)
    metrics = Metrics(float(np.abs(C).mean()), 1.0, 1.0, 1.0, C.size)
    result = replace(one.not_run(), status=Status.FAIL, checks=checks, metrics=metrics)
    return replace(result, **changed)  # type: ignore[arg-type]


def observations(F: np.ndarray, one: Case) -> RunObservations:
    """What a run that gave F has shown."""
    found = RunObservations(SHAPE)
    found.finite.merge(compare.region(F.view(np.uint32)))
    if one.family == "integer":
        found.wrong.merge(compare.unequal_to_product(F, A, B))
    else:
        found.deviation = compare.deviation(F, A, B, LIMIT)
    found.sample = Sample(A, B, A, B, F, C, wrong=True, limit=LIMIT)
    return found


def located(
    result: CaseResult, one: Case, found: RunObservations, packing: Packing | None = None
) -> Failure:
    failure = failures.locate(result, one, found, packing)
    assert failure is not None
    return failure


def test_the_first_wrong_element_has_what_is_there_and_what_should_be() -> None:
    F = C.copy()
    F[2, 3:5] += 1
    for one, check in ((case("integer"), "exact"), (case(), "conformance")):
        found = located(failed(one, check), one, observations(F, one))
        assert (found.count, found.total, found.first) == (2, M * N, (2, 3))
        assert (found.got, found.want) == (F[2, 3], C[2, 3])
        assert found.where == "row 2, columns 3-4"
        assert found.operand == "C"
        assert found.cells[2] == (0, 0, 0, 1, 1, 0)


def test_what_explains_most_tells() -> None:
    F = C.copy()
    F[1, 1] = NAN
    F[4, 4] += 100
    one = case()
    found = located(failed(one, "finite", "max_abs", "conformance"), one, observations(F, one))
    assert found.first == (1, 1)
    assert np.isnan(found.got or 0.0)
    assert found.want == C[1, 1]
    found = located(failed(one, "max_abs", "conformance"), one, observations(F, one))
    assert found.first == (4, 4)


@pytest.mark.parametrize("check", ["max_abs", "mean_rel"])
def test_a_path_that_conforms_is_located_by_the_activation_check(check: str) -> None:
    F = C.copy()
    F[3, 0] += np.abs(C).max()
    one = case()
    found = observations(F, one)
    found.deviation = None
    place = located(failed(one, check), one, found)
    assert (place.count, place.first) == (1, (3, 0))
    assert MEAN_REL_LIMIT == 0.005


def test_the_zero_rule_has_a_place() -> None:
    one = case("zero")
    F = np.zeros((M, N), np.float32)
    F[0, 5] = 1e-30
    found = RunObservations(SHAPE)
    zeros = np.zeros_like(B)
    found.sample = Sample(
        A, zeros, A, zeros, F, np.zeros((M, N), np.float32), wrong=True, limit=LIMIT
    )
    place = located(failed(one, "zero", metrics=Metrics(0, 0, 0, 0, M * N)), one, found)
    assert (place.first, place.want) == ((0, 5), 0.0)


def test_two_runs_that_differ_say_where_and_not_what_is_right() -> None:
    one = case()
    found = observations(C, one)
    found.differs.add(np.eye(M, N, dtype=np.bool_))
    place = located(failed(one, "determinism"), one, found)
    assert (place.first, place.got, place.want, place.count) == ((0, 0), None, None, 5)


def test_weights_stored_wrong_are_a_map_of_the_weights() -> None:
    region = Region((K, N))
    bad = np.zeros((K, N), np.bool_)
    bad[6, 2] = True
    region.add(bad)
    one = case()
    packing = Packing(region, original=1.5, stored=0.0)
    place = located(failed(one, "packing", "conformance"), one, observations(C, one), packing)
    assert (place.operand, place.first, place.got, place.want) == ("B", (6, 2), 0.0, 1.5)
    assert place.total == K * N


def test_of_pooled_products_the_count_is_of_all_and_the_values_are_of_one_that_is_wrong() -> None:
    one = case("integer")
    first, second = C.copy(), C.copy()
    first[4, 1] += 1
    second[0, 0] += 1
    found = observations(first, one)
    found.merge(observations(second, one))
    place = located(failed(one, "exact", exact=(2, 3 * M * N)), one, found)
    assert (place.count, place.total) == (2, 3 * M * N)
    assert (place.first, place.got, place.want) == ((4, 1), first[4, 1], C[4, 1])
    assert max(map(max, place.cells)) == 0.5


def test_everything_wrong_is_1_in_every_cell() -> None:
    one = case("integer")
    place = located(failed(one, "exact"), one, observations(C + 1, one))
    assert {share for row in place.cells for share in row} == {1.0}


@pytest.mark.parametrize("checks", [("guard",), ("inputs",), ("refusal",), ()])
def test_what_has_no_place_has_none(checks: tuple[str, ...]) -> None:
    one = case()
    assert failures.locate(failed(one, *checks), one, observations(C, one), None) is None
    assert (
        failures.locate(failed(one, "written", "packing"), one, RunObservations(SHAPE), None)
        is None
    )


def test_a_pass_is_left_as_it_is(tmp_path: Path) -> None:
    one = replace(case(), save_failures=str(tmp_path))
    result = replace(failed(one, "exact"), status=Status.PASS)
    assert failures.explain(result, one, observations(C + 1, one), None) == result
    assert not list(tmp_path.iterdir())


def test_a_disk_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    one = replace(case("integer"), save_failures=str(tmp_path / "file"))
    result = failures.explain(failed(one, "exact"), one, observations(C + 1, one), None)
    assert (result.status, result.saved) == (Status.FAIL, "")
    assert "could not be saved" in result.warnings[0]


def test_nothing_is_left_of_a_file_that_could_not_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: object, **arrays: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    one = replace(case("integer"), save_failures=str(tmp_path))
    result = failures.explain(failed(one, "exact"), one, observations(C + 1, one), None)
    assert "No space left" in result.warnings[0]
    assert not list(tmp_path.iterdir())


def test_file_names_are_safe_whatever_a_shape_is_called(tmp_path: Path) -> None:
    one = replace(case("integer"), shape=replace(SHAPE, name="a.b"), save_failures=str(tmp_path))
    saved = failures.explain(failed(one, "exact"), one, observations(C + 1, one), None).saved
    assert Path(saved).name == "wrong_5x7x6_a.b_integer_1.npz"


def test_a_folder_is_made_and_tried(tmp_path: Path) -> None:
    name = writable_folder(str(tmp_path / "a" / "b"))
    assert Path(name).is_dir()
    assert not list(Path(name).iterdir())


@pytest.fixture
def wrong_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only registered path never writes what lies behind the last whole tile."""
    kernel = Path(__file__).parents[1] / "faults" / "unwritten_tail.wgsl"
    entries = (Entry("main", 8, 8),)
    monkeypatch.setattr(builtin, "BUILTIN", (replace(PATH, kernel=str(kernel), entries=entries),))


def test_a_wrong_tail_is_seen_at_a_glance(
    wrong_tail: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["verify", "--shape", "64x32x65", "--inputs", "integer"]) == 1
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if "map of C" in line)
    assert lines[start - 1].startswith("    first wrong C[0,64]: got nan, want ")
    assert lines[start - 1].endswith("; 64 of 4160 wrong, column 64")
    cells = [line.split("|")[1] for line in lines[start:] if "|" in line]
    assert cells == [" " * 32 + "@"] * 16
    assert lines[start].strip().startswith("map of C, 4 x 2 elements a character")
    assert all(line.isascii() for line in lines[start : start + 19])


def test_a_real_failure_and_its_predictions_fit_the_schema(
    wrong_tail: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--shape", "17x33x65", "--output-format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    schema = resources.files("tinygate.report").joinpath("schema.json").read_text("utf-8")
    Draft202012Validator(json.loads(schema)).validate(document)
    asked = [one for one in document["paths"][0]["cases"] if not one["companion"]]
    by_family = {one["family"]: one for one in asked}
    failure = by_family["integer"]["failure"]
    assert (failure["operand"], failure["count"], failure["first"]) == ("C", 17, [0, 64])
    assert failure["got"] == "NaN"
    assert len(failure["cells"]) == 9
    assert {row[-1] for row in failure["cells"]} == {1.0}
    numbers = by_family["uniform"]["predicted"]
    assert set(numbers) == {"mean_rel", "max_abs", "nmse"}
    assert 0 < numbers["nmse"]["ratio"] < 2


def test_a_pass_has_its_predictions_in_verbose_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["verify", "--shape", "64x128x128", "--path", "f16-storage", "--inputs", "uniform"]
    assert run([*args, "-v"]) == 0
    out = capsys.readouterr().out
    for name in ("mean_rel", "max_abs", "nmse"):
        assert f"    predicted: {name}: predicted " in out
    assert "warning" not in out
    assert "Failures" not in out
