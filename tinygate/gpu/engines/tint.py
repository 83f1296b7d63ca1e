"""What Tint says about a kernel, as one line that an editor can jump to: FILE:LINE:COLUMN: words.

::

    Error while parsing WGSL: :2:49 error: unresolved value 'y'
    @compute @workgroup_size(1) fn main() { let x = y; }
                                                    ^

     - While calling [Device].CreateShaderModule([ShaderModuleDescriptor "k.wgsl"]).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tinygate.gpu.engines.naga import shortened
from tinygate.paths.include import Location

_PLACE = re.compile(r"^(?:Error while parsing WGSL: )?\s*:(\d+):(\d+) (error|note|warning): (.*)$")
_CALL = re.compile(r"^\s*- While ")


def one_line(label: str, text: str, at: Callable[[int], Location] | None = None) -> str:
    """Tint's text about the kernel `label`: the first error with its place and the notes to it; of
    a failed pipeline, all that is said.

    at: where a line that Tint names stands; without it, in the kernel's own file.
    """
    place, words, other = "", [], []
    for line in text.splitlines():
        if found := _PLACE.match(line):
            row, column, kind, said = found.groups()
            if kind == "error" and not place:
                where = at(int(row)) if at else Location(label, int(row))
                place, words = f"{where}:{column}", [said.strip()]
            elif kind == "note" and place:
                words.append(said.strip())
        elif line.strip() and not _CALL.match(line):
            other.append(line.strip())
    return f"{place or label}: {shortened(words or other)}"
