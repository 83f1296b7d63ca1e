"""Name the WebGPU engines, and say which are installed. Nothing of an engine is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from tinygate.core.errors import UnknownNameError, UsageError

# Each engine with the package of its own that it needs beside the base dependencies; the extra
# that installs it has the engine's name.
ENGINES: Mapping[str, str] = {"native": "", "dawn": "wgpudawn"}
DEFAULT_ENGINE = "native"
# What a kernel may be declared for: the browser runs kernels from a later version on.
TARGETS = (*ENGINES, "browser")


def installed(name: str) -> str:
    """Give the name back, if there is such an engine and its package is installed.

    Raises:
        UnknownNameError: with the list of engines.
        UsageError: with the command that installs it.
    """
    if name not in ENGINES:
        raise UnknownNameError(
            f"unknown engine {name!r}; the engines are {', '.join(ENGINES)}",
            f"tinygate verify --engine {DEFAULT_ENGINE}",
        )
    package = ENGINES[name]
    if package and find_spec(package) is None:
        raise UsageError(
            f"engine {name} needs the package {package}, which is not installed",
            f"pip install 'tinygate[{name}]'",
        )
    return name
