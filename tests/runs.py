"""Run one case of the gate on the session's device."""

from __future__ import annotations

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.family import DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.gate import case_run
from tinygate.gate.products import Harness


class Run:
    """Runs a case on the session's device, or on another harness."""

    def __init__(self, harness: Harness, numerics: MeasuredNumerics) -> None:
        self.harness = harness
        self.numerics = numerics

    def __call__(
        self,
        path: FastPath,
        shape: str | Shape,
        family: str = "uniform",
        seed: int = DEFAULT_SEED,
        harness: Harness | None = None,
    ) -> CaseResult:
        where = Shape.parse(shape) if isinstance(shape, str) else shape
        case = Case(path, where, family, seed)
        return case_run.run_case(harness or self.harness, self.numerics, case)
