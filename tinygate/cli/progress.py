"""Show a progress line on stderr, for a run of over a second on a terminal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_PATIENCE = 1.0  # seconds until the line appears


class Progress:
    """Shows which case runs and how many are done.

    It disappears while a line is printed, because stdout and stderr are often the same terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._bar: Any = None
        self._task: Any = None
        self._state = ("opening the adapter", 0, 0)
        self._timer: threading.Timer | None = None
        if stream.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()

    def update(self, what: str, done: int, total: int) -> None:
        """Show what runs now, and how many cases are done."""
        with self._lock:
            self._state = (what, done, total)
            if self._bar is not None:
                self._bar.update(self._task, description=what, completed=done, total=total)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the line while something else is printed."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            try:
                yield
            finally:
                if self._bar is not None:
                    self._bar.start()

    def stop(self) -> None:
        """Remove the line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        with self._lock:
            if self._timer is None:
                return
            what, done, total = self._state
            bar = Bar(
                SpinnerColumn(),
                MofNCompleteColumn(),
                BarColumn(20),
                TextColumn("{task.description}", markup=False),
                console=Console(file=self._stream, stderr=True),
                transient=True,
            )
            self._task = bar.add_task(what, completed=done, total=total or None)
            self._bar = bar
            bar.start()
