"""Find out whether a stream shows colours, and how wide it is."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Terminal:
    """The abilities of a stream; `width` is in columns, None for a pipe."""

    color: bool
    width: int | None

    @classmethod
    def of(cls, mode: str, stream: TextIO) -> Terminal:
        """Inspect a stream.

        Modes other than "auto" win, then NO_COLOR and FORCE_COLOR; otherwise a terminal has colours
        unless TERM is "dumb".
        """
        tty = stream.isatty()
        width = shutil.get_terminal_size().columns if tty else None
        if mode != "auto":
            return cls(mode == "always", width)
        if os.environ.get("NO_COLOR"):
            return cls(False, width)
        if os.environ.get("FORCE_COLOR"):
            return cls(True, width)
        return cls(tty and os.environ.get("TERM") != "dumb", width)
