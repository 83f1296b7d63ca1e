"""What supervisor and worker say to each other.

A Case is a request too; its answer is a CaseResult. Any answer may be a TinygateError instead."""

from __future__ import annotations

from dataclasses import dataclass

from tinygate.core.adapter import AdapterInfo, MeasuredNumerics
from tinygate.core.case import Case


@dataclass(frozen=True)
class ListAdapters:
    """Ask for every adapter of an engine, started for those features. Answer: Adapters."""

    engine: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Open:
    """Ask for a device. `features` are wanted where the adapter has them. Answer: Opened."""

    engine: str
    adapter: str | None
    features: tuple[str, ...]
    every_backend: bool


@dataclass(frozen=True)
class Redraw:
    """Ask whether a case's operands are still drawn: SHA-256 of A's and of B's bytes. Answer:
    Redrawn."""

    case: Case
    a: str
    b: str


@dataclass(frozen=True)
class Redrawn:
    """Whether some product of the case has exactly those operands."""

    same: bool


@dataclass(frozen=True)
class Adapters:
    """Every adapter."""

    adapters: tuple[AdapterInfo, ...]


@dataclass(frozen=True)
class Opened:
    """The device that will run the cases, and what it really does."""

    adapter: AdapterInfo
    adapters: tuple[AdapterInfo, ...]
    numerics: MeasuredNumerics
