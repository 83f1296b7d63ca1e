"""Start engines by name. The module behind a name is imported only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from tinygate.core.engine import installed
from tinygate.gpu.engines.base import Engine


def load(name: str, *, every_backend: bool = False, features: Sequence[str] = ()) -> Engine:
    """Import and start an engine.

    every_backend: also start the backends that are only a last resort (OpenGL), which costs about
    as much time as all the others together.
    features: what will be asked for, since some need a switch before the first adapter is.

    Raises:
        UnknownNameError: where there is no such engine.
        UsageError: where the engine's package is not installed.
    """
    module = importlib.import_module(f"tinygate.gpu.engines.{installed(name)}")
    engine: Engine = module.start(every_backend=every_backend, features=features)
    return engine
