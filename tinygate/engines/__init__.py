"""Engines by name. The module behind a name is imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tinygate.errors import UnknownNameError

if TYPE_CHECKING:  # base brings numpy, which naming an engine does without
    from tinygate.engines.base import Engine

ENGINES = {"native": "tinygate.engines.native"}
DEFAULT_ENGINE = "native"


def check(name: str) -> str:
    """The name back, if there is such an engine.

    Raises:
        UnknownNameError: with the list of engines.
    """
    if name not in ENGINES:
        raise UnknownNameError(
            f"unknown engine {name!r}; the engines are {', '.join(ENGINES)}",
            f"tinygate verify --engine {DEFAULT_ENGINE}",
        )
    return name


def load(name: str, *, every_backend: bool = False) -> Engine:
    """Import and start an engine.

    every_backend: also start the backends that are only a last resort (OpenGL), which costs about
    as much time as all the others together.
    """
    engine: Engine = importlib.import_module(ENGINES[check(name)]).start(
        every_backend=every_backend
    )
    return engine
