"""Upload operands with guard words behind them, pack them, run products and read results back.

Nothing here judges a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.gpu.dispatch import NOTHING_REFUSED, Runner, refuse
from tinygate.gpu.engines.base import Binding, Device, Dispatch
from tinygate.gpu.guarded_buffer import GuardedBuffer
from tinygate.gpu.kernel import check_fits
from tinygate.numerics.arrays import F32, Words, as_words
from tinygate.numerics.formats import A_FORMATS, FORMATS
from tinygate.paths.builtin import REFERENCE

# Behind A and B, in the first run and in later ones: NaN as one f32 and as two f16.
NAN_WORDS = (0xFFFFFFFF, 0x7FFF7FFF)
# Behind C, bound with it, in the first run and in later ones. They change so that a kernel that
# writes the very word that is there is seen in another run.
GUARD_WORDS = (0x7FD1CE5A, 0x7FC0FFEE)
# What C holds before a run. The first marker is a NaN with a bit pattern of its own, so an
# unwritten element is told from any other NaN. Later runs start from a finite value of the size of
# outputs (0.79) and of the other sign, so that a kernel that is right only over NaN, or uses the
# old C, gives other bits.
MARKERS = (0xFFEDC0DE, 0x3F4A1B2C)

_INPUT_GUARD = 64
_OUTPUT_GUARD = 256
_MAX_GUARD = 1 << 16

Halves = NDArray[np.float16]


@dataclass
class Readback:
    """A stored operand as read back from the device.

    buffer   None where another runtime holds the operand
    words    the words read back, one array per product
    past     whether the packer wrote past its output
    """

    buffer: GuardedBuffer | None
    words: list[Words]
    past: bool


def marker(run: int, *, other: bool = False) -> int:
    """Return the word that fills C before run number `run`, or the one that does not."""
    return MARKERS[min(run, 1) ^ other]


def behind(run: int) -> int:
    """Return the word that lies behind A and B in run number `run`."""
    return NAN_WORDS[min(run, 1)]


def _strayed(buffer: GuardedBuffer, words: Words) -> bool:
    """Tell whether any guard word has changed."""
    guard = words[:, buffer.data : buffer.data + buffer.guard]
    return bool((guard != buffer.guard_word).any())


class Harness:
    """The operands and outputs of products on one open device."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.device: Device = runner.device

    def activations(self, As: Sequence[F32]) -> GuardedBuffer:
        """Upload every A[M,K] f32, one slice each."""
        return self._upload([as_words(A) for A in As])

    def weights(self, Bs: Sequence[F32]) -> GuardedBuffer | None:
        """Upload every B[K,N] f32, one slice each; None where B exceeds the largest binding."""
        if Bs[0].nbytes > self.device.info.limits.max_storage_buffer_binding_size:
            return None
        return self._upload([as_words(B) for B in Bs])

    def _upload(self, slices: list[Words]) -> GuardedBuffer:
        buffer = GuardedBuffer(self.device, len(slices), slices[0].size, _INPUT_GUARD, NAN_WORDS[0])
        buffer.fill(slices)
        return buffer

    def outputs(self, count: int, shape: Shape, *, guard: bool = True) -> GuardedBuffer:
        """Allocate `count` C[M,N], one slice each.

        The guard is wide enough to catch a stray row; guard=False allocates none.
        """
        words = min(_OUTPUT_GUARD + shape.N, _MAX_GUARD) if guard else 0
        return GuardedBuffer(self.device, count, shape.M * shape.N, words, GUARD_WORDS[0])

    def run(
        self,
        path: FastPath,
        shape: Shape,
        a: GuardedBuffer,
        b: GuardedBuffer,
        c: GuardedBuffer,
        run: int,
        *,
        other_marker: bool = False,
    ) -> None:
        """Refill C with the run's marker, then dispatch every product once.

        B's slices are used in turn where A has more of them.
        """
        c.guard_word = np.uint32(GUARD_WORDS[min(run, 1)])
        not_run = np.broadcast_to(np.uint32(marker(run, other=other_marker)), (c.data,))
        c.fill([not_run] * c.count)
        weights = b.bindings()
        self.device.submit(
            [
                self.runner.matmul(path, shape, left, weights[i % b.count], out, square=run > 0)
                for i, (left, out) in enumerate(zip(a.bindings(), c.bindings(), strict=True))
            ]
        )

    def reference(
        self, shape: Shape, a: GuardedBuffer, b: GuardedBuffer | None, Bs: Sequence[F32]
    ) -> list[F32]:
        """Compute R[M,N] of every product, by column panels where B exceeds the largest binding."""
        if b is not None:
            return self._reference(shape, a, b)
        limit = self.device.info.limits.max_storage_buffer_binding_size
        panel = max(1, limit // (4 * shape.K))
        results = []
        for B in Bs:
            R = np.empty((shape.M, shape.N), np.float32)
            for n in range(0, shape.N, panel):
                part = self._upload([as_words(np.ascontiguousarray(B[:, n : n + panel]))])
                narrow = Shape(shape.M, shape.K, min(panel, shape.N - n))
                R[:, n : n + panel] = self._reference(narrow, a, part)[0]
                part.destroy()
            results.append(R)
        return results

    def _reference(self, shape: Shape, a: GuardedBuffer, b: GuardedBuffer) -> list[F32]:
        check_fits(REFERENCE, shape, self.device.info.limits)
        c = self.outputs(a.count, shape)
        self.run(REFERENCE, shape, a, b, c, 0)
        words = c.read()
        c.destroy()
        return [
            row[: shape.M * shape.N].view(np.float32).reshape(shape.M, shape.N) for row in words
        ]

    def pack(
        self, path: FastPath, shape: Shape, b: GuardedBuffer | None, Bs: Sequence[F32]
    ) -> Readback:
        """Pack every B on the device, read back the stored words, and free `b`.

        Raises:
            PackingRefusedError: where the packer counted values its format cannot hold.
        """
        storage = FORMATS[path.b]
        size = storage.words(shape.K, shape.N)
        buffer = self._unpacked(len(Bs), size)
        past = False
        if b is not None:
            self._pack_batch(path, shape, b.bindings(), buffer.bindings(), Bs)
            b.destroy()
        else:
            panels = self._pack_columns if storage.quantized else self._pack_rows
            for B, target in zip(Bs, buffer.bindings(), strict=True):
                past |= panels(path, shape, B, target)
        words = buffer.read()
        return Readback(buffer, [row[:size] for row in words], past or _strayed(buffer, words))

    def pack_a(self, path: FastPath, shape: Shape, a: GuardedBuffer, As: Sequence[F32]) -> Readback:
        """Pack every A on the device and read back the stored words; keep `a`.

        Raises:
            PackingRefusedError: where the packer counted values its format cannot hold.
        """
        storage = A_FORMATS[path.a]
        size = storage.words(shape.M, shape.K)
        buffer = self._unpacked(len(As), size)

        def dispatch(source: Binding, target: Binding, status: Binding) -> Dispatch:
            return self.runner.pack_a(path, shape.M, shape.K, source, target, status, square=True)

        for row, A in zip(self._packed(dispatch, a.bindings(), buffer.bindings()), As, strict=True):
            refuse(row, A, storage.max_finite, operand="A")
        words = buffer.read()
        return Readback(buffer, [row[:size] for row in words], _strayed(buffer, words))

    def _unpacked(self, count: int, size: int) -> GuardedBuffer:
        """Allocate `count` slices of `size` packed words, all NaN, with NaN guard words."""
        buffer = GuardedBuffer(self.device, count, size, _INPUT_GUARD, NAN_WORDS[0])
        buffer.fill([np.broadcast_to(np.uint32(NAN_WORDS[0]), (size,))] * count)
        return buffer

    def _pack_batch(
        self,
        path: FastPath,
        shape: Shape,
        sources: Sequence[Binding],
        targets: Sequence[Binding],
        Bs: Sequence[F32],
        first_row: int = 0,
    ) -> None:
        """Pack every B in one submission; a refusal names the first value of the first such B."""

        def dispatch(source: Binding, target: Binding, status: Binding) -> Dispatch:
            return self.runner.pack(path, shape.K, shape.N, source, target, status, square=True)

        for row, B in zip(self._packed(dispatch, sources, targets), Bs, strict=True):
            refuse(row, B, FORMATS[path.b].max_finite, first_row, operand="B")

    def _packed(
        self,
        dispatch: Callable[[Binding, Binding, Binding], Dispatch],
        sources: Sequence[Binding],
        targets: Sequence[Binding],
    ) -> Words:
        """Run a packer for every source in one submission; return each one's status, [count, 2]."""
        status = GuardedBuffer(self.device, len(sources), 2, 0, 0)
        status.fill([np.array([0, NOTHING_REFUSED], np.uint32)] * len(sources))
        bindings = zip(sources, targets, status.bindings(), strict=True)
        self.device.submit([dispatch(*each) for each in bindings])
        found = status.read()
        status.destroy()
        return found

    def _pack_columns(self, path: FastPath, shape: Shape, B: F32, target: Binding) -> bool:
        """Pack a B that exceeds the largest binding some columns at a time.

        For formats whose words hold values of one column, in lines of a word per column. Returns
        whether the packer wrote past a panel.
        """
        storage = FORMATS[path.b]
        cols = max(1, self.device.info.limits.max_storage_buffer_binding_size // (4 * shape.K))
        lines = storage.words(shape.K, shape.N) // shape.N
        whole = np.empty((lines, shape.N), np.uint32)
        past = False
        for n in range(0, shape.N, cols):
            part = np.ascontiguousarray(B[:, n : n + cols])
            narrow = Shape(shape.M, shape.K, part.shape[1])
            words, stray = self._pack_panel(path, narrow, part)
            whole[:, n : n + cols] = words.reshape(lines, -1)
            past |= stray
        self.device.write(target.buffer, target.offset, whole.reshape(-1))
        return past

    def _pack_panel(
        self, path: FastPath, shape: Shape, part: F32, first_row: int = 0
    ) -> tuple[Words, bool]:
        """Pack a part of B by itself; return its words, and whether the packer wrote past them."""
        size = FORMATS[path.b].words(shape.K, shape.N)
        source, packed = self._upload([as_words(part)]), self._unpacked(1, size)
        self._pack_batch(path, shape, source.bindings(), packed.bindings(), [part], first_row)
        source.destroy()
        words = packed.read()
        packed.destroy()
        return words[0, :size], _strayed(packed, words)

    def _pack_rows(self, path: FastPath, shape: Shape, B: F32, target: Binding) -> bool:
        """Pack a B that exceeds the largest binding some rows of K at a time.

        Each panel is packed in its own buffer and copied from there, because few rows of a wide B
        begin at an offset where a binding may begin. Returns whether the packer wrote past a panel.
        """
        storage = FORMATS[path.b]
        rows = max(1, self.device.info.limits.max_storage_buffer_binding_size // (4 * shape.N))
        past = False
        for k in range(0, shape.K, rows):
            part = B[k : k + rows]
            narrow = Shape(shape.M, part.shape[0], shape.N)
            words, stray = self._pack_panel(path, narrow, part, k)
            past |= stray
            at = target.offset + 4 * storage.words(k, shape.N)
            self.device.write(target.buffer, at, words)
        return past

    def device_f16(self, values: F32) -> Halves:
        """Convert values to f16 on the device (pack2x16float), for comparison with a packer's."""
        flat = values.reshape(-1)
        buffers = [self.device.storage(4 * flat.size) for _ in range(2)] + [self.device.storage(4)]
        self.device.write(buffers[0], 0, flat.view(np.uint32))
        bindings = [Binding(buffer, 0, buffer.size) for buffer in buffers]
        self.device.submit([self.runner.convert(flat.size, *bindings)])
        words = np.empty(flat.size, np.uint32)
        self.device.read(buffers[1], 0, words)
        for buffer in buffers:
            buffer.destroy()
        halves: Halves = words.view("<f2")[::2]
        return halves.reshape(values.shape)
