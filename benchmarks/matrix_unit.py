"""Measure how far the sums of a matrix unit are from the exact product, to set MATRIX_FACTOR.

    python benchmarks/matrix_unit.py [--engine dawn] [--seeds 5] [--json FILE]

The operands are f16 values, so the kernel rounds none of them, and all error is the unit's: the
largest |F-S| over sqrt(K) 2^-24 |A||B|, and over sqrt(K) 2^-24 sqrt((A∘A)(B∘B)), for every
configuration that the adapter lists. The gate's e32 is 4 of the first or 8 of the second. For
comparison it measures f16-storage too, whose sums are the shader's.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tinygate.core import adapter
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.gate.products import Harness
from tinygate.gpu import engines
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.probe import probe
from tinygate.numerics.arrays import F32
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.matmul64 import magnitude
from tinygate.numerics.tolerance import U32, Norm
from tinygate.paths.builtin import BUILTIN

SIZES = (16, 64, 256, 1024, 4096, 16384)
FAMILIES = {"uniform": (-0.2, 0.2), "positive": (0.0, 0.4)}
FEATURES = ("shader-f16", "subgroups", "subgroup-matrix")


def paths(info: adapter.AdapterInfo) -> Iterator[FastPath]:
    """List f16-storage, then every subgroup-matrix path as compiled for this adapter."""
    for path in BUILTIN:
        if path.name == "f16-storage" or (path.matrix_types and not path.missing_features(info)):
            for one in path.for_adapter(info):
                # The last entry point is the tiled one, which uses the matrix unit.
                yield replace(one, entries=one.entries[-1:])


def product(harness: Harness, path: FastPath, A: F32, B: F32) -> F32:
    """Compute C with the path's kernel, [M, N]."""
    shape = Shape(A.shape[0], A.shape[1], B.shape[1])
    a, plain = harness.activations([A]), harness.weights([B])
    stored = harness.pack(path, shape, plain, [B])
    assert stored.buffer is not None
    decoded = FORMATS[path.b].decode(stored.words[0], *B.shape)
    assert np.array_equal(decoded.astype(np.float32), B), "f16 holds these values"
    c = harness.outputs(1, shape)
    harness.run(path, shape, a, stored.buffer, c, 0)
    C = c.read()[0, : shape.M * shape.N].view(np.float32).reshape(shape.M, shape.N).copy()
    for buffer in (a, stored.buffer, c):
        buffer.destroy()
    return C


def share(C: F32, A: F32, B: F32, norm: Norm) -> float:
    """Return the largest |C - A·B| over sqrt(K) 2^-24 D."""
    whole = (slice(0, C.shape[0]), slice(0, C.shape[1]))
    exact = A.astype(np.float64) @ B.astype(np.float64)
    scale = np.sqrt(A.shape[1]) * U32 * magnitude(A, B, whole, norm)
    return float((np.abs(C - exact) / scale).max())


def main() -> int:
    """Measure every path, family and K, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="dawn")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engine = engines.load(options.engine, features=FEATURES)
    info = adapter.choose(engine.adapters())
    runner = Runner(engine.open(info.index, [name for name in FEATURES if name in info.features]))
    harness, found = Harness(runner), probe(runner)
    print(f"{info.engine} {info.engine_version}, {info.name}, {info.driver}, {found.subgroup_size}")
    print(f"{'path':30} {'matrix':10} {'family':9} {'K':>6} {'of |A||B|':>10} {'of G':>8}")
    rows = []
    for path in paths(info):
        sizes = "x".join(map(str, path.matrix_sizes or ()))
        for family, (low, high) in FAMILIES.items():
            for K in SIZES:
                max_: dict[Norm, float] = {"abs": 0.0, "G": 0.0}
                for seed in range(options.seeds):
                    rng = np.random.default_rng(seed)
                    A = rng.uniform(low, high, (64, K)).astype(np.float16).astype(np.float32)
                    B = rng.uniform(low, high, (K, 128)).astype(np.float16).astype(np.float32)
                    C = product(harness, path, A, B)
                    max_ = {norm: max(max_[norm], share(C, A, B, norm)) for norm in max_}
                row = {"path": path.name, "matrix": sizes, "family": family, "K": K}
                rows.append({**row, "of_magnitude": max_["abs"], "of_G": max_["G"]})
                print(
                    f"{path.name:30} {sizes:10} {family:9} {K:6} {max_['abs']:10.3f} "
                    f"{max_['G']:8.3f}",
                    flush=True,
                )
    if options.json:
        about = {
            "engine": f"{info.engine} {info.engine_version}",
            "adapter": info.name,
            "driver": info.driver,
            "seeds": options.seeds,
        }
        options.json.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
