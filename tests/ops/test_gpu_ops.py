"""GpuOps: no path runs before its verdict, without one, or against one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import faults
import numpy as np
import pytest

from tinygate.core.errors import DeviceError, PackingRefusedError, ShapeError, TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import PathResult, Report
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gpu.engines.base import Device
from tinygate.numerics.arrays import F32
from tinygate.ops import background
from tinygate.ops.gpu_ops import GATE_SHAPE, GpuOps
from tinygate.paths.builtin import BUILTIN
from tinygate.report.gate_line import case_line, path_line
from tinygate.verification.plan import Plan
from tinygate.verification.verify import verify_plan

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gpu_ops")]

STORAGE = BUILTIN[0]
Verify = Callable[[Plan], Report]
REAL: Verify = verify_plan


def called_storage(path: FastPath) -> FastPath:
    """Another path under the name that GpuOps uses for packed weights."""
    return replace(path, name=STORAGE.name, pill=STORAGE.pill)


@pytest.fixture
def create(device: Device) -> Iterator[Callable[..., GpuOps]]:
    """GpuOps.create, closed at the end. Needs an adapter, hence the device."""
    opened = []

    def make(*paths: FastPath, shape: Shape = GATE_SHAPE) -> GpuOps:
        opened.append(GpuOps.create(paths=paths or (STORAGE,), shape=shape))
        return opened[-1]

    yield make
    for ops in opened:
        ops.close()


@pytest.fixture(scope="module")
def settled(device: Device) -> Iterator[GpuOps]:
    """Its gate has passed f16-storage; for tests that only compute."""
    with GpuOps.create() as ops:
        assert settle(ops.f16_ready).active
        yield ops


class Held:
    """verify_plan, which waits until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.plans: list[Plan] = []

    def __call__(self, plan: Plan) -> Report:
        self.plans.append(plan)
        assert self.go.wait(60)
        return REAL(plan)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    gate = Held()
    monkeypatch.setattr(background, "verify_plan", gate)
    yield gate
    gate.go.set()


def operands(M: int, K: int, N: int) -> tuple[F32, F32]:
    rng = np.random.default_rng(7)
    A = rng.uniform(-0.2, 0.2, (M, K)).astype(np.float32)
    return A, rng.uniform(-0.2, 0.2, (K, N)).astype(np.float32)


def products(ops: GpuOps, M: int = 64, K: int = 128, N: int = 128) -> tuple[F32, F32]:
    """The same product by matmul, which is always f32, and by matmul_f16_weight."""
    A, B = operands(M, K, N)
    return ops.matmul(A, B).numpy(), ops.matmul_f16_weight(A, ops.pack_to_f16(B)).numpy()


def same_bits(x: F32, y: F32) -> bool:
    return np.array_equal(x.view(np.uint32), y.view(np.uint32))


def settle(verdict: Future[PathResult]) -> PathResult:
    return verdict.result(timeout=120)


def test_nothing_is_active_before_the_gate_has_settled(
    create: Callable[..., GpuOps], held: Held
) -> None:
    ops = create()
    assert not ops.f16_ready.done()
    assert not ops.active
    assert not ops.active_classes
    assert same_bits(*products(ops))
    held.go.set()
    verdict = settle(ops.f16_ready)
    assert verdict.active
    assert ops.active == (STORAGE.name,)
    assert ops.active_classes == ((STORAGE.name, STORAGE.shape_class(GATE_SHAPE)),)


def test_an_active_path_computes_what_it_should(settled: GpuOps) -> None:
    A, B = operands(64, 128, 128)
    plain, packed = products(settled)
    stored = A.astype(np.float64) @ B.astype(np.float16).astype(np.float64)
    assert not same_bits(plain, packed)
    assert np.abs(packed - stored).max() < 1e-6
    assert np.abs(plain - A.astype(np.float64) @ B).max() < 1e-6
    assert np.abs(packed - plain).max() < 0.01 * np.abs(plain).mean()


@pytest.mark.parametrize("fault", ["bias_1e4", "halves_swapped", "pack_scaled"])
def test_a_wrong_path_never_becomes_active(create: Callable[..., GpuOps], fault: str) -> None:
    ops = create(called_storage(faults.fault(fault).path))
    verdict = settle(ops.f16_ready)
    assert verdict.status is Status.FAIL
    assert path_line(verdict) == "[ops] f16-storage gate verdict: FAIL — falling back to f32"
    assert not ops.active
    assert same_bits(*products(ops))


@pytest.mark.parametrize("fault", ["odd_row_short", "pack_odd_n_shifted"])
def test_a_path_that_is_right_at_the_gates_shape_alone(
    create: Callable[..., GpuOps], fault: str
) -> None:
    """Its class holds odd shapes too, so it is not active for the class."""
    ops = create(called_storage(faults.fault(fault).path))
    assert settle(ops.f16_ready).status is Status.FAIL
    assert STORAGE.shape_class(Shape(63, 127, 127)) == STORAGE.shape_class(GATE_SHAPE)
    assert same_bits(*products(ops, 63, 127, 127))


