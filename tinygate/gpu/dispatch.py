"""Runner: the one way a kernel is run, by the gate and by GpuOps alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tinygate.core.errors import PackingRefusedError
from tinygate.core.fast_path import FastPath, wgsl_file
from tinygate.core.kernel_abi import Field, size_of
from tinygate.core.shape import Shape
from tinygate.core.storage import A_SIZES, B_SIZES
from tinygate.gpu.engines.base import (
    Access,
    Binding,
    Buffer,
    Device,
    Dispatch,
    Kernel,
    Pipeline,
    Words,
)
from tinygate.gpu.kernel import (
    check_lanes,
    dispatch_size,
    grid,
    matmul_kernel,
    pack_kernel,
)

CONVERTER = "probe/convert_f16.wgsl"
# As much as any small struct a kernel may declare there.
_SCRATCH_BYTES = 1024
_CONVERTED = 64  # values per workgroup of the converter


class Runner:
    """Compiles each kernel once per device and turns products into dispatches.

    `subgroup_size` is the measured one, for kernels that are compiled for it; None until known.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.subgroup_size: int | None = None
        self._pipelines: dict[tuple[object, ...], Pipeline] = {}
        self._uniforms: dict[bytes, Buffer] = {}
        self._scratch: list[Buffer] = []

    def matmul(
        self,
        path: FastPath,
        shape: Shape,
        a: Binding,
        b: Binding,
        c: Binding,
        *,
        square: bool = False,
    ) -> Dispatch:
        """C = A·B by the path's kernel; b is in the path's storage format.

        square: spread a linear dispatch over x and y, as a very large product would be.

        Raises:
            CannotVerifyError: where the path needs subgroups and theirs are not as reported.
        """
        check_lanes(path, self.subgroup_size, self.device.info)
        kernel = matmul_kernel(path, shape, self.subgroup_size)
        layout = path.layout
        bindings: list[Binding | None] = [None] * len(kernel.layout)
        for slot, binding in (
            (layout.a, a),
            (layout.b, b),
            (layout.c, c),
            (layout.dims, self._uniform(path.dims, shape)),
            *((s, self._nothing(i, kernel.layout[s])) for i, s in enumerate(layout.unused)),
        ):
            bindings[slot] = binding
        groups = dispatch_size(path.entry(shape), shape, self.device.info.limits, square=square)
        return Dispatch(self._compile(kernel), tuple(bindings), groups)

    def pack(
        self,
        path: FastPath,
        K: int,
        N: int,
        b: Binding,
        packed: Binding,
        status: Binding,
        *,
        square: bool = False,
    ) -> Dispatch:
        """Pack B[K,N] f32 into the path's format; `status` is (count, first), see wgsl/README."""
        file = path.pack_file()
        assert file is not None, "only packed paths are packed"
        operands = (self._nothing(0, "read"), b, packed)
        groups = B_SIZES[path.b].groups(K, N)
        return self._packer(pack_kernel(file), groups, (0, K, N), operands, status, square=square)

    def pack_a(
        self,
        path: FastPath,
        M: int,
        K: int,
        a: Binding,
        packed: Binding,
        status: Binding,
        *,
        square: bool = False,
    ) -> Dispatch:
        """Pack A[M,K] f32 into the path's format; otherwise as `pack`."""
        file = path.pack_a_file()
        assert file is not None, "only packed activations are packed"
        operands = (a, self._nothing(0, "read"), packed)
        groups = A_SIZES[path.a].groups(M, K)
        return self._packer(pack_kernel(file), groups, (M, K, 0), operands, status, square=square)

    def convert(self, count: int, b: Binding, out: Binding, status: Binding) -> Dispatch:
        """The adapter's own f16 of `count` f32 values, one per word."""
        kernel = pack_kernel(wgsl_file(CONVERTER))
        operands = (self._nothing(0, "read"), b, out)
        return self._packer(kernel, -(-count // _CONVERTED), (0, 1, count), operands, status)

    def single(self, kernel: Kernel, b: Binding, out: Binding, status: Binding) -> Dispatch:
        """One workgroup of a kernel with the packer's layout: the probes."""
        return self._packer(kernel, 1, (0, 1, 1), (self._nothing(0, "read"), b, out), status)

    def _packer(
        self,
        kernel: Kernel,
        groups: int,
        sizes: tuple[int, int, int],
        operands: tuple[Binding, Binding, Binding],
        status: Binding,
        *,
        square: bool = False,
    ) -> Dispatch:
        dims = self._uniform((*sizes, 0), Shape(1, 1, 1))
        return Dispatch(
            self._compile(kernel),
            (*operands, dims, status),
            grid(groups, self.device.info.limits, square=square),
        )

    def _compile(self, kernel: Kernel) -> Pipeline:
        constants = tuple(sorted(kernel.constants.items()))
        key = (kernel.code, kernel.entry, constants, kernel.layout)
        if key not in self._pipelines:
            self._pipelines[key] = self.device.compile(kernel)
        return self._pipelines[key]

    def _uniform(self, fields: Sequence[Field], shape: Shape) -> Binding:
        words = uniform_words(fields, shape)
        key = words.tobytes()
        if key not in self._uniforms:
            self._uniforms[key] = self.device.uniform(words)
        return Binding(self._uniforms[key], 0, words.nbytes)

    def _nothing(self, number: int, access: Access | None) -> Binding:
        """What is bound where there is no operand: for each such slot of a kernel its own, since
        none of them may be written through two bindings."""
        if access == "uniform":
            return self._uniform((0,) * (_SCRATCH_BYTES // 4), Shape(1, 1, 1))
        while len(self._scratch) <= number:
            self._scratch.append(self.device.storage(_SCRATCH_BYTES))
        return Binding(self._scratch[number], 0, _SCRATCH_BYTES)


def uniform_words(fields: Sequence[Field], shape: Shape) -> Words:
    """The uniform's words: u32 for names and integers, f32 for floats, padded to 16 bytes."""
    words = np.zeros(-(-len(fields) // 4) * 4, np.uint32)
    for i, field in enumerate(fields):
        if isinstance(field, float):
            words[i] = np.float32(field).view(np.uint32)
        else:
            words[i] = size_of(shape, field) if isinstance(field, str) else field
    return words


NOTHING_REFUSED = 0xFFFFFFFF


def refuse(
    status: Words,
    original: NDArray[np.float32],
    largest: float,
    first_row: int = 0,
    *,
    operand: str,
) -> None:
    """Raise PackingRefusedError where a packer counted values its format cannot hold.

    status: (count, smallest linear index row * columns + column), as the packer left it.
    original: what was packed, or of it the rows from first_row on.
    """
    count, first = int(status[0]), int(status[1])
    if not count:
        return
    row, column = divmod(first, original.shape[1])
    value = float(original[row, column]) if row < original.shape[0] else float("nan")
    index = (first_row + row, column)
    raise PackingRefusedError.over(largest, index, value, operand=operand, count=count)
