"""Every path there is to choose from: built-ins, plug-ins, and manifests that are named."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tinygate.core.errors import ConfigError, UnknownNameError
from tinygate.core.fast_path import FastPath
from tinygate.paths import builtin, manifest, plugins
from tinygate.paths.builtin import REFERENCE
from tinygate.paths.validate import validate


def registered() -> tuple[FastPath, ...]:
    """Every registered path, validated."""
    return tuple(validate(path) for path in builtin.BUILTIN)


def select(names: Iterable[str], paths: tuple[FastPath, ...]) -> tuple[FastPath, ...]:
    """The named paths, or every one that is not opt-in where no name is given.

    Raises:
        UnknownNameError: with the list of registered names.
    """
    by_name = {path.name: path for path in paths}
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in by_name:
            raise UnknownNameError(
                f"unknown path {name!r}; the registered paths are {', '.join(by_name)}",
                "tinygate paths",
            )
    if not chosen:
        return tuple(path for path in paths if not path.opt_in)
    return tuple(by_name[name] for name in chosen)


@dataclass(frozen=True)
class Registry:
    """paths      each with a name of its own
    warnings   what was left out, and why
    """

    paths: tuple[FastPath, ...]
    warnings: tuple[str, ...] = ()

    def select(self, arguments: Iterable[str]) -> tuple[FastPath, ...]:
        """The paths that --path names, by name or by file; every one that is not opt-in where
        nothing is named.

        Raises:
            UnknownNameError: with the list of names.
        """
        by_file = {_resolved(path.file): path.name for path in self.paths if path.file}
        names = [by_file[_resolved(a)] if is_file(a) else a for a in arguments]
        return select(names, self.paths)


def load(
    arguments: Iterable[str] = (), *, files: Iterable[str] = (), with_plugins: bool = True
) -> Registry:
    """Built-ins, plug-ins, the manifests among the arguments of --path, and further manifests.

    Raises:
        ConfigError: a manifest that cannot be used, or two paths with one name.
    """
    found = plugins.discover() if with_plugins else plugins.Found((), ())
    named = {_resolved(f): f for f in (*filter(is_file, arguments), *files)}
    every = (*registered(), *found.paths, *(manifest.load(Path(f)) for f in named.values()))
    sources = {REFERENCE.name: "the reference"}
    for path in every:
        if path.name in sources:
            raise ConfigError(
                f"two paths are called {path.name!r}: {sources[path.name]} and {path.source}",
                "give one another name"
                + (", or leave plug-ins out with --no-plugins" if found.paths else ""),
            )
        sources[path.name] = path.source
    return Registry(every, found.warnings)


def is_file(argument: str) -> bool:
    """Whether --path was given a manifest and not a name: no name has a dot or a slash."""
    return argument.endswith(".toml") or "/" in argument or os.sep in argument


def _resolved(file: str) -> str:
    """One spelling for one file."""
    try:
        return str(Path(file).resolve())
    except (OSError, RuntimeError, ValueError):
        return file
