"""Open export files before the run, so that a wrong name costs nothing; keep them valid from then
on. Try the folder for failed cases, too.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tinygate.core.errors import UsageError
from tinygate.core.results import Report
from tinygate.core.text import shown
from tinygate.report import FORMATS


class Exports:
    """Report files by format. Until the run ends they hold a report in which nothing has run, so a
    run that dies leaves a file that says so."""

    def __init__(self, files: Mapping[str, str], not_run: Report) -> None:
        if list(files.values()).count("-") > 1:
            raise UsageError("only one export can be '-'", "name a file for the others")
        named = [os.path.realpath(file) for file in files.values() if file != "-"]
        if len(set(named)) < len(named):
            raise UsageError("two exports name one file", "name a file for each")
        self._open: dict[str, TextIO] = {}
        for name, file in files.items():
            try:
                self._open[name] = (
                    sys.stdout
                    if file == "-"
                    else open(  # noqa: SIM115
                        file, "w", encoding="utf-8", opener=_opener
                    )
                )
            except (OSError, ValueError) as error:
                what, remedy = _reason(error)
                raise UsageError(
                    f"{shown(file)} cannot be written: {what}", remedy, about=f"--export-{name}"
                ) from error
        for name, stream in self._open.items():
            if stream is not sys.stdout and _is_file(stream):
                self._put(name, stream, not_run)

    def write(self, report: Report) -> None:
        """Replace what every export holds."""
        for name, stream in self._open.items():
            if stream is sys.stdout:
                stream.write(FORMATS[name](report))
                stream.flush()
            else:
                self._put(name, stream, report)
                stream.close()

    def _put(self, name: str, stream: TextIO, report: Report) -> None:
        try:
            if _is_file(stream):
                stream.seek(0)
                stream.truncate()
            stream.write(FORMATS[name](report))
            stream.flush()
        except OSError as error:
            raise UsageError(
                f"{shown(stream.name)} cannot be written: {error.strerror or error}",
                "is the disk full, or a pipe's reader gone?",
                about=f"--export-{name}",
            ) from error


def writable_folder(name: str) -> str:
    """Give the folder's absolute name, once it has been made and written to.

    Raises:
        UsageError: where it cannot be.
    """
    folder = Path(name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{shown(name)} cannot be written: {getattr(error, 'strerror', None) or error}",
            "name a folder that you may write in",
            about="--save-failures",
        ) from error


def _is_file(stream: TextIO) -> bool:
    """Whether it holds what was written, to be replaced; /dev/null can be sought and not cut."""
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


def _opener(name: str, flags: int) -> int:
    """Open without waiting: a pipe that nobody reads would hold the run up for ever."""
    number = os.open(name, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if hasattr(os, "set_blocking"):
        os.set_blocking(number, True)
    return number


def _reason(error: Exception) -> tuple[str, str]:
    """Why a file cannot be opened, and what to do."""
    code = getattr(error, "errno", None)
    if code == errno.ENXIO:
        return "nobody reads this pipe", "start its reader first, or name a file"
    remedies = {
        errno.ENOENT: "make its folder first, or name a file in one that exists",
        errno.ENOTDIR: "name a file in a folder that exists",
        errno.EISDIR: "name a file in that folder",
    }
    what = getattr(error, "strerror", None) or str(error)
    return what, remedies.get(code or 0, "name a file that you may write")
