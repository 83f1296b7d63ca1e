"""Export files: opened before the run, so that a wrong name costs nothing; valid from then on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from tinygate.errors import UsageError
from tinygate.report import FORMATS
from tinygate.results import Report


class Exports:
    """Report files by format. Until the run ends they hold a report in which nothing has run, so a
    run that dies leaves a file that says so."""

    def __init__(self, files: Mapping[str, str], blank: Report) -> None:
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
                    else open(  # noqa: PTH123, SIM115
                        file, "w", encoding="utf-8"
                    )
                )
            except (OSError, ValueError) as error:
                raise UsageError(
                    f"--export-{name}: {file} cannot be written: {error}",
                    "name a file in a folder that exists",
                ) from error
        for name, stream in self._open.items():
            if stream is not sys.stdout and stream.seekable():
                self._put(name, stream, blank)

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
            if stream.seekable():
                stream.seek(0)
                stream.truncate()
            stream.write(FORMATS[name](report))
            stream.flush()
        except OSError as error:
            raise UsageError(
                f"--export-{name}: {stream.name} cannot be written: {error}", "is the disk full?"
            ) from error
