"""A bound on how long a piece of work may keep the main thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTimeError(Exception):
    """It took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError where the body takes longer. A regular expression can be stopped so,
    because `re` looks for signals while it matches. Off the main thread, and where a system has no
    timer, nothing is bounded.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
