"""Justify the conformance limits of f16 paths by simulating right kernels and wrong twins.

    python benchmarks/limits.py [--seeds 20] [--json FILE]

Each row is a kernel that does exactly what its path declares, computed with numpy, and how much of
its limit it uses at most over families, shapes and seeds; over 1, a right kernel is rejected. Next
to it is a wrong twin, which should use over 1 on uniform data even at its minimum. "cut" simulates
an adapter whose f16 conversion drops bits instead of rounding, "flushed" one without f16
subnormals: there each of K products may be lost, so that at a large K this check sees less of the
twin, and the activation check has to see it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.arrays import F32
from tinygate.numerics.compare import deviation
from tinygate.numerics.inputs.generate import generate
from tinygate.numerics.tolerance import F16_MIN_NORMAL, conformance_tolerance
from tinygate.paths.builtin import REFERENCE

Rounding = Callable[[F32], F32]
SHAPES = [Shape(32, K, 32) for K in (1, 16, 128, 1024, 4096)]
SIMULATED = ("uniform", "positive", "normal", "outlier", "cancel")


def nearest(x: F32) -> F32:
    """Round to the nearest f16."""
    return x.astype(np.float16).astype(np.float32)


def cut(x: F32) -> F32:
    """Round towards zero, to the ten fraction bits that f16 has above its subnormals."""
    bits = np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32)


def flushed(x: F32) -> F32:
    """Round to the nearest f16, and flush subnormals to zero."""
    halves = nearest(x)
    halves[np.abs(halves) < F16_MIN_NORMAL] = 0
    return halves


def bfloat(x: F32) -> F32:
    """Round towards zero to bf16, which has too few bits."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def exact(x: F32) -> F32:
    """Do not round."""
    return x


@dataclass(frozen=True)
class Kernel:
    """A simulated kernel: C = A·B with f32 sums in the order of k, and these roundings.

    cuts, flushes   what the adapter does, which its limit allows for
    stored          how B is stored, which is no error of the kernel
    a, b            how the kernel rounds the operands
    product         how it rounds each a·b
    output          how it rounds C
    """

    name: str
    path: FastPath
    cuts: bool = False
    flushes: bool = False
    stored: Rounding = exact
    a: Rounding = exact
    b: Rounding = exact
    product: Rounding = exact
    output: Rounding = exact

    def run(self, A: F32, B: F32) -> F32:
        """Compute the product as this kernel does, [M, N]."""
        left, right = self.a(A), self.b(B)
        C = np.zeros((A.shape[0], B.shape[1]), np.float32)
        for k in range(A.shape[1]):
            C += self.product(left[:, k, None] * right[None, k])
        return self.output(C)


PRODUCTS = replace(REFERENCE, products="f16")
PACKED = replace(PRODUCTS, b="f16-packed")
OUTPUT = replace(REFERENCE, output="f16")
KERNELS = [
    (Kernel("f32", REFERENCE), Kernel("operands bf16", REFERENCE, a=bfloat, b=bfloat)),
    *(
        (
            Kernel(f"operands f16, {how.__name__}", PRODUCTS, how is cut, a=how, b=how),
            Kernel("operands bf16", PRODUCTS, how is cut, a=bfloat, b=bfloat),
        )
        for how in (nearest, cut)
    ),
    *(
        (
            Kernel(
                f"products f16, {how.__name__}", PRODUCTS, how is cut, a=how, b=how, product=how
            ),
            Kernel("products bf16", PRODUCTS, how is cut, a=how, b=how, product=bfloat),
        )
        for how in (nearest, cut)
    ),
    *(
        (
            Kernel(
                f"B packed, {how.__name__}", PACKED, how is cut, False, nearest, a=how, product=how
            ),
            Kernel("products bf16", PACKED, how is cut, False, nearest, a=how, product=bfloat),
        )
        for how in (nearest, cut)
    ),
    (
        Kernel(
            "products f16, flushed", PRODUCTS, False, True, a=nearest, b=nearest, product=flushed
        ),
        Kernel("products bf16", PRODUCTS, False, True, a=nearest, b=nearest, product=bfloat),
    ),
    (
        Kernel("output f16, flushed", OUTPUT, False, True, output=flushed),
        Kernel("output bf16", OUTPUT, False, True, output=bfloat),
    ),
    *(
        (
            Kernel(f"output f16, {how.__name__}", OUTPUT, how is cut, output=how),
            Kernel("output bf16", OUTPUT, how is cut, output=bfloat),
        )
        for how in (nearest, cut)
    ),
]


def share(kernel: Kernel, family: str, shape: Shape, seed: int) -> tuple[float, float]:
    """Return how much of its limit the kernel uses, and the same without the limit's |S| term."""
    limit = conformance_tolerance(
        kernel.path,
        shape.K,
        FAMILIES[family].norm,
        f16_round_to_nearest=not kernel.cuts,
        f16_subnormals=not kernel.flushes,
    )
    flat = replace(limit, value=limit.value + limit.relative, relative=0.0)
    used = plain = 0.0
    for weights in generate(family, shape, kernel.path, seed):
        for A in weights.activations():
            B = kernel.stored(weights.B)
            C = kernel.run(A, B)
            used = max(used, deviation(C, A, B, limit).worst)
            plain = max(plain, deviation(C, A, B, flat).worst)
    return used, plain


def main() -> int:
    """Print the table; return 1 if a right kernel is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"{'right kernel':24} {'used':>6} {'of D':>6}   {'wrong twin':16} {'used':>6}")
    for right, wrong in KERNELS:
        used = [
            share(right, family, shape, seed)
            for family in SIMULATED
            for shape in SHAPES
            for seed in range(options.seeds)
        ]
        min_ = min(
            share(wrong, "uniform", shape, seed)[0]
            for shape in SHAPES[1:]
            for seed in range(options.seeds)
        )
        max_, flat = (max(values) for values in zip(*used, strict=True))
        rows.append({"kernel": right.name, "share": max_, "share_of_D": flat, "twin": min_})
        print(f"{right.name:24} {max_:6.2f} {flat:6.2f}   {wrong.name:16} {min_:6.2f}", flush=True)
    print("`of D`: the same, with the limit's |S| term as a multiple of D instead")
    if options.json:
        options.json.write_text(json.dumps({"seeds": options.seeds, "rows": rows}, indent=2) + "\n")
    return int(any(row["share"] > 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
