"""Look up the paths and engines that options name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tinygate.core import engine
from tinygate.core.errors import UsageError
from tinygate.core.text import clean
from tinygate.paths import registry
from tinygate.paths.registry import Registry


def load_paths(no_plugins: bool, files: Iterable[str] = ()) -> Registry:
    """Load every path to choose from; warn on stderr about each plug-in that is left out.

    files: manifests to load too.

    Raises:
        ConfigError: a manifest cannot be used, or two paths have the same name.
    """
    found = registry.load(with_plugins=not no_plugins)
    for warning in found.warnings:
        sys.stderr.write(f"warning: {clean(warning)}\n")
    return found.with_manifests(files)


def engines(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the engines to use, by default the default engine.

    Raises:
        UsageError: an engine is unknown or not installed.
    """
    return tuple(dict.fromkeys(map(engine.installed, names or [engine.DEFAULT_ENGINE])))


def one_engine(names: Sequence[str] | None) -> str:
    """Return the engine to use, for a command that takes only one.

    Raises:
        UsageError: it is unknown or not installed, or several are named.
    """
    one, *others = engines(names)
    if others:
        raise UsageError("this command takes one engine", f"--engine {one}", about="--engine")
    return one
