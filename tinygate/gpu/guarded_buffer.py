"""Put guard words behind operands and outputs, to find a kernel that writes past their end.

A large product has a buffer with one slice. Many small products share a buffer, so that they cost
one upload, one submission and one readback instead of hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinygate.gpu.engines.base import CHUNK_BYTES, Binding, Device, Words

_WINDOW = CHUNK_BYTES // 4


class GuardedBuffer:
    """A buffer of `count` slices of `data` words, each followed by `guard` words of `guard_word`.

    The guard is bound with its slice. It shrinks where data and guard together would exceed the
    largest binding or buffer: a kernel cannot reach words that it has no room to bind.
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
        """Return one binding per slice, over its data and guard."""
        size = 4 * (self.data + self.guard)
        return [Binding(self.buffer, 4 * self.stride * i, size) for i in range(self.count)]

    def fill(self, slices: Sequence[Words]) -> None:
        """Upload the data of every slice, and reset the guard words."""
        for start in range(0, self.stride * self.count, _WINDOW):
            self._device.write(self.buffer, 4 * start, self._window(slices, start))

    def changed(self, slices: Sequence[Words]) -> bool:
        """Tell whether any word differs from what `fill(slices)` uploads."""
        for start in range(0, self.stride * self.count, _WINDOW):
            expected = self._window(slices, start)
            if not np.array_equal(self._read_window(start), expected):
                return True
        return False

    def read(self) -> Words:
        """Read every slice with its guard, as [count, stride]."""
        words = np.empty((self.count, self.stride), np.uint32)
        self._device.read(self.buffer, 0, words)
        return words

    def guard_with(self, word: int) -> bool:
        """Give the guard another word, and tell whether a kernel had changed any of it."""
        if word == self.guard_word or not self.guard:
            return False
        changed = False
        # Of one slice only the guard is moved, which the data may be many times as long as.
        skipped = self.data if self.count == 1 else 0
        together = max(1, _WINDOW // self.stride)
        for i in range(0, self.count, together):
            slices = min(together, self.count - i)
            words = np.empty((slices, self.stride - skipped), np.uint32)
            at = 4 * (self.stride * i + skipped)
            self._device.read(self.buffer, at, words)
            first = self.data - skipped
            changed |= bool((words[:, first : first + self.guard] != self.guard_word).any())
            words[:, first:] = word
            self._device.write(self.buffer, at, words)
        self.guard_word = np.uint32(word)
        return changed

    def destroy(self) -> None:
        """Free the device buffer."""
        self.buffer.destroy()

    def _read_window(self, start: int) -> Words:
        words = np.empty(min(_WINDOW, self.stride * self.count - start), np.uint32)
        self._device.read(self.buffer, 4 * start, words)
        return words

    def _window(self, slices: Sequence[Words], start: int) -> Words:
        """Make up to _WINDOW of the words that `fill(slices)` uploads, beginning at `start`."""
        size = min(_WINDOW, self.stride * self.count - start)
        window = np.full(size, self.guard_word, np.uint32)
        for i in range(start // self.stride, -(-(start + size) // self.stride)):
            at = i * self.stride
            first, last = max(at, start), min(at + self.data, start + size)
            if first < last:
                window[first - start : last - start] = slices[i][first - at : last - at]
        return window
