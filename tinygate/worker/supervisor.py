"""The parent's side of the worker: start it, ask it, and say what became of it."""

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
# A driver may take this long to start however short the cases are meant to be.
_OPENING_TIMEOUT = 60.0


class Supervisor:
    """Owns one worker process at a time, for one engine at a time, and replaces it when it dies.

    adapter    an index or part of a name; None for the preferred one
    features   switched on where the adapter has them
    timeout    what one case may take, in seconds

    Use it in a `with`: leaving it ends the worker.
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
        """Start a worker on an engine, and its device, without waiting for them."""
        if self._request is None or self._request.engine != engine:
            self.close()
            every_backend = self._adapter is not None
            self._request = Open(engine, self._adapter, self._features, every_backend)
        if self._worker is None:
            self._worker = _Worker()
            self._worker.send(self._request)

    def adapters(self, engine: str) -> Adapters:
        """List every adapter of an engine, in a worker of its own."""
        return self._ask(ListAdapters(engine, self._features), Adapters)

    def redraws(self, request: Redraw) -> bool:
        """Ask whether this version draws operands with those digests, in a worker of its own."""
        return self._ask(request, Redrawn).same

    def open(self, engine: str) -> Opened:
        """Wait for the engine's open device.

        Raises:
            TinygateError: where there is none, or the driver fails while opening it.
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
                # OpenGL is started only where nothing better is there: it takes as long again.
                self._request = replace(self._request, every_backend=True)
                return self.open(engine)
            except TinygateError:
                self.close()
                raise
        return self._opened

    def run(self, case: Case) -> CaseResult:
        """Run one case on the engine that was opened last. A crash, a hang or a lost device is
        this case's ERROR; the next case gets a new worker."""
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
        """Ask a worker that is there for this one question."""
        worker = _Worker()
        try:
            worker.send(request)
            return _expect(worker.receive(_OPENING_TIMEOUT), kind)
        finally:
            worker.kill()


class _Worker:
    """A worker process and the thread that reads its answers.

    It runs on this process's Python, or on the program that TINYGATE_WORKER_PYTHON names: a driver
    may need a newer C library than the machine's, and only the worker opens the driver.
    """

    def __init__(self) -> None:
        package = str(Path(__file__).resolve().parents[2])
        inherited = os.environ.get("PYTHONPATH")
        python = os.environ.get(PYTHON) or sys.executable
        try:
            # -P: what lies in the current folder must not be imported instead of numpy or wgpu.
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
                f"{PYTHON} names the Python it runs on; unset it or fix it",
            ) from None
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._said: collections.deque[str] = collections.deque(maxlen=20)
        for target in (self._read_answers, self._read_stderr):
            threading.Thread(target=target, daemon=True).start()

    def send(self, request: object) -> None:
        """Ask; a worker that is already dead shows when the answer is waited for."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()

    def receive(self, timeout: float) -> object:
        """The next answer.

        Raises:
            DeviceError: time-out, or the worker ended; naming the signal that ended it.
        """
        try:
            answer = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            raise DeviceError(
                f"timeout: no answer from the device within {timeout:g} s",
                "a kernel hangs or the machine is busy; --timeout gives it longer",
            ) from None
        if answer is _ENDED:
            raise DeviceError(*self._obituary())
        return answer

    def kill(self) -> None:
        """End the process now; a hung driver takes no gentler word."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what was not yet sent can't be any more
            self._process.stdin.close()

    def _obituary(self) -> tuple[str, str]:
        code = self._process.wait()
        last = f"; it said: {self._said[-1]}" if self._said else ""
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
    """The answer, if it is of that kind; an error that came as an answer is raised."""
    if isinstance(answer, TinygateError):
        raise answer
    if not isinstance(answer, kind):
        raise DeviceError(f"the worker answered {answer!r}", "run with --debug and report it")
    return answer
