"""Products a block at a time equal products at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tinygate.numerics import matmul64
from tinygate.numerics.arrays import Values
from tinygate.numerics.matmul64 import largest_product, magnitude, product

SIZES = st.integers(1, 23)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks so small that every case here has several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matmul64, "SIDE", 4)
        patch.setattr(matmul64, "DEPTH", 3)
        yield


@given(M=SIZES, N=st.integers(1, 60))
def test_blocks_cover_c_once_and_are_small(M: int, N: int) -> None:
    seen = np.zeros((M, N), int)
    for block in matmul64.blocks(M, N):
        part = seen[block]
        assert 1 <= part.size <= 16
        part += 1
    assert (seen == 1).all()


def test_real_blocks_stay_within_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul64, "SIDE", 512)
    for M, N in ((1, 50257), (4, 50257), (513, 1025), (50257, 1), (4096, 4096)):
        for rows, cols in matmul64.blocks(M, N):
            assert (rows.stop - rows.start) * (cols.stop - cols.start) <= 512 * 512
            assert cols.stop - cols.start <= 1024


def operands(M: int, K: int, N: int, seed: int, half: bool) -> tuple[Values, Values]:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(M, K)).astype(np.float32)
    B = rng.normal(size=(K, N)).astype(np.float32)
    return A, B.astype(np.float16) if half else B


def same(found: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@given(M=SIZES, K=SIZES, N=SIZES, seed=st.integers(0, 99), half=st.booleans())
@settings(max_examples=50)
def test_products_and_magnitudes(M: int, K: int, N: int, seed: int, half: bool) -> None:
    A, B = operands(M, K, N, seed, half)
    a, b = A.astype(np.float64), B.astype(np.float64)
    absolute = np.abs(a) @ np.abs(b)
    for block in matmul64.blocks(M, N):
        same(product(A, B, block), (a @ b)[block])
        same(magnitude(A, B, block, "abs"), absolute[block])
        G = np.sqrt((a * a) @ (b * b))
        same(magnitude(A, B, block, "G"), G[block])
        mapped = product(A, B, block, np.abs, np.negative)
        same(mapped, (np.abs(a) @ -b)[block])
    assert largest_product(A, B) == pytest.approx(absolute.max(), rel=1e-13)


def test_squares_are_taken_after_widening() -> None:
    A, B = np.full((1, 1), 1e30, np.float32), np.full((1, 1), 6e4, np.float16)
    (block,) = matmul64.blocks(1, 1)
    assert magnitude(A, B, block, "G")[0, 0] == pytest.approx(1e30 * 6e4, rel=1e-3)
