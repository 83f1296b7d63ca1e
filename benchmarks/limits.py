"""Why the conformance limits with f16 in them are what they are: right kernels, simulated.

    python benchmarks/limits.py [--seeds 20] [--json FILE]

Each row of the table is a kernel that does exactly what its path declares, computed with numpy, and
the largest share of its limit that it uses over families, shapes and seeds; a share over 1 is a
right kernel rejected. Beside each stands a twin that is wrong: its smallest share on uniform data
should be over 1. "cut" is an adapter whose f16 conversion drops bits instead of rounding, "flushed"
one that keeps no f16 subnormals: of K products each may be lost there, so that at a large K this
check sees less of the twin, and the activation check has to.
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
    """To the nearest f16."""
    return x.astype(np.float16).astype(np.float32)


def cut(x: F32) -> F32:
    """To the f16 towards zero: ten bits behind the leading one, as long as it is f16's normal."""
    bits = np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32)


def flushed(x: F32) -> F32:
    """To the nearest f16, subnormals to zero."""
    halves = nearest(x)
    halves[np.abs(halves) < F16_MIN_NORMAL] = 0
    return halves


def bfloat(x: F32) -> F32:
    """Too few bits: what bf16 keeps, cut."""
    return (np.ascontiguousarray(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def exact(x: F32) -> F32:
    """As it is."""
    return x


@dataclass(frozen=True)
class Kernel:
    """C = A·B in f32 sums, one k after the other, rounding where it is told to; `stored` is how B
    is held, which is no error of the kernel's."""

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
        """The product as this kernel makes it, [M, N]."""
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
    """The share of its limit that the kernel uses, and the same without the term in |S|."""
    limit = conformance_tolerance(
        kernel.path,
        shape.K,
        FAMILIES[family].norm,
        f16_round_to_nearest=not kernel.cuts,
        f16_subnormals=not kernel.flushes,
    )
    flat = replace(limit, value=limit.value + limit.relative, relative=0.0)
    worst = plain = 0.0
    for weights in generate(family, shape, kernel.path, seed):
        for A in weights.activations():
            B = kernel.stored(weights.B)
            C = kernel.run(A, B)
            worst = max(worst, deviation(C, A, B, limit).worst)
            plain = max(plain, deviation(C, A, B, flat).worst)
    return worst, plain


def main() -> int:
    """Print the table; exit 1 where a right kernel is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"{'right kernel':24} {'share':>6} {'of D':>6}   {'wrong twin':16} {'share':>6}")
    for right, wrong in KERNELS:
        shares = [
            share(right, family, shape, seed)
            for family in SIMULATED
            for shape in SHAPES
            for seed in range(options.seeds)
        ]
        least = min(
            share(wrong, "uniform", shape, seed)[0]
            for shape in SHAPES[1:]
            for seed in range(options.seeds)
        )
        most, flat = (max(values) for values in zip(*shares, strict=True))
        rows.append({"kernel": right.name, "share": most, "share_of_D": flat, "twin": least})
        print(f"{right.name:24} {most:6.2f} {flat:6.2f}   {wrong.name:16} {least:6.2f}", flush=True)
    print("`of D`: the same bound with the term in |S| taken of D instead, as it was before")
    if options.json:
        options.json.write_text(json.dumps({"seeds": options.seeds, "rows": rows}, indent=2) + "\n")
    return int(any(row["share"] > 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
