"""Read one table of an untrusted TOML file: known keys only, each value of the expected type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tinygate.core.errors import ConfigError
from tinygate.core.text import shown
from tinygate.paths.toml_file import WORDS, Table, word

HINT = "`tinygate new my-path` writes a manifest that works"
# Values that a later version will support, so that their error says more than "unknown".
_LATER = {
    "a": ("f16", "f16-packed", "q4-block32"),
    "b": ("f16",),
    "accumulate": (),
    "products": ("matrix",),
    "output": (),
}
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Section:
    """One table of a manifest, whose values are checked as they are read.

    known   the allowed keys; None for any
    """

    def __init__(
        self, file: Path, text: str, name: str, table: object, known: Iterable[str] | None
    ) -> None:
        self.file = file
        self.text = text
        self.name = name
        if not isinstance(table, dict):
            raise self.error("", f"is {word(table)}, expected a table")
        self.table: Table = table
        for key in table:
            if known is not None and key not in known:
                near = difflib.get_close_matches(key[:80], known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                raise self.error(key, "is not a key", hint)

    def error(self, key: str, what: str, hint: str = HINT) -> ConfigError:
        """Build an error about one key, with its line if that can be found."""
        number = line_of(self.text, self.name, key)
        at = f"line {number}: " if number else ""
        full = ".".join(part for part in (self.name, key) if part)
        name = f"{shown(full, 80)} " if full else ""
        return ConfigError(f"{shown(self.file)}: {at}{name}{what}", hint)

    def get(self, key: str, kind: type, default: Any) -> Any:
        """Return the value of a key, of exactly this type."""
        if key not in self.table:
            return default
        value = self.table[key]
        if type(value) is not kind:  # isinstance() would take true for an integer
            raise self.error(key, f"is {word(value)}, expected {WORDS[kind]}")
        return value

    def string(self, key: str, default: str) -> str:
        """Return a string of 1 to 200 printable characters."""
        value = str(self.get(key, str, default))
        if not value or len(value) > 200 or not value.isprintable():
            raise self.error(
                key, f"is {shown(value, 40)!r}, expected 1 to 200 printable characters"
            )
        return value

    def choice(self, key: str, known: tuple[str, ...], default: str) -> str:
        """Return a string that is one of the known ones."""
        value = self.string(key, default)
        if value in _LATER.get(key, ()):
            raise self.error(
                key,
                f"is {value!r}, which this version of tinygate does not support yet: "
                f"it supports {', '.join(known)}",
                f'write {key} = "{known[0]}", or wait for a later version',
            )
        if value not in known:
            raise self.error(key, f"is {shown(value, 40)!r}, expected one of {', '.join(known)}")
        return value

    def choices(
        self, key: str, known: tuple[str, ...], default: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return a list of known strings, without repetitions."""
        values = self.get(key, list, list(default))
        for value in values:
            if value not in known:
                said = repr(shown(value, 40)) if isinstance(value, str) else word(value)
                raise self.error(key, f"holds {said}, expected {', '.join(known)}")
        return tuple(dict.fromkeys(values))

    def integer(self, key: str, low: int, high: int, default: int) -> int:
        """Return an integer within bounds, both included."""
        value = int(self.get(key, int, default))
        if not low <= value <= high:
            said = value if abs(value) < 1 << 64 else "an integer of more than 64 bits"
            raise self.error(key, f"is {said}, expected {low} to {high}")
        return value

    def identifier(self, key: str, default: str) -> str:
        """Return a string that is a WGSL identifier."""
        value = self.string(key, default)
        if not IDENTIFIER.fullmatch(value):
            raise self.error(key, f"is {shown(value, 40)!r}, expected the name of an entry point")
        return value


def line_of(text: str, table: str, key: str) -> int | None:
    """Find the line of a table's key, or of the table if `key` is empty.

    Returns None if the file spells it in a way that this search does not cover.
    """
    outer, _, last = table.rpartition(".")
    wanted = re.escape(key)
    current = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[\s*([\w.-]{1,80})\s*\]", line):
            current = header[1]
            if current == table and not key:
                return number
        elif current == table and key and re.match(rf"\s*[\"']?{wanted}[\"']?\s*[.=]", line):
            return number
        elif current == outer and last and re.match(rf"\s*{re.escape(last)}\s*[.=]", line):
            return number  # an inline table
    return None
