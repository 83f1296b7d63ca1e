"""A compile error names the file and line that it is about, with or without includes before it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import drivers
import pytest

from tinygate.core.errors import ShaderError
from tinygate.core.fast_path import wgsl_file
from tinygate.core.shape import Shape
from tinygate.gpu.engines.base import Device
from tinygate.gpu.kernel import matmul_kernel
from tinygate.paths.builtin import BUILTIN

pytestmark = pytest.mark.slow

INCLUDED = "//!include common/dims.wgsl\n"
HEAD = (
    """@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
"""
    + INCLUDED
)
# Uses a name that nothing declares; the column is where that name begins.
INSIDE = (
    HEAD
    + """@compute @workgroup_size(1)
fn main() {
  let values = vec4f();
  let n = 0u;
  let N = dims.N;
  //!include common/store_4.wgsl
}
"""
)
AFTER = (
    HEAD
    + """@compute @workgroup_size(1)
fn main() {
  c[0] = f32(dims.M) + nobody;
}
"""
)


def where(text: str, word: str) -> str:
    """line:column of the first place of a word."""
    for number, line in enumerate(text.split("\n"), 1):
        if word in line and not line.strip().startswith("//"):
            return f"{number}:{line.index(word) + 1}"
    raise AssertionError(word)


STORE = wgsl_file("common/store_4.wgsl").read_text(encoding="utf-8")
KERNELS = pytest.mark.parametrize(
    ("kernel", "place"),
    [
        (INSIDE, f"common/store_4.wgsl:{where(STORE, 'm * N')}: "),
        (AFTER, f"mine.wgsl:{where(AFTER, 'nobody')}: "),
        # A byte order mark changes neither line nor column.
        ("\ufeff" + AFTER, f"mine.wgsl:{where(AFTER, 'nobody')}: "),
    ],
    ids=["inside", "after", "after a byte order mark"],
)


@KERNELS
def test_naga_is_mapped_back(device: Device, tmp_path: Path, kernel: str, place: str) -> None:
    file = tmp_path / "mine.wgsl"
    file.write_text(kernel, encoding="utf-8")
    path = replace(BUILTIN[0], kernel=str(file), entries=BUILTIN[0].entries[1:])
    with pytest.raises(ShaderError) as caught:
        device.compile(matmul_kernel(path, Shape(16, 16, 16)))
    assert caught.value.message.removeprefix(f"{tmp_path}/").startswith(place)


@KERNELS
def test_both_compilers_are_mapped_back(tmp_path: Path, kernel: str, place: str) -> None:
    command = [sys.executable, "-P", "-m", "tinygate"]
    subprocess.run([*command, "new", "mine"], cwd=tmp_path, check=True)
    (tmp_path / "mine.wgsl").write_text(kernel, encoding="utf-8")
    both = ["--engine", "native", "--engine", "dawn"]
    done = subprocess.run(
        [
            *command,
            "verify",
            *both,
            "--path",
            "mine.toml",
            "--shape",
            "4x4x4",
            "--inputs",
            "uniform",
        ],
        cwd=tmp_path,
        env=drivers.environment("lavapipe25"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"{place}no definition in scope" in done.stdout  # naga
    assert f"{place}unresolved value" in done.stdout  # Tint


def test_a_manifest_cannot_include_what_it_likes(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "tinygate"]
    subprocess.run([*command, "new", "mine"], cwd=tmp_path, check=True)
    (tmp_path / "mine.wgsl").write_text("\n//!include ../secret.wgsl\n", encoding="utf-8")
    verify = [*command, "verify", "--path", "mine.toml", "--shape", "4x4x4"]
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "mine.wgsl:2: '../secret.wgsl' cannot be included" in done.stderr
