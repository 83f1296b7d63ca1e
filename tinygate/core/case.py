"""Describe one case: a path, a shape, an input family and a seed, run and reported as a unit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinygate.core.adapter import AdapterInfo
from tinygate.core.errors import TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.core.vocabulary import Judge


@dataclass(frozen=True)
class Case:
    """One case to run. It holds the whole path, so that the worker needs no registry.

    repeat         runs whose outputs must agree bit for bit
    save_failures  folder for the operands and results of a FAIL; empty to save none
    adapter        the adapter it runs on; the worker fills it in
    """

    path: FastPath
    shape: Shape
    family: str
    seed: int
    repeat: int = 2
    save_failures: str = ""
    adapter: AdapterInfo | None = None
    companion: bool = False
    judge: Judge = "activation"

    @property
    def id(self) -> str:
        """The case's name, `path/MxKxN/family`."""
        return f"{self.path.name}/{self.shape.label}/{self.family}"

    def not_run(self) -> CaseResult:
        """Return the result before anything ran: ERROR "not run"."""
        return CaseResult(
            path=self.path.name,
            shape=self.shape.label,
            shape_class=self.path.shape_class(self.shape),
            family=self.family,
            seed=self.seed,
            companion=self.companion,
            judge=self.judge,
        )

    def error(self, error: TinygateError) -> CaseResult:
        """Return the result of a case that an error kept from being verified."""
        return replace(self.not_run(), reason=error.message, hint=error.hint, not_run=False)

    def skip(self, reason: str) -> CaseResult:
        """Return the result of a case whose shape the path does not support."""
        return replace(self.not_run(), status=Status.SKIP, reason=reason, not_run=False)
