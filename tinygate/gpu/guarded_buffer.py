"""GuardedBuffer: equal slices of one buffer, each with guard words that tell when a kernel strays.

One product makes a buffer of one slice; many small products share one, so that they cost one
upload, one submission and one readback instead of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinygate.gpu.engines.base import CHUNK_BYTES, Binding, Device, Words

_WINDOW = CHUNK_BYTES // 4


class GuardedBuffer:
    """`count` slices of `data` words, each followed by `guard` words of the value `guard_word`.

    The guard is bound with its slice. It shrinks where data and guard together would exceed what
    may be bound: then nothing guard_word the data is reachable, so nothing needs a guard.
    """

    def __init__(self, device: Device, count: int, data: int, guard: int, guard_word: int) -> None:
        limits = device.info.limits
        self._device = device
        self.count = count
        self.data = data
        room = limits.max_storage_buffer_binding_size // 4 - data
        self.guard = max(0, min(guard, room, limits.max_buffer_size // 4 - data))
        self.guard_word = np.uint32(guard_word)
        align = limits.min_storage_buffer_offset_alignment // 4
        self.stride = data + self.guard
        if count > 1:
            self.stride = -(-self.stride // align) * align
        self.buffer = device.storage(4 * self.stride * count)

    def bindings(self) -> list[Binding]:
        """One per slice: data and guard."""
        size = 4 * (self.data + self.guard)
        return [Binding(self.buffer, 4 * self.stride * i, size) for i in range(self.count)]

    def fill(self, slices: Sequence[Words]) -> None:
        """Upload a data per slice and the words guard_word each."""
        for start in range(0, self.stride * self.count, _WINDOW):
            self._device.write(self.buffer, 4 * start, self._window(slices, start))

    def changed(self, slices: Sequence[Words]) -> bool:
        """Whether any word differs from what `fill(slices)` would put there."""
        for start in range(0, self.stride * self.count, _WINDOW):
            expected = self._window(slices, start)
            if not np.array_equal(self._read_window(start), expected):
                return True
        return False

    def read(self) -> Words:
        """Every slice with its guard: [count, stride]."""
        words = np.empty((self.count, self.stride), np.uint32)
        self._device.read(self.buffer, 0, words)
        return words

    def equals(self, words: Words) -> bool:
        """Whether the buffer holds exactly these words, as `read` gave them before."""
        flat = words.reshape(-1)
        return all(
            np.array_equal(self._read_window(start), flat[start : start + _WINDOW])
            for start in range(0, flat.size, _WINDOW)
        )

    def destroy(self) -> None:
        """Give the buffer back."""
        self.buffer.destroy()

    def _read_window(self, start: int) -> Words:
        words = np.empty(min(_WINDOW, self.stride * self.count - start), np.uint32)
        self._device.read(self.buffer, 4 * start, words)
        return words

    def _window(self, slices: Sequence[Words], start: int) -> Words:
        """The words [start, start + window) of the filled arena."""
        size = min(_WINDOW, self.stride * self.count - start)
        window = np.full(size, self.guard_word, np.uint32)
        for i in range(start // self.stride, -(-(start + size) // self.stride)):
            at = i * self.stride
            first, last = max(at, start), min(at + self.data, start + size)
            if first < last:
                window[first - start : last - start] = slices[i][first - at : last - at]
        return window
