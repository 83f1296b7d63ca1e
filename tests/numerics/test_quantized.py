"""Quantized storage against a slow reading of wgsl/README.md, element by element."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.numerics.quantized import Int8

B_INT8, A_INT8, Q4 = FORMATS["int8-packed"], A_FORMATS["int8-packed"], FORMATS["q4-block32"]
SIZES = [(1, 1), (2, 3), (4, 1), (5, 7), (31, 2), (32, 3), (33, 5), (64, 4), (130, 3)]
F32 = NDArray[np.float32]


def own(_: slice) -> NDArray[np.float16]:
    raise AssertionError("the adapter's f16 says nothing about these")


def bits(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


def scale_of(values: list[float], steps: int) -> np.float32:
    """absmax / 127, or the range with 0 in it / 15, in f32 by way of exact arithmetic."""
    span = max(*values, 0) - min(*values, 0) if steps == 15 else max(map(abs, values))
    scale = np.float32(span / steps)
    return scale if scale >= np.float32(2.0**-126) else np.float32(1)


def packed_int8(x: F32, *, rows: bool) -> NDArray[np.uint32]:
    """One byte at a time; x is [rows, cols] with a scale per row, or per column."""
    lines = x if rows else x.T
    codes = np.zeros((lines.shape[0], -(-lines.shape[1] // 4)), np.uint32)
    scales = []
    for i, line in enumerate(lines.tolist()):
        scale = scale_of(line, 127)
        scales.append(bits(float(scale)))
        for k, value in enumerate(line):
            code = max(-127, min(127, round(value / float(scale))))
            codes[i, k // 4] |= np.uint32((code & 255) << 8 * (k % 4))
    body = codes if rows else codes.T
    return np.concatenate([body.reshape(-1), np.array(scales, np.uint32)])


def packed_q4(x: F32) -> NDArray[np.uint32]:
    """One nibble at a time."""
    K, N = x.shape
    blocks = -(-K // 32)
    codes = np.zeros((4 * blocks, N), np.uint32)
    tables = np.zeros((2, blocks, N), np.uint32)
    for block in range(blocks):
        for n in range(N):
            values = x[32 * block : 32 * block + 32, n].tolist()
            scale = scale_of([*values, 0.0], 15)
            zero = round(-min(*values, 0.0) / float(scale))
            tables[:, block, n] = bits(float(scale)), bits(zero)
            for i, value in enumerate(values):
                code = max(0, min(15, round(value / float(scale)) + zero))
                codes[4 * block + i // 8, n] |= np.uint32(code << 4 * (i % 8))
    return np.concatenate([codes.reshape(-1), tables.reshape(-1)])


def packed(name: str, x: F32) -> NDArray[np.uint32]:
    return {"b": lambda: packed_int8(x, rows=False), "a": lambda: packed_int8(x, rows=True)}.get(
        name, lambda: packed_q4(x)
    )()


CASES = [("b", B_INT8), ("a", A_INT8), ("q4", Q4)]


def data(rows: int, cols: int, seed: int = 0) -> F32:
    return np.random.default_rng(seed).normal(0.1, 1, (rows, cols)).astype(np.float32)


@pytest.mark.parametrize(("rows", "cols"), SIZES)
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_what_a_right_packer_writes_is_right(
    name: str, storage: Int8, rows: int, cols: int
) -> None:
    x = data(rows, cols)
    words = packed(name, x)
    assert words.size == storage.words(rows, cols)
    stored = storage.decode(words, rows, cols)
    assert stored.shape == x.shape
    for first, mask in storage.wrong(words, x, own):
        assert not mask.any(), (first, np.argwhere(mask))
    assert not storage.padding(words, rows, cols).any()
    # Half a step is the most that storing may move a value.
    step = 2 * np.sqrt(3 * storage.variance(x))
    assert (np.abs(stored - x) <= step / 2 * (1 + 1e-4)).all()


def test_bytes_lie_along_k_low_byte_first() -> None:
    # A column of k = 0..4: 1, -1, 127, -127, 2 at scale 0.5, and one of 3s at scale 2.
    words = np.array(
        [0x817FFF01, 0x03030303, 0x00000002, 0x00000003, bits(0.5), bits(2.0)], np.uint32
    )
    assert B_INT8.decode(words, 5, 2).T.tolist() == [[0.5, -0.5, 63.5, -63.5, 1.0], [6.0] * 5]
    assert not B_INT8.padding(words, 5, 2).any()
    assert B_INT8.padding(words | np.uint32(0x1000000), 5, 2).any()
    by_rows = np.array(
        [0x817FFF01, 0x00000002, 0x03030303, 0x00000003, bits(0.5), bits(2.0)], np.uint32
    )
    assert A_INT8.decode(by_rows, 2, 5).tolist() == [[0.5, -0.5, 63.5, -63.5, 1.0], [6.0] * 5]
    assert A_INT8.padding(by_rows, 2, 5).tolist() == [0] * 6


def test_nibbles_lie_along_k_low_nibble_first() -> None:
    words = np.zeros(12, np.uint32)
    words[:4] = 0x76543210, 0xFEDCBA98, 0, 0
    words[4] = 0xFFFFFFF5  # k = 32, and padding that is not 0
    words[8:] = bits(0.25), bits(2.0), bits(3), bits(7)
    found = Q4.decode(words, 33, 1)[:, 0]
    assert found[:16].tolist() == [(i - 3) * 0.25 for i in range(16)]
    assert found[32] == (5 - 7) * 2.0
    assert Q4.padding(words, 33, 1).tolist() == [15] * 7 + [0] * 24


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_parts_are_the_whole(name: str, storage: Int8) -> None:
    x = data(130, 3)
    words = packed(name, x)
    whole = storage.decode(words, 130, 3)
    for first in range(0, 130, 32):
        part = slice(first, min(first + 32, 130))
        assert np.array_equal(storage.decode(words, 130, 3, part), whole[part])


@pytest.mark.parametrize("x", [0.0, 1e-38, -1e-42])
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_a_scale_that_would_be_no_normal_number_is_1(name: str, storage: Int8, x: float) -> None:
    values = np.full((3, 2), x, np.float32)
    words = packed(name, values)
    assert not storage.decode(words, 3, 2).any()
    assert not any(mask.any() for _, mask in storage.wrong(words, values, own))


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_the_largest_finite_values_fit(name: str, storage: Int8) -> None:
    largest = np.finfo(np.float32).max
    x = np.array([[largest, -largest], [-largest, 1.0], [0.5 * largest, largest]], np.float32)
    assert storage.max_finite == largest
    assert np.isfinite(storage.variance(x)).all()
    words = packed(name, x)
    assert np.isfinite(storage.decode(words, 3, 2)).all()
    assert not any(mask.any() for _, mask in storage.wrong(words, x, own))


def changed(words: NDArray[np.uint32], at: int, value: int) -> NDArray[np.uint32]:
    other = words.copy()
    other[at] = np.uint32(value)
    return other


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_a_step_off_is_found_where_it_is(name: str, storage: Int8) -> None:
    x = data(8, 8)
    words = packed(name, x)
    off = words.copy()
    off[0] ^= np.uint32(3 << 2)  # a code by 4 or so
    (found,) = (np.argwhere(mask) for _, mask in storage.wrong(off, x, own))
    assert found.tolist() == [[0, 0]]


@pytest.mark.parametrize("factor", [1 + 2.0**-20, 0.9985, 0.0, math.nan, math.inf, -1.0])
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_a_scale_that_is_off_marks_all_it_scales(name: str, storage: Int8, factor: float) -> None:
    x = data(8, 8)
    words = packed(name, x)
    at = {"b": 17, "a": 17, "q4": 33}[name]  # the second column's, or row's
    with np.errstate(all="ignore"):
        scale = words[at : at + 1].view(np.float32)[0] * np.float32(factor)
        (mask,) = (
            mask for _, mask in storage.wrong(changed(words, at, bits(float(scale))), x, own)
        )
    expected = np.zeros((8, 8), bool)
    if name == "a":
        expected[1] = True
    else:
        expected[:, 1] = True
    assert np.array_equal(mask, expected)


@pytest.mark.parametrize("zero", [-1.0, 2.5, 16.0, math.nan])
def test_a_zero_point_is_a_whole_number_of_0_to_15(zero: float) -> None:
    x = data(8, 8)
    words = changed(packed_q4(x), 6 * 8 - 8, bits(zero))
    (mask,) = (mask for _, mask in Q4.wrong(words, x, own))
    assert mask[:, 0].all()
    assert not mask[:, 1:].any()


def test_an_ulp_or_two_of_the_scale_are_rounding() -> None:
    x = data(8, 8)
    words = packed_int8(x, rows=False)
    (mask,) = (mask for _, mask in B_INT8.wrong(changed(words, 17, int(words[17]) + 2), x, own))
    assert not mask.any()
    (mask,) = (mask for _, mask in B_INT8.wrong(changed(words, 17, int(words[17]) + 3), x, own))
    assert mask[:, 1].all()


@pytest.mark.parametrize("storage", [B_INT8, A_INT8])
def test_minus_128_is_no_code(storage: Int8) -> None:
    x = np.full((1, 1), -1.0, np.float32)
    words = packed_int8(x, rows=True)
    assert words[0] == 0x81
    (mask,) = (mask for _, mask in storage.wrong(changed(words, 0, 0x80), x, own))
    assert mask.all()


@settings(deadline=None, max_examples=50)
@given(
    values=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=70),
    case=st.sampled_from(CASES),
)
def test_any_values_are_within_half_a_step(values: list[float], case: tuple[str, Int8]) -> None:
    name, storage = case
    x = np.array(values, np.float32)[:, None]
    x = x.T.copy() if name == "a" else x
    words = packed(name, x)
    assert not any(mask.any() for _, mask in storage.wrong(words, x, own))


def test_groups_cover_every_unit() -> None:
    assert [B_INT8.groups(5, n) for n in (1, 64, 65)] == [1, 1, 2]
    assert [A_INT8.groups(m, 5) for m in (1, 64)] == [1, 64]
    assert [Q4.groups(k, 32) for k in (1, 32, 64, 65)] == [1, 1, 1, 2]


def test_what_they_are_named_and_hold() -> None:
    assert [s.name for s in (B_INT8, A_INT8, Q4)] == ["int8-packed", "int8-packed", "q4-block32"]
    for storage, whole in ((B_INT8, 127), (A_INT8, 127), (Q4, 15)):
        assert (storage.packed, storage.quantized, storage.max_exact_int) == (True, True, whole)
        x = np.array([[whole, 1.0], [0.0, whole]], np.float32)
        words = packed({id(B_INT8): "b", id(A_INT8): "a"}.get(id(storage), "q4"), x)
        assert np.array_equal(storage.decode(words, 2, 2), x)
