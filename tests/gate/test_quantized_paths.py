"""int8-dot4 and q4-block32 on a device: right at every edge, and rejected for what they store."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from runs import Run
from test_cases import Limited

from tinygate.core.errors import PackingRefusedError
from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gate.products import Harness
from tinygate.gpu.dispatch import Runner
from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.paths.builtin import BUILTIN
from tinygate.paths.registry import registered, select

pytestmark = pytest.mark.slow

PATHS = {path.name: path for path in BUILTIN}
INT8, Q4 = PATHS["int8-dot4"], PATHS["q4-block32"]
BOTH = pytest.mark.parametrize("path", [INT8, Q4], ids=lambda path: path.name)

# Every tail of a word of four and of eight, of a block, of a tile of 64 and of 16 k; M around 8.
SHAPES = [
    *(f"{M}x{K}x{N}" for M, K, N in zip(range(1, 10), range(1, 10), range(9, 0, -1), strict=True)),
    *("8x31x33", "9x32x33", "1x33x1", "5x63x7", "9x65x127", "64x16x64", "65x17x65", "66x127x3"),
    *("2x129x31", "63x7x129", "7x1000x5", "10x1001x6"),
]
CONFORMING = [name for name, family in FAMILIES.items() if not family.activation]


def test_they_are_opt_in() -> None:
    assert INT8.opt_in
    assert Q4.opt_in
    assert not {INT8, Q4} & set(select((), registered()))
    assert select(("q4-block32",), registered()) == (Q4,)


@BOTH
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("family", ["integer", "identity", "cancel"])
def test_right_at_every_edge(run: Run, path: FastPath, shape: str, family: str) -> None:
    result = run(path, shape, family)
    assert result.status is Status.PASS, result.reason


@BOTH
@pytest.mark.parametrize("shape", ["3x257x129", "17x33x65"])
@pytest.mark.parametrize("family", [*CONFORMING, "zero"])
def test_every_family_that_asks_for_conformance_alone_passes(
    run: Run,
    path: FastPath,
    shape: str,
    family: str,
) -> None:
    result = run(path, shape, family)
    assert result.status is Status.PASS, result.reason


@BOTH
@pytest.mark.parametrize("shape", ["3x257x129", "64x128x128"])
@pytest.mark.parametrize("family", ["uniform", "normal"])
def test_the_activation_check_alone_rejects_them(
    run: Run,
    path: FastPath,
    shape: str,
    family: str,
) -> None:
    result = run(path, shape, family)
    assert result.status is Status.FAIL
    failing = {check.name for check in result.checks if check.status is Status.FAIL}
    assert failing == {"max_abs", "mean_rel"}
    (nmse,) = (one for one in result.comparisons if one.name == "nmse")
    assert 0.8 < nmse.ratio < 1.25, "what rejects them is what they store"
    assert not result.warnings
    assert result.failure is not None
    assert result.failure.want != result.failure.got


@BOTH
@pytest.mark.parametrize("family", ["integer", "identity", "outlier"])
def test_columns_are_packed_whole_where_b_is_more_than_may_be_bound(
    run: Run,
    path: FastPath,
    family: str,
) -> None:
    B = np.zeros((130, 1025), np.float32)
    limit = 4 * FORMATS[path.b].words(*B.shape) + 256
    harness = Harness(Runner(Limited(run.harness.device, limit)))
    assert harness.weights([B]) is None
    result = run(path, Shape(5, *B.shape), family, harness=harness)
    assert result.status is Status.PASS, result.reason


def device_f16(_: slice) -> NDArray[np.float16]:
    raise AssertionError("the adapter's f16 says nothing about these")


@pytest.mark.parametrize("operand", ["A", "B"])
@BOTH
def test_the_device_packs_as_the_host_reads(harness: Harness, path: FastPath, operand: str) -> None:
    x = np.random.default_rng(0).normal(0.1, 1, (70, 33)).astype(np.float32)
    x[:, 5] = 0
    x[3] = 1e-42
    if operand == "B":
        stored = harness.pack(path, Shape(9, 70, 33), harness.weights([x, x]), [x, x])
        storage = FORMATS[path.b]
    else:
        stored = harness.pack_a(INT8, Shape(70, 33, 9), harness.activations([x, x]), [x, x])
        storage = A_FORMATS[INT8.a]
    assert not stored.past
    for words in stored.words:
        assert not any(mask.any() for _, mask in storage.wrong(words, x, device_f16))
        assert not storage.padding(words, 70, 33).any()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@BOTH
def test_what_is_not_finite_is_refused(harness: Harness, path: FastPath, bad: float) -> None:
    B = np.ones((130, 257), np.float32)
    B[129, 256] = B[7, 200] = bad
    with pytest.raises(PackingRefusedError, match=r"refused: B\[7,200\]=.* and 1 more"):
        harness.pack(path, Shape(1, 130, 257), harness.weights([B]), [B])


def test_an_activation_that_is_not_finite_is_refused_by_its_name(harness: Harness) -> None:
    A = np.ones((9, 257), np.float32)
    A[8, 3] = np.inf
    with pytest.raises(PackingRefusedError, match=r"refused: A\[8,3\]=inf"):
        harness.pack_a(INT8, Shape(9, 257, 1), harness.activations([A]), [A])


def test_a_k_over_the_bound_of_an_i32_is_a_skip(run: Run) -> None:
    result = run(INT8, "1x133145x1")
    assert result.status is Status.SKIP
    assert "an i32 sum of int8 products is exact up to K=133144" in result.reason
