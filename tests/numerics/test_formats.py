"""Storage formats against a brute-force list of every half, and the bits they are stored in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tinygate.numerics.formats import FORMATS, HALVES, PLAIN

F16, F32 = HALVES, PLAIN
# Every finite half in order; -0 is 0.
halves = np.unique(np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64))
halves = halves[np.isfinite(halves)]
FINITE = st.floats(-65504, 65504, width=32)


def brute(x: float) -> tuple[float, float]:
    """The largest half <= x and the smallest >= x."""
    return float(halves[halves <= x].max()), float(halves[halves >= x].min())


def neighbours(x: float) -> tuple[float, float]:
    below, above = F16.neighbours(np.array([x], np.float32))
    return float(below[0]), float(above[0])


@settings(deadline=None)
@given(x=FINITE)
@example(0.0)
@example(-0.0)
@example(65504.0)
@example(-65504.0)
@example(65503.99609375)
@example(2.0**-25)
@example(-(2.0**-149))
@example(2.0**-14 - 2.0**-30)
@example(1 + 2.0**-11)
@example(-1 - 2.0**-11)
def test_neighbours_are_the_nearest_halves_on_either_side(x: float) -> None:
    assert neighbours(x) == brute(x)


def test_every_half_is_its_own_neighbour_and_every_midpoint_has_two() -> None:
    exact = halves.astype(np.float32)
    below, above = F16.neighbours(exact)
    assert np.array_equal(below, exact)
    assert np.array_equal(above, exact)
    middle = ((halves[:-1] + halves[1:]) / 2).astype(np.float32)
    below, above = F16.neighbours(middle)
    assert np.array_equal(below, exact[:-1])
    assert np.array_equal(above, exact[1:])


def test_f32_stores_everything_as_it_is() -> None:
    x = np.array([0.1, -3.4e38, 1e-45], np.float32)
    below, above = F32.neighbours(x)
    assert np.array_equal(below, x)
    assert np.array_equal(above, x)
    assert not F32.variance(x).any()
    words = x.view(np.uint32)
    assert np.array_equal(F32.decode(words, 1, 3), x[None])
    assert F32.padding(words, 1, 3).size == 0


@pytest.mark.parametrize(
    ("name", "largest", "whole"),
    [("f32", np.finfo(np.float32).max, 2**24), ("f16-packed", 65504, 2**11)],
)
def test_what_a_format_declares_is_so(name: str, largest: float, whole: int) -> None:
    storage = FORMATS[name]
    dtype = np.float32 if name == "f32" else np.float16
    assert storage.name == name
    assert storage.max_finite == np.finfo(dtype).max == largest
    assert storage.max_exact_int == whole
    assert np.array([whole], dtype)[0] == whole
    assert np.array([whole - 1], dtype)[0] == whole - 1
    assert int(np.array([whole + 1], dtype)[0]) != whole + 1


@pytest.mark.parametrize(("N", "stride"), [(1, 1), (2, 1), (3, 2), (128, 64), (129, 65)])
def test_columns_share_words(N: int, stride: int) -> None:
    assert F16.stride(N) == stride
    assert F16.words(5, N) == 5 * stride
    assert F32.stride(N) == N
    assert F32.words(5, N) == 5 * N


def test_the_low_half_is_the_first_column() -> None:
    # 1.0 is 0x3c00, -2.0 is 0xc000, 65504 is 0x7bff, 2^-24 is 0x0001.
    words = np.array([0xC0003C00, 0x00007BFF, 0x3C000001, 0xBEEFC000], np.uint32)
    assert F16.decode(words, 2, 3).tolist() == [[1.0, -2.0, 65504.0], [2.0**-24, 1.0, -2.0]]
    assert F16.decode(words, 2, 4).tolist()[0] == [1.0, -2.0, 65504.0, 0.0]
    assert F16.padding(words, 2, 3).tolist() == [0, 0xBEEF]
    assert F16.padding(words, 2, 4).size == 0


def test_decoding_copies_nothing() -> None:
    words = np.zeros(12, np.uint32)
    for storage, K, N in ((F16, 4, 5), (F32, 3, 4)):
        assert np.shares_memory(storage.decode(words, K, N), words)


@settings(deadline=None)
@given(x=FINITE)
@example(65503.0)
@example(65504.0)
@example(1.0)
def test_variance_is_that_of_an_error_spread_over_the_gap(x: float) -> None:
    below, above = brute(x)
    (found,) = F16.variance(np.array([x], np.float32))
    assert found == pytest.approx((above - below) ** 2 / 12, rel=1e-12, abs=0)
