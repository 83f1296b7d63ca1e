"""The worker: a process of its own that owns the device and runs cases.

It exists so that a driver that crashes, hangs or loses its device takes down this process and not
the gate. It reads requests from standard input and answers on what was standard output, pickled:
both ends are the same program, joined by a private pipe. A driver's own prints go to stderr.

When the parent is gone standard input ends, and so does the worker, even inside a hung driver call.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from tinygate.core.case import Case
from tinygate.core.errors import DeviceError, TinygateError
from tinygate.core.results import CaseResult
from tinygate.worker.protocol import Adapters, ListAdapters, Open, Opened, Redraw, Redrawn

if TYPE_CHECKING:
    from tinygate.gate.device import OpenDevice


class WorkerLoop:
    """Answers requests, one at a time. The gate and its numpy are imported by the first."""

    def __init__(self) -> None:
        self._device: OpenDevice | None = None

    def answer(self, request: object) -> object:
        """Do what is asked. A TinygateError is an answer like any other."""
        try:
            if isinstance(request, ListAdapters):
                return self._list(request)
            if isinstance(request, Open):
                return self._open(request)
            if isinstance(request, Case):
                return self._run(request)
            if isinstance(request, Redraw):
                return self._redraw(request)
        except TinygateError as error:
            return error
        except Exception as error:  # a fault of tinygate's own must not look like a verdict
            return DeviceError(
                f"internal error: {type(error).__name__}: {error}", "run with --debug and report it"
            )
        raise TypeError(f"not a request: {request!r}")

    def _list(self, request: ListAdapters) -> Adapters:
        from tinygate.gate.device import list_adapters

        return Adapters(list_adapters(request.engine, request.features))

    def _open(self, request: Open) -> Opened:
        from tinygate.gate.device import open_device

        device = open_device(
            request.engine,
            request.adapter,
            request.features,
            every_backend=request.every_backend,
        )
        self._device = device
        return Opened(device.adapter, device.adapters, device.numerics)

    def _run(self, case: Case) -> CaseResult:
        from tinygate.gate.case_run import CaseRun

        assert self._device is not None, "a case before the device was opened"
        device = self._device
        try:
            case = replace(case, adapter=device.adapter)
            return CaseRun(device.harness, device.numerics, case).run()
        except DeviceError:
            raise  # as an answer it has the supervisor start anew: this device may be lost
        except TinygateError as error:
            return case.error(error)

    def _redraw(self, request: Redraw) -> Redrawn:
        from tinygate.gate.redraw import redraws

        return Redrawn(redraws(request.case, request.a, request.b))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    waiting: queue.SimpleQueue[object] = queue.SimpleQueue()

    def read() -> None:
        while True:
            try:
                waiting.put(pickle.load(requests))
            except EOFError:
                os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    loop = WorkerLoop()
    while True:
        pickle.dump(loop.answer(waiting.get()), answers)
        answers.flush()


def main() -> None:
    """Run as `python -m tinygate.worker.process`; not for people."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
