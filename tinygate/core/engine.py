"""Name the WebGPU engines and check which are installed, without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from tinygate.core.errors import UnknownNameError, UsageError

# Engine -> the package it needs beyond the base dependencies. The extra that installs the package
# has the engine's name.
ENGINES: Mapping[str, str] = {"native": "", "dawn": "wgpudawn"}
DEFAULT_ENGINE = "native"
# What a kernel may be declared for. Manifests may already name the browser, though no engine of
# this version runs there.
TARGETS = (*ENGINES, "browser")


def installed(name: str) -> str:
    """Return the name of an engine after checking that its package is installed.

    Raises:
        UnknownNameError: no engine has this name; the message lists them.
        UsageError: its package is not installed; the hint is the command that installs it.
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
