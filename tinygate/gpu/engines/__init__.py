"""Engines by name. The module behind a name is imported only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tinygate.core.errors import UnknownNameError, UsageError

if TYPE_CHECKING:  # base brings numpy, which naming an engine does without
    from tinygate.gpu.engines.base import Engine

ENGINES = {"native": "tinygate.gpu.engines.native", "dawn": "tinygate.gpu.engines.dawn"}
# What is not in the base dependencies; the extra has the engine's name.
PACKAGES = {"dawn": "wgpudawn"}
DEFAULT_ENGINE = "native"


def check(name: str) -> str:
    """The name back, if there is such an engine and its package is installed.

    Raises:
        UnknownNameError: with the list of engines.
        UsageError: with the command that installs it.
    """
    if name not in ENGINES:
        raise UnknownNameError(
            f"unknown engine {name!r}; the engines are {', '.join(ENGINES)}",
            f"tinygate verify --engine {DEFAULT_ENGINE}",
        )
    package = PACKAGES.get(name)
    if package is not None and find_spec(package) is None:
        raise UsageError(
            f"engine {name} needs the package {package}, which is not installed",
            f"pip install 'tinygate[{name}]'",
        )
    return name


def load(name: str, *, every_backend: bool = False, features: Sequence[str] = ()) -> Engine:
    """Import and start an engine.

    every_backend: also start the backends that are only a last resort (OpenGL), which costs about
    as much time as all the others together.
    features: what will be asked for, since some need a switch before the first adapter is.

    Raises:
        UsageError: where the engine's package is not installed.
    """
    engine: Engine = importlib.import_module(ENGINES[check(name)]).start(
        every_backend=every_backend, features=features
    )
    return engine
