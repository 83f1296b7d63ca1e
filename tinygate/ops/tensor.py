"""Hold the matrices on the device that GpuOps multiplies, plain and packed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinygate.gpu.engines.base import Binding, Buffer, Device
from tinygate.numerics.arrays import F32


@dataclass(frozen=True)
class Tensor:
    """A row-major float32 matrix on the device.

    path: the name of the path that computed it; empty where it was uploaded.
    """

    shape: tuple[int, int]
    buffer: Buffer
    device: Device
    path: str = ""

    def numpy(self) -> F32:
        """Read its values, [rows, cols]; waits for the work that was submitted."""
        out = np.empty(self.shape, np.float32)
        self.device.read(self.buffer, 0, out.reshape(-1).view(np.uint32))
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.numpy(), dtype)

    @property
    def binding(self) -> Binding:
        """Return a binding of the whole matrix."""
        return Binding(self.buffer, 0, self.buffer.size)


@dataclass(frozen=True)
class PackedWeight:
    """B[K,N] as f16 pairs, with the f32 original, which the last fallback needs.

    packer: the WGSL that packed it. Only a path with the same packer may use it, since other paths
    were not verified with the words that this packer writes.
    """

    original: Tensor
    packed: Buffer
    packer: Path | None

    @property
    def shape(self) -> tuple[int, int]:
        """Return (K, N)."""
        return self.original.shape

    @property
    def binding(self) -> Binding:
        """Return a binding of all packed words."""
        return Binding(self.packed, 0, self.packed.size)
