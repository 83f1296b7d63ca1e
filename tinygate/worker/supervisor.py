"""Start worker processes, send them requests, and report how they ended."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tinygate.core.case import Case
from tinygate.core.errors import DeviceError, NoAdapterError, TinygateError
from tinygate.core.results import CaseResult
from tinygate.worker.protocol import Adapters, ListAdapters, Open, Opened, Redraw, Redrawn

T = TypeVar("T")

_ENDED = object()
PYTHON = "TINYGATE_WORKER_PYTHON"
DEFAULT_TIMEOUT = 120.0  # seconds for a case
# In seconds, and independent of the case's time limit: a driver may take this long to start.
_OPENING_TIMEOUT = 60.0


class Supervisor:
    """Owns one worker process, for one engine at a time, and replaces it when it dies.

    adapter    an index or part of a name; None for the preferred one
    features   switched on if the adapter has them
    timeout    time limit of one case, in seconds

    It is a context manager; leaving it ends the worker.
    """

    def __init__(self, adapter: str | None, features: tuple[str, ...], timeout: float) -> None:
        self._adapter = adapter
        self._features = features
        self._timeout = timeout
        self._request: Open | None = None
        self._worker: _Worker | None = None
        self._opened: Opened | None = None

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, engine: str) -> None:
        """Start a worker and ask it to open a device of the engine, without waiting for it."""
        if self._request is None or self._request.engine != engine:
            self.close()
            every_backend = self._adapter is not None
            self._request = Open(engine, self._adapter, self._features, every_backend)
        if self._worker is None:
            self._worker = _Worker()
            self._worker.send(self._request)

    def adapters(self, engine: str) -> Adapters:
        """List every adapter of an engine, in a separate worker."""
        return self._ask(ListAdapters(engine, self._features), Adapters)

    def redraws(self, request: Redraw) -> bool:
        """Ask whether this version draws operands with these digests, in a separate worker."""
        return self._ask(request, Redrawn).same

    def open(self, engine: str) -> Opened:
        """Wait until the engine's device is open, and return it.

        Raises:
            TinygateError: the engine has no device, or the driver fails while opening it.
        """
        self.start(engine)
        assert self._worker is not None
        assert self._request is not None
        if self._opened is None:
            try:
                self._opened = _expect(self._worker.receive(_OPENING_TIMEOUT), Opened)
            except NoAdapterError:
                self.close()
                if self._request.every_backend:
                    raise
                # OpenGL doubles the time to start, so it is tried only if there is nothing better.
                self._request = replace(self._request, every_backend=True)
                return self.open(engine)
            except TinygateError:
                self.close()
                raise
        return self._opened

    def run(self, case: Case) -> CaseResult:
        """Run one case on the engine that was opened last.

        A crash, a hang or a lost device is an ERROR of this case; the next one gets a new worker.
        """
        assert self._request is not None, "a case before an engine was opened"
        try:
            self.open(self._request.engine)
            assert self._worker is not None
            self._worker.send(case)
            return _expect(self._worker.receive(self._timeout), CaseResult)
        except TinygateError as error:
            self.close()
            return case.error(error)

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
        self._worker = self._opened = None

    def _ask(self, request: object, kind: type[T]) -> T:
        """Ask a worker that is started for this one request."""
        worker = _Worker()
        try:
            worker.send(request)
            return _expect(worker.receive(_OPENING_TIMEOUT), kind)
        finally:
            worker.kill()


class _Worker:
    """A worker process and the thread that reads its answers.

    It runs on this process's Python, or on the program that TINYGATE_WORKER_PYTHON names: a driver
    may need a newer C library than the system's, and only the worker opens the driver.
    """

    def __init__(self) -> None:
        package = str(Path(__file__).resolve().parents[2])
        inherited = os.environ.get("PYTHONPATH")
        python = os.environ.get(PYTHON) or sys.executable
        try:
            # -P: a file in the current folder must not be imported instead of numpy or wgpu.
            self._process = subprocess.Popen(
                [python, "-P", "-m", "tinygate.worker.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{package}{os.pathsep}{inherited}" if inherited else package,
                },
            )
        except OSError as error:
            raise DeviceError(
                f"the worker does not start: {error}",
                f"{PYTHON} names its Python; unset it or fix it",
            ) from None
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._said: collections.deque[str] = collections.deque(maxlen=20)
        for target in (self._read_answers, self._read_stderr):
            threading.Thread(target=target, daemon=True).start()

    def send(self, request: object) -> None:
        """Send a request."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # `receive` reports a worker that is already dead
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()

    def receive(self, timeout: float) -> object:
        """Wait for the next answer.

        timeout: in seconds.

        Raises:
            DeviceError: time-out, or the worker ended; the message names the signal that ended it.
        """
        try:
            answer = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            raise DeviceError(
                f"timeout: no answer from the device within {timeout:g} s",
                "a kernel hangs or the machine is busy; --timeout allows more time",
            ) from None
        if answer is _ENDED:
            raise DeviceError(*self._obituary())
        return answer

    def kill(self) -> None:
        """Kill the process; a hung driver does not react to anything gentler."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # unsent data is lost
            self._process.stdin.close()

    def _obituary(self) -> tuple[str, str]:
        code = self._process.wait()
        last = f"; its last message: {self._said[-1]}" if self._said else ""
        if code < 0:
            with contextlib.suppress(ValueError):
                return (
                    f"the driver crashed: {signal.Signals(-code).name}{last}",
                    "another driver version or --adapter may work",
                )
        return f"the worker ended with code {code}{last}", "run with --debug and report it"

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                self._answers.put(pickle.load(self._process.stdout))
        except (EOFError, pickle.UnpicklingError, OSError, ValueError):
            self._answers.put(_ENDED)

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if text := line.decode(errors="replace").strip():
                self._said.append(text)


def _expect(answer: object, kind: type[T]) -> T:
    """Return an answer of the expected kind; raise an answer that is an error."""
    if isinstance(answer, TinygateError):
        raise answer
    if not isinstance(answer, kind):
        raise DeviceError(f"the worker answered {answer!r}", "run with --debug and report it")
    return answer
