"""Define the requests of the supervisor and the answers of the worker.

A Case is a request too; its answer is a CaseResult. Any answer may be a TinygateError instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinygate.core.adapter import AdapterInfo, MeasuredNumerics
from tinygate.core.case import Case


@dataclass(frozen=True)
class ListAdapters:
    """Ask for every adapter of an engine, started with these features. Answer: Adapters."""

    engine: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Open:
    """Ask for a device. Answer: Opened.

    adapter         an index or part of a name; None for the preferred one
    features        switched on if the adapter has them
    every_backend   list adapters of OpenGL too
    """

    engine: str
    adapter: str | None
    features: tuple[str, ...]
    every_backend: bool


@dataclass(frozen=True)
class Redraw:
    """Ask whether a case still has these operands. Answer: Redrawn.

    a, b   SHA-256 of the bytes of A and of B
    """

    case: Case
    a: str
    b: str


@dataclass(frozen=True)
class Redrawn:
    """Whether a product of the case has exactly these operands."""

    same: bool


@dataclass(frozen=True)
class Adapters:
    """Every adapter of the engine."""

    adapters: tuple[AdapterInfo, ...]


@dataclass(frozen=True)
class Opened:
    """The device that will run the cases, and its measured numerics."""

    adapter: AdapterInfo
    adapters: tuple[AdapterInfo, ...]
    numerics: MeasuredNumerics
