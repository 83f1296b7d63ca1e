"""What somebody once got past the gate or the command line, each as a case."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tinygate.cli.main import run
from tinygate.core.adapter import AdapterLimits, MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gate.case_run import run_case
from tinygate.gate.products import Harness
from tinygate.gpu.kernel import grid
from tinygate.paths.builtin import BUILTIN, REFERENCE

pytestmark = pytest.mark.slow

STORAGE = BUILTIN[0]


def edited(tmp_path: Path, source: Path, old: str, new: str) -> str:
    """A kernel's text with one change."""
    text = source.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / source.name
    file.write_text(text.replace(old, new), encoding="utf-8")
    return str(file)


def packer(tmp_path: Path, old: str, new: str) -> FastPath:
    """f16-storage with a changed packer."""
    source = STORAGE.pack_file()
    assert source is not None
    return replace(STORAGE, pack=edited(tmp_path, source, old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(bitcast<u32>(x) & 0x7fffffffu) > bitcast<u32>(F16_MAX)", "x > F16_MAX"),
        ("const F16_MAX = 65504.0", "const F16_MAX = 65519.5"),
        ("atomicMin(&status.first, index)", "atomicMin(&status.first, 0u)"),
    ],
)
def test_a_packer_that_refuses_too_little_or_the_wrong_weight(
    harness: Harness, measured_numerics: MeasuredNumerics, tmp_path: Path, old: str, new: str
) -> None:
    path = packer(tmp_path, old, new)
    result = run_case(harness, measured_numerics, Case(path, Shape(3, 33, 65), "overflow", 12345))
    assert result.status is Status.FAIL, result.reason


def test_a_second_grid_dimension_that_is_ignored(
    harness: Harness, measured_numerics: MeasuredNumerics, tmp_path: Path
) -> None:
    """Right until a product has more workgroups than fit into x, far from any gate's shape."""
    old = "wid.x + wid.y * groups.x"
    paths = [
        packer(tmp_path, old, "wid.x"),
        replace(STORAGE, kernel=edited(tmp_path, STORAGE.kernel_file(), old, "wid.x")),
    ]
    for path in paths:
        result = run_case(harness, measured_numerics, Case(path, Shape(65, 130, 300), "uniform", 1))
        assert result.status is Status.FAIL, path


def test_a_square_grid_covers_and_stays_near_square() -> None:
    limits = AdapterLimits(1 << 31, 1 << 27, 65_535, 1024, 32768, 32)
    for groups in (*range(1, 70), 1000, 65_535, 70_000, 5_000_000):
        x, y, z = grid(groups, limits, square=True)
        assert z == 1
        assert x * y >= groups
        assert x * (y - 1) < groups
        assert abs(x - y) <= 1 or groups > 65_535**2


@pytest.mark.parametrize(
    "line", ["c[i] = max(sum, c[i]);", "if (c[i] > 0.0) { sum += c[i]; } c[i] = sum;"]
)
def test_old_output_of_ordinary_size_is_not_used(
    harness: Harness, measured_numerics: MeasuredNumerics, tmp_path: Path, line: str
) -> None:
    file = tmp_path / "old.wgsl"
    file.write_text(
        f"""
struct Dims {{ M: u32, K: u32, N: u32, pad: u32 }}
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) groups: vec3u) {{
  let i = w.x + w.y * groups.x;
  if (i >= dims.M * dims.N) {{ return; }}
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) {{
    sum += a[i / dims.N * dims.K + k] * b[k * dims.N + i % dims.N];
  }}
  {line}
}}
"""
    )
    path = replace(REFERENCE, name="old", kernel=str(file), entries=(Entry("main", 1, 1),))
    result = run_case(harness, measured_numerics, Case(path, Shape(17, 33, 65), "uniform", 12345))
    assert result.status is Status.FAIL


@pytest.mark.parametrize("shape", ["16x30000x16", "9x4096x33"])
def test_overflow_does_not_reject_a_right_kernel_at_a_large_k(
    harness: Harness, measured_numerics: MeasuredNumerics, shape: str
) -> None:
    case = Case(STORAGE, Shape.parse(shape), "overflow", 12345)
    result = run_case(harness, measured_numerics, case)
    assert result.status is Status.PASS, result.reason


@pytest.mark.parametrize("key", ["list", "debug", "help"])
def test_no_file_turns_verify_into_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (f"{key} = true\n", f"[verify]\n{key} = true\n"):
        (tmp_path / "tinygate.toml").write_text(text)
        assert run(["verify", "--shape", "1x1x1"]) == 2
        assert key in capsys.readouterr().err


def test_a_shape_too_large_for_this_machine_is_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--shape", "4294967295x1x1", "--inputs", "uniform"]) == 3
    captured = capsys.readouterr()
    assert "max-storage-buffer-binding-size" in captured.out
    assert "internal error" not in captured.out + captured.err


def test_two_exports_to_one_file_are_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "same")
    assert run(["verify", "--export-json", file, "--export-junit", file]) == 2
    assert "two exports name one file" in capsys.readouterr().err


def test_closed_streams_change_no_verdict() -> None:
    command = f"{sys.executable} -m tinygate verify --shape 3x3x3 2>&-"
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0
    command = f"{sys.executable} -m tinygate verify --shape 3x3x3 >&-"
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


def test_an_ascii_stdout_changes_no_verdict() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tinygate", "verify", "--shape", "3x3x3"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert b"gate verdict: PASS" in done.stdout
