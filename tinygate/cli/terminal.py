"""What a stream can show: colour, and how wide it is."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Terminal:
    """`width` is None for a pipe, which gets plain columns."""

    color: bool
    width: int | None

    @classmethod
    def of(cls, mode: str, stream: TextIO) -> Terminal:
        """Decide for a stream: `always` and `never` win, then NO_COLOR, FORCE_COLOR, then whether
        it is a terminal that has colours."""
        tty = stream.isatty()
        width = shutil.get_terminal_size().columns if tty else None
        if mode != "auto":
            return cls(mode == "always", width)
        if os.environ.get("NO_COLOR"):
            return cls(False, width)
        if os.environ.get("FORCE_COLOR"):
            return cls(True, width)
        return cls(tty and os.environ.get("TERM") != "dumb", width)
