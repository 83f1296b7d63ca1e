"""A bound on work: it ends it, leaves nothing behind, and is none off the main thread."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from tinygate.cli.time_limit import OutOfTimeError, at_most

SLOW = re.compile("(.*)*(.*)*(.*)*(.*)*#")


def test_a_slow_pattern_is_stopped_and_a_quick_one_is_not() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTimeError), at_most(0.2):
        SLOW.search("f16-storage/64x128x128/uniform" * 4)
    with at_most(60.0):
        assert SLOW.search("#")
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_what_goes_wrong_inside_comes_out() -> None:
    with pytest.raises(KeyError), at_most(60.0):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_off_the_main_thread_nothing_is_bounded() -> None:
    done = []

    def work() -> None:
        with at_most(0.01):
            time.sleep(0.1)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
