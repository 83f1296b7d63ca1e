"""What GpuOps computes with: matrices on the device, plain and packed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinygate.engines.base import Binding, Buffer, Device
from tinygate.formats import F32


@dataclass(frozen=True)
class Tensor:
    """A row-major float32 matrix on the device."""

    shape: tuple[int, int]
    buffer: Buffer
    device: Device

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
    """B[K,N] as f16 pairs, beside the f32 it was packed from: the fallback needs the original."""

    original: Tensor
    packed: Buffer

    @property
    def shape(self) -> tuple[int, int]:
        """(K, N)."""
        return self.original.shape
