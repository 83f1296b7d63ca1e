"""GpuOps' chain of fallbacks: the fastest active path runs, per shape class."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import drivers
import faults
import numpy as np
import pytest

from tinygate.core.errors import UnknownNameError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import Report
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.engines.base import Device
from tinygate.numerics.arrays import F32
from tinygate.ops import background
from tinygate.ops.gpu_ops import GATE_SHAPE, GpuOps
from tinygate.paths.builtin import BUILTIN
from tinygate.report.gate_line import path_line
from tinygate.verification.plan import Plan
from tinygate.verification.verify import verify_plan

pytestmark = pytest.mark.slow

STORAGE = BUILTIN[0]
MIDDLE = replace(STORAGE, name="middle", fallback=STORAGE.name)
FASTEST = replace(STORAGE, name="fastest", fallback="middle", depends_on=STORAGE.name)
WRONG = faults.fault("bias_1e4").path
REAL = verify_plan
Create = Callable[..., GpuOps]


@pytest.fixture
def create(device: Device) -> Iterator[Create]:
    opened: list[GpuOps] = []

    def make(*paths: FastPath) -> GpuOps:
        opened.append(GpuOps.create(paths=paths))
        return opened[-1]

    yield make
    for ops in opened:
        ops.close()


def operands(M: int) -> tuple[F32, F32]:
    rng = np.random.default_rng(3)
    A = rng.uniform(-0.2, 0.2, (M, 128)).astype(np.float32)
    return A, rng.uniform(-0.2, 0.2, (128, 96)).astype(np.float32)


def runs_on(ops: GpuOps, M: int = 64) -> str:
    """The path that computes a product, which must be right whichever it is."""
    A, B = operands(M)
    y = ops.matmul_f16_weight(A, ops.pack_to_f16(B))
    held = B if y.path == "f32" else B.astype(np.float16)
    assert np.abs(y.numpy() - A.astype(np.float64) @ held.astype(np.float64)).max() < 1e-6
    return y.path


def settle(ops: GpuOps, *names: str) -> list[Status]:
    return [ops.ready(name).result(timeout=120).status for name in names]


@pytest.mark.parametrize("paths", [(STORAGE, MIDDLE), (FASTEST, STORAGE, MIDDLE)])
def test_the_fastest_active_path_runs(create: Create, paths: tuple[FastPath, ...]) -> None:
    ops = create(*paths)
    names = [path.name for path in paths]
    assert set(settle(ops, *names)) == {Status.PASS}
    assert runs_on(ops) == ("fastest" if FASTEST in paths else "middle")
    assert all(ops.is_active(name) for name in names)


def test_a_path_that_fails_falls_back_without_packing_again(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[str] = []
    pack = Runner.pack

    def counted(self: Runner, path: FastPath, *rest: object) -> object:
        packed.append(path.name)
        return pack(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "pack", counted)
    go = threading.Event()

    def held(plan: Plan) -> Report:
        assert go.wait(60)
        return REAL(plan)

    monkeypatch.setattr(background, "verify_plan", held)
    ops = create(STORAGE, replace(WRONG, name="fastest", fallback=STORAGE.name))
    A, B = operands(64)
    weight = ops.pack_to_f16(B)
    assert ops.matmul_f16_weight(A, weight).path == "f32"
    go.set()
    assert settle(ops, "fastest", "f16-storage") == [Status.FAIL, Status.PASS]
    assert ops.matmul_f16_weight(A, weight).path == "f16-storage"
    assert not ops.is_active("fastest")
    assert packed == ["f16-storage"]


def test_a_class_is_active_by_itself(create: Create) -> None:
    ops = create(STORAGE)
    settle(ops, "f16-storage")
    assert ops.is_active("f16-storage", Shape(128, 128, 96))
    assert not ops.is_active("f16-storage", Shape(1, 128, 96))
    assert runs_on(ops, 128) == "f16-storage"
    assert runs_on(ops, 1) == "f32"
    ops.verdict("f16-storage", Shape(1, 128, 96)).result(timeout=120)
    assert runs_on(ops, 1) == "f16-storage"


def test_what_it_needs_failed_first(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def seen(plan: Plan) -> Report:
        plans.append(plan)
        return REAL(plan)

    monkeypatch.setattr(background, "verify_plan", seen)
    base = replace(WRONG, name=STORAGE.name)
    ops = create(FASTEST, base)  # queued behind what it needs, whatever the order
    assert settle(ops, "fastest", STORAGE.name) == [Status.SKIP, Status.FAIL]
    assert ops.ready("fastest").result().reason == "f16-storage failed first"
    assert [plan.paths[0].name for plan in plans] == [STORAGE.name]
    assert runs_on(ops) == "f32"


def test_what_the_adapter_lacks_is_skip_at_once(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(plan: Plan) -> Report:
        raise AssertionError("queued")

    monkeypatch.setattr(background, "verify_plan", never)
    ops = create(replace(FASTEST, depends_on="", engines=("browser",)))
    assert ops.ready("fastest").done()
    verdict = ops.ready("fastest").result()
    assert path_line(verdict) == (
        "[ops] fastest gate verdict: SKIP — made for browser, not for native"
    )
    assert not verdict.active
    assert runs_on(ops) == "f32"


def test_a_shape_that_does_not_fit_takes_the_next(create: Create) -> None:
    ops = create(STORAGE, replace(MIDDLE, multiple_of=(16, 1, 1)))
    settle(ops, "middle", "f16-storage")
    assert runs_on(ops, 64) == "middle"
    assert runs_on(ops, 63) == "f16-storage"
    assert ops.verdict("middle", Shape(63, 128, 96)).result().status is Status.SKIP


def test_another_packer_is_another_weight(create: Create) -> None:
    """The wrong path was judged with its own packer; it may not take what another has packed."""
    ops = create(STORAGE, replace(MIDDLE, pack=str(STORAGE.kernel_file())))
    weight = ops.pack_to_f16(operands(64)[1])
    settle(ops, "f16-storage")
    assert ops.matmul_f16_weight(operands(64)[0], weight).path == "f16-storage"
    assert weight.packer == STORAGE.pack_file()


def test_a_plain_product_takes_a_path_that_stores_f32(create: Create, device: Device) -> None:
    assert "subgroups" in device.info.features
    ops = create(faults.right("right_subgroups").path)
    A, B = operands(64)
    settle(ops, "right-subgroups")
    y = ops.matmul(A, B)
    assert y.path == "right-subgroups"
    assert np.abs(y.numpy() - A.astype(np.float64) @ B).max() < 1e-6
    assert ops._runner.subgroup_size


def test_unknown_names(create: Create) -> None:
    ops = create(faults.right("right_f32").path)
    for call in (
        lambda: ops.verdict("nope", GATE_SHAPE),
        lambda: ops.is_active("nope"),
        lambda: ops.f16_ready,
        lambda: ops.pack_to_f16(np.ones((2, 2))),
    ):
        with pytest.raises(UnknownNameError, match="right-f32"):
            call()


def test_opt_in_paths_only_run_when_they_are_passed(device: Device) -> None:
    with GpuOps.create() as ops:
        for path in BUILTIN:
            if path.opt_in:
                with pytest.raises(UnknownNameError):
                    ops.ready(path.name)


PRINTS = (
    "import sys, numpy as np\nfrom tinygate import GpuOps\n"
    "for _ in range(2):\n"
    "  with GpuOps.create(engine=sys.argv[1]) as ops:\n"
    "    print(ops.adapter.backend, ops.f16_ready.result())\n"
    "    for name in ops._paths: ops.ready(name).result()\n"
    "    y = ops.matmul_f16_weight(np.ones((64, 128)), ops.pack_to_f16(np.ones((128, 96))))\n"
    "    assert (y.numpy() == 128).all()\n"
    "    print(y.path in ops.active)\n"
)


def lines(engine: str, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PRINTS, engine],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PASSED = "<PathResult f16-storage PASS, active for main · M 33–128, K 65–128, N 65–128>"


def test_on_dawn() -> None:
    """Twice in one process, where the second finds the first's instance."""
    assert lines("dawn", drivers.environment("lavapipe25")) == [f"Vulkan {PASSED}", "True"] * 2


