"""The exact families of quantized paths: scales of 1, bounds, every k live, every code there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.numerics.inputs.generate import exact_sum, generate
from tinygate.numerics.inputs.quantized import every_code
from tinygate.numerics.matmul64 import largest_product
from tinygate.numerics.quantized import Q4, Int8
from tinygate.paths.builtin import REFERENCE

F32 = NDArray[np.float32]
INT8 = replace(REFERENCE, name="int8", a="int8-packed", b="int8-packed", accumulate="i32")
WEIGHTS = replace(REFERENCE, name="int8-weights", b="int8-packed")
ACTIVATIONS = replace(REFERENCE, name="int8-activations", a="int8-packed", b="f16-packed")
BLOCKS = replace(REFERENCE, name="q4", b="q4-block32")
BOTH = replace(REFERENCE, name="q4-int8", a="int8-packed", b="q4-block32")
HALF = replace(REFERENCE, name="q4-f16", b="q4-block32", accumulate="f16")
HALF_WEIGHTS = replace(REFERENCE, name="int8-f16", b="int8-packed", accumulate="f16")
PATHS = (INT8, WEIGHTS, ACTIVATIONS, BLOCKS, BOTH, HALF, HALF_WEIGHTS)
INT8_A, INT8_B, Q4_B = Int8("rows"), Int8("columns"), Q4()


def products(family: str, shape: Shape, path: FastPath, seed: int = 0) -> list[tuple[F32, F32]]:
    return [(A, w.B) for w in generate(family, shape, path, seed) for A in w.activations()]


def check(path: FastPath, M: int, K: int, N: int, seed: int) -> list[tuple[F32, F32]]:
    """Everything gate.md says of the integer family, of paths whose scales are forced to 1."""
    passes = products("integer", Shape(M, K, N), path, seed)
    live = np.zeros(K, bool)
    for A, B in passes:
        assert A.dtype == B.dtype == np.float32
        assert np.array_equal(A, np.trunc(A))
        assert np.array_equal(B, np.trunc(B))
        assert np.abs(A).min() >= 1
        assert largest_product(A, B) <= exact_sum(path)
        if path.a == "int8-packed":
            assert (INT8_A.declared(A) == 1).all()
        if path.b == "int8-packed":
            assert (INT8_B.declared(B) == 1).all()
        if path.b == "q4-block32":
            assert (Q4_B.declared(B) == 1).all()
            assert (np.abs(B) <= 15).all()
        live |= (B != 0).all(axis=1)
    assert live.all(), "a dropped k shows"
    return passes


@given(
    M=st.integers(1, 9),
    K=st.integers(1, 400),
    N=st.integers(1, 9),
    path=st.sampled_from(PATHS),
    seed=st.integers(0, 1000),
)
@settings(max_examples=80, deadline=None)
@example(1, 1, 1, INT8, 0)
@example(1, 1, 1, BLOCKS, 0)
@example(2, 33, 3, BLOCKS, 0)
@example(2, 33, 3, HALF, 0)
@example(2, 400, 3, HALF, 0)
def test_integer(M: int, K: int, N: int, path: FastPath, seed: int) -> None:
    check(path, M, K, N, seed)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
@pytest.mark.parametrize("K", [1041, 5000, 60_000])
def test_integer_with_much_k(path: FastPath, K: int) -> None:
    passes = check(path, 2, K, 3, 0)
    assert len(passes) == 1 or exact_sum(path) == 2**11


def test_integer_uses_every_int8_where_the_bound_is_far() -> None:
    ((A, B),) = products("integer", Shape(64, 128, 128), INT8)
    whole = set(range(-127, 128)) - {0}
    assert set(A.ravel()) == set(B.ravel()) == whole


def test_integer_uses_every_code_and_zero_point() -> None:
    ((_, B),) = products("integer", Shape(4, 128, 128), BLOCKS)
    assert set(B.ravel()) == set(range(-15, 16)) - {0}


@pytest.mark.parametrize("name", ["A", "B", "q4"])
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (33, 65), (130, 64)])
def test_every_code(name: str, rows: int, cols: int) -> None:
    storage: Int8 | Q4 = INT8_A if name == "A" else INT8_B if name == "B" else Q4_B
    x = every_code(np.random.default_rng(0), rows, cols, storage.name, by_rows=name == "A")
    assert x.shape == (rows, cols)
    assert np.isfinite(x).all()
    if rows < 33:
        return
    scale = storage.declared(x)
    if name == "q4":
        scale = np.repeat(scale, 32, axis=0)[:rows]
    steps = x / (scale[:, None] if name == "A" else scale)
    if rows > 33:
        whole = set(np.rint(steps).ravel().astype(int))
        assert whole >= set(range(-14, 15)) if name == "q4" else whole == set(range(-127, 128))
    assert (np.abs(np.abs(steps % 1) - 0.5) < 1e-3).any()
    assert ((x == 0) & np.signbit(x)).any()
    assert ((x == 0) & ~np.signbit(x)).any()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_identity_holds_every_code_on_either_side(path: FastPath) -> None:
    shape = Shape(17, 33, 65)
    pairs = products("identity", shape, path)
    one_hot = [(A, B) for A, B in pairs if ((A == 1).sum(axis=1) == 1).all()]
    mirrored = [(A, B) for A, B in pairs if ((B == 1).sum(axis=0) == 1).all()]
    assert len(one_hot) + len(mirrored) == len(pairs)
    B, A = one_hot[0][1], mirrored[0][0]
    assert len(np.unique(np.abs(B))) > 500
    assert len(np.unique(np.abs(A))) > 250
    for storage, x in ((A_FORMATS[path.a], A), (FORMATS[path.b], B)):
        assert np.abs(x).max() <= storage.max_finite
