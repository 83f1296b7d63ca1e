"""Renderers: each output format is a module with one pure function `render(Report) -> str`.

FORMATS imports a renderer only when it is called, so that `tinygate --help` loads none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinygate.core.results import Report

Renderer = Callable[["Report"], str]


def _lazy(module: str) -> Renderer:
    """The `render` of a module of this package, imported at the first call."""

    def render(report: Report) -> str:
        text: str = import_module(f"tinygate.report.{module}").render(report)
        return text

    return render


FORMATS: Mapping[str, Renderer] = {
    "text": _lazy("console"),
    "json": _lazy("json"),
    "junit": _lazy("junit"),
    "github": _lazy("github"),
    "markdown": _lazy("markdown"),
}
