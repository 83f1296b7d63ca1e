"""Multiply matrices on the GPU, on a fast path only where the gate has passed it.

::

    ops = GpuOps.create()                  # the gates start in the background
    w = ops.pack_to_f16(weights)           # [K, N]
    print(ops.f16_ready.result())          # wait for the verdict, or don't
    y = ops.matmul_f16_weight(x, w)        # on the fastest path that is active for this shape
    print(y.path, y.numpy())

Before a path's gate has settled, after a FAIL, and for a shape class that was not verified, its
products run on its fallback, in the end on the f32 kernel. A detected path is not yet active.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np
from numpy.typing import ArrayLike

from tinygate.core import adapter as adapters
from tinygate.core.adapter import AdapterInfo, Platform
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.errors import LimitError, ShapeError, UnknownNameError
from tinygate.core.family import DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.results import PathResult
from tinygate.core.shape import Shape
from tinygate.core.shape_class import ShapeClass
from tinygate.gpu import engines
from tinygate.gpu.dispatch import NOTHING_REFUSED, Runner, refuse
from tinygate.gpu.engines.base import Binding, Device
from tinygate.gpu.kernel import check_fits
from tinygate.gpu.probe import probe
from tinygate.numerics.arrays import as_words
from tinygate.numerics.formats import FORMATS
from tinygate.ops.background import Background
from tinygate.ops.fallback import chain
from tinygate.ops.tensor import PackedWeight, Tensor
from tinygate.paths.builtin import REFERENCE
from tinygate.paths.registry import registered, select
from tinygate.verification.plan import Plan
from tinygate.worker.supervisor import DEFAULT_TIMEOUT

# A small model layer's shape, so that the first verdicts come soon.
GATE_SHAPE = Shape(64, 128, 128)


class GpuOps:
    """Matrix products on one adapter, and the paths that are active there.

    Gates run in separate processes, so they neither block nor endanger the caller's device.
    Methods may be called from one thread at a time.
    """

    def __init__(
        self,
        device: Device,
        info: AdapterInfo,
        paths: Sequence[FastPath],
        features: tuple[str, ...],
        shape: Shape,
        seed: int,
        timeout: float,
    ) -> None:
        self.adapter = info
        self.shape = shape
        self._device = device
        self._runner = Runner(device)
        # Also sets the runner's subgroup size, which kernels may be compiled for.
        platform = Platform(info.engine, info, probe(self._runner))
        self._paths = {one.name: one for path in paths for one in path.for_adapter(info)}
        self._plain = chain(self._paths.values(), "f32")
        self._packed = chain(self._paths.values(), "f16-packed")
        self._gates = Background(platform, features, self._paths, seed, timeout)
        for name in self._paths:
            self.ready(name)

    @classmethod
    def create(
        cls,
        adapter: str | int | None = None,
        *,
        engine: str = DEFAULT_ENGINE,
        paths: Sequence[FastPath] | None = None,
        shape: Shape = GATE_SHAPE,
        seed: int = DEFAULT_SEED,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> GpuOps:
        """Open an adapter and start the gate for every path at `shape`, in the background.

        adapter: an index or part of a name, as `tinygate probe` lists them; None: the preferred.
        paths: the paths that may be used; None: every registered one that is not opt-in.

        Raises:
            NoAdapterError: where there is no adapter.
            UnknownNameError: where no adapter matches.
        """
        chosen = select((), registered()) if paths is None else tuple(paths)
        # The same features that a gate requests, so that both see the same adapter.
        features = Plan(chosen, ()).features
        source = engines.load(engine, every_backend=adapter is not None, features=features)
        found = source.adapters()
        if not found and adapter is None:
            # OpenGL is started only where no other backend has an adapter: it doubles the time.
            source = engines.load(engine, every_backend=True, features=features)
            found = source.adapters()
        info = adapters.choose(found, None if adapter is None else str(adapter), engine=engine)
        device = source.open(info.index, [name for name in features if name in info.features])
        try:
            return cls(device, info, chosen, features, shape, seed, timeout)
        except BaseException:
            device.close()
            raise

    @property
    def f16_ready(self) -> Future[PathResult]:
        """Return `ready("f16-storage")`."""
        return self.ready("f16-storage")

    def ready(self, path: str) -> Future[PathResult]:
        """Return the future of the path's verdict at the shape that the gates were started with.

        It settles as SKIP where the adapter lacks a required feature, and never raises.

        Raises:
            UnknownNameError: where there is no such path; lists the paths.
        """
        return self.verdict(path, self.shape)

    def is_active(self, path: str, shape: Shape | None = None) -> bool:
        """Tell whether a settled verdict makes the path active for a shape; starts no gate.

        shape: None means the shape that the gates were started with.

        Raises:
            UnknownNameError: where there is no such path; lists the paths.
        """
        return self._gates.is_active(self._declared(path), shape or self.shape)

    @property
    def active(self) -> tuple[str, ...]:
        """Return the names of the paths that are active for at least one shape class."""
        names = {name for name, _ in self.active_classes}
        return tuple(name for name in self._paths if name in names)

    @property
    def active_classes(self) -> tuple[tuple[str, ShapeClass], ...]:
        """Return the (path, shape class) of every verdict that makes a path active."""
        return self._gates.active

    def verdict(self, path: str, shape: Shape) -> Future[PathResult]:
        """Return the future of the verdict for the shape's class; start its gate if there is none.

        The gate runs at the shape and at others of its class, since the verdict holds for all.

        Raises:
            UnknownNameError: where there is no such path; lists the paths.
        """
        return self._gates.verdict(self._declared(path), shape)

    def tensor(self, values: ArrayLike) -> Tensor:
        """Upload values as a float32 matrix [rows, columns].

        Raises:
            ShapeError: where the values are not a matrix, or empty.
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
        """Compute C[M,N] = A[M,K] · B[K,N], all f32, on the fastest active path for an unpacked B.

        Raises:
            ShapeError: where A's columns are not B's rows.
            LimitError: where the product exceeds a limit of the adapter.
        """
        left, right = self._tensor(a), self._tensor(b)
        shape = _shape(left.shape, right.shape)
        path = self._fastest(self._plain, shape) or REFERENCE
        return self._product(path, shape, left, right.binding)

    def pack_to_f16(self, b: ArrayLike | Tensor) -> PackedWeight:
        """Pack B[K,N] to f16 for `matmul_f16_weight`.

        Raises:
            PackingRefusedError: where |B| is over 65504 somewhere, naming the first such value.
            UnknownNameError: where no path takes weights packed to f16.
        """
        if not self._packed:
            raise self._unknown("no path here takes weights packed to f16")
        original = self._tensor(b)
        K, N = original.shape
        # The last of the chain is the fallback of the others.
        path = self._packed[-1]
        size = 4 * FORMATS[path.b].words(K, N)
        packed, status = self._device.storage(size), self._device.storage(256)
        weight = PackedWeight(original, packed, path.pack_file())
        found = np.array([0, NOTHING_REFUSED], np.uint32)
        self._device.write(status, 0, found)
        self._device.submit(
            [self._runner.pack(path, K, N, original.binding, weight.binding, Binding(status, 0, 8))]
        )
        self._device.read(status, 0, found)
        status.destroy()
        if found[0]:
            refuse(found, original.numpy(), FORMATS[path.b].max_finite, operand="B")
        return weight

    def matmul_f16_weight(self, a: ArrayLike | Tensor, packed: PackedWeight) -> Tensor:
        """Compute C[M,N] = A[M,K] · B[K,N] with B packed to f16.

        The product runs on the fastest path that is active for its shape class, or on the f32
        kernel while no path is. The first product of a class starts its gates.

        Raises:
            ShapeError: where A's columns are not B's rows.
            LimitError: where the product exceeds a limit of the adapter.
        """
        left = self._tensor(a)
        shape = _shape(left.shape, packed.shape)
        fitting = [path for path in self._packed if path.pack_file() == packed.packer]
        path = self._fastest(fitting, shape)
        if path is None:
            return self._product(REFERENCE, shape, left, packed.original.binding)
        return self._product(path, shape, left, packed.binding)

    def close(self) -> None:
        """Stop the gates and close the device; verdicts still open settle as ERROR."""
        self._gates.close()
        self._device.close()

    def __enter__(self) -> GpuOps:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tensor(self, values: ArrayLike | Tensor) -> Tensor:
        return values if isinstance(values, Tensor) else self.tensor(values)

    def _declared(self, name: str) -> FastPath:
        if name not in self._paths:
            raise self._unknown(f"unknown path {name!r}")
        return self._paths[name]

    def _unknown(self, what: str) -> UnknownNameError:
        return UnknownNameError(
            f"{what}; this GpuOps has {', '.join(self._paths) or 'none'}",
            "GpuOps.create(paths=...) says which there are",
        )

    def _fastest(self, paths: Sequence[FastPath], shape: Shape) -> FastPath | None:
        """Return the first path that is active for the shape, and start the gates up to it."""
        for path in paths:
            if path.shape_mismatch(shape) is None and self._fits(path, shape):
                self.verdict(path.name, shape)
                if self.is_active(path.name, shape):
                    return path
        return None

    def _fits(self, path: FastPath, shape: Shape) -> bool:
        try:
            check_fits(path, shape, self._device.info.limits)
        except LimitError:
            return False
        return True

    def _product(self, path: FastPath, shape: Shape, a: Tensor, b: Binding) -> Tensor:
        check_fits(path, shape, self._device.info.limits)
        buffer = self._device.storage(4 * shape.M * shape.N)
        c = Tensor((shape.M, shape.N), buffer, self._device, path.name)
        self._device.submit([self._runner.matmul(path, shape, a.binding, b, c.binding)])
        return c


def _shape(a: tuple[int, int], b: tuple[int, int]) -> Shape:
    if a[1] != b[0]:
        raise ShapeError(
            f"A is {a[0]}x{a[1]} and B is {b[0]}x{b[1]}: A's columns must be B's rows",
            "pass A[M,K] and B[K,N]",
        )
    return Shape(a[0], a[1], b[1])
