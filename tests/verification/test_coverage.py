"""What a class is measured at beside the shape asked for: wide, ragged, thin, and never equal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry, Steps
from tinygate.core.shape import SUITES, Shape
from tinygate.paths.builtin import BUILTIN
from tinygate.verification.coverage import RUNS, companions

PATH = BUILTIN[0]
SIZES = st.integers(1, 70_000)
SHAPES = st.builds(Shape, st.integers(1, 3000), SIZES, SIZES)
STEPS = st.tuples(*[st.sampled_from([1, 2, 4, 16])] * 3)


def shapes(path: FastPath, shape: Shape) -> list[Shape]:
    return list(dict.fromkeys(one.shape for one in companions(path, shape)))


@settings(deadline=None)
@given(SHAPES, STEPS)
def test_they_are_of_the_class_and_fit_the_path(shape: Shape, steps: tuple[int, int, int]) -> None:
    path = replace(PATH, multiple_of=steps)
    asked = path.fitting(shape)
    for one in shapes(path, asked):
        assert path.shape_class(one) == path.shape_class(asked)
        assert path.shape_mismatch(one) is None


@settings(deadline=None)
@given(SHAPES, SHAPES)
def test_one_class_has_one_set_of_them(one: Shape, other: Shape) -> None:
    """Whoever asks first, verify or GpuOps, at whatever shape of the class."""
    same = PATH.shape_class(one) == PATH.shape_class(other)
    assert not same or companions(PATH, one) == companions(PATH, other)


@pytest.mark.parametrize("text", ["64x128x128", "40x100x70", "300x600x600", "200x128x128"])
def test_every_axis_is_wide_once_with_a_ragged_last_workgroup(text: str) -> None:
    shape = Shape.parse(text)
    entry, found = PATH.entry(shape), shapes(PATH, shape)
    bucket = PATH.shape_class(shape)
    rows, cols = max(one.M for one in found), max(one.N for one in found)
    assert rows > 2 * entry.rows or rows > bucket.M.high - 4
    assert cols > 2 * entry.cols or cols > bucket.N.high - 4
    assert rows % entry.rows
    assert cols % entry.cols
    assert max(one.K for one in found) >= bucket.K.high - 3


@pytest.mark.parametrize("text", ["64x128x128", "17x33x65", "200x5000x300", "9x65x1000"])
def test_the_residues_that_nobody_asks_for(text: str) -> None:
    found = shapes(PATH, Shape.parse(text))
    for axis in "MKN":
        assert {getattr(one, axis) % 4 for one in found} >= {1, 2, 3}
    assert all(len({one.M, one.K, one.N}) == 3 for one in found)


def test_a_dispatch_by_axes_says_how_much_a_workgroup_takes() -> None:
    entry = Entry("main", axes=(Steps("N", 16), Steps("M", 8)))
    found = shapes(replace(PATH, entries=(entry,)), Shape(64, 128, 128))
    assert max(one.M for one in found) >= 2 * 8 + 1
    assert max(one.N for one in found) >= 2 * 16 + 1


def test_an_axis_that_a_constant_is_made_of_stays() -> None:
    assert {one.M for one in shapes(PATH, Shape(5, 64, 64))} == {5}
    (only,) = shapes(PATH, Shape(1, 1, 1))
    assert only == Shape(1, 1, 1)


@pytest.mark.parametrize("text", ["64x128x128", "1x256x50257", "1x1x1"])
def test_chance_is_looked_for_at_the_smallest(text: str) -> None:
    found = companions(PATH, Shape.parse(text))
    size = {one.shape: one.shape.M * one.shape.K + one.shape.K * one.shape.N for one in found}
    often = [one for one in found if one.runs == RUNS]
    assert len(often) == 1
    assert size[often[0].shape] == min(size.values())
    secret = [one for one in found if one.seed is not None]
    assert [one.family for one in secret] == ["uniform"]
    other = replace(PATH, accumulate="f16")
    assert secret[0].seed != next(o.seed for o in companions(other, often[0].shape) if o.seed)


def test_they_cost_less_than_the_suites_they_are_for() -> None:
    """Elements to draw, pack and multiply, of every class of the larger suites."""

    def cost(shape: Shape) -> int:
        return shape.M * shape.K + shape.K * shape.N + shape.M * shape.N

    asked = [shape for name in ("inference", "training", "head") for shape in SUITES[name]]
    for shape in asked:
        assert sum(map(cost, shapes(PATH, shape))) < 1.6 * 4 * cost(shape)
