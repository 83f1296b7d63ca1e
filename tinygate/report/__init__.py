"""Render a Report: each format is a module with one pure function `render(Report) -> str`.

FORMATS imports a renderer only when it is called, so that `tinygate --help` loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinygate.core.results import Report

Renderer = Callable[["Report"], str]


class ReportFormat(StrEnum):
    """What a report can be written as."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"


# The formats that --export-NAME writes to a file.
EXPORTED = (ReportFormat.JSON, ReportFormat.JUNIT, ReportFormat.MARKDOWN)
_MODULES = {ReportFormat.TEXT: "console"}  # the others are called like their format


def _lazy(module: str) -> Renderer:
    """The `render` of a module of this package, imported at the first call."""

    def render(report: Report) -> str:
        text: str = import_module(f"tinygate.report.{module}").render(report)
        return text

    return render


FORMATS: Mapping[str, Renderer] = {
    each.value: _lazy(_MODULES.get(each, each.value)) for each in ReportFormat
}
