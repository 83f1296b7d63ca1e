"""Run the worker: a separate process that owns the device and runs cases.

A driver that crashes, hangs or loses its device takes down this process and not the gate. The
worker reads pickled requests from standard input and answers on the original standard output; both
ends of this private pipe are the same program. What a driver prints goes to stderr.

When the parent ends, standard input closes and the worker exits, even inside a hung driver call.
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
    """Answers requests, one at a time. The first request imports the gate and numpy."""

    def __init__(self) -> None:
        self._device: OpenDevice | None = None

    def answer(self, request: object) -> object:
        """Carry out a request and return its answer; a TinygateError is an answer too."""
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
        except Exception as error:  # a bug in tinygate must not look like a verdict
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
            raise  # the supervisor then starts a new worker, since this device may be lost
        except TinygateError as error:
            return case.error(error)

    def _redraw(self, request: Redraw) -> Redrawn:
        from tinygate.gate.redraw import redraws

        return Redrawn(redraws(request.case, request.a, request.b))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until their stream ends, then exit."""
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
    """Serve on standard input and output. The supervisor runs it, not people."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
