"""Read untrusted TOML files; any error in one is a ConfigError."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from tinygate.core.errors import ConfigError
from tinygate.core.text import shown

MAX_BYTES = 1 << 20
# tomllib takes time quadratic in the parts of a dotted key: half a megabyte of "a." takes hours.
_MAX_DOTS = 1000

# TOML's types in words.
WORDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list of strings",
    dict: "a table",
}
Table = dict[str, Any]


def is_there(file: Path) -> bool:
    """Tell whether the file exists.

    Raises:
        ConfigError: it exists and is not a regular file, or its state cannot be read.
    """
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False  # a folder that the user may not search holds nothing meant for tinygate
    except (OSError, ValueError) as error:
        raise file_error(file, f"cannot be read: {_reason(error)}") from error
    if not stat.S_ISREG(mode):
        # Opening a pipe could wait forever.
        raise file_error(file, "is not a regular file")
    return True


def read_text(file: Path) -> str:
    """Read the file as text.

    Raises:
        ConfigError: it is unreadable, over 1 MiB, not UTF-8, or has a line with too many dots.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise file_error(file, f"cannot be read: {_reason(error)}") from error
    if len(data) > MAX_BYTES:
        raise file_error(file, "is over 1 MiB, which no configuration needs")
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b".") > _MAX_DOTS:
            raise file_error(file, f"line {number}: more than {_MAX_DOTS} dots on one line")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise file_error(file, f"line {number}: not UTF-8") from error


def parse(file: Path, text: str | None = None) -> Table:
    """Parse the file as TOML.

    text: the file's text, if it was read before.

    Raises:
        ConfigError: as read_text, or it is not TOML.
    """
    try:
        return tomllib.loads(read_text(file) if text is None else text)
    except RecursionError as error:
        raise file_error(file, "not valid TOML: nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, and an integer with too many digits
        location = re.search(r" \(at (line \d+), column \d+\)$", str(error))
        message = str(error)[: location.start()] if location else str(error)
        at = f"{location[1]}: " if location else ""
        raise file_error(file, f"{at}not valid TOML: {shown(message, 120)}") from error


def file_error(file: Path, what: str) -> ConfigError:
    """Build an error about a file."""
    return ConfigError(f"{shown(file)}: {what}", "correct the file, or move it away")


def word(value: object) -> str:
    """Name the type of a value in TOML's words; the value itself may be a megabyte."""
    words: dict[type, str] = {**WORDS, bool: "a boolean", list: "a list"}
    return words.get(type(value), "a date or time")


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
