"""Unit roundoffs and the limits of the conformance and reference checks. Pure arithmetic.

The numbers are design decisions of the gate; each limit carries its reason as text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tinygate.core.family import Family
from tinygate.core.fast_path import FastPath

Norm = Literal["G", "abs"]

U32 = 2.0**-24  # unit roundoff of f32: half an ulp of 1
U16 = 2.0**-11  # unit roundoff of f16
U64 = 2.0**-53  # unit roundoff of f64, in which S is summed
# Roundings between an exact sum of whole numbers and C: to f32, times a scale, times another, and
# one to spare for a kernel that multiplies the scales first.
SCALING = 4
# The smallest f16 normal. WGSL lets an adapter flush anything smaller that is not zero.
F16_MIN_NORMAL = 2.0**-14
F16_MAX = 65504.0
_EULER_GAMMA = 0.5772156649015329
# What a matrix unit may take of e32, and the most that the design allows. An H200's unit cuts what
# it adds up instead of rounding it, so that on positive data its error grows with K and not with
# sqrt(K): 1.1 e32 at K = 1024, 2.1 at 4096, 4.2 at 16384 (benchmarks/matrix_unit.py, its JSON is in
# docs/measurements). What is over 4 there is within the allowance for the rounding of A.
MATRIX_FACTOR = 4.0
REFERENCE_BLOCK = 16  # terms the reference sums from zero before it adds them to the running sum


@dataclass(frozen=True)
class Tolerance:
    """|F-S| <= value * D + relative * |S| + tiny, elementwise, with D named by `norm` and the
    reason in `why`.

    D is G = sqrt((A∘A)(B∘B)), the statistical size of a rounding error of a zero-mean sum, or
    |A||B|, its worst case. What is rounded after the sum errs by a share of the sum itself.
    """

    value: float
    norm: Norm
    tiny: float
    why: str
    relative: float = 0.0


def conformance_tolerance(
    path: FastPath,
    K: int,
    norm: Norm,
    *,
    f16_round_to_nearest: bool = True,
    f16_subnormals: bool = True,
) -> Tolerance:
    """How far F may be from S, the float64 product of the operands as the path holds them.

    With sequential sums the largest |F-S| / (sqrt(K) 2^-24 G) of a right kernel was 3.5 in 280 runs
    of up to 256x1024x256, so 4 would reject some and 8 is the limit; against |A||B|, which is
    larger, 4 is enough. benchmarks/limits.py simulates the rows with f16 in them.

    f16_round_to_nearest, f16_subnormals: what the adapter's own conversion was seen to do and to
    keep. Where it flushes, a product, partial sum or output of up to 2^-14 may become 0.
    """
    if path.accumulate == "i32":
        return Tolerance(
            8 * math.sqrt(K) * U64,
            "abs",
            K * 2.0**-126,
            "i32 sums: 0 before scaling, which rounds 4 times at most: 4 2^-24 of |S|, beside "
            "8 sqrt(K) 2^-53 of |A||B| for the float64 sum it is held against",
            SCALING * U32,
        )
    relative = 0.0
    tiny = K * (2.0**-25 if path.holds_f16 else 2.0**-126)
    if path.holds_f16 and not f16_subnormals:
        often = K if path.rounds_inside or path.accumulate == "f16" else 1
        tiny += often * F16_MIN_NORMAL
    if path.accumulate == "f16":
        value = min((K + 2) * U16, 4 * math.sqrt(K) * U16)
        norm = "abs"
        why = "f16 accumulation: min((K+2) 2^-11, 4 sqrt(K) 2^-11) of |A||B|"
    else:
        factor = 8 if norm == "G" else 4
        value = factor * math.sqrt(K) * U32
        why = f"f32 products and sums: {factor} sqrt(K) 2^-24 of {_spelled(norm)}"
        if path.products == "matrix":
            value *= MATRIX_FACTOR
            why += f", times {MATRIX_FACTOR:g} for a matrix unit's own order and rounding"
        if path.rounds_inside:
            # Roundings of a term inside the kernel: A, B where it is not stored so, the product.
            operands = 1 if path.b == "f16-packed" else 2
            roundings = operands + 1
            roundings *= 2 if norm == "G" else 1
            value += roundings * U16
            why += f", plus {roundings} 2^-11 for operands and products rounded to f16"
            if not f16_round_to_nearest:
                # Cutting makes every term smaller, so the sum shrinks as a whole.
                relative += 2 * U16 * operands
                why += f", plus {relative / U16:.0f} 2^-11 of |S|: f16 conversion cuts here"
    if path.output == "f16":
        relative += U16 if f16_round_to_nearest else 2 * U16
        why += f", plus {1 if f16_round_to_nearest else 2} 2^-11 of |S| for an f16 output"
    return Tolerance(value, norm, tiny, why, relative)


def exact_tolerance(path: FastPath, family: Family, K: int) -> Tolerance | None:
    """What a path may be off on an exact family; None where nothing. A quantized one gives whole
    numbers exactly, but scales what identity picks, and may round that to f16."""
    if not path.quantized or family.exact != "stored":
        return None
    why = "what is stored, times scales: 4 2^-24 of it, as scaling rounds 4 times at most"
    halves = (3 if path.rounds_inside else 0) + ("f16" in (path.accumulate, path.output))
    if halves:
        why += f", plus {halves} 2^-11 for what is rounded to f16"
    tiny = 2.0**-24 if halves else K * 2.0**-126
    return Tolerance(0.0, "abs", tiny, why, SCALING * U32 + halves * U16)


def accumulated_nmse(path: FastPath, K: int) -> float:
    """What summing adds to the NMSE of zero-mean data: 0.09 (K/b) u^2 with b terms per block, a
    random walk of rounding errors whose size grows with the running sum.

    Counted for the path (in one run of K, as nothing shorter is declared) and for the reference it
    is compared with (blocks of 16).
    """
    unit = {"f16": U16, "f32": U32, "i32": 0.0}[path.accumulate]
    return 0.09 * K * (unit**2 + U32**2 / REFERENCE_BLOCK)


def mean_rel_of_zero_mean(nmse: float) -> float:
    """mean_rel in closed form for C and error both normal with mean zero and NMSE = rho^2.

    With tau = 0.01 m / sigma, the denominator's floor in units of sigma, and m = sigma sqrt(2/pi):
        rho (2/pi) [ E1(tau^2/2)/2 + sqrt(pi/2) erf(tau/sqrt 2)/tau ]
    the integral of E|error| / max(|C|, floor) over a normal C, split where |C| meets the floor. E1,
    the exponential integral, by its series at 0; tau^2/2 is 3e-5 here.
    """
    tau = 0.01 * math.sqrt(2 / math.pi)
    x = tau * tau / 2
    e1 = -_EULER_GAMMA - math.log(x) + x - x * x / 4
    flat = math.sqrt(math.pi / 2) * math.erf(tau / math.sqrt(2)) / tau
    return math.sqrt(nmse) * 2 / math.pi * (e1 / 2 + flat)


def reference_tolerance(K: int, *, round_to_nearest: bool) -> Tolerance:
    """How far R may be from T, the float64 product of the originals, before it is untrusted."""
    factor = 4 if round_to_nearest else 8
    why = f"the reference: {factor} sqrt(K) 2^-24 of |A||B|"
    if not round_to_nearest:
        why += ", doubled because f32 addition does not round to nearest here"
    return Tolerance(factor * math.sqrt(K) * U32, "abs", K * 2.0**-126, why)


def _spelled(norm: Norm) -> str:
    return "|A||B|" if norm == "abs" else "sqrt((A∘A)(B∘B))"
