"""Guard words: other words behind the same data, and what a kernel changed there."""

from __future__ import annotations

import numpy as np
import pytest

from tinygate.gpu.engines.base import Device, Words
from tinygate.gpu.guarded_buffer import GuardedBuffer

OLD, NEW = 0xFFFFFFFF, 0x7FFF7FFF


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("data", [1, 64, 1000])
def test_another_word_behind_the_same_data(device: Device, count: int, data: int) -> None:
    buffer = GuardedBuffer(device, count, data, 8, OLD)
    slices: list[Words] = [np.full(data, i, np.uint32) for i in range(count)]
    buffer.fill(slices)
    assert not buffer.guard_with(NEW)
    assert not buffer.changed(slices)
    words = buffer.read()
    assert (words[:, :data] == np.stack(slices)).all()
    assert (words[:, data:] == NEW).all()
    assert not buffer.guard_with(NEW)
    buffer.destroy()


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_kernel_changed_is_told_once(device: Device, count: int) -> None:
    buffer = GuardedBuffer(device, count, 64, 8, OLD)
    buffer.fill([np.zeros(64, np.uint32)] * count)
    last = buffer.bindings()[-1]
    device.write(buffer.buffer, last.offset + last.size - 4, np.array([1], np.uint32))
    assert buffer.guard_with(NEW)
    assert not buffer.guard_with(OLD)
    buffer.destroy()


def test_no_guard_is_never_changed(device: Device) -> None:
    buffer = GuardedBuffer(device, 1, 64, 0, OLD)
    assert not buffer.guard_with(NEW)
    buffer.destroy()
