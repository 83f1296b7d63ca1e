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
from typing import BinaryIO

from tinygate.core.adapter import AdapterInfo, AdapterTraits, choose
from tinygate.core.case import Case
from tinygate.core.errors import DeviceError, TinygateError
from tinygate.worker.protocol import Adapters, ListAdapters, Open, Opened


class Session:
    """Answers requests, one at a time."""

    def __init__(self) -> None:
        self._harness: object = None
        self._traits = AdapterTraits()
        self._adapter: AdapterInfo | None = None

    def answer(self, request: object) -> object:
        """Do what is asked. A TinygateError is an answer like any other."""
        try:
            if isinstance(request, ListAdapters):
                return self._list(request)
            if isinstance(request, Open):
                return self._open(request)
            if isinstance(request, Case):
                return self._run(request)
        except TinygateError as error:
            return error
        except Exception as error:  # a fault of tinygate's own must not look like a verdict
            return DeviceError(
                f"internal error: {type(error).__name__}: {error}", "run with --debug and report it"
            )
        raise TypeError(f"not a request: {request!r}")

    def _list(self, request: ListAdapters) -> Adapters:
        from tinygate.gpu import engines

        engine = engines.load(request.engine, every_backend=True, features=request.features)
        return Adapters(tuple(engine.adapters()))

    def _open(self, request: Open) -> Opened:
        from tinygate.gate.products import Harness
        from tinygate.gpu import engines
        from tinygate.gpu import probe as traits
        from tinygate.gpu.dispatch import Runner

        engine = engines.load(
            request.engine, every_backend=request.every_backend, features=request.features
        )
        adapters = engine.adapters()
        chosen = choose(adapters, request.adapter, engine=request.engine)
        features = [name for name in request.features if name in chosen.features]
        runner = Runner(engine.open(chosen.index, features))
        self._harness = Harness(runner)
        self._traits = traits.probe(runner)
        self._adapter = chosen
        return Opened(chosen, tuple(adapters), self._traits)

    def _run(self, case: Case) -> object:
        from tinygate.gate.case_run import Trial, unverified
        from tinygate.gate.products import Harness

        assert isinstance(self._harness, Harness), "a case before the device was opened"
        try:
            case = replace(case, adapter=self._adapter)
            return Trial(self._harness, self._traits, case).run()
        except DeviceError:
            raise  # as an answer it has the supervisor start anew: this device may be lost
        except TinygateError as error:
            return unverified(case, error)


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
    session = Session()
    while True:
        pickle.dump(session.answer(waiting.get()), answers)
        answers.flush()


def main() -> None:
    """Run as `python -m tinygate.worker.process`; not for people."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
