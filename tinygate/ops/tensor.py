"""What GpuOps computes with: matrices on the device, plain and packed."""

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
    """A row-major float32 matrix on the device; `path` is the one that computed it, by name, and
    empty where it was uploaded."""

    shape: tuple[int, int]
    buffer: Buffer
    device: Device
    path: str = ""

    def numpy(self) -> F32:
        """Its values, [rows, cols]; waits for what was submitted."""
        out = np.empty(self.shape, np.float32)
        self.device.read(self.buffer, 0, out.reshape(-1).view(np.uint32))
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.numpy(), dtype)

    @property
    def binding(self) -> Binding:
        """All of it."""
        return Binding(self.buffer, 0, self.buffer.size)


@dataclass(frozen=True)
class PackedWeight:
    """B[K,N] as f16 pairs, beside the f32 it was packed from: the last fallback needs the original.

    packer: the WGSL that packed it. Only a path with this very packer may take it, since no other
    was verified with what this one stores.
    """

    original: Tensor
    packed: Buffer
    packer: Path | None

    @property
    def shape(self) -> tuple[int, int]:
        """(K, N)."""
        return self.original.shape

    @property
    def binding(self) -> Binding:
        """All of what is packed."""
        return Binding(self.packed, 0, self.packed.size)
