"""Every fault FAILs for the reason its header names, and its right twin PASSes where it fails."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import faults
import pytest
from faults import CHECKS, Fault, HeaderError, Right

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.shape import SUITES, Shape
from tinygate.core.status import Status
from tinygate.gate.case_run import run_case
from tinygate.gate.products import Harness

pytestmark = pytest.mark.slow

FAULTS = faults.faults()
RIGHTS = faults.rights()
TWINS = {
    "f32": "right_f32",
    "f16-packed": "right_f16",
    "int8-packed": "right_int8",
    "q4-block32": "right_q4",
}
# What a right quantized path passes: the activation check is not meant for it.
CONFORMING = ("integer", "identity", "outlier", "cancel", "overflow", "zero")


def usual(path: FastPath) -> tuple[str, ...]:
    """The families that a right path of this kind passes."""
    return CONFORMING if path.quantized else DEFAULT_FAMILIES


FAILING = [
    pytest.param(fault, shape, family, id=f"{fault.file.stem}-{shape}-{family}")
    for fault in FAULTS
    for shape in fault.shapes
    for family in fault.must_fail
]
# Where a fault does not show, with what it would take to see it as the reason for more families.
PASSING = [
    pytest.param(fault, shape, family, id=f"{fault.file.stem}-{shape}-{family}")
    for fault in FAULTS
    for shape, family in [
        *((shape, family) for shape in fault.shapes for family in fault.passes),
        *((shape, family) for shape in fault.passes_at for family in usual(fault.path)),
    ]
]
RAGGED = tuple(dict.fromkeys((*SUITES["ragged"], *SUITES["smoke"])))
# The plain twins run on the large shape too; the others' kernels are slow.
RIGHT = [
    pytest.param(right, shape, family, id=f"{right.file.stem}-{shape}-{family}")
    for right in RIGHTS
    for shape in RAGGED
    for family in usual(right.path)
    if right.file.stem in TWINS.values() or shape.M * shape.N < 1 << 16
]


class Gate:
    """Runs each case once, however many tests look at it."""

    def __init__(self, harness: Harness, numerics: MeasuredNumerics) -> None:
        self.numerics = numerics
        self._harness = harness
        self.run = cache(self._run)

    def _run(self, path: FastPath, shape: Shape, family: str) -> CaseResult:
        if missing := path.missing_features(self._harness.device.info):
            pytest.skip(missing)
        return run_case(self._harness, self.numerics, Case(path, shape, family, DEFAULT_SEED))


@pytest.fixture(scope="module")
def gate(harness: Harness, measured_numerics: MeasuredNumerics) -> Gate:
    return Gate(harness, measured_numerics)


@pytest.mark.parametrize(("fault", "shape", "family"), FAILING)
def test_a_fault_fails_for_its_reason(gate: Gate, fault: Fault, shape: Shape, family: str) -> None:
    if not fault.shows_on(gate.numerics):
        pytest.skip(f"shows only on adapters with {fault.adapters}")
    result = gate.run(fault.path, shape, family)
    failing = {check.name for check in result.checks if check.status is Status.FAIL}
    assert result.status is Status.FAIL, result.reason
    assert fault.names(family, failing), f"{sorted(failing)}: {result.reason}"
    for text in fault.says:
        assert text in result.reason
    for check in result.checks:
        if check.name == "conformance" and check.status is Status.FAIL:
            assert check.used is not None
            assert check.used >= fault.over


@pytest.mark.parametrize(("fault", "shape", "family"), FAILING)
def test_the_twin_passes_there(gate: Gate, fault: Fault, shape: Shape, family: str) -> None:
    twin = faults.right(TWINS[fault.path.b]).path
    result = gate.run(twin, shape, family)
    assert result.status is Status.PASS, result.reason


@pytest.mark.parametrize(("fault", "shape", "family"), PASSING)
def test_where_a_fault_does_not_show(gate: Gate, fault: Fault, shape: Shape, family: str) -> None:
    result = gate.run(fault.path, shape, family)
    assert result.status is Status.PASS, result.reason


@pytest.mark.parametrize(("right", "shape", "family"), RIGHT)
def test_a_right_kernel_passes(gate: Gate, right: Right, shape: Shape, family: str) -> None:
    result = gate.run(right.path, shape, family)
    assert result.status is Status.PASS, result.reason


def test_every_check_has_a_fault() -> None:
    named = {
        name
        for fault in FAULTS
        for groups in fault.must_fail.values()
        for group in groups
        for name in group
    }
    assert named == CHECKS


def test_every_fault_is_a_path_of_its_own() -> None:
    assert len({fault.path.name for fault in FAULTS}) == len(FAULTS)
    assert all(fault.shapes and fault.must_fail for fault in FAULTS)


GOOD = """\
// fault: drops the last k
// declares: b=f32, tile=8x8
// shapes: 17x33x65 1x64x9
// must fail: uniform by written|finite, conformance
// must fail: integer by exact
// says: at [0,0]; row
// because: it is
//     wrong

@compute fn main() {}
"""


def parse(folder: Path, text: str) -> Fault:
    file = folder / "some_fault.wgsl"
    file.write_text(text, encoding="utf-8")
    return faults.read_fault(file)


def test_a_header_says_what_it_says(tmp_path: Path) -> None:
    fault = parse(tmp_path, GOOD)
    assert fault.shapes == (Shape(17, 33, 65), Shape(1, 64, 9))
    assert fault.says == ("at [0,0]", "row")
    assert fault.names("uniform", {"written", "conformance"})
    assert fault.names("uniform", {"written", "finite", "conformance"})
    assert not fault.names("uniform", {"conformance"})
    assert not fault.names("uniform", {"written", "conformance", "max_abs"})
    assert fault.path == replace(
        fault.path, name="some-fault", b="f32", pack=None, why="drops the last k"
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("// because: it is\n//     wrong\n", "", "because missing"),
        ("// says:", "// sais:", "key 'sais'"),
        ("// shapes:", "// shapes", "expected `// key: value`"),
        ("// says: at [0,0]; row", "// because: twice", "'because' comes twice"),
        ("tile=8x8", "tiles=8x8", "declares 'tiles'"),
        ("b=f32", "b=f32, requires=warp-drive", "requires 'warp-drive'"),
        ("uniform by", "uniforms by", "must fail 'uniforms'"),
        ("integer by exact", "integer", "by which checks"),
        ("conformance", "conformity", "must fail 'conformity'"),
        ("// says: at [0,0]; row", "// adapters: some", "adapters 'some'"),
        ("b=f32", "b=f32, packs=c", "packs 'c'"),
    ],
)
def test_a_header_is_strict(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(HeaderError, match=says.replace("[", r"\[")):
        parse(tmp_path, GOOD.replace(old, new, 1))


def test_no_faults_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "FOLDER", tmp_path)
    with pytest.raises(HeaderError, match="no faults"):
        faults.faults()
    with pytest.raises(HeaderError, match="no right twins"):
        faults.rights()
