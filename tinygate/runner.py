"""Runner: the one way a kernel is run, by the gate and by GpuOps alike."""

from __future__ import annotations

import numpy as np

from tinygate.engines.base import Binding, Buffer, Device, Dispatch, Kernel, Pipeline, Words
from tinygate.errors import PackingRefusedError
from tinygate.formats import F32, FORMATS
from tinygate.kernels import PACK_WORDS_PER_GROUP, grid, matmul_kernel, pack_kernel
from tinygate.paths import FastPath, wgsl_file
from tinygate.shapes import Shape

CONVERTER = "convert_f16.wgsl"


class Runner:
    """Compiles each kernel once per device and turns products into dispatches."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._pipelines: dict[tuple[str, str, tuple[tuple[str, float], ...]], Pipeline] = {}
        self._dims: dict[tuple[int, int, int], Buffer] = {}
        self._scratch: Buffer | None = None

    def matmul(self, path: FastPath, shape: Shape, a: Binding, b: Binding, c: Binding) -> Dispatch:
        """C = A·B by the path's kernel; b is in the path's storage format."""
        entry = path.entry(shape)
        return Dispatch(
            self._compile(matmul_kernel(path, shape)),
            (a, b, c, self._uniform(shape.M, shape.K, shape.N)),
            grid(entry.tiles(shape), self.device.info.limits),
        )

    def pack(
        self, path: FastPath, K: int, N: int, b: Binding, packed: Binding, status: Binding
    ) -> Dispatch:
        """Pack B[K,N] f32 into the path's format; `status` is (count, first), see wgsl/README."""
        file = path.pack_file()
        assert file is not None, "only packed paths are packed"
        return self._packer(pack_kernel(file), FORMATS[path.b].words(K, N), K, N, b, packed, status)

    def convert(self, count: int, b: Binding, out: Binding, status: Binding) -> Dispatch:
        """The adapter's own f16 of `count` f32 values, one per word."""
        kernel = pack_kernel(wgsl_file(CONVERTER))
        return self._packer(kernel, count, 1, count, b, out, status)

    def single(self, kernel: Kernel, b: Binding, out: Binding, status: Binding) -> Dispatch:
        """One workgroup of a kernel with the packer's layout: the probes."""
        return self._packer(kernel, 1, 1, 1, b, out, status)

    def _packer(
        self, kernel: Kernel, words: int, K: int, N: int, b: Binding, out: Binding, status: Binding
    ) -> Dispatch:
        groups = -(-words // PACK_WORDS_PER_GROUP)
        return Dispatch(
            self._compile(kernel),
            (self._nothing(), b, out, self._uniform(0, K, N), status),
            grid(groups, self.device.info.limits),
        )

    def _compile(self, kernel: Kernel) -> Pipeline:
        key = (kernel.code, kernel.entry, tuple(sorted(kernel.constants.items())))
        if key not in self._pipelines:
            self._pipelines[key] = self.device.compile(kernel)
        return self._pipelines[key]

    def _uniform(self, M: int, K: int, N: int) -> Binding:
        if (M, K, N) not in self._dims:
            words = np.array([M, K, N, 0], np.uint32)
            self._dims[M, K, N] = self.device.uniform(words)
        return Binding(self._dims[M, K, N], 0, 16)

    def _nothing(self) -> Binding:
        """What is bound where a packer has no operand."""
        if self._scratch is None:
            self._scratch = self.device.storage(256)
        return Binding(self._scratch, 0, 256)


NOTHING_REFUSED = 0xFFFFFFFF


def refuse(status: Words, B: F32, largest: float, first_row: int = 0) -> None:
    """Raise PackingRefusedError where a packer counted values its format cannot hold.

    status: (count, smallest linear index k*N+n); B: the [K, N] that was packed; first_row: the k
    of its first row, where it is a panel.
    """
    count, first = int(status[0]), int(status[1])
    if not count:
        return
    k, n = divmod(first, B.shape[1])
    value = float(B[k, n]) if k < B.shape[0] else float("nan")
    more = f" and {count - 1} more" if count > 1 else ""
    raise PackingRefusedError(
        f"refused: B[{first_row + k},{n}]={_short(value)}{more}, over the format's {largest:g}",
        "keep these weights in f32, or scale them",
    )


def _short(value: float) -> str:
    """`7.0e4`; NaN and infinity as Python spells them."""
    digits, e, exponent = f"{value:.1e}".partition("e")
    return f"{digits}e{int(exponent)}" if e else digits
