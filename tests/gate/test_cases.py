"""One test per published case that this version can meet, named by the case's id.

Where a case is a wrong kernel it lies in tests/faults, and the test here asks for the words the
case asks for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import faults
import numpy as np
import pytest
from runs import Run

from tinygate.core.adapter import AdapterLimits
from tinygate.core.case import Case
from tinygate.core.errors import (
    CannotVerifyError,
    ConfigError,
    LimitError,
    NoAdapterError,
    PackingRefusedError,
    UnknownNameError,
)
from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.core.vocabulary import FEATURES
from tinygate.gate import case_run
from tinygate.gate import products as harness_module
from tinygate.gate.products import Harness
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.engines.base import Device, Dispatch
from tinygate.gpu.kernel import grid
from tinygate.numerics import checks, compare
from tinygate.numerics.inputs.random import Weights
from tinygate.paths.builtin import BUILTIN, REFERENCE
from tinygate.paths.registry import registered, select
from tinygate.paths.validate import validate
from tinygate.verification import run as verify
from tinygate.verification.plan import Plan
from tinygate.verification.verify import verify_plan
from tinygate.worker.protocol import Opened
from tinygate.worker.supervisor import Supervisor

pytestmark = pytest.mark.slow

STORAGE = BUILTIN[0]
BY_NAME = {path.name: path for path in BUILTIN}
RIGHT = faults.right("right_f32").path
SMALL = Shape(17, 33, 65)
NO_DRIVERS = ("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES")


def own_path(folder: Path, source: str, **fields: Any) -> FastPath:
    """A path of the test's own, from a kernel's text."""
    kernel = folder / "own.wgsl"
    kernel.write_text(source, encoding="utf-8")
    return replace(RIGHT, name="own", kernel=str(kernel), **fields)


def changed(old: str, new: str) -> str:
    """The right f32 kernel with one change."""
    text = RIGHT.kernel_file().read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("case", "fault", "says"),
    [
        ("nan-one", "nan_one", ["1 non-finite", "[0,31337]"]),
        ("scale", "scale", ["max_abs over limit", "mean_rel over limit"]),
        ("permuted", "columns_permuted", ["over limit"]),
        ("first-tile", "first_tile", ["never written", "rows 0-63"]),
        ("transposed", "a_transposed", ["over limit"]),
        ("row-zero", "row_zero", ["row 5"]),
        ("oob", "writes_past_c", ["wrote past the output"]),
        ("clobber A", "writes_into_a", ["changed an input: A"]),
        ("clobber B", "writes_into_b", ["changed an input: B"]),
        ("bias-1pct", "bias_1pct", ["max_abs over limit"]),
        ("lanes-32", "lanes_32", ["over limit"]),
        ("lanes-32 by shuffles", "lanes_32_step", ["over limit"]),
        ("packing truncated", "pack_truncated", ["packing"]),
        ("packing 9 bits", "pack_9_bits", ["packing"]),
        ("packing scaled", "pack_scaled", ["packing"]),
        ("packing small flushed", "pack_flushes_small", ["packing"]),
        ("packing one zeroed", "pack_one_zero", ["packing", "B[3,5]"]),
        ("packing halves swapped", "pack_halves_swapped", ["packing"]),
    ],
)
def test_wrong_kernel(run: Run, case: str, fault: str, says: list[str]) -> None:
    wrong = faults.fault(fault)
    if not wrong.shows_on(run.numerics):
        pytest.skip(f"shows only on adapters with {wrong.adapters}")
    result = run(wrong.path, wrong.shapes[0])
    assert result.status is Status.FAIL, case
    for text in says:
        assert text in result.reason


def test_lanes_32_records_the_subgroup_size(run: Run) -> None:
    assert (run.numerics.subgroup_size is None) == (
        "subgroups" not in run.harness.device.info.features
    )


def test_lanes_32_in_a_report(device: Device) -> None:
    """The path is right for these lanes, the fault is not, and both verdicts say for which."""
    wrong, right = faults.fault("lanes_32").path, BY_NAME["subgroups"]
    report = verify_plan(Plan((wrong, right), (SMALL,)))
    if "subgroups" not in device.info.features:
        assert {path.status for path in report.paths} == {Status.SKIP}
        return
    (platform,) = report.platforms
    assert platform.numerics is not None
    lanes = platform.numerics.subgroup_size
    assert lanes is not None
    expected = Status.FAIL if lanes < 32 else Status.PASS
    assert [path.status for path in report.paths] == [expected, Status.PASS]


class Misreported:
    """The session's device as if its adapter reported other subgroups than it has."""

    def __init__(self, device: Device, low: int, high: int) -> None:
        self._device = device
        self.info = replace(device.info, subgroup_min=low, subgroup_max=high)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)


