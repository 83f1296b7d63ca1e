"""Case: one path x shape x family with its seed, the unit that is run, reported and replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinygate.core.adapter import AdapterInfo
from tinygate.core.errors import TinygateError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.core.status import Status


@dataclass(frozen=True)
class Case:
    """What to run: the path as declared, not its name, so that it crosses to the worker whole.

    adapter   what it runs on, which the worker fills in
    """

    path: FastPath
    shape: Shape
    family: str
    seed: int
    repeat: int = 2
    save_failures: str = ""
    adapter: AdapterInfo | None = None

    @property
    def id(self) -> str:
        """`path/MxKxN/family`."""
        return f"{self.path.name}/{self.shape.label}/{self.family}"

    def not_run(self) -> CaseResult:
        """The result before anything ran: ERROR "not run"."""
        return CaseResult(
            path=self.path.name,
            shape=self.shape.label,
            shape_class=self.path.shape_class(self.shape),
            family=self.family,
            seed=self.seed,
        )

    def error(self, error: TinygateError) -> CaseResult:
        """The result where it could not be verified."""
        return replace(self.not_run(), reason=error.message, hint=error.hint, not_run=False)

    def skip(self, reason: str) -> CaseResult:
        """The result where path and shape do not fit each other."""
        return replace(self.not_run(), status=Status.SKIP, reason=reason, not_run=False)
