"""Make text from outside safe to print: names in files, adapter names, driver messages.

An escape sequence in an adapter's name could recolour, retitle or overwrite what a terminal shows,
and a bidirectional override could make a FAIL read as something else.
"""

from __future__ import annotations

import re

# Whole sequences, so that no parameters stay behind as litter: "\x1b[31m", "\x1b]0;title\x07".
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
)
_BREAK = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
# Controls, bidirectional marks and overrides, lone surrogates (not encodable), non-characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    "\ufeff\ufffe\uffff]"
)


def clean(text: str) -> str:
    """Put text on one line without control characters; line breaks and tabs become a space."""
    return _UNSAFE.sub("", _BREAK.sub(" ", _SEQUENCE.sub("", text)))


def shown(text: object, max_: int = 200) -> str:
    """Quote text from a file or command line: printable, on one line, cut at `max_` characters."""
    plain = str(text)
    short = plain if len(plain) <= max_ else f"{plain[:max_]}…"
    return short if short.isprintable() else ascii(short)
