"""A FAIL names its cause where the numbers show it: real kernels, each with one fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.results import CaseResult
from tinygate.core.shape import SUITES, Shape
from tinygate.core.status import Status
from tinygate.gate.case_run import run_case
from tinygate.gate.products import Harness
from tinygate.numerics import diagnosis
from tinygate.numerics.tolerance import conformance_tolerance
from tinygate.paths.builtin import BUILTIN, REFERENCE

pytestmark = pytest.mark.slow

STORAGE = BUILTIN[0]
SMALL = Shape(8, 256, 24)
PLAIN = """
struct Dims {{ M: u32, K: u32, N: u32, pad: u32 }}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<{b_type}>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;
fn weight(k: u32, n: u32) -> f32 {{
  {weight}
}}
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) groups: vec3u) {{
  let i = w.x + w.y * groups.x;
  if (i >= dims.M * dims.N) {{ return; }}
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) {{
    let x = a[i / dims.N * dims.K + k];
    let y = weight(k, i % dims.N);
    {step}
  }}
  c[i] = sum;
}}
"""
F16_WEIGHT = (
    "let pair = unpack2x16float(b[k * ((dims.N + 1u) / 2u) + n / 2u]);"
    " return select(pair.x, pair.y, n % 2u == 1u);"
)


def plain(
    tmp_path: Path,
    step: str = "sum += x * y;",
    declared: FastPath = REFERENCE,
    weight: str = "",
) -> FastPath:
    """A path with a one-output-per-thread kernel whose inner step or weight is given."""
    packed = declared.b != "f32"
    weight = weight or (F16_WEIGHT if packed else "return b[k * dims.N + n];")
    file = tmp_path / "kernel.wgsl"
    file.write_text(PLAIN.format(b_type="u32" if packed else "f32", weight=weight, step=step))
    return replace(declared, name="plain", kernel=str(file), entries=(Entry("main", 1, 1),))


class Run(Protocol):
    """Run a path on a family."""

    def __call__(self, path: FastPath, family: str, shape: Shape = ...) -> CaseResult: ...


@pytest.fixture
def run(harness: Harness, measured_numerics: MeasuredNumerics) -> Run:
    def run(path: FastPath, family: str, shape: Shape = SMALL) -> CaseResult:
        return run_case(harness, measured_numerics, Case(path, shape, family, 12345))

    return run


@pytest.mark.parametrize("family", list(FAMILIES))
def test_right_kernels_pass_every_family(run: Run, tmp_path: Path, family: str) -> None:
    for declared in (REFERENCE, STORAGE):
        for path in (declared, plain(tmp_path, declared=declared)):
            for shape in (*SUITES["smoke"], Shape(1, 1, 1), Shape(3, 257, 129)):
                result = run(path, family, shape)
                assert result.status is Status.PASS, (path.name, shape, result.reason)


def test_subnormals_flushed_by_the_kernel(run: Run, tmp_path: Path) -> None:
    flush = F16_WEIGHT.replace("return ", "let v = ") + (
        " return select(v, 0.0, abs(v) < 0.00006103515625);"
    )
    path = plain(tmp_path, declared=STORAGE, weight=flush)
    assert run(path, "uniform").status is Status.PASS
    result = run(path, "subnormal")
    assert result.status is Status.FAIL
    assert "subnormals flushed" in result.reason


def test_subnormals_flushed_by_the_packer(run: Run, tmp_path: Path) -> None:
    right = STORAGE.pack_file()
    assert right is not None
    text = right.read_text()
    flushed = text.replace("  return x;", "  return select(x, 0.0, abs(x) < 0.00006103515625);")
    assert flushed != text
    file = tmp_path / "pack.wgsl"
    file.write_text(flushed)
    path = replace(STORAGE, pack=str(file))
    assert run(path, "uniform").status is Status.PASS
    result = run(path, "subnormal")
    assert result.status is Status.FAIL
    assert result.reason.startswith("subnormals flushed: packing")


def test_f16_accumulation_declared_f32_stagnates(run: Run, tmp_path: Path) -> None:
    path = plain(tmp_path, "sum = quantizeToF16(sum + x * y);")
    result = run(path, "positive", Shape(2, 20000, 4))
    assert result.status is Status.FAIL
    assert "stagnated" in result.reason


def test_f16_accumulation_declared_so_conforms_and_is_not_activated(
    run: Run, tmp_path: Path
) -> None:
    declared = replace(REFERENCE, accumulate="f16")
    path = plain(tmp_path, "sum = quantizeToF16(sum + x * y);", declared)
    result = run(path, "uniform", Shape(64, 128, 128))
    checks = {check.name: check.status for check in result.checks}
    assert checks["conformance"] is Status.PASS
    assert checks["max_abs"] is Status.FAIL
    assert result.status is Status.FAIL
    for family in ("integer", "identity"):
        assert run(path, family, Shape(64, 128, 128)).status is Status.PASS


def test_a_sum_over_f16_overflows_and_is_named(run: Run, tmp_path: Path) -> None:
    inf = "bitcast<f32>(0x7f800000u + 0u * dims.M)"
    step = f"sum += x * y; if (abs(sum) > 65504.0) {{ sum = {inf}; }}"
    result = run(plain(tmp_path, step), "overflow")
    assert result.status is Status.FAIL
    assert "overflowed" in result.reason


def test_clamping_is_never_a_pass(run: Run, tmp_path: Path) -> None:
    path = plain(tmp_path, "sum = clamp(sum + x * y, -65504.0, 65504.0);", STORAGE)
    assert run(path, "uniform").status is Status.PASS
    result = run(path, "overflow")
    assert result.status is Status.FAIL
    assert "clamped at 65504" in result.reason


def test_a_packer_that_clamps_is_not_a_refusal(run: Run, tmp_path: Path) -> None:
    right = STORAGE.pack_file()
    assert right is not None
    text = right.read_text()
    clamped = text.replace("  return x;", "  return clamp(x, -F16_MAX, F16_MAX);").replace(
        "atomicAdd(&status.count, 1u);", ""
    )
    assert clamped != text
    file = tmp_path / "pack.wgsl"
    file.write_text(clamped)
    result = run(replace(STORAGE, pack=str(file)), "overflow")
    assert result.status is Status.FAIL
    assert "not refused: B[" in result.reason
    assert "stored as 65504" in result.reason


def test_the_refused_weight_is_named(run: Run) -> None:
    result = run(STORAGE, "overflow")
    assert result.status is Status.PASS
    (refusal,) = [check for check in result.checks if check.name == "refusal"]
    assert "refused: B[" in refusal.why
    assert "]=7.0e4" in refusal.why


def test_the_zero_rule(run: Run, tmp_path: Path) -> None:
    assert run(plain(tmp_path, "sum += x * y;"), "zero").status is Status.PASS
    minus = plain(tmp_path, "sum += x * y; if (k + 1u == dims.K) { sum = -0.0 * f32(dims.M); }")
    assert run(minus, "zero").status is Status.PASS
    wrong = plain(tmp_path, "sum += x * y; if (k == 0u) { sum += 0.001; }")
    result = run(wrong, "zero")
    assert result.status is Status.FAIL
    assert "not zero where the reference is all zero" in result.reason


def test_a_path_less_precise_than_it_declares_is_warned_about(run: Run, tmp_path: Path) -> None:
    """Weights rounded once more, to 10 bits, inside a kernel that declares f16 storage: the
    activation rule lets it pass."""
    ten = F16_WEIGHT.replace("return ", "let v = ") + (
        " return bitcast<f32>((bitcast<u32>(v) + 0x2000u) & 0xffffc000u);"
    )
    result = run(plain(tmp_path, declared=STORAGE, weight=ten), "uniform", Shape(64, 128, 128))
    assert result.warnings
    assert "less precise than it declares" in result.warnings[0]
    assert result.status is Status.FAIL  # the conformance check sees it as well
    right = run(plain(tmp_path, declared=STORAGE), "uniform", Shape(64, 128, 128))
    assert right.warnings == ()


def test_stagnation_is_not_named_where_errors_go_both_ways() -> None:
    A = np.ones((2, 3000), np.float32)
    B = np.ones((3000, 2), np.float32)
    # Counting in f16 stops at 2048.
    low, high = np.full((2, 2), 2048, np.float32), np.array([[2048, 4000]] * 2, np.float32)
    assert diagnosis.stagnated(low, A, B)
    assert not diagnosis.stagnated(high, A, B)
    assert not diagnosis.stagnated(np.full((2, 2), 3000, np.float32), A, B)


def test_no_cause_is_named_without_one() -> None:
    A = np.ones((2, 8), np.float32)
    B = np.ones((8, 2), np.float32)
    limit = conformance_tolerance(REFERENCE, 8, "abs")
    assert diagnosis.cause("uniform", np.full((2, 2), 9.0, np.float32), A, B, limit) is None


@pytest.mark.parametrize("K", [40, 200, 20000])
@pytest.mark.parametrize("fault", ["a row of zeros", "the last term dropped"])
def test_a_sum_that_only_lacks_terms_has_not_stagnated(K: int, fault: str) -> None:
    rng = np.random.default_rng(7)
    A = rng.uniform(0, 0.4, (4, K)).astype(np.float32)
    B = rng.uniform(0, 0.4, (K, 6)).astype(np.float32)
    C = A @ B
    if fault == "a row of zeros":
        C[1] = 0
    else:
        C = A[:, :-1] @ B[:-1]
    assert not diagnosis.stagnated(C, A, B)


def test_a_running_sum_in_f16_has() -> None:
    rng = np.random.default_rng(7)
    A = rng.uniform(0, 0.4, (4, 20000)).astype(np.float32)
    B = rng.uniform(0, 0.4, (20000, 6)).astype(np.float32)
    C = np.zeros((4, 6), np.float16)
    for k in range(20000):
        C += (A[:, k, None] * B[None, k]).astype(np.float16)
    assert diagnosis.stagnated(C.astype(np.float32), A, B)
