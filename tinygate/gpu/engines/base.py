"""The protocol every engine implements: list adapters, open one, run kernels, move bytes.

An engine executes and nothing else. It does not know what a gate is, and the gate does not know
which engine made the bytes it compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tinygate.core.adapter import AdapterInfo
from tinygate.paths.include import Source

Words = NDArray[np.uint32]
Access = Literal["read", "read_write", "uniform"]

# Bytes moved per write or read, so that staging memory stays small beside the operands.
CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class Kernel:
    """WGSL to compile: source, entry point, override constants, and group 0's layout, slot by slot;
    None is a slot that is not there."""

    source: Source
    entry: str
    layout: tuple[Access | None, ...]
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The WGSL, with what it includes."""
        return self.source.text

    @property
    def label(self) -> str:
        """What messages call the kernel."""
        return self.source.label


class Buffer(Protocol):
    """A storage or uniform buffer on the device."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def destroy(self) -> None:
        """Give its memory back now."""
        ...


class Pipeline(Protocol):
    """A compiled kernel."""


@dataclass(frozen=True)
class Binding:
    """A range of a buffer. Offset and size in bytes; the offset is aligned as Limits asks."""

    buffer: Buffer
    offset: int
    size: int


@dataclass(frozen=True)
class Dispatch:
    """One dispatch: a pipeline, its bindings slot by slot as its kernel's layout has them, and
    workgroups in x, y, z."""

    pipeline: Pipeline
    bindings: tuple[Binding | None, ...]
    groups: tuple[int, int, int]


class Device(Protocol):
    """An open device. Every method raises DeviceError when the driver fails or the device is lost;
    compile raises ShaderError."""

    info: AdapterInfo

    def storage(self, nbytes: int) -> Buffer:
        """Make a zeroed storage buffer of nbytes, a multiple of 4."""
        ...

    def uniform(self, words: Words) -> Buffer:
        """Make a uniform buffer that holds words."""
        ...

    def write(self, buffer: Buffer, offset: int, words: Words) -> None:
        """Copy words to the buffer at a byte offset."""
        ...

    def read(self, buffer: Buffer, offset: int, words: Words) -> None:
        """Fill words from the buffer at a byte offset; waits for what was submitted."""
        ...

    def compile(self, kernel: Kernel) -> Pipeline:
        """Compile a kernel, or raise ShaderError with the compiler's own message."""
        ...

    def submit(self, dispatches: Sequence[Dispatch]) -> None:
        """Run the dispatches in order, as one submission, and wait for the last."""
        ...

    def close(self) -> None:
        """Release the device."""
        ...


class Engine(Protocol):
    """A way to reach WebGPU."""

    name: str

    def adapters(self) -> list[AdapterInfo]:
        """Every adapter, in the engine's own order."""
        ...

    def open(self, index: int, features: Sequence[str]) -> Device:
        """Open the adapter with that index, with those features switched on."""
        ...
