"""Read options from `[tool.tinygate]` in pyproject.toml, or the top level of tinygate.toml.

::

    [tool.tinygate]
    output-format = "github"         # for every command that has the option
    [tool.tinygate.verify]
    shape = ["64x128x128"]           # for this command, and it wins

A key is a flag's name without its leading dashes. The current folder is searched first, then its
parents; within a folder tinygate.toml wins. Only the first file with options for tinygate is read.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from tinygate.core.errors import ConfigError
from tinygate.core.text import shown
from tinygate.paths.toml_file import WORDS, Table, file_error, is_there, parse, word

# Flags that a file may not set: a forgotten `list = true` in some parent folder would let every CI
# step pass without verifying anything.
NOT_SETTINGS = ("list", "debug", "help")

Commands = Mapping[str, Mapping[str, type]]


def load(commands: Commands, directory: Path | None = None) -> dict[str, dict[str, object]]:
    """Load the options that the nearest configuration file sets, for each command.

    commands: each command's options by flag name, with the type of the value: bool, int, float,
        str, or list for a list of strings (one string stands for a list of one).
    directory: where to start searching; by default the current folder.

    Returns a mapping of option to value for each command, under the names that were passed in.

    Raises:
        ConfigError: the file is unreadable, too large or not TOML; or it has an unknown key or a
            value of the wrong type.
    """
    empty: dict[str, dict[str, object]] = {command: {} for command in commands}
    found = find(directory)
    if found is None:
        return empty
    file, table = found
    return _Reader(file, commands).read(table)


def find(directory: Path | None = None) -> tuple[Path, Table] | None:
    """Find the nearest configuration file, and tinygate's table in it.

    Raises:
        ConfigError: a file that was searched is unreadable, too large or not TOML.
    """
    try:
        start = (directory or Path()).absolute()
    except OSError:  # the current folder was deleted
        return None
    for folder in (start, *start.parents):
        file = folder / "tinygate.toml"
        if is_there(file):
            return file, parse(file)
        file = folder / "pyproject.toml"
        if is_there(file):
            tool = parse(file).get("tool")
            table = tool.get("tinygate") if isinstance(tool, dict) else None
            if table is not None and not isinstance(table, dict):
                raise file_error(file, f"tool.tinygate is {word(table)}, expected a table")
            if table is not None:
                return file, table
    return None


def location(command: str, option: str, directory: Path | None = None) -> str:
    """Name the file and the key that set an option of a command; empty if no file is found.

    Raises:
        ConfigError: as `find`.
    """
    found = find(directory)
    if found is None:
        return ""
    file, table = found
    prefix = "" if file.name == "tinygate.toml" else "tool.tinygate."
    for start, where in ((f"{command}.", table.get(command)), ("", table)):
        for key in where if isinstance(where, dict) else ():
            if _dashed(key) == option:
                return f"{shown(file)}: {prefix}{start}{shown(key)}"
    return shown(file)


def defaults(directory: Path | None = None) -> dict[str, object]:
    """Return the file's options as typer's `default_map`: command, parameter name, value.

    Raises:
        ConfigError: as `load`.
    """
    import typer

    from tinygate.cli.app import app

    if find(directory) is None:
        return {}  # importing and inspecting the commands takes longer than this search
    group: Any = typer.main.get_command(app)
    callbacks = {command.callback for command in app.registered_commands if command.callback}
    hints = {callback.__name__: get_type_hints(callback) for callback in callbacks}
    names: dict[str, dict[str, str]] = {}
    types: dict[str, dict[str, type]] = {}
    for command, parsed in group.commands.items():
        hint = hints.get(parsed.callback.__name__, {})
        names[command] = {
            flag(p.opts): p.name
            for p in parsed.params
            if p.name in hint and flag(p.opts) not in {"", *NOT_SETTINGS}
        }
        types[command] = {
            option: _value_type(hint[name]) for option, name in names[command].items()
        }
    return {
        command: {names[command][option]: value for option, value in values.items()}
        for command, values in load(types, directory).items()
    }


def flag(spellings: list[str]) -> str:
    """Return an option's long flag without leading dashes; empty for an argument."""
    flags = [text.lstrip("-") for text in spellings if text.startswith("-")]
    return max(flags, key=len, default="")


def _value_type(annotation: Any) -> type:
    """Derive the type that a file may hold from a parameter's annotation."""
    choices = [choice for choice in get_args(annotation) if choice is not type(None)]
    if get_origin(annotation) is list:
        return list
    if type(None) in get_args(annotation) and choices:
        return _value_type(choices[0])
    return annotation if annotation in (bool, int, float) else str


class _Reader:
    """Checks one file's table against the options of the commands."""

    def __init__(self, file: Path, commands: Commands) -> None:
        self.file = file
        self.commands = commands
        self.known: dict[str, dict[str, str]] = {
            command: {_dashed(option): option for option in options}
            for command, options in commands.items()
        }

    def read(self, table: Table) -> dict[str, dict[str, object]]:
        """Read the values for each command; those in its table win over those for all commands."""
        tables = {key: table[key] for key in table if key in self.commands}
        general = {key: value for key, value in table.items() if key not in tables}
        anywhere = {option for options in self.known.values() for option in options}
        self._check_keys(general, "", anywhere | set(self.commands))
        values: dict[str, dict[str, object]] = {}
        for command in self.commands:
            values[command] = self._values(command, general, "")
            specific = tables.get(command, {})
            if not isinstance(specific, dict):
                raise self._wrong(command, specific, dict)
            self._check_keys(specific, f"{command}.", set(self.known[command]))
            values[command] |= self._values(command, specific, f"{command}.")
        return values

    def _check_keys(self, table: Table, prefix: str, known: set[str]) -> None:
        seen: dict[str, str] = {}
        for key in table:
            name = _dashed(key)
            if name not in known:
                near = difflib.get_close_matches(name[:80], known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {_listed(known)}"
                raise ConfigError(f"{shown(self.file)}: unknown key {shown(prefix + key)}", hint)
            if name in seen:
                raise file_error(
                    self.file, f"{shown(prefix + key)} is set twice, also as {shown(seen[name])}"
                )
            seen[name] = key

    def _values(self, command: str, table: Table, prefix: str) -> dict[str, object]:
        return {
            option: self._value(prefix + key, table[key], self.commands[command][option])
            for key in table
            if (option := self.known[command].get(_dashed(key))) is not None
        }

    def _value(self, key: str, value: object, kind: type) -> object:
        """Return the value, converted to its option's type if need be.

        Raises:
            ConfigError: it has another type.
        """
        if kind is list and isinstance(value, str):
            return [value]
        if kind is float and type(value) is int and abs(value) < 1 << 53:
            return float(value)
        # isinstance() would take true for an integer.
        if type(value) is not kind:
            raise self._wrong(key, value, kind)
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            bad = next(item for item in value if not isinstance(item, str))
            raise file_error(self.file, f"{shown(key)} holds {word(bad)}, expected only strings")
        if isinstance(value, float) and not math.isfinite(value):
            raise file_error(self.file, f"{shown(key)} is {value}, expected a finite number")
        return value

    def _wrong(self, key: str, value: object, kind: type) -> ConfigError:
        expected = WORDS.get(kind, kind.__name__)
        return file_error(self.file, f"{shown(key)} is {word(value)}, expected {expected}")


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
