"""What naga says about a kernel, as one line that an editor can jump to: FILE:LINE:COLUMN: words.

::

    Shader 'k.wgsl' parsing error: expected expression, found "="
      ┌─ wgsl:2:48
      │
    2 │ @compute @workgroup_size(1) fn main() { c[0] = = 1.0; }
      │                                                ^ expected expression
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tinygate.paths.include import Location

# A driver may quote the kernel; a gate line should still be read.
_LONGEST = 600

_PLACE = re.compile(r"^\s*┌─ .*:(\d+):(\d+)\s*$")
_HEAD = re.compile(r"^(?:Shader .* parsing error|Shader validation error): ")
_NOTE = re.compile(r"^\s*= (.*)$")
# The line below a quoted one: carets under the place, then what is wrong there.
_CARET = re.compile(r"^\s*│[\s│^]*\^\s+([^\s│^].*)$")
_DRAWING = re.compile(r"^\s*\d*\s*│")


def one_line(label: str, text: str, at: Callable[[int], Location] | None = None) -> str:
    """Naga's text about the kernel `label`, with the place first where it names one.

    text: without the preamble that every validation error of wgpu carries.
    at: where a line that naga names stands; without it, in the kernel's own file.
    """
    place, words = "", []
    for line in text.splitlines():
        if found := _PLACE.match(line):
            line_number = int(found[1])
            where = at(line_number) if at else Location(label, line_number)
            place = place or f"{where}:{found[2]}"
        elif found := _CARET.match(line) or _NOTE.match(line):
            words.append(found[1].strip())
        elif line.strip() and not _DRAWING.match(line):
            words.append(_HEAD.sub("", line).strip())
    return f"{place or label}: {shortened(words)}"


def shortened(words: list[str]) -> str:
    """Shorten what a compiler said: each thing once, and no longer than a person reads."""
    said: list[str] = []
    for word in words:  # a caret often repeats the headline, and the end repeats the note
        if word and not any(word in earlier for earlier in said):
            said.append(word)
    message = ": ".join(said) or "no reason given"
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