def test_where_only_opengl_is_there(device: Device) -> None:
    without = dict.fromkeys(("VK_ICD_FILENAMES", "VK_DRIVER_FILES"), os.devnull)
    found = lines("native", {**os.environ, **without})
    assert found == [f"OpenGL {PASSED}", "True"] * 2


MATRICES = """
import numpy as np
from tinygate import GpuOps, Shape
rng = np.random.default_rng(1)
x = rng.normal(size=(64, 128)).astype(np.float32)
w = (0.02 * rng.normal(size=(128, 128))).astype(np.float32)
with GpuOps.create(engine="dawn") as ops:
    print(ops.ready("coop-matrix").result())
    packed = ops.pack_to_f16(w)
    y = ops.matmul_f16_weight(x, packed)
    print(y.path, bool(np.abs(y.numpy() - x @ w).max() < 1e-3))
    row = Shape(1, 128, 128)
    print(ops.is_active("coop-matrix", row), ops.matmul_f16_weight(x[:1], packed).path)
    ops.verdict("coop-matrix", row).result()
    print(ops.is_active("coop-matrix", row), ops.matmul_f16_weight(x[:1], packed).path)
"""


def test_matrices_come_first_where_an_adapter_has_them() -> None:
    """A driver with subgroup matrices needs a C library of its own, and so the whole process."""
    environment = drivers.environment("lavapipe26")
    done = subprocess.run(
        [environment["TINYGATE_WORKER_PYTHON"], "-c", MATRICES],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "<PathResult coop-matrix PASS, active for main 8x8x8 · M 33–128, K 65–128, N 65–128>",
        "coop-matrix True",
        "False f32",
        "True coop-matrix",
    ]