def test_a_kernel_that_does_not_compile_is_never_active(
    create: Callable[..., GpuOps], tmp_path: Path
) -> None:
    kernel = tmp_path / "broken.wgsl"
    kernel.write_text("not WGSL", encoding="utf-8")
    ops = create(replace(STORAGE, kernel=str(kernel)))
    verdict = settle(ops.f16_ready)
    assert verdict.status is Status.ERROR
    assert "broken.wgsl" in verdict.reason
    assert not ops.active
    assert same_bits(*products(ops))


def test_a_class_nobody_verified_runs_f32_until_its_gate_has_settled(
    create: Callable[..., GpuOps], held: Held
) -> None:
    held.go.set()
    ops = create()
    assert settle(ops.f16_ready).active
    assert ops.active_classes == ((STORAGE.name, STORAGE.shape_class(GATE_SHAPE)),)
    held.go.clear()
    large = Shape(64, 300, 128)
    assert STORAGE.shape_class(large) != STORAGE.shape_class(GATE_SHAPE)
    assert same_bits(*products(ops, large.M, large.K, large.N))
    assert not same_bits(*products(ops))
    verdict = ops.verdict(STORAGE.name, large)
    assert not verdict.done()
    held.go.set()
    assert settle(verdict).active
    assert not same_bits(*products(ops, large.M, large.K, large.N))
    # The first product started its gate, and asking again started no other.
    assert [plan.shapes[0] for plan in held.plans] == [GATE_SHAPE, large]


def test_the_same_gate_serves_its_whole_class(create: Callable[..., GpuOps], held: Held) -> None:
    held.go.set()
    ops = create()
    settle(ops.f16_ready)
    for shape in (Shape(64, 65, 100), Shape(33, 128, 65)):
        assert ops.verdict(STORAGE.name, shape) is ops.f16_ready
    row = ops.verdict(STORAGE.name, Shape(1, 128, 128))
    assert row is not ops.f16_ready
    settle(row)
    assert len(held.plans) == 2


def test_the_gate_runs_where_its_device_is(create: Callable[..., GpuOps], held: Held) -> None:
    held.go.set()
    ops = create()
    settle(ops.f16_ready)
    (plan,) = held.plans
    assert plan.engines == (ops.adapter.engine,)
    assert plan.adapter == str(ops.adapter.index)
    assert plan.paths == (STORAGE,)