def test_lanes_that_are_not_as_reported_are_refused(run: Run) -> None:
    lanes = run.numerics.subgroup_size
    if lanes is None:
        pytest.skip("the adapter has no subgroups")
    runner = Runner(Misreported(run.harness.device, 2 * lanes, 4 * lanes))
    runner.subgroup_size = lanes
    for path in (BY_NAME["subgroups"], faults.right("right_shuffles").path):
        result = run(path, SMALL, harness=Harness(runner))
        assert result.status is Status.ERROR
        assert f"have {lanes} lanes here, and the adapter reports {2 * lanes} to" in result.reason
    assert run(STORAGE, SMALL, harness=Harness(runner)).status is Status.PASS


@pytest.mark.parametrize("operand", ["A", "B"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_both(run: Run, monkeypatch: pytest.MonkeyPatch, operand: str, value: float) -> None:
    A, B = np.ones((17, 33), np.float32), np.ones((33, 65), np.float32)
    (A if operand == "A" else B)[3, 4] = value
    monkeypatch.setattr(case_run, "generate", lambda *_: iter([Weights(B, lambda: iter([A]))]))
    result = run(STORAGE, SMALL)
    assert result.status is Status.ERROR
    assert result.reason == f"inputs: 1 non-finite in {operand}, first at [3,4]"


@pytest.mark.parametrize("fault", ["scale", "nan_one", "first_row_only"])
def test_a_wrong_reference_is_never_agreed_with(
    run: Run, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Reference and candidate are wrong in the same way: nothing between them differs."""
    wrong = faults.fault(fault)
    monkeypatch.setattr(harness_module, "REFERENCE", wrong.path)
    result = run(wrong.path, wrong.shapes[0])
    assert result.status is Status.ERROR
    assert "reference untrusted" in result.reason


@pytest.mark.parametrize(
    ("value", "status"), [(0.0, Status.PASS), (-0.0, Status.PASS), (1e-3, Status.FAIL)]
)
def test_zero_ref(value: float, status: Status) -> None:
    R = np.zeros((4, 4), np.float32)
    F = R.copy()
    F[1, 2] = value
    check = checks.zero_rule(compare.over([F], [R], 0.0, strict=True))
    assert check.status is status


@pytest.mark.parametrize(
    ("stored", "status"), [("sum", "PASS"), ("-sum", "PASS"), ("sum + 1e-3", "FAIL")]
)
def test_zero_ref_on_a_device(run: Run, tmp_path: Path, stored: str, status: str) -> None:
    source = changed("c[m * dims.N + n] = sum", f"c[m * dims.N + n] = {stored}")
    result = run(own_path(tmp_path, source), SMALL, "zero")
    assert result.status == status, result.reason


@pytest.mark.parametrize("fault", ["clamped_sums", "sums_clamped_in_overflow"])
def test_clamp(run: Run, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    # Each sum is 81920.
    A, B = np.full((17, 256), 16, np.float32), np.full((256, 65), 20, np.float32)
    monkeypatch.setattr(case_run, "generate", lambda *_: iter([Weights(B, lambda: iter([A]))]))
    wrong = faults.fault(fault).path
    for family in ("positive", "integer"):
        result = run(wrong, "17x256x65", family)
        assert result.status is Status.FAIL
    right = faults.right("right_f16" if wrong.pack else "right_f32").path
    assert run(right, "17x256x65", "integer").status is Status.PASS


def test_weight_7e4(harness: Harness) -> None:
    B = np.ones((33, 65), np.float32)
    B[3, 5] = 7e4
    weights = harness.weights([B])
    with pytest.raises(PackingRefusedError, match=r"^refused: B\[3,5\]=7\.0e4, over the format's"):
        harness.pack(STORAGE, SMALL, weights, [B])


def test_weight_7e4_in_a_gate(run: Run) -> None:
    """The overflow family holds such a weight: refusing it is right, clamping it is not."""
    assert run(STORAGE, SMALL, "overflow").status is Status.PASS
    result = run(faults.fault("pack_clamps").path, SMALL, "overflow")
    assert result.status is Status.FAIL
    assert "not refused: B[" in result.reason


@pytest.mark.parametrize("K", [128, 4096, 50257])
def test_f32_mislabelled(run: Run, K: int) -> None:
    result = run(faults.fault("f32_mislabelled").path, Shape(4, K, 16))
    assert result.status is Status.FAIL
    (used,) = [check.used for check in result.checks if check.name == "conformance"]
    assert used is not None
    assert used > 4


def test_subnormal(run: Run) -> None:
    result = run(STORAGE, "16x256x64", "subnormal")
    if run.numerics.f16_subnormals:
        assert result.status is Status.PASS, result.reason
    else:
        assert "subnormals flushed" in result.reason


@pytest.mark.parametrize("N", [65535, 65536, 65537, 151936])
def test_vocab(run: Run, N: int) -> None:
    for family in ("uniform", "identity"):
        result = run(STORAGE, Shape(1, 64, N), family)
        assert result.status is Status.PASS, result.reason


def test_more_workgroups_than_one_dimension_holds(run: Run) -> None:
    most = run.harness.device.info.limits.max_compute_workgroups_per_dimension
    shape = Shape(1, 1, 8 * most + 1)
    assert RIGHT.entry(shape).tiles(shape) == most + 1
    for path in (RIGHT, REFERENCE):
        result = run(path, shape)
        assert result.status is Status.PASS, result.reason


def test_grid_counts_workgroups_in_two_dimensions(device: Device) -> None:
    limits = replace(device.info.limits, max_compute_workgroups_per_dimension=65535)
    assert grid(1, limits) == (1, 1, 1)
    assert grid(65535, limits) == (65535, 1, 1)
    assert grid(65536, limits) == (65535, 2, 1)
    assert grid(65535 * 65535, limits) == (65535, 65535, 1)
    with pytest.raises(LimitError, match="max-compute-workgroups-per-dimension 65535"):
        grid(65535 * 65535 + 1, limits)


def test_limit(run: Run) -> None:
    """Packed B is exactly what may be bound, so the f32 B of the reference is twice that."""
    most = run.harness.device.info.limits.max_storage_buffer_binding_size
    if most > 256 << 20:
        pytest.skip(f"B would be {2 * most} bytes on this adapter; see test_limit_in_small")
    K = 4096
    N = most // 2 // K
    result = run(STORAGE, Shape(1, K, N))
    assert result.status is Status.PASS, result.reason
    result = run(STORAGE, Shape(1, K + 1, N))
    assert result.status is Status.ERROR
    assert result.reason == (
        f"B of 1x{K + 1}x{N} is {2 * (K + 1) * N} bytes, over the adapter's "
        f"max-storage-buffer-binding-size of {most}"
    )


class Limited:
    """The session's device as if its adapter allowed less, which it then holds callers to."""

    def __init__(self, device: Device, binding: int) -> None:
        self._device = device
        limits: AdapterLimits = replace(device.info.limits, max_storage_buffer_binding_size=binding)
        self.info = replace(device.info, limits=limits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def submit(self, dispatches: Sequence[Dispatch]) -> None:
        limits = self.info.limits
        for dispatch in dispatches:
            for binding in filter(None, dispatch.bindings):
                assert binding.size <= limits.max_storage_buffer_binding_size
                assert binding.offset % limits.min_storage_buffer_offset_alignment == 0
        self._device.submit(dispatches)


# f32 B is about twice what may be bound here. Every block that is converted at once fits.
@pytest.mark.parametrize("family", ["uniform", "identity"])
@pytest.mark.parametrize(
    "shape", ["17x1030x513", "5x9001x63", "3x64x8193", "3x16x32768", "1x3x175001"]
)
def test_limit_in_small(run: Run, shape: str, family: str) -> None:
    where = Shape.parse(shape)
    packed = 4 * where.K * -(-where.N // 2)
    harness = Harness(Runner(Limited(run.harness.device, packed)))
    result = run(STORAGE, where, family, harness=harness)
    assert result.status is Status.PASS, result.reason
    harness = Harness(Runner(Limited(run.harness.device, packed - 4)))
    result = run(STORAGE, where, family, harness=harness)
    assert result.status is Status.ERROR
    assert f"max-storage-buffer-binding-size of {packed - 4}" in result.reason


def test_a_refusal_in_a_panel_names_the_row_of_the_whole(device: Device) -> None:
    B = np.ones((130, 257), np.float32)
    B[129, 256] = -1e5
    harness = Harness(Runner(Limited(device, 4 * 130 * 129)))
    assert harness.weights([B]) is None
    with pytest.raises(PackingRefusedError, match=r"B\[129,256\]=-1\.0e5"):
        harness.pack(STORAGE, Shape(1, 130, 257), None, [B])


def test_a_packer_that_strays_in_a_panel_is_caught(run: Run) -> None:
    harness = Harness(Runner(Limited(run.harness.device, 4 << 20)))
    result = run(faults.fault("pack_past_the_end").path, "4x1030x1031", harness=harness)
    assert result.status is Status.FAIL
    assert result.reason == "packing: wrote past the output"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", ["1x1x1", "1x5x3", "1x64x1", "2x64x1", "3x257x129"])
def test_tiny(run: Run, shape: str, seed: int) -> None:
    here = run.harness.device.info
    for path in registered():
        # Precise enough for a model at K = 257 is neither what sums in f16 nor what is quantized.
        if path.missing_features(here) or path.accumulate == "f16" or path.quantized:
            continue
        for family in DEFAULT_FAMILIES:
            result = run(path, shape, family, seed)
            assert result.status is Status.PASS, result.reason


@pytest.mark.parametrize("shape", ["64x128x128", "1x4096x64", "9x4096x64"])
def test_f16_accumulate_does_what_it_declares_and_is_rejected(run: Run, shape: str) -> None:
    if missing := BY_NAME["f16-accumulate"].missing_features(run.harness.device.info):
        pytest.skip(missing)
    for family in ("uniform", "positive"):
        result = run(BY_NAME["f16-accumulate"], shape, family)
        failing = {check.name for check in result.checks if check.status is not Status.PASS}
        assert failing <= {"max_abs", "mean_rel"}
        assert result.status is Status.FAIL or family == "positive"
    for family in ("integer", "identity"):
        assert run(BY_NAME["f16-accumulate"], shape, family).status is Status.PASS


@pytest.mark.parametrize("M", [1, 9])
def test_f16_accumulate_stagnates_beyond_k_4096(run: Run, M: int) -> None:
    if missing := BY_NAME["f16-accumulate"].missing_features(run.harness.device.info):
        pytest.skip(missing)
    result = run(BY_NAME["f16-accumulate"], Shape(M, 8192, 64), "positive")
    assert result.status is Status.FAIL
    assert "stagnated: conformance 1.2" in result.reason


def test_200_seeds(run: Run) -> None:
    """A few of them; the rest is benchmarks/seeds.py."""
    for seed in range(12):
        result = run(STORAGE, "64x128x128", seed=seed)
        assert result.status is Status.PASS, result.reason


def test_no_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NO_DRIVERS:
        monkeypatch.setenv(name, os.devnull)
    worker = Supervisor(None, (), 60)
    with pytest.raises(NoAdapterError) as raised:
        worker.open("native")
    assert raised.value.exit_code == 3
    assert raised.value.hint
    assert "\n" not in raised.value.message
    result = worker.run(Case(STORAGE, SMALL, "uniform", DEFAULT_SEED))
    assert result.status is Status.ERROR
    assert result.reason == raised.value.message


class WithoutFeatures(Supervisor):
    """A worker whose adapter has no optional feature."""

    def open(self, engine: str) -> Opened:
        opened = super().open(engine)
        return replace(opened, adapter=replace(opened.adapter, features=()))


def test_no_f16(device: Device) -> None:
    needing = BY_NAME["shader-f16"]
    plan = Plan((needing, STORAGE), (SMALL,))
    with WithoutFeatures(None, (), 60) as worker:
        report = verify.run(plan, worker)
    skipped, ran = report.paths
    assert (skipped.status, ran.status) == (Status.SKIP, Status.PASS)
    assert skipped.reason == "adapter lacks shader-f16"
    assert not skipped.detected
    assert report.exit_code == 0
    assert replace(report, required=("shader-f16",)).exit_code == 3


def test_shader_error(run: Run, tmp_path: Path) -> None:
    source = changed("sum += a[", "sum += missing[")
    result = run(own_path(tmp_path, source), SMALL)
    assert result.status is Status.ERROR
    line = 1 + source[: source.index("missing[")].count("\n")
    assert "own.wgsl" in result.reason
    assert f":{line}:" in result.reason
    assert "missing" in result.reason
    assert run(STORAGE, SMALL).status is Status.PASS


def test_shader_error_leaves_the_other_paths(device: Device, tmp_path: Path) -> None:
    broken = own_path(tmp_path, "not WGSL")
    report = verify_plan(Plan((broken, STORAGE), (SMALL,)))
    first, second = report.paths
    assert (first.status, second.status) == (Status.ERROR, Status.PASS)
    assert not first.active
    assert second.active
    assert report.exit_code == 3


@pytest.mark.parametrize("feature", ["warp-drive", "SHADER-F16", ""])
def test_unknown_feature(feature: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validate(replace(STORAGE, requires=(feature,)))
    assert raised.value.exit_code == 2
    for known in FEATURES:
        assert known in raised.value.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fn main", "fn other"),
        ("@binding(1)", "@binding(7)"),
        ("@workgroup_size(8, 8)", "@workgroup_size(65536, 8)"),
        ("sum += ", "sum += 1 +* "),
    ],
)
def test_stale_buffer(run: Run, tmp_path: Path, old: str, new: str) -> None:
    good = own_path(tmp_path, changed(old, old))
    assert run(good, SMALL).status is Status.PASS
    result = run(own_path(tmp_path, changed(old, new)), SMALL)
    assert result.status is Status.ERROR
    assert result.metrics is None
    assert not result.checks
    assert run(STORAGE, SMALL).status is Status.PASS


# Each thread takes minutes; a driver that ends long loops early still has 16,384 workgroups of it.
LONG = """\
  var x = f32(m + n);
  for (var i = 0u; i < 60000u; i++) { x = sin(x) + cos(x * 1.5) + exp(-x * x); }
  c[m * dims.N + n] = sum + x;
"""
LONG_SHAPE = Shape(1024, 1, 1024)


def test_long_kernel(device: Device, tmp_path: Path) -> None:
    endless = own_path(tmp_path, changed("  c[m * dims.N + n] = sum;\n", LONG))
    worker = Supervisor(None, (), 5)
    try:
        worker.open("native")
        result = worker.run(Case(endless, LONG_SHAPE, "uniform", DEFAULT_SEED))
        assert result.status is Status.ERROR
        assert result.reason.startswith("timeout: ")
        assert "--timeout" in result.hint
        after = worker.run(Case(STORAGE, SMALL, "uniform", DEFAULT_SEED))
        assert after.status is Status.PASS, after.reason
    finally:
        worker.close()


def test_empty(device: Device) -> None:
    with pytest.raises(CannotVerifyError, match="nothing was verified") as nothing:
        verify_plan(Plan((STORAGE,), (SMALL,), filter="matches nothing"))
    assert nothing.value.exit_code == 3
    picky = replace(STORAGE, name="picky", multiple_of=(1, 1, 2))
    report = verify_plan(Plan((picky,), (SMALL,)))
    assert [case.status for case in report.cases] == [Status.SKIP] * len(DEFAULT_FAMILIES)
    assert all("N=65 is not a multiple of 2" in case.reason for case in report.cases)
    assert report.exit_code == 3
    with pytest.raises(UnknownNameError, match="f16-storage") as unknown:
        select(["no-such-path"], registered())
    assert unknown.value.exit_code == 2
