"""Make one WGSL text of a kernel and the files it includes, and say where each of its lines stands.

::

    //!include common/store_8x8.wgsl

on a line of its own is replaced by the lines of that file, which wgsl/README.md describes. Only
files of tinygate's own wgsl/common can be included, whoever wrote the kernel: a name is matched
against a pattern and never taken for a path. WGSL has no include, so this is the one place that
changes a kernel's text before a compiler sees it; it never changes a line's number without noting
it, and compilers' messages are mapped back with `Source.at`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinygate.core.errors import CannotVerifyError, ConfigError

MAX_DEPTH = 8
MAX_CHARACTERS = 1 << 20

_INCLUDE = "//!include"
_NAME = re.compile(r"common/[a-z0-9_]{1,64}\.wgsl", re.ASCII)
# WGSL ends a line at each of these. Compilers count some of them only, and not the same ones.
_LINE_BREAK = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_ENABLE = re.compile(r"\benable\b([\w \t,]{1,200});")


class Location(NamedTuple):
    """A line of a file; the first is 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Source:
    """WGSL for a compiler.

    label  what messages call the kernel's own file
    text   the expanded text
    spans  pieces of the text that stand in one file line after line: the number of the first line
           in the text, and where that line is from
    """

    label: str
    text: str
    spans: tuple[tuple[int, Location], ...]

    def at(self, line: int) -> Location:
        """Where a line of the text, numbered from 1, stands."""
        index = bisect_right(self.spans, line, key=lambda span: span[0]) - 1
        first, place = self.spans[max(index, 0)]
        return Location(place.file, place.line + line - first)

    def with_lines(self, ends: Mapping[str, str]) -> Source:
        """Replace what follows the beginning of a line, each once: for what WGSL takes no override
        for, such as a type and the sizes in it. Line numbers stay.

        Raises:
            CannotVerifyError: where there is not exactly one such line.
        """
        lines = self.text.split("\n")
        for start, end in ends.items():
            found = [i for i, line in enumerate(lines) if line.startswith(start)]
            if len(found) != 1:
                raise CannotVerifyError(
                    f"the kernel has {len(found)} lines `{start}…`", "it needs one"
                )
            lines[found[0]] = start + end
        return replace(self, text="\n".join(lines))

    def without_directives(self, names: Sequence[str]) -> Source:
        """Take extensions that an engine doesn't know by name out of `enable` directives. Blanks
        keep every line and column where it is."""

        def known(match: re.Match[str]) -> str:
            asked = [name.strip() for name in match[1].split(",")]
            kept = [name for name in asked if name not in names]
            if kept == asked:
                return match[0]
            wanted = f"enable {', '.join(kept)};" if any(kept) else ""
            return wanted.ljust(len(match[0]))

        return replace(self, text=_ENABLE.sub(known, self.text)) if names else self


def expand(label: str, text: str, read: Callable[[str], str]) -> Source:
    """Replace every include of a kernel's text by that file's lines.

    A byte order mark is dropped, and every line break is a newline afterwards.

    read: a name such as common/dims.wgsl -> that file's text; raises ConfigError where it can't.

    Raises:
        ConfigError: naming file and line, where an include names anything but a file of
            wgsl/common, goes in a circle, is nested too deeply, or makes the text too long.
    """
    lines: list[str] = []
    spans: list[tuple[int, Location]] = []
    following: Location | None = None
    size = 0
    for place, line in _lines(label, text, read, ()):
        size += len(line) + 1
        if size > MAX_CHARACTERS + 1:
            raise ConfigError(f"{place}: over 1 MiB with what it includes", "include less")
        lines.append(line)
        if place != following:
            spans.append((len(lines), place))
        following = Location(place.file, place.line + 1)
    return Source(label, "\n".join(lines), tuple(spans) or ((1, Location(label, 1)),))


def _lines(
    file: str, text: str, read: Callable[[str], str], outer: tuple[str, ...]
) -> Iterator[tuple[Location, str]]:
    """Yield the lines of a file and of what it includes, each with its location."""
    lines = _LINE_BREAK.sub("\n", text.removeprefix("\ufeff")).split("\n")
    if outer and not lines[-1]:  # the end of an included file is no line of its own
        lines.pop()
    for number, line in enumerate(lines, 1):
        place = Location(file, number)
        name = _included(line)
        if name is None:
            yield place, line
            continue
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{place}: {name[:80]!r} cannot be included",
                "write //!include common/NAME.wgsl, with a file of tinygate's own wgsl/common",
            )
        if name in outer:
            raise ConfigError(
                f"{place}: {name} is included by what it includes: {' -> '.join((*outer, name))}",
                "take one of these includes out",
            )
        if len(outer) >= MAX_DEPTH:
            raise ConfigError(
                f"{place}: more than {MAX_DEPTH} includes inside each other", "include less"
            )
        try:
            inner = read(name)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error.message}", error.hint) from error
        yield from _lines(name, inner, read, (*outer, name))


def _included(line: str) -> str | None:
    """Name what a line includes; None where it is any other line."""
    words = line.strip()
    if not words.startswith(_INCLUDE):
        return None
    name = words.removeprefix(_INCLUDE)
    return name.strip() if not name or name[0].isspace() else None
