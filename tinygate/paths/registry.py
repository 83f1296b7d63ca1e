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
    """The paths there are to choose from, each with a name of its own.

    warnings   what was left out, and why
    """

    paths: tuple[FastPath, ...]
    warnings: tuple[str, ...] = ()

    def with_manifests(self, files: Iterable[str]) -> Registry:
        """Add the paths that these manifests declare; a manifest that is there already stays one.

        Raises:
            ConfigError: a manifest that cannot be used, or two paths with one name.
        """
        known = {_resolved(path.file) for path in self.paths if path.file}
        named = {_resolved(file): file for file in files}
        added = [manifest.load(Path(f)) for key, f in named.items() if key not in known]
        return Registry(_unique((*self.paths, *added)), self.warnings)

    def select(self, arguments: Iterable[str]) -> tuple[FastPath, ...]:
        """Choose the paths that --path names, by name or by file; every one that is not opt-in
        where nothing is named.

        Raises:
            UnknownNameError: with the list of names.
        """
        return select(self._names(arguments), self.paths)

    def names(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Give the names of the paths that --require names, by name or by file; none where nothing
        is named.

        Raises:
            UnknownNameError: with the list of names.
        """
        wanted = self._names(arguments)
        return tuple(path.name for path in select(wanted, self.paths)) if wanted else ()

    def _names(self, arguments: Iterable[str]) -> list[str]:
        by_file = {_resolved(path.file): path.name for path in self.paths if path.file}
        return [by_file[_resolved(a)] if is_manifest(a) else a for a in arguments]


def load(*, with_plugins: bool = True) -> Registry:
    """Load the built-ins and the installed plug-ins.

    Raises:
        ConfigError: two paths with one name.
    """
    if not with_plugins:
        return Registry(registered())
    found = plugins.discover()
    return Registry(_unique((*registered(), *found.paths)), found.warnings)


def manifests(arguments: Iterable[str]) -> list[str]:
    """Pick, of what --path or --require was given, the manifests."""
    return [argument for argument in arguments if is_manifest(argument)]


def is_manifest(argument: str) -> bool:
    """Whether --path was given a manifest and not a name: no name has a dot or a slash."""
    return argument.endswith(".toml") or "/" in argument or os.sep in argument


def _unique(paths: tuple[FastPath, ...]) -> tuple[FastPath, ...]:
    """The paths, where no two have one name."""
    sources = {REFERENCE.name: "the reference"}
    plugin = any(path.source.startswith("plug-in ") for path in paths)
    for path in paths:
        if path.name in sources:
            raise ConfigError(
                f"two paths are called {path.name!r}: {sources[path.name]} and {path.source}",
                "give one another name"
                + (", or leave plug-ins out with --no-plugins" if plugin else ""),
            )
        sources[path.name] = path.source
    return paths


def _resolved(file: str) -> str:
    """One spelling for one file."""
    try:
        return str(Path(file).resolve())
    except (OSError, RuntimeError, ValueError):
        return file
