"""Look up what options name: paths and engines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from tinygate.core import engine
from tinygate.core.errors import UsageError
from tinygate.core.text import clean
from tinygate.paths import registry
from tinygate.paths.registry import Registry


def load_paths(no_plugins: bool, files: Iterable[str] = ()) -> Registry:
    """Load every path to choose from, and say on stderr what had to be left out.

    files: manifests to load too.

    Raises:
        ConfigError: a manifest that cannot be used, or two paths with one name.
    """
    found = registry.load(with_plugins=not no_plugins)
    for warning in found.warnings:
        sys.stderr.write(f"warning: {clean(warning)}\n")
    return found.with_manifests(files)


def engines(names: Sequence[str] | None) -> tuple[str, ...]:
    """Give the engines to use, each installed.

    Raises:
        UsageError: where one is unknown or not installed.
    """
    return tuple(dict.fromkeys(map(engine.installed, names or [engine.DEFAULT_ENGINE])))


def one_engine(names: Sequence[str] | None) -> str:
    """Give the engine to use where there can be only one.

    Raises:
        UsageError: where it is unknown or not installed, or several are named.
    """
    one, *others = engines(names)
    if others:
        raise UsageError("one engine at a time here", f"--engine {one}", about="--engine")
    return one
