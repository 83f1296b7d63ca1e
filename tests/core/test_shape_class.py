"""Buckets: each size is in one, and what a verdict holds for is said with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygate.core.shape import Shape
from tinygate.core.shape_class import Bucket, bucket, bucket_of_rows, class_of

SIZES = st.integers(1, 2**32 - 1)


@pytest.mark.parametrize(
    ("M", "words"),
    [
        *((1, "1"), (2, "2–8"), (8, "2–8"), (9, "9–32"), (33, "33–128"), (128, "33–128")),
        *((129, "129–512"), (512, "129–512"), (513, "513–2048"), (2049, "2049–8192")),
    ],
)
def test_buckets_of_rows(M: int, words: str) -> None:
    assert str(bucket_of_rows(M)) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1"),
        (2, "2"),
        (3, "3–4"),
        (4, "3–4"),
        (5, "5–8"),
        (128, "65–128"),
        (50257, "32769–65536"),
    ],
)
def test_buckets_of_k_and_n(size: int, words: str) -> None:
    assert str(bucket(size)) == words


@given(SIZES)
def test_a_size_is_in_its_bucket_and_every_size_of_it_has_the_same(size: int) -> None:
    for find in (bucket, bucket_of_rows):
        found = find(size)
        assert size in found
        assert {find(found.low), find(found.high)} == {found}
        assert find(found.high + 1).low == found.high + 1


def test_a_class_says_what_it_holds_for() -> None:
    found = class_of("main", Shape(64, 128, 5000))
    assert found.sizes == "M 33–128, K 65–128, N 4097–8192"
    assert str(found) == f"main · {found.sizes}"
    assert found.axis("K") == Bucket(65, 128)
    assert found == class_of("main", Shape(33, 65, 8192, "named"))
    assert found != class_of("main ROWS=3", Shape(64, 128, 5000))
