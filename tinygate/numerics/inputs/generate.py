"""Input families: named, seeded distributions, and what a right path makes of each.

Every family draws from numpy's defaultstream(seed), A before B, row by row, then casts to float32.
`generate` gives weights B with the activations A that go with them: one A for a measured product,
several where one B serves several rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.arrays import F32
from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.numerics.inputs import quantized, stress
from tinygate.numerics.inputs.random import DRAW, Weights, no_subnormals, stream, uniform, weights
from tinygate.numerics.matmul64 import largest_product

# Products are pooled until this many outputs are compared; one product of 1x64x1 would reject a
# correct f16-storage kernel for 2.7 % of seeds.
POOLED_OUTPUTS = 256
# Whole numbers up to here add without rounding, in any order. An i32 sum is exact to 2^31, but C is
# f32.
EXACT_SUM = {"f32": 2**24, "f16": 2**11, "i32": 2**24}
MAX_PASSES = 8


def pooled_products(shape: Shape) -> int:
    """How many independently seeded products the activation metrics pool."""
    return max(1, -(-POOLED_OUTPUTS // (shape.M * shape.N)))


def generate(family: str, shape: Shape, path: FastPath, seed: int) -> Iterator[Weights]:
    """The weights of one case, with their activations, in a fixed order.

    What the path declares decides which whole numbers stay exact and which values B's format holds.
    """
    if FAMILIES[family].exact == "product" and path.quantized:
        yield from quantized.integer(stream(seed, 0), shape, path, exact_sum(path))
    elif FAMILIES[family].exact == "product":
        yield from _integer(shape, path, seed)
    elif FAMILIES[family].exact == "stored":
        yield _identity(shape, path, seed)
        yield _mirrored(shape, path, seed)
    elif family in stress.DRAWS:
        draw = stress.DRAWS[family]
        pool = pooled_products(shape) if FAMILIES[family].activation else 1
        for product in range(pool):
            yield from draw(stream(seed, product), shape, path)
    else:
        low, high = (-0.2, 0.2) if family == "uniform" else (0.0, 0.4)
        for product in range(pooled_products(shape)):
            rng = stream(seed, product)
            A = uniform(rng, shape.M, shape.K, low, high)
            yield weights(A, uniform(rng, shape.K, shape.N, low, high))


def exact_integer(path: FastPath) -> int:
    """The largest n such that every whole number up to n is exact in the path's B, and so is its
    product with any of A's where products are f16."""
    stored = FORMATS[path.b].max_exact_int
    if path.rounds_inside:
        return int(min(stored, EXACT_SUM["f16"] // _largest_activation(path)))
    return int(stored)


def exact_sum(path: FastPath) -> int:
    """The bound up to which whole-number sums are exact: accumulator and output both hold them."""
    return min(EXACT_SUM[path.accumulate], EXACT_SUM[path.output])


def _largest_activation(path: FastPath) -> int:
    """A's whole numbers are ±1 … ±this."""
    return 1 if path.accumulate == "f16" else 3


def _integer(shape: Shape, path: FastPath, seed: int) -> Iterator[Weights]:
    """Whole numbers with |A||B| up to the accumulator's exact bound, and every k live in a round.

    B[k, k mod N] is never zero, so a dropped or doubled k always shows.
    """
    M, K, N = shape.M, shape.K, shape.N
    bound = exact_sum(path)
    a_max = _largest_activation(path)
    rows_per_pass = min(K, bound // a_max * N)
    rng = stream(seed, 0)
    for first in range(0, K, rows_per_pass):
        A = _dense(rng, M, K, a_max)
        live = np.arange(first, min(first + rows_per_pass, K))
        yield weights(A, _integer_weights(rng, A, N, path, live, bound))


def _integer_weights(
    rng: np.random.Generator,
    A: F32,
    N: int,
    path: FastPath,
    live: NDArray[np.int64],
    bound: int,
) -> F32:
    """B for one round: dense where every k fits the budget of a column, else the live ones only."""
    K = A.shape[1]
    a_max = _largest_activation(path)
    column_budget = bound // a_max
    if column_budget >= K:
        # So large that a column's mean |A||B|, K (a_max+1)/2 largest/2, is about the bound.
        largest = min(exact_integer(path), 4 * bound // (K * (a_max + 1)))
        return _near_bound(_dense(rng, K, N, largest), A, bound)
    B = np.zeros((K, N), np.float32)
    B[live, live % N] = _signed(rng, live.size, 1)
    spare = column_budget - -(-live.size // N)
    for n in range(N):
        free = np.flatnonzero(B[:, n] == 0)
        more = rng.choice(free, size=min(spare, free.size), replace=False)
        B[more, n] = _signed(rng, more.size, 1)
    return B


def _dense(rng: np.random.Generator, rows: int, cols: int, largest: int) -> F32:
    """Whole numbers ±1 … ±largest everywhere."""
    out = np.empty(rows * cols, np.float32)
    for start in range(0, out.size, DRAW):
        part = out[start : start + DRAW]
        part[:] = _signed(rng, part.size, largest)
    return out.reshape(rows, cols)


def _near_bound(B: F32, A: F32, bound: int) -> F32:
    """Shrink B, in place and never to zero, until the largest of |A||B| is just within bound."""
    while (peak := largest_product(A, B)) > bound:
        shrink = np.float32(0.99 * bound / peak)
        for row in B:
            row[:] = np.copysign(np.maximum(np.trunc(np.abs(row) * shrink), 1), row)
    return B


def _signed(rng: np.random.Generator, size: int, largest: int) -> NDArray[np.int64]:
    """±1 … ±largest, no zeros."""
    magnitude: NDArray[np.int64] = rng.integers(1, largest, size, endpoint=True)
    sign: NDArray[np.int64] = rng.choice(np.array([-1, 1]), size)
    return magnitude * sign


def identity_passes(shape: Shape, seed: int, max_: int = MAX_PASSES) -> list[NDArray[np.int64]]:
    """For each of `most` rounds or fewer, the k that each row of A picks.

    First k = 0 and K-1, then both sides of every multiple of 16 (a kernel's blocks end there), then
    any others, until the rows of the rounds needed are full. Where those do not hold every edge,
    every fourth pick is one of the others all the same: a kernel may be wrong all but there.
    """
    M, K = shape.M, shape.K
    edges = np.unique(np.concatenate([np.arange(15, K, 16), np.arange(16, K, 16)]))
    ends = np.array(sorted({0, K - 1}))
    edges = np.setdiff1d(edges, ends)
    rng = stream(seed, 0)
    rest = np.setdiff1d(np.arange(K), np.concatenate([ends, edges]))
    edges, rest = rng.permutation(edges), rng.permutation(rest)
    few = ends.size + edges.size > max_ * M
    between = min(edges.size // 3, rest.size) if few else 0
    mixed = np.insert(edges, 3 * np.arange(1, between + 1), rest[:between])
    order = np.concatenate([ends, mixed, rest[between:]])
    passes = min(max_, -(-(ends.size + edges.size) // M))
    return [np.resize(np.roll(order, -r * M), M) for r in range(passes)]


def _identity(shape: Shape, path: FastPath, seed: int) -> Weights:
    """One-hot activations over a B that holds every class of value its format has."""
    M, K = shape.M, shape.K

    def activations() -> Iterator[F32]:
        for picks in identity_passes(shape, seed):
            A = np.zeros((M, K), np.float32)
            A[np.arange(M), picks] = 1.0
            yield A

    B = _every_class(shape.K, shape.N, path, "b", stream(seed, 1))
    return Weights(B, activations)


def _mirrored(shape: Shape, path: FastPath, seed: int) -> Weights:
    """One-hot weights under an A that holds every class of value: C is columns of A, so that an
    operand which a kernel cuts, splits or flushes shows whichever side it is on."""
    (picks,) = identity_passes(Shape(shape.N, shape.K, shape.M), seed, max_=1)
    B = np.zeros((shape.K, shape.N), np.float32)
    B[picks, np.arange(shape.N)] = 1.0
    return weights(_every_class(shape.M, shape.K, path, "a", stream(seed, 2)), B)


def _every_class(
    rows: int, columns: int, path: FastPath, operand: str, rng: np.random.Generator
) -> F32:
    """Magnitudes log-uniform from the smallest normal (2^-14 where f16 is about) to the format's
    largest, with the special values spread in: zeros of both signs, ±1, the extremes, and (where
    it is packed) values between two neighbours."""
    storage = FORMATS[path.b] if operand == "b" else A_FORMATS[path.a]
    if storage.quantized:
        by_rows = operand == "a"
        return quantized.every_code(rng, rows, columns, storage.name, by_rows=by_rows)
    largest = FORMATS["f16-packed"].max_finite if path.holds_f16 else storage.max_finite
    if path.quantized:
        # Codes may be summed up before they are scaled, and that has to fit as well.
        largest = min(largest, 2.0**96)
    wide = storage.name == "f32" and not path.holds_f16
    bottom, top = -126 if wide else -14, np.log2(largest)
    B = np.empty(rows * columns, np.float32)
    for start in range(0, B.size, DRAW):
        part = B[start : start + DRAW]
        magnitude = np.minimum(np.exp2(rng.uniform(bottom, top, part.size)), largest)
        part[:] = magnitude * rng.choice(np.array([-1.0, 1.0]), part.size)
    # 1 + 2^-11 is a tie between two f16 neighbours; 1 + 2^-11 + 2^-20 is just past it.
    special = np.array(
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            largest,
            -largest,
            2.0**-14,
            -(2.0**-14),
            1 + 2.0**-11,
            -(1 + 2.0**-11 + 2.0**-20),
            1 / 3,
            2048.0,
            2049.0,
        ],
        np.float32,
    )
    spots = rng.choice(B.size, size=min(B.size, special.size), replace=False)
    B[spots] = special[: spots.size]
    if path.holds_f16:
        # The path may round again inside, so its stored value must survive that unchanged.
        B[:] = np.clip(B.astype(np.float16).astype(np.float32), -largest, largest)
    return (B if wide else no_subnormals(B)).reshape(rows, columns)
