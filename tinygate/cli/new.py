"""Run `tinygate new NAME`: write a kernel and a manifest that pass the gate, to start from."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tinygate.cli import options
from tinygate.core.errors import UsageError

_WGSL = """\
// C[M,N] = A[M,K] · B[K,N] with B held as f16 pairs. The gate says when a change makes it wrong.
//
// Tile: 8 rows x 16 columns of C per workgroup of 64 threads; a thread makes two columns of a row.
// Layout: A row-major f32; B f16-packed, ceil(N/2) words per row of K, low half first; C row-major.
// Numerics: B rounded to f16, f32 products, f32 sums in the order of k.
//
// What lies behind A, B and C is bound too: take bounds from dims and never from arrayLength.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let word = id.x;
  let words = (dims.N + 1u) / 2u;
  if (row >= dims.M || word >= words) { return; }
  var sum = vec2f(0.0);
  for (var k = 0u; k < dims.K; k++) {
    sum += a[row * dims.K + k] * unpack2x16float(b[k * words + word]);
  }
  let col = 2u * word;
  c[row * dims.N + col] = sum.x;
  if (col + 1u < dims.N) { c[row * dims.N + col + 1u] = sum.y; }
}
"""

_TOML = """\
# tinygate verify --path {stem}.toml

[path]
name = "{name}"
pill = "{pill}"
kernel = "{stem}.wgsl"        # relative to this file
a = "f32"
b = "f16-packed"              # f32 | f16-packed
accumulate = "f32"            # f32 | f16
products = "f32"              # f32 | f16; f16 also where operands are rounded inside the kernel
output = "f32"                # f32 | f16
requires = []                 # shader-f16, subgroups: the path is SKIP where one is missing
multiple_of = {{ M = 1, K = 1, N = 1 }}   # other shapes are SKIP

[bindings]                    # of group 0
A = 0
B = 1
C = 2
dims = 3

[dims]                        # the uniform: u32 for names and integers, f32 for floats
fields = ["M", "K", "N", 0]

[dispatch]                    # ceil(axis / per) workgroups
x = {{ axis = "N", per = 16 }}
y = {{ axis = "M", per = 8 }}
"""


def new(
    name: options.Name,
    debug: options.Debug = False,
) -> None:
    """Write a kernel and a manifest that pass, to start from.

    NAME: the name of the path. Both files are written to the current folder.

    Example: tinygate new my-path
    """
    kernel, manifest = write(name, Path())
    sys.stdout.write(f"wrote {kernel} and {manifest}\nnext: tinygate verify --path {manifest}\n")


def write(name: str, folder: Path) -> tuple[Path, Path]:
    """Write NAME.wgsl and NAME.toml (with `_` for `-`) into a folder; nothing is overwritten.

    Raises:
        UsageError: no path may have this name, a file exists already, or the folder cannot be
            written to.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
        raise UsageError(
            f"{name[:80]!r} is not a name for a path: expected 1 to 40 of a-z, 0-9 and '-'",
            "tinygate new my-path",
        )
    stem = name.replace("-", "_")
    kernel, manifest = folder / f"{stem}.wgsl", folder / f"{stem}.toml"
    for file in (kernel, manifest):
        if file.exists():
            raise UsageError(f"{file} already exists", "choose another name, or move it away")
    texts = (_WGSL, _TOML.format(name=name, pill=name.replace("-", " "), stem=stem))
    for file, text in zip((kernel, manifest), texts, strict=True):
        try:
            with file.open("x", encoding="utf-8") as out:
                out.write(text)
        except OSError as error:
            raise UsageError(
                f"{file} cannot be written: {error.strerror}", "choose a folder you may write to"
            ) from error
    return kernel, manifest