def test_a_verdict_of_another_adapter_is_void(
    create: Callable[..., GpuOps], monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(plan: Plan) -> Report:
        report = REAL(plan)
        assert report.platforms[0].adapter is not None
        assert report.paths[0].active
        (here,) = report.platforms
        assert here.adapter is not None
        there = replace(here, adapter=replace(here.adapter, driver="another"))
        return replace(report, platforms=(there,))

    monkeypatch.setattr(background, "verify_plan", elsewhere)
    ops = create()
    verdict = settle(ops.f16_ready)
    assert verdict.status is Status.ERROR
    assert "another adapter" in path_line(verdict)
    assert not ops.active
    assert same_bits(*products(ops))


@pytest.mark.parametrize(
    "changes",
    [{"families": ("uniform", "positive", "integer")}, {"filter": "uniform"}],
    ids=str,
)
def test_fewer_families_do_not_activate(
    create: Callable[..., GpuOps], monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    monkeypatch.setattr(background, "verify_plan", lambda plan: REAL(replace(plan, **changes)))
    ops = create()
    verdict = settle(ops.f16_ready)
    assert verdict.status is Status.PASS
    assert not verdict.active
    assert not ops.active
    assert same_bits(*products(ops))


@pytest.mark.parametrize("error", [DeviceError("device lost", "run again"), ValueError("oh")])
def test_a_gate_that_breaks_settles_as_an_error(
    create: Callable[..., GpuOps], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(_: Plan) -> Report:
        raise error

    monkeypatch.setattr(background, "verify_plan", broken)
    ops = create()
    verdict = settle(ops.f16_ready)
    assert verdict.status is Status.ERROR
    assert str(error) in verdict.reason
    assert "falling back to f32" in path_line(verdict)
    assert not ops.active
    assert same_bits(*products(ops))


def test_the_lines_are_logged(
    create: Callable[..., GpuOps], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tinygate.ops")
    verdict = settle(create().f16_ready)
    lines = [record.getMessage() for record in caplog.records if record.name == "tinygate.ops"]
    cases = [case_line(case, single_shape=True) for case in verdict.cases]
    assert lines == [*cases, path_line(verdict)]
    assert path_line(verdict).startswith(
        "[ops] f16-storage gate verdict: PASS — f16-storage path active · M 33–128"
    )
    assert any(line.startswith("[ops] f16-storage gate: mean|ref|=") for line in lines)


def test_after_close_nothing_is_left_open(create: Callable[..., GpuOps], held: Held) -> None:
    ops = create()
    running = ops.f16_ready
    waiting = ops.verdict(STORAGE.name, Shape(1, 128, 128))
    ops.close()
    late = ops.verdict(STORAGE.name, Shape(1, 1024, 128))
    held.go.set()
    for verdict in (running, waiting, late):
        settled = settle(verdict)
        assert settled.status is Status.ERROR
        assert "closed" in path_line(settled)
    assert not ops.active
    assert len(held.plans) <= 1
    with pytest.raises(TinygateError):
        ops.matmul(*operands(2, 3, 4))
    ops.close()


def test_closing_one_leaves_another(create: Callable[..., GpuOps]) -> None:
    first, second = create(), create()
    with first:
        settle(first.f16_ready)
    assert settle(second.f16_ready).active
    plain, packed = products(second)
    assert np.abs(packed - plain).max() < 0.01 * np.abs(plain).mean()


@pytest.mark.parametrize("shape", [(1, 5, 3), (3, 257, 129), (17, 33, 65)])
def test_ragged_products(create: Callable[..., GpuOps], shape: tuple[int, int, int]) -> None:
    ops = create(shape=Shape(*shape))
    assert settle(ops.f16_ready).active
    A, B = operands(*shape)
    plain, packed = products(ops, *shape)
    assert np.abs(plain - A.astype(np.float64) @ B).max() < 1e-6
    assert np.abs(packed - A.astype(np.float64) @ B.astype(np.float16)).max() < 1e-6


def test_tensors_are_taken_as_they_are(settled: GpuOps) -> None:
    ops = settled
    A, B = operands(3, 5, 7)
    left, right = ops.tensor(A), ops.tensor(B)
    assert same_bits(left.numpy(), A)
    assert same_bits(ops.matmul(left, right).numpy(), ops.matmul(A, B).numpy())
    assert np.asarray(ops.matmul(left, right)).shape == (3, 7)
    packed = ops.pack_to_f16(right)
    assert packed.shape == (5, 7)
    assert ops.matmul_f16_weight(left, packed).shape == (3, 7)


def test_wrong_shapes(settled: GpuOps) -> None:
    ops = settled
    A, B = operands(3, 5, 7)
    packed = ops.pack_to_f16(B)
    for call in (
        lambda: ops.matmul(A, A),
        lambda: ops.matmul_f16_weight(A.T, packed),
        lambda: ops.tensor(np.ones(3)),
        lambda: ops.tensor(np.ones((0, 3))),
        lambda: ops.matmul(A[0], B),
        lambda: ops.pack_to_f16(np.ones((2, 2, 2))),
    ):
        with pytest.raises(ShapeError) as raised:
            call()
        assert raised.value.hint
    with pytest.raises(ShapeError, match="A is 3x5 and B is 3x5"):
        ops.matmul(A, A)


@pytest.mark.parametrize(
    ("value", "says"), [(7e4, "7.0e4"), (-65520.0, "-6.6e4"), (np.inf, "inf"), (np.nan, "nan")]
)
def test_a_weight_that_f16_cannot_hold(settled: GpuOps, value: float, says: str) -> None:
    B = np.ones((9, 13), np.float32)
    B[3, 5] = value
    B[8, 12] = 1e9
    with pytest.raises(PackingRefusedError) as raised:
        settled.pack_to_f16(B)
    assert raised.value.message == (f"refused: B[3,5]={says} and 1 more, over the format's 65504")
    B[B != 1] = 65504
    assert settled.pack_to_f16(B).shape == (9, 13)


def test_no_adapter() -> None:
    code = (
        "from tinygate.ops import GpuOps\n"
        "from tinygate.core.errors import NoAdapterError\n"
        "try: GpuOps.create()\n"
        "except NoAdapterError as error: print(error.render())\n"
    )
    names = ("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **dict.fromkeys(names, os.devnull)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("tinygate: no WebGPU adapter")


def test_a_path_is_gated_where_its_class_is_not_like_the_shape(
    create: Callable[..., GpuOps],
) -> None:
    """Right in a single tile and wrong in the second: active for the class of single tiles alone,
    and never used for another."""
    ops = create(called_storage(faults.fault("tiles_counted_down").path), shape=Shape(7, 33, 7))
    assert settle(ops.ready(STORAGE.name)).active
    wrong = settle(ops.verdict(STORAGE.name, Shape(7, 33, 9)))
    assert wrong.status is Status.FAIL
    assert "written" in wrong.reason
    product = ops.matmul(np.ones((7, 33), np.float32), np.ones((33, 9), np.float32))
    assert product.path == "f32"
    assert (product.numpy() == 33).all()
