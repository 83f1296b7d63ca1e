"""Comparisons a block at a time against brute force: where, by how much, and how it is stored."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from tinygate.core.metrics import Metrics
from tinygate.numerics import compare, matmul64
from tinygate.numerics.compare import Region
from tinygate.numerics.formats import FORMATS
from tinygate.numerics.tolerance import Norm, Tolerance

F32 = NDArray[np.float32]
Mask = NDArray[np.bool_]
Halves = NDArray[np.float16]
F16_STORAGE = FORMATS["f16-packed"]


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks so small that every case here has several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "_FLAT", 7)
        patch.setattr(matmul64, "SIDE", 4)
        patch.setattr(matmul64, "DEPTH", 3)
        yield


# ---- Region ----

MASKS = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=40))


def region_of(bad: Mask, tall: int = 1 << 30, wide: int = 1 << 30) -> Region:
    """The region of a mask, added in blocks, the last block first."""
    found = Region((bad.shape[0], bad.shape[1]))
    for row in reversed(range(0, bad.shape[0], min(tall, bad.shape[0]))):
        for col in reversed(range(0, bad.shape[1], min(wide, bad.shape[1]))):
            found.add(bad[row : row + tall, col : col + wide], row, col)
    return found


def check_region(found: Region, masks: list[Mask]) -> None:
    """Every number of a region against the masks it was made of."""
    total = np.sum(masks, axis=0)
    assert found.count == total.sum()
    assert np.array_equal(found.rows, total.sum(axis=1))
    assert np.array_equal(found.cols, total.sum(axis=0))
    where = np.argwhere(total)
    assert found.first == (tuple(where[0]) if where.size else None)
    tall, wide = found.cell_shape
    for (i, j), cell in np.ndenumerate(found.cells):
        assert cell == total[i * tall : (i + 1) * tall, j * wide : (j + 1) * wide].sum()
    assert found.cells.sum() == found.count


@given(bad=MASKS, tall=st.integers(1, 9), wide=st.integers(1, 9))
def test_a_region_is_the_same_in_whatever_blocks_it_comes(bad: Mask, tall: int, wide: int) -> None:
    check_region(region_of(bad, tall, wide), [bad])


@given(shape=st.tuples(st.integers(1, 300), st.integers(1, 300)))
def test_a_map_is_small_however_large_the_matrix(shape: tuple[int, int]) -> None:
    found = Region(shape)
    assert found.cells.shape[0] <= compare.MAP_ROWS
    assert found.cells.shape[1] <= compare.MAP_COLS
    assert found.cells.shape[0] * found.cell_shape[0] >= shape[0]
    assert found.cells.shape[1] * found.cell_shape[1] >= shape[1]


STACKS = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4))


@given(stack=STACKS)
def test_regions_merge(stack: Mask) -> None:
    found = region_of(stack[0])
    for bad in stack[1:]:
        found.merge(region_of(bad))
    check_region(found, list(stack))


def spelled(text: str, name: str, count: int) -> set[int]:
    """The indices that `where` lists for rows or columns; all of them where it lists none."""
    listed = re.search(rf"{name}s? ([0-9](?:[0-9, -]*[0-9])?)", text)
    if listed is None:
        return set(range(count))
    indices: set[int] = set()
    for run in listed[1].split(", "):
        first, _, last = run.partition("-")
        indices |= set(range(int(first), int(last or first) + 1))
    return indices


@given(stack=STACKS)
@example(np.array([[[0, 1], [1, 0]], [[0, 1], [0, 0]]], bool))
@example(np.array([[[0, 1], [1, 1]], [[0, 1], [1, 1]]], bool))
def test_where_claims_nothing_that_is_not_so(stack: Mask) -> None:
    found = Region((stack.shape[1], stack.shape[2]))
    for bad in stack:
        found.merge(region_of(bad))
    text = found.where
    rows = spelled(text, "row", stack.shape[1])
    cols = spelled(text, "column", stack.shape[2])
    listed = np.zeros(stack.shape[1:], bool)
    listed[np.ix_(sorted(rows), sorted(cols))] = True
    bad_ones = [bad for bad in stack if bad.any()]
    if text.startswith("all but "):
        assert all(np.array_equal(bad, ~listed) for bad in bad_ones)
    elif text:
        anywhere = np.logical_or.reduce(stack, axis=0)
        assert not (anywhere & ~listed).any()
        assert all(anywhere[row].any() for row in rows)
        assert all(anywhere[:, col].any() for col in cols)


def painted(shape: tuple[int, int], *places: tuple[slice | int, slice | int]) -> Mask:
    bad = np.zeros(shape, bool)
    for place in places:
        bad[place] = True
    return bad


EVERY = slice(None)


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        (painted((4, 6)), ""),
        (painted((4, 6), (EVERY, EVERY)), ""),
        (painted((4, 6), (3, EVERY)), "row 3"),
        (painted((4, 6), (EVERY, 5)), "column 5"),
        (painted((4, 6), (1, 2)), "row 1, column 2"),
        (painted((535, 1024), (slice(64, None), slice(64, None))), "rows 64-534, columns 64-1023"),
        (painted((48, 2), (slice(16), 0), (slice(32, 48), 1)), "rows 0-15, 32-47"),
        (painted((40, 2), (slice(1, None, 4), EVERY)), "rows 1, 5, 9 and 7 more"),
        (painted((9, 2), (slice(0, None, 3), EVERY)), "rows 0, 3, 6"),
        (~painted((128, 96), (slice(64), slice(64))), "all but rows 0-63, columns 0-63"),
        (~painted((4, 6), (1, 2)), "all but row 1, column 2"),
        (np.eye(5, dtype=bool), ""),
        (~np.eye(5, dtype=bool), ""),
        (~painted((4, 6), (1, EVERY)), "rows 0, 2-3"),
    ],
)
def test_where_in_words(bad: Mask, where: str) -> None:
    assert region_of(bad).where == where


def test_where_of_products_that_share_what_is_right() -> None:
    bad = ~painted((4, 6), (1, 2))
    found = region_of(bad)
    found.merge(region_of(bad))
    found.merge(region_of(painted((4, 6))))
    assert found.where == "all but row 1, column 2"


# ---- by bit pattern ----

CLASSES = {
    0x00000000: False,  # 0
    0x80000000: False,  # -0
    0x00000001: False,  # the smallest subnormal
    0x807FFFFF: False,  # the largest negative subnormal
    0x00800000: False,  # the smallest normal
    0x3F800000: False,  # 1
    0x7F7FFFFF: False,  # the largest finite
    0xFF7FFFFF: False,
    0x7F800000: True,  # infinity
    0xFF800000: True,
    0x7F800001: True,  # signalling NaN
    0xFF800001: True,
    0x7FC00000: True,  # quiet NaN
    0xFFFFFFFF: True,
}


def test_non_finite_is_a_matter_of_bits() -> None:
    bits = np.array([list(CLASSES)], np.uint32)
    assert compare.nonfinite(bits).tolist() == [list(CLASSES.values())]
    found = compare.region(bits)
    assert found.count == 6
    assert found.first == (0, 8)


@given(hnp.arrays(np.uint32, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_non_finite_as_numpy_sees_it(bits: NDArray[np.uint32]) -> None:
    check_region(compare.region(bits), [~np.isfinite(bits.view(np.float32))])


def test_the_marker_is_one_bit_pattern() -> None:
    bits = np.full((5, 3), 0x7FC0DEAD, np.uint32)
    bits[0] = 0x7FC0DEAE
    bits[4, 2] = 0
    check_region(compare.region(bits, 0x7FC0DEAD), [bits == 0x7FC0DEAD])


def test_runs_differ_in_bits_not_in_value() -> None:
    first = np.array([[0x00000000, 0x7FC00000, 0x3F800000], [1, 2, 3]], np.uint32)
    other = np.array([[0x80000000, 0x7FC00000, 0x3F800001], [1, 2, 3]], np.uint32)
    assert compare.differing(first, first).count == 0
    check_region(compare.differing(first, other), [first != other])


def test_outside_looks_at_every_array_and_stops_at_the_first_with_any() -> None:
    fits = np.full((3, 4), -65504.0, np.float32)
    over = fits.copy()
    over[1, 2] = -65505.0
    more = np.full((3, 4), 7e4, np.float32)
    assert compare.outside([fits, fits], 65504).count == 0
    found = compare.outside([fits, over, more], 65504)
    assert (found.count, found.first) == (1, (1, 2))


# ---- the metrics of the activation rule ----

SMALL = hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)
FINITE = st.floats(-1e3, 1e3, width=32)
ANY = st.floats(width=32)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[F32], list[F32]]:
    """Some pooled products: outputs with NaN and infinities, references without."""
    shape = draw(SMALL)
    count = draw(st.integers(1, 3))
    outputs = [
        draw(hnp.arrays(np.float32, shape, elements=st.one_of(FINITE, ANY))) for _ in range(count)
    ]
    references = [draw(hnp.arrays(np.float32, shape, elements=FINITE)) for _ in range(count)]
    return outputs, references


def brute_metrics(F: F32, R: F32) -> Metrics:
    """Compute the activation rule's metrics once more, in one go."""
    f, r = F.reshape(-1).astype(np.float64), R.reshape(-1).astype(np.float64)
    mean_ref = float(np.mean(np.abs(r)))
    finite = np.isfinite(f)
    error = np.abs(f - r)[finite]
    relative = np.zeros(error.size)
    if mean_ref > 0:
        relative = error / np.maximum(np.abs(r), 0.01 * mean_ref)[finite]
    energy = float((r**2).sum())
    return Metrics(
        mean_ref,
        float(error.max()) if error.size else math.nan,
        float(relative.mean()) if error.size else math.nan,
        float(relative.max(initial=0.0)),
        r.size,
        float((error**2).sum()) / energy if energy else 0.0,
    )


