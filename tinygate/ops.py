"""GpuOps: matrix products on the GPU that use a fast path only where the gate has passed it.

::

    ops = GpuOps.create()                  # the gate starts in the background
    w = ops.pack_to_f16(weights)           # [K, N]
    print(ops.f16_ready.result().line)     # wait for the verdict, or don't
    y = ops.matmul_f16_weight(x, w).numpy()

Before the gate has settled, after a FAIL, and for a shape class nobody has verified, the product
runs on the f32 kernel. Detected is never active.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tinygate import adapters, engines, verify
from tinygate.adapters import AdapterInfo
from tinygate.engines.base import Binding, Device
from tinygate.errors import NoAdapterError, ShapeError, TinygateError
from tinygate.families import DEFAULT_SEED
from tinygate.formats import FORMATS
from tinygate.harness import as_words
from tinygate.kernels import check_fits
from tinygate.paths import REFERENCE, FastPath
from tinygate.plan import Plan
from tinygate.registry import registered, select
from tinygate.results import PathResult, Status
from tinygate.runner import NOTHING_REFUSED, Runner, refuse
from tinygate.shapes import Shape
from tinygate.supervisor import DEFAULT_TIMEOUT
from tinygate.tensors import PackedWeight, Tensor

log = logging.getLogger("tinygate.ops")

# The seed's: what a model's layers look like, small enough to settle at once.
GATE_SHAPE = Shape(64, 128, 128)
F16_STORAGE = "f16-storage"
_CLOSED = "closed before the gate had run"


class GpuOps:
    """Matrix products on one adapter, and which paths are active there.

    The gate runs in a process of its own, so it neither blocks nor endangers the caller's device.
    Methods may be called from one thread at a time.
    """

    def __init__(
        self,
        device: Device,
        info: AdapterInfo,
        paths: Sequence[FastPath],
        seed: int,
        timeout: float,
    ) -> None:
        self.adapter = info
        self._device = device
        self._runner = Runner(device)
        self._paths = {path.name: path for path in paths}
        self._seed = seed
        self._timeout = timeout
        self._verdicts: dict[tuple[str, str], Future[PathResult]] = {}
        self._closed = threading.Event()
        self._jobs: queue.SimpleQueue[tuple[FastPath, Shape, Future[PathResult]] | None] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._work, daemon=True, name="tinygate-gate").start()

    @classmethod
    def create(
        cls,
        adapter: str | int | None = None,
        *,
        engine: str = engines.DEFAULT_ENGINE,
        paths: Sequence[FastPath] | None = None,
        shape: Shape = GATE_SHAPE,
        seed: int = DEFAULT_SEED,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> GpuOps:
        """Open an adapter and start the gate for every path at `shape`, in the background.

        adapter: an index or part of a name, as `tinygate probe` lists them; None: the preferred.
        paths: None: every registered one that is not opt-in.

        Raises:
            NoAdapterError: where there is none.
            UnknownNameError: where none matches.
        """
        chosen = select((), registered()) if paths is None else tuple(paths)
        source = engines.load(engine, every_backend=adapter is not None)
        found = source.adapters()
        if not found and adapter is None:
            raise NoAdapterError(
                "no WebGPU adapter but perhaps OpenGL", "GpuOps.create(adapter=0) tries that too"
            )
        info = adapters.choose(found, None if adapter is None else str(adapter))
        wanted = {name for path in chosen for name in path.requires}
        device = source.open(info.index, sorted(wanted & set(info.features)))
        ops = cls(device, info, chosen, seed, timeout)
        for path in chosen:
            ops.verdict(path.name, shape)
        return ops

    @property
    def f16_ready(self) -> Future[PathResult]:
        """Settles with f16-storage's verdict at the shape the gate was started with; never raises
        but for a GpuOps without that path."""
        return next(v for (name, _), v in self._verdicts.items() if name == F16_STORAGE)

    @property
    def active(self) -> tuple[str, ...]:
        """The paths that are active for at least one shape class."""
        return tuple(name for name in self._paths if any(n == name for n, _ in self.active_classes))

    @property
    def active_classes(self) -> tuple[tuple[str, str], ...]:
        """(path, shape class) of every verdict that let a path run."""
        return tuple(key for key, verdict in self._verdicts.items() if _passed(verdict))

    def verdict(self, path: str, shape: Shape) -> Future[PathResult]:
        """The verdict for the shape's class: the one there is, or a gate started now.

        The gate runs at the shape and at a neighbour of it, since a class holds both."""
        declared = self._paths[path]
        key = (path, declared.shape_class(shape))
        if key not in self._verdicts:
            self._verdicts[key] = Future()
            if self._closed.is_set():
                self._verdicts[key].set_result(_unverified(declared, _CLOSED))
            else:
                self._jobs.put((declared, shape, self._verdicts[key]))
        return self._verdicts[key]

    def tensor(self, values: ArrayLike) -> Tensor:
        """A float32 matrix on the device.

        Raises:
            ShapeError: where the values are not a matrix.
        """
        array = np.ascontiguousarray(values, np.float32)
        if array.ndim != 2 or not array.size:
            raise ShapeError(
                f"expected a matrix, got shape {list(array.shape)}", "pass [rows, columns]"
            )
        buffer = self._device.storage(array.nbytes)
        self._device.write(buffer, 0, as_words(array))
        return Tensor((array.shape[0], array.shape[1]), buffer, self._device)

    def matmul(self, a: ArrayLike | Tensor, b: ArrayLike | Tensor) -> Tensor:
        """C[M,N] = A[M,K] · B[K,N], all f32."""
        left, right = self._tensor(a), self._tensor(b)
        return self._product(REFERENCE, left, right.shape, right.binding)

    def pack_to_f16(self, b: ArrayLike | Tensor) -> PackedWeight:
        """B[K,N] packed to f16 for `matmul_f16_weight`.

        Raises:
            PackingRefusedError: naming the first value over 65504; nothing is clamped.
        """
        original = self._tensor(b)
        K, N = original.shape
        path = self._paths[F16_STORAGE]
        size = 4 * FORMATS[path.b].words(K, N)
        packed, status = self._device.storage(size), self._device.storage(256)
        found = np.array([0, NOTHING_REFUSED], np.uint32)
        self._device.write(status, 0, found)
        self._device.submit(
            [
                self._runner.pack(
                    path, K, N, original.binding, Binding(packed, 0, size), Binding(status, 0, 8)
                )
            ]
        )
        self._device.read(status, 0, found)
        status.destroy()
        if found[0]:
            refuse(found, original.numpy(), FORMATS[path.b].max_finite)
        return PackedWeight(original, packed)

    def matmul_f16_weight(self, a: ArrayLike | Tensor, packed: PackedWeight) -> Tensor:
        """C[M,N] = A[M,K] · B[K,N] with B packed; on f32 while f16-storage is not active for this
        shape class, whose gate starts with the first such product."""
        left = self._tensor(a)
        path = self._paths[F16_STORAGE]
        shape = _shape(left.shape, packed.shape)
        if _passed(self.verdict(path.name, shape)):
            weights = Binding(packed.packed, 0, packed.packed.size)
            return self._product(path, left, packed.shape, weights)
        return self._product(REFERENCE, left, packed.shape, packed.original.binding)

    def close(self) -> None:
        """Stop the gate and release the device; verdicts still open settle as ERROR."""
        self._closed.set()
        self._jobs.put(None)
        self._device.close()

    def __enter__(self) -> GpuOps:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tensor(self, values: ArrayLike | Tensor) -> Tensor:
        return values if isinstance(values, Tensor) else self.tensor(values)

    def _product(self, path: FastPath, a: Tensor, b_shape: tuple[int, int], b: Binding) -> Tensor:
        shape = _shape(a.shape, b_shape)
        check_fits(path, shape, self._device.info.limits)
        c = Tensor((shape.M, shape.N), self._device.storage(4 * shape.M * shape.N), self._device)
        self._device.submit([self._runner.matmul(path, shape, a.binding, b, c.binding)])
        return c

    def _work(self) -> None:
        """Settle verdicts, one at a time, until closed; then whatever is left."""
        while job := self._jobs.get():
            path, shape, future = job
            result = None if self._closed.is_set() else self._gate(path, shape)
            if result is None or self._closed.is_set():
                result = _unverified(path, _CLOSED)
            future.set_result(result)

    def _gate(self, path: FastPath, shape: Shape) -> PathResult:
        plan = Plan(
            paths=(path,),
            shapes=(shape, neighbour(path, shape)),
            seed=self._seed,
            timeout=self._timeout,
            engines=(self.adapter.engine,),
            adapter=str(self.adapter.index),
        )
        try:
            report = verify.run(plan)
        except TinygateError as error:
            return _unverified(path, error.message)
        except Exception as error:  # whatever it was, nothing was verified
            return _unverified(path, f"{type(error).__name__}: {error}")
        (result,) = report.paths
        for line in [*(case.line for case in result.cases), result.line]:
            log.info("%s", line)
        if report.platforms[0].adapter != self.adapter:
            # A verdict belongs to the adapter it was made on.
            return _unverified(path, "the gate ran on another adapter")
        return result


def neighbour(path: FastPath, shape: Shape) -> Shape:
    """A shape of the same class with every size one step off, where the class allows it; a step is
    one, or what the path wants sizes to be multiples of.

    What is even becomes odd and what fills whole tiles does not any more: a kernel that is right at
    64x128x128 and wrong at 63x127x127 must not be active for the class of both.
    """
    near = shape
    for axis, step in zip("MKN", path.multiple_of, strict=True):
        size = getattr(shape, axis)
        for other in (size - step, size + step):
            moved = replace(near, **{axis: other}, name="")
            if other > 0 and path.shape_class(moved) == path.shape_class(shape):
                near = moved
                break
    return near


def _unverified(path: FastPath, reason: str) -> PathResult:
    blank = PathResult(path.name, path.pill, Status.ERROR, "unverified")
    line = f"[ops] {path.name} gate verdict: ERROR — {reason}, falling back to f32"
    return replace(blank, reason=reason, line=line)


def _passed(verdict: Future[PathResult]) -> bool:
    return verdict.done() and verdict.result().active


def _shape(a: tuple[int, int], b: tuple[int, int]) -> Shape:
    if a[1] != b[0]:
        raise ShapeError(
            f"A is {a[0]}x{a[1]} and B is {b[0]}x{b[1]}: A's columns must be B's rows",
            "pass A[M,K] and B[K,N]",
        )
    return Shape(a[0], a[1], b[1])
