"""Collect the paths to choose from: built-ins, plug-ins, and the manifests that options name."""

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
    """Return the built-in paths, validated."""
    return tuple(validate(path) for path in builtin.BUILTIN)


def select(names: Iterable[str], paths: tuple[FastPath, ...]) -> tuple[FastPath, ...]:
    """Return the named paths, or every path that is not opt-in if no name is given.

    Raises:
        UnknownNameError: no path has such a name; the message lists them.
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
    """The paths to choose from; their names are unique.

    warnings   a sentence for each plug-in that was left out
    """

    paths: tuple[FastPath, ...]
    warnings: tuple[str, ...] = ()

    def with_manifests(self, files: Iterable[str]) -> Registry:
        """Add the paths that these manifests declare, each manifest once.

        Raises:
            ConfigError: a manifest cannot be used, or two paths have the same name.
        """
        known = {_resolved(path.file) for path in self.paths if path.file}
        named = {_resolved(file): file for file in files}
        added = [manifest.load(Path(f)) for key, f in named.items() if key not in known]
        return Registry(_unique((*self.paths, *added)), self.warnings)

    def select(self, arguments: Iterable[str]) -> tuple[FastPath, ...]:
        """Return the paths that --path names, by name or by file.

        Without an argument these are all that are not opt-in.

        Raises:
            UnknownNameError: no path has such a name; the message lists them.
        """
        return select(self._names(arguments), self.paths)

    def names(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the paths that --require names, by name or by file.

        Raises:
            UnknownNameError: no path has such a name; the message lists them.
        """
        wanted = self._names(arguments)
        return tuple(path.name for path in select(wanted, self.paths)) if wanted else ()

    def _names(self, arguments: Iterable[str]) -> list[str]:
        by_file = {_resolved(path.file): path.name for path in self.paths if path.file}
        return [by_file[_resolved(a)] if is_manifest(a) else a for a in arguments]


def load(*, with_plugins: bool = True) -> Registry:
    """Load the built-ins and the installed plug-ins.

    Raises:
        ConfigError: two paths have the same name.
    """
    if not with_plugins:
        return Registry(registered())
    found = plugins.discover()
    return Registry(_unique((*registered(), *found.paths)), found.warnings)


def manifests(arguments: Iterable[str]) -> list[str]:
    """Pick the manifests among the values of --path or --require."""
    return [argument for argument in arguments if is_manifest(argument)]


def is_manifest(argument: str) -> bool:
    """Tell whether a value of --path is a manifest; names have neither dot nor slash."""
    return argument.endswith(".toml") or "/" in argument or os.sep in argument


def _unique(paths: tuple[FastPath, ...]) -> tuple[FastPath, ...]:
    """Return the paths after checking that their names are unique.

    Raises:
        ConfigError: two paths have the same name.
    """
    sources = {REFERENCE.name: "the reference"}
    plugin = any(path.source.startswith("plug-in ") for path in paths)
    for path in paths:
        if path.name in sources:
            raise ConfigError(
                f"two paths are called {path.name!r}: {sources[path.name]} and {path.source}",
                "rename one of them"
                + (", or leave plug-ins out with --no-plugins" if plugin else ""),
            )
        sources[path.name] = path.source
    return paths


def _resolved(file: str) -> str:
    """Spell a file's path in one way, so that two spellings of it are equal."""
    try:
        return str(Path(file).resolve())
    except (OSError, RuntimeError, ValueError):
        return file