def near(found: Metrics, expected: Metrics) -> None:
    assert found.count == expected.count
    for name in ("mean_ref", "max_abs", "mean_rel", "max_rel", "nmse"):
        value = getattr(expected, name)
        assert getattr(found, name) == pytest.approx(value, rel=1e-9, abs=0, nan_ok=True), name


@given(pairs())
def test_metrics_are_those_of_the_pooled_products_in_one_go(
    pooled: tuple[list[F32], list[F32]],
) -> None:
    outputs, references = pooled
    near(
        compare.metrics(outputs, references),
        brute_metrics(np.concatenate(outputs), np.concatenate(references)),
    )


def test_metrics_are_float64() -> None:
    R = np.full((1, 40), 1e8, np.float32)
    F = R + np.float32(8)
    found = compare.metrics([F], [R])
    assert (found.max_abs, found.mean_ref) == (8.0, 1e8)
    assert found.mean_rel == pytest.approx(8e-8, rel=1e-12)
    large = np.full((1, 40), 3e38, np.float32)
    assert compare.metrics([-large], [large]).max_abs == pytest.approx(6e38, rel=1e-6)


def test_the_floor_is_one_hundredth_of_the_mean() -> None:
    R = np.array([[1.0, 1.0, 1.0, 0.0]], np.float32)
    F = R.copy()
    F[0, 3] = 0.75
    found = compare.metrics([F], [R])
    assert found.mean_ref == 0.75
    assert found.max_rel == pytest.approx(100.0)
    assert found.mean_rel == pytest.approx(25.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_left_out(value: float) -> None:
    R = np.ones((1, 4), np.float32)
    F = R + np.array([0.5, 0, 0, 0], np.float32)
    F[0, 3] = value
    found = compare.metrics([F], [R])
    assert (found.max_abs, found.max_rel, found.nmse) == (0.5, 0.5, 0.0625)
    assert found.mean_rel == pytest.approx(0.5 / 3)
    assert found.count == 4


def test_nothing_finite_is_not_a_number_and_not_zero() -> None:
    R = np.ones((2, 2), np.float32)
    found = compare.metrics([np.full_like(R, np.nan)], [R])
    assert math.isnan(found.max_abs)
    assert math.isnan(found.mean_rel)


@given(pooled=pairs(), limit=st.floats(0, 10), strict=st.booleans())
def test_over(pooled: tuple[list[F32], list[F32]], limit: float, strict: bool) -> None:
    errors = [np.abs(F.astype(np.float64) - R) for F, R in zip(*pooled, strict=True)]
    masks = [error > limit if strict else error >= limit for error in errors]
    check_region(compare.over(*pooled, limit, strict=strict), masks)


def test_over_at_the_limit() -> None:
    R, F = np.zeros((1, 1), np.float32), np.full((1, 1), 0.5, np.float32)
    assert compare.over([F], [R], 0.5).count == 1
    assert compare.over([F], [R], 0.5, strict=True).count == 0


# ---- conformance ----


@st.composite
def products(draw: st.DrawFn) -> tuple[F32, F32, F32]:
    """C, A and B of small sizes, C near A·B or anything at all."""
    M, K, N = (draw(st.integers(1, 9)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    A = rng.normal(size=(M, K)).astype(np.float32)
    B = rng.normal(size=(K, N)).astype(np.float32)
    C = (A @ B).astype(np.float32)
    if draw(st.booleans()):
        C[rng.integers(M), rng.integers(N)] = draw(ANY)
    return C, A, B


@given(case=products(), norm=st.sampled_from(["G", "abs"]), value=st.floats(1e-9, 1e-2))
def test_deviation(case: tuple[F32, F32, F32], norm: Norm, value: float) -> None:
    C, A, B = case
    tiny = 1e-12
    a, b, c = (x.astype(np.float64) for x in (A, B, C))
    D = np.abs(a) @ np.abs(b) if norm == "abs" else np.sqrt((a * a) @ (b * b))
    share = np.where(np.isfinite(c), np.abs(c - a @ b), 0) / (value * D + tiny)
    found = compare.deviation(C, A, B, Tolerance(value, norm, tiny, ""))
    assert found.worst == pytest.approx(share.max(), rel=1e-6, abs=1e-6)
    unclear = np.abs(share - 1) < 1e-6
    if not unclear.any():
        check_region(found.over, [share > 1])
    if share.max() > 1e-3:
        assert share[found.at] == pytest.approx(share.max(), rel=1e-6, abs=1e-6)
        assert found.got == c[found.at]
        assert found.want == pytest.approx((a @ b)[found.at], rel=1e-9, abs=1e-12)


def test_a_deviation_just_at_the_limit_is_not_over_it() -> None:
    A = B = np.ones((1, 1), np.float32)
    limit = Tolerance(0.25, "abs", 0.25, "")
    found = compare.deviation(np.full((1, 1), 1.5, np.float32), A, B, limit)
    assert (found.worst, found.over.count) == (1.0, 0)
    found = compare.deviation(np.full((1, 1), 1.5000001, np.float32), A, B, limit)
    assert found.worst > 1.0
    assert (found.at, found.over.count) == ((0, 0), 1)


def test_the_worse_of_two_deviations_keeps_every_place() -> None:
    A = np.ones((2, 1), np.float32)
    B = np.ones((1, 2), np.float32)
    limit = Tolerance(0.01, "abs", 0.0, "")

    def off(at: tuple[int, int], by: float) -> compare.Deviation:
        C = np.ones((2, 2), np.float32)
        C[at] += by
        return compare.deviation(C, A, B, limit)

    for first, second in ((0.5, 0.25), (0.25, 0.5)):
        found = compare.worse(off((0, 1), first), off((1, 0), second))
        assert found.worst == pytest.approx(50)
        assert found.at == ((0, 1) if first > second else (1, 0))
        assert found.got == 1.5
        assert (found.over.count, found.over.first) == (2, (0, 1))
    alone = off((0, 0), 0.5)
    assert compare.worse(None, alone) is alone


@given(st.data())
def test_exact_comparisons(data: st.DataObject) -> None:
    M, K, N = (data.draw(st.integers(1, 9)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    B = rng.integers(-9, 10, (K, N)).astype(np.float16)
    check = compare.unequal_to_product
    for A in (
        rng.integers(-3, 4, (M, K)).astype(np.float32),
        np.eye(K, dtype=np.float32)[rng.integers(K, size=M)],
    ):
        right = A.astype(np.float64) @ B
        C = right.astype(np.float32)
        assert check(C, A, B).count == 0
        C[rng.random((M, N)) < 0.3] += np.float32(2.0**-10)
        C[rng.random((M, N)) < 0.1] = np.nan
        check_region(check(C, A, B), [right != C])


def test_a_negative_zero_is_zero() -> None:
    A, B = np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32)
    C = np.full((1, 1), -0.0, np.float32)
    assert compare.unequal_to_product(C, A, B).count == 0
    assert compare.over([C], [B], 0.0, strict=True).count == 0


# ---- packing ----

Convert = Callable[[F32], Halves]


def nearest(x: F32) -> Halves:
    return x.astype(np.float16)


def truncated(x: F32) -> Halves:
    """Towards zero."""
    half = x.astype(np.float16)
    over = np.abs(half.astype(np.float32)) > np.abs(x)
    return np.where(over, np.nextafter(half, np.float16(0)), half)


def flushed(x: F32) -> Halves:
    """To nearest, with f16 subnormals taken for zero."""
    return np.where(np.abs(x) < 2.0**-14, 0, x.astype(np.float16)).astype(np.float16)


def words_of(stored: Halves) -> NDArray[np.uint32]:
    """Rows of halves as words, with a zero half behind an odd row."""
    K, N = stored.shape
    padded = np.zeros((K, N + N % 2), np.float16)
    padded[:, :N] = stored
    return padded.view(np.uint32).reshape(-1)


def found_wrong(original: F32, stored: Halves, own: Convert) -> compare.Packing:
    return compare.packing(
        F16_STORAGE, words_of(stored), original, lambda rows: own(original[rows])
    )


def originals() -> F32:
    """For all 65,536 halves but NaN and infinity: the half, and in the gap above it a quarter, just
    under the middle, the middle, just over it, and three quarters."""
    halves = np.unique(np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64))
    halves = halves[np.isfinite(halves)]
    low, gap = halves[:-1], np.diff(halves)
    rows = [low + gap * part for part in (0, 0.25, 0.5 - 2.0**-12, 0.5, 0.5 + 2.0**-12, 0.75)]
    x = np.stack(rows).astype(np.float32)
    assert np.array_equal(x, np.stack(rows)), "every one of them is an f32"
    return x


@pytest.mark.parametrize("own", [nearest, truncated, flushed])
@pytest.mark.parametrize("packer", [nearest, truncated, flushed])
def test_every_half(own: Convert, packer: Convert) -> None:
    x = originals()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "_FLAT", 1 << 16)
        found = found_wrong(x, packer(x), own)
    error = np.abs(packer(x).astype(np.float64) - x)
    allowed = np.abs(own(x).astype(np.float64) - x)
    halves = np.unique(np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64))
    halves = halves[np.isfinite(halves)]
    at = np.searchsorted(halves, x)
    stored = packer(x).astype(np.float64)
    below = np.where(halves[at] == x, halves[at], halves[at - 1])
    neighbour = (stored == below) | (stored == halves[at])
    check_region(found.region, [~neighbour | (error > allowed)])
    # Zero is no neighbour of most subnormals, so flushing them shows even where the adapter does.
    allowed_packers = {nearest} if own is flushed else {nearest, own}
    assert (found.region.count == 0) == (packer in allowed_packers)


WEIGHTS = np.random.default_rng(12345).uniform(-0.2, 0.2, (64, 33)).astype(np.float32)
WEIGHTS[5, 7] = np.float32(2.0**-14 + 2.0**-25)


def nine_bits(x: F32) -> Halves:
    return (x.astype(np.float16).view(np.uint16) & np.uint16(0xFFFC)).view(np.float16)


def scaled(x: F32) -> Halves:
    return (x * np.float32(1.0015)).astype(np.float16)


def small_dropped(x: F32) -> Halves:
    return np.where(np.abs(x) < 1e-3, 0, x).astype(np.float16)


def one_zeroed(x: F32) -> Halves:
    stored = x.astype(np.float16)
    stored[63, 32] = 0
    return stored


def swapped(x: F32) -> Halves:
    stored = x.astype(np.float16)
    stored[:, :32] = stored[:, :32].reshape(-1, 2)[:, ::-1].reshape(64, 32)
    return stored


def rows_shifted(x: F32) -> Halves:
    return np.roll(x.astype(np.float16), 1, axis=0)


def away(x: F32) -> Halves:
    """To the farther neighbour."""
    half = x.astype(np.float16)
    value = half.astype(np.float32)
    up = np.nextafter(half, np.float16(np.inf))
    down = np.nextafter(half, np.float16(-np.inf))
    return np.where(value < x, up, np.where(value > x, down, half))


def not_a_number(x: F32) -> Halves:
    stored = x.astype(np.float16)
    stored[0, 0] = np.nan
    return stored


@pytest.mark.parametrize(
    "packer",
    [
        truncated,
        nine_bits,
        scaled,
        small_dropped,
        one_zeroed,
        swapped,
        rows_shifted,
        away,
        not_a_number,
    ],
)
def test_wrong_packers(packer: Convert) -> None:
    assert found_wrong(WEIGHTS, nearest(WEIGHTS), nearest).region.count == 0
    found = found_wrong(WEIGHTS, packer(WEIGHTS), nearest)
    assert found.region.first is not None
    k, n = found.region.first
    assert found.original == WEIGHTS[k, n]
    np.testing.assert_equal(found.stored, float(packer(WEIGHTS)[k, n]))
    assert found.stored != float(nearest(WEIGHTS)[k, n])


def test_either_neighbour_is_right_at_a_tie() -> None:
    tie = np.full((1, 2), 1 + 2.0**-11, np.float32)
    both = np.array([[1.0, 1 + 2.0**-10]], np.float16)
    assert found_wrong(tie, both, nearest).region.count == 0
    assert found_wrong(tie, both, truncated).region.count == 0


def test_padding_must_be_zero() -> None:
    words = words_of(nearest(WEIGHTS)).reshape(64, 17)
    right = compare.packing(F16_STORAGE, words, WEIGHTS, lambda rows: nearest(WEIGHTS[rows]))
    assert (right.padding, right.region.count) == (0, 0)
    words[[3, 63], -1] |= np.uint32(0x80000000)
    found = compare.packing(F16_STORAGE, words, WEIGHTS, lambda rows: nearest(WEIGHTS[rows]))
    assert (found.padding, found.region.count) == (2, 0)
