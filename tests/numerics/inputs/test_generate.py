"""The seeded families: the stream anybody can draw again, and inputs that have one right answer."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED, FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import SUITES, Shape
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.inputs import random
from tinygate.numerics.inputs.generate import MAX_PASSES, generate, identity_passes, pooled_products
from tinygate.numerics.matmul64 import largest_product
from tinygate.paths.builtin import BUILTIN, REFERENCE

F32 = NDArray[np.float32]
STORED = BUILTIN[0]
SUMMED = replace(STORED, accumulate="f16")
ROUNDED = replace(STORED, products="f16")
OUTPUT = replace(STORED, output="f16")
PATHS = {"f32": REFERENCE, "stored": STORED, "sum": SUMMED, "product": ROUNDED, "output": OUTPUT}
EVERY_PATH = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
SMALLEST = np.float32(2.0**-14)


def products(
    family: str, shape: Shape, path: FastPath = STORED, seed: int = DEFAULT_SEED
) -> list[tuple[F32, F32]]:
    """A and B of everything a case multiplies."""
    return [(A, w.B) for w in generate(family, shape, path, seed) for A in w.activations()]


# ---- uniform and positive ----


def moved(x: NDArray[np.float64]) -> F32:
    """The rule of f16 subnormals, one element at a time."""
    narrow = x.astype(np.float32)
    for i, value in np.ndenumerate(narrow):
        if 0 < abs(value) < SMALLEST:
            narrow[i] = np.copysign(SMALLEST, value)
    return narrow


@pytest.mark.parametrize(
    ("family", "low", "high"), [("uniform", -0.2, 0.2), ("positive", 0.0, 0.4)]
)
@pytest.mark.parametrize("seed", [DEFAULT_SEED, 0, 7])
def test_the_stream_is_numpys_with_a_before_b(
    family: str, low: float, high: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    A = moved(rng.uniform(low, high, (64, 128)))
    B = moved(rng.uniform(low, high, (128, 96)))
    ((found_a, found_b),) = products(family, Shape(64, 128, 96), seed=seed)
    assert found_a.dtype == found_b.dtype == np.float32
    assert np.array_equal(found_a, A)
    assert np.array_equal(found_b, B)


def test_the_seeds_own_numbers() -> None:
    ((A, B),) = products("uniform", Shape(64, 128, 128))
    assert A[0, :3].tolist() == pytest.approx([-0.109065593, -0.073296666, 0.118946182], rel=1e-6)
    assert np.abs(A.astype(np.float64) @ B).mean() == pytest.approx(0.12, abs=0.003)


def test_the_stream_does_not_depend_on_the_path() -> None:
    for path in PATHS.values():
        ((A, B),) = products("uniform", Shape(16, 32, 16), path)
        ((A2, B2),) = products("uniform", Shape(16, 32, 16))
        assert np.array_equal(A, A2)
        assert np.array_equal(B, B2)


def test_a_draw_in_pieces_is_the_draw_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [products(family, Shape(16, 33, 20)) for family in FAMILIES if family != "integer"]
    monkeypatch.setattr(random, "DRAW", 7)
    parts = [products(family, Shape(16, 33, 20)) for family in FAMILIES if family != "integer"]
    for family, one, other in zip(FAMILIES, whole, parts, strict=False):
        if family in {"uniform", "positive", "normal", "outlier"}:
            for (A, B), (A2, B2) in zip(one, other, strict=True):
                assert np.array_equal(A, A2)
                assert np.array_equal(B, B2)


@given(st.lists(st.floats(width=32), min_size=1, max_size=9))
@example([2.0**-14, -(2.0**-14), 2.0**-15, -(2.0**-15), 0.0, -0.0, 2.0**-149, 1.0])
def test_f16_subnormals_are_moved_to_the_smallest_normal(values: list[float]) -> None:
    before = np.array([values], np.float32)
    after = random.no_subnormals(before.copy())
    small = (before != 0) & (np.abs(before) < SMALLEST)
    assert np.array_equal(after[~small].view(np.uint32), before[~small].view(np.uint32))
    assert np.array_equal(after[small], np.copysign(SMALLEST, before[small]))


@pytest.mark.parametrize("family", ["uniform", "positive", "identity"])
def test_no_f16_subnormals(family: str) -> None:
    # In an f32 operand of `identity` they are a class of value like any other.
    for path in (STORED,) if family != "identity" else (replace(STORED, products="f16"),):
        for x in (x for pair in products(family, Shape(300, 300, 300), path) for x in pair):
            assert not ((x != 0) & (np.abs(x) < SMALLEST)).any()


# ---- pooling ----


@given(M=st.integers(1, 400), N=st.integers(1, 400))
@example(1, 1)
@example(1, 255)
@example(1, 256)
def test_enough_products_and_none_too_many(M: int, N: int) -> None:
    count = pooled_products(Shape(M, 64, N))
    assert count * M * N >= 256
    assert count == 1 or (count - 1) * M * N < 256


@pytest.mark.parametrize("family", [name for name in FAMILIES if FAMILIES[name].activation])
@pytest.mark.parametrize(("size", "count"), [((1, 64, 1), 256), ((3, 5, 50), 2), ((16, 3, 16), 1)])
def test_measured_families_are_pooled(family: str, size: tuple[int, int, int], count: int) -> None:
    assert len(products(family, Shape(*size))) == count


@pytest.mark.parametrize("family", ["uniform", "positive", "normal"])
def test_pooled_products_share_nothing_with_each_other_or_the_next_seeds(family: str) -> None:
    shape = Shape(1, 8, 2)
    drawn = [
        (*A.ravel(), *B.ravel())
        for seed in (0, 1, 2, 12345, 12346)
        for A, B in products(family, shape, seed=seed)
    ]
    assert len(drawn) == 5 * 128
    assert len(set(drawn)) == len(drawn)
    values = np.array(drawn)
    # Each place of a product, over all of them, against its neighbour: streams that were shifted
    # copies of one another would be equal somewhere.
    assert len(np.unique(values)) > 0.99 * values.size


def test_the_first_pooled_product_is_the_seeds_own() -> None:
    first, second, *_ = products("uniform", Shape(1, 64, 1))
    rng = np.random.default_rng(DEFAULT_SEED)
    assert np.array_equal(first[0], moved(rng.uniform(-0.2, 0.2, (1, 64))))
    rng.uniform(-0.2, 0.2, (64, 1))
    assert not np.array_equal(second[0], moved(rng.uniform(-0.2, 0.2, (1, 64))))


# ---- integer ----


def bound_of(path: FastPath) -> int:
    return 2**11 if "f16" in (path.accumulate, path.output) else 2**24


def check_integer(shape: Shape, path: FastPath, seed: int) -> list[tuple[F32, F32]]:
    """Everything gate.md says of the integer family."""
    passes = products("integer", shape, path, seed)
    stored = np.float32 if path.b == "f32" else np.float16
    live = np.zeros(shape.K, bool)
    for A, B in passes:
        assert A.dtype == B.dtype == np.float32
        assert np.array_equal(A, np.trunc(A))
        assert np.array_equal(B, np.trunc(B))
        largest = 1 if path.accumulate == "f16" else 3
        assert np.abs(A).min() >= 1
        assert np.abs(A).max() <= largest
        assert np.array_equal(B.astype(stored).astype(np.float32), B), "B's format holds it"
        assert largest_product(A, B) <= bound_of(path)
        live |= B[np.arange(shape.K), np.arange(shape.K) % shape.N] != 0
    assert live.all(), "a dropped k shows"
    return passes


@given(
    M=st.integers(1, 12),
    K=st.integers(1, 700),
    N=st.integers(1, 12),
    path=st.sampled_from(list(PATHS.values())),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60)
@example(1, 1, 1, REFERENCE, 0)
@example(4, 682, 1, OUTPUT, 3)
@example(4, 683, 1, OUTPUT, 3)
def test_integer(M: int, K: int, N: int, path: FastPath, seed: int) -> None:
    check_integer(Shape(M, K, N), path, seed)


@EVERY_PATH
@pytest.mark.parametrize("size", [(4, 2048, 3), (4, 2049, 3), (2, 5000, 1), (3, 9000, 2)])
def test_integer_with_more_k_than_a_column_may_sum(
    path: FastPath, size: tuple[int, int, int]
) -> None:
    shape = Shape(*size)
    passes = check_integer(shape, path, DEFAULT_SEED)
    largest = 1 if path.accumulate == "f16" else 3
    assert len(passes) == -(-shape.K // min(shape.K, bound_of(path) // largest * shape.N))
    for _, B in passes:
        assert (np.abs(B).sum(axis=0) * largest <= bound_of(path)).all() or len(passes) == 1


def test_every_round_draws_its_own_activations_and_its_own_weights() -> None:
    passes = products("integer", Shape(2, 5000, 1), SUMMED)
    assert len(passes) == 3
    for (A, B), (A2, B2) in itertools.pairwise(passes):
        assert not np.array_equal(A, A2)
        assert not np.array_equal(B, B2)


@pytest.mark.parametrize(
    ("path", "size"),
    [
        (REFERENCE, (64, 128, 128)),
        (REFERENCE, (17, 33, 65)),
        (REFERENCE, (4, 5000, 16)),
        (STORED, (64, 9000, 16)),
        (SUMMED, (4, 2500, 3)),
        (SUMMED, (64, 2048, 16)),
        (SUMMED, (64, 64, 16)),
    ],
)
def test_integer_nears_the_bound(path: FastPath, size: tuple[int, int, int]) -> None:
    passes = products("integer", Shape(*size), path)
    for A, B in passes:
        assert largest_product(A, B) > 0.9 * bound_of(path)


def test_integer_uses_what_a_packed_b_holds_where_the_bound_is_far() -> None:
    ((A, B),) = products("integer", Shape(64, 128, 128))
    assert np.abs(B).max() == 2048
    assert set(np.abs(A).ravel()) == {1, 2, 3}
    assert (A < 0).any()
    assert (B < 0).any()


@pytest.mark.parametrize("shape", SUITES["ragged"], ids=str)
@pytest.mark.parametrize("path", [REFERENCE, STORED], ids=["f32", "stored"])
def test_integer_sums_are_exact_in_float32_in_any_order(shape: Shape, path: FastPath) -> None:
    rng = np.random.default_rng(1)
    for A, B in products("integer", shape, path):
        exact = A.astype(np.float64) @ B.astype(np.float64)
        rows, cols = A[:9], B[:, :9]
        terms = rows[:, :, None] * cols[None]
        for _ in range(3):
            order = rng.permutation(shape.K)
            sums = np.cumsum(terms[:, order], axis=1, dtype=np.float32)[:, -1]
            assert np.array_equal(sums, exact[:9, :9])


def test_integer_sums_are_exact_in_float16_in_any_order() -> None:
    rng = np.random.default_rng(1)
    for A, B in products("integer", Shape(9, 2500, 7), SUMMED):
        exact = A.astype(np.float64) @ B.astype(np.float64)
        for _ in range(3):
            order = rng.permutation(2500)
            terms = (A[:, order, None] * B[None, order]).astype(np.float16)
            assert np.array_equal(np.cumsum(terms, axis=1, dtype=np.float16)[:, -1], exact)


def test_integer_products_are_exact_in_float16_where_the_path_says_so() -> None:
    for path in (ROUNDED, replace(ROUNDED, accumulate="f16"), replace(ROUNDED, output="f16")):
        for A, B in products("integer", Shape(8, 64, 16), path):
            terms = A[:, :, None].astype(np.float64) * B[None]
            assert np.array_equal(terms.astype(np.float16), terms)


def test_a_dropped_or_doubled_k_shows_in_the_integer_family() -> None:
    ((A, B),) = products("integer", Shape(3, 77, 5))
    exact = A.astype(np.float64) @ B
    for k in range(77):
        part = A[:, k, None].astype(np.float64) * B[k]
        assert (exact - part != exact).any()
        assert (exact + part != exact).any()


# ---- identity ----


def edges(K: int) -> set[int]:
    """k = 0, K-1 and both sides of every multiple of 16."""
    sides = {m + d for m in range(16, K + 16, 16) for d in (-1, 0)}
    return {0, K - 1} | {k for k in sides if 0 <= k < K}


@given(M=st.integers(1, 70), K=st.integers(1, 600), seed=st.integers(0, 99))
@example(1, 1, 0)
@example(1, 2, 0)
@example(1, 50257, 0)
@example(600, 3, 0)
def test_identity_rounds(M: int, K: int, seed: int) -> None:
    passes = identity_passes(Shape(M, K, 1), seed)
    assert 1 <= len(passes) <= MAX_PASSES == 8
    assert all(picks.shape == (M,) for picks in passes)
    picked = np.concatenate(passes)
    assert picked.min() >= 0
    assert picked.max() < K
    assert {0, K - 1} <= set(picked.tolist())
    if len(edges(K)) <= MAX_PASSES * M:
        assert edges(K) <= set(picked.tolist())
        assert (len(passes) - 1) * M < len(edges(K)), "no round more than needed"
    else:
        # Three edges to one that is none: a kernel may be wrong everywhere but at its edges.
        others = set(picked.tolist()) - edges(K)
        assert len(others) == (picked.size - len({0, K - 1})) // 4
    # No k is picked twice while another was never picked.
    assert len(set(picked.tolist())) == min(K, picked.size)


def test_rounds_that_cannot_cover_every_edge_pick_others_with_another_seed() -> None:
    first = set(np.concatenate(identity_passes(Shape(1, 5000, 1), 1)).tolist())
    other = set(np.concatenate(identity_passes(Shape(1, 5000, 1), 2)).tolist())
    assert first != other


@EVERY_PATH
def test_identity_rows_are_one_hot_over_one_b(path: FastPath) -> None:
    weights, _ = generate("identity", Shape(4, 300, 9), path, 5)
    passes = list(weights.activations())
    assert len(passes) == 8
    for A, picks in zip(passes, identity_passes(Shape(4, 300, 9), 5), strict=True):
        assert A.dtype == np.float32
        assert (A.sum(axis=1) == 1).all()
        assert np.array_equal(A.argmax(axis=1), picks)
        assert np.count_nonzero(A) == 4
    assert [A.tolist() for A in weights.activations()] == [A.tolist() for A in passes]


@EVERY_PATH
def test_columns_are_one_hot_under_a_mirrored_a(path: FastPath) -> None:
    _, mirrored = generate("identity", Shape(9, 300, 4), path, 5)
    (A,) = mirrored.activations()
    (picks,) = identity_passes(Shape(4, 300, 9), 5, max_=1)
    assert np.array_equal(mirrored.B, np.eye(300, dtype=np.float32)[picks].T)
    assert {0, 299} <= set(picks.tolist())
    assert A.shape == (9, 300)


@EVERY_PATH
@pytest.mark.parametrize("operand", ["A", "B"])
def test_an_operand_holds_every_class_of_value(path: FastPath, operand: str) -> None:
    straight, mirrored = generate("identity", Shape(60, 60, 60), path, DEFAULT_SEED)
    B = straight.B if operand == "B" else next(mirrored.activations())
    storage = FORMATS[path.b if operand == "B" else path.a]
    largest = storage.max_finite
    if path is not STORED and path is not REFERENCE:
        largest = 65504.0
    assert np.isfinite(B).all()
    assert np.abs(B).max() == np.float32(largest)
    zero = B[B == 0]
    assert np.signbit(zero).any()
    assert not np.signbit(zero).all()
    for value in (largest, -largest, 1.0, -1.0, 2.0**-14, -(2.0**-14), 2048.0):
        assert (np.float32(value) == B).any(), value
    exponents = np.floor(np.log2(np.abs(B[B != 0])))
    wide = largest > 65504
    assert set(range(-120 if wide else -14, int(np.log2(largest)))) <= set(exponents)
    assert (exponents.min() < -14) == wide
    with np.errstate(over="ignore"):
        between = B.astype(np.float16).astype(np.float32) != B
    if path in (STORED, REFERENCE):
        assert between.mean() > 0.9
        assert (np.float32(1 + 2.0**-11) == B).any(), "a tie"
        assert (np.float32(-(1 + 2.0**-11 + 2.0**-20)) == B).any(), "just past a tie"
    else:
        assert not between.any(), "a path that rounds inside keeps what it stores"


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 2, 1), (3, 3, 2)])
def test_identity_of_a_b_with_less_room_than_special_values(size: tuple[int, int, int]) -> None:
    for A, B in products("identity", Shape(*size)):
        assert A.shape == size[:2]
        assert B.shape == size[1:]


# ---- all families ----


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 33, 7), (64, 2, 3)])
@EVERY_PATH
def test_every_family_is_finite_float32_and_the_same_every_time(
    family: str, size: tuple[int, int, int], path: FastPath
) -> None:
    shape = Shape(*size)
    drawn = products(family, shape, path)
    assert drawn
    for (A, B), (A2, B2) in zip(drawn, products(family, shape, path), strict=True):
        assert A.shape == (shape.M, shape.K)
        assert B.shape == (shape.K, shape.N)
        assert A.dtype == B.dtype == np.float32
        assert np.isfinite(A).all()
        assert np.isfinite(B).all()
        assert np.array_equal(A.view(np.uint32), A2.view(np.uint32))
        assert np.array_equal(B.view(np.uint32), B2.view(np.uint32))


@pytest.mark.parametrize("family", DEFAULT_FAMILIES)
def test_another_seed_draws_something_else(family: str) -> None:
    first = products(family, Shape(9, 40, 9), seed=1)
    other = products(family, Shape(9, 40, 9), seed=2)
    assert not np.array_equal(first[0][1], other[0][1])


@pytest.mark.parametrize("family", FAMILIES)
def test_no_float64_copy_of_an_operand(family: str) -> None:
    shape = Shape(512, 2048, 2048)
    operands = 4 * (shape.M * shape.K + shape.K * shape.N)
    widened = 8 * shape.K * shape.N
    tracemalloc.start()
    try:
        for weights in generate(family, shape, STORED, DEFAULT_SEED):
            for A in weights.activations():
                assert A.shape == (shape.M, shape.K)
                break
            del A, weights
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < operands + 0.75 * widened, (
        f"{peak >> 20} MiB for operands of {operands >> 20} MiB"
    )


def test_a_family_that_is_not_drawn_here_is_an_error() -> None:
    with pytest.raises(KeyError):
        list(generate("no-such-family", Shape(1, 1, 1), STORED, 0))
