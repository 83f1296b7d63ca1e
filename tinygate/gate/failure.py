"""Explain a failed case: locate the wrong elements, map them, and save the operands."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tinygate.core.case import Case
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.family import FAMILIES
from tinygate.core.metrics import MEAN_REL_LIMIT, Metrics
from tinygate.core.results import CaseResult, Failure
from tinygate.core.saved_case import DESCRIPTION, Description
from tinygate.core.status import Status
from tinygate.gate.observations import RunObservations, Sample, unequal
from tinygate.numerics import compare
from tinygate.numerics.arrays import F32
from tinygate.numerics.compare import Packing, Region
from tinygate.numerics.matmul64 import blocks, product


def explain(
    result: CaseResult, case: Case, observations: RunObservations, packing: Packing | None
) -> CaseResult:
    """Add the failure's location to a FAIL and, where the case asks for it, save its operands."""
    if result.status is not Status.FAIL:
        return result
    saved, warnings = "", result.warnings
    if case.save_failures and observations.sample is not None:
        try:
            saved = save(Path(case.save_failures), result, case, observations.sample)
        except OSError as error:  # a disk that is full does not change a verdict
            warnings = (*warnings, f"the failure could not be saved: {error}")
    failure = locate(result, case, observations, packing)
    return replace(result, failure=failure, saved=saved, warnings=warnings)


def locate(
    result: CaseResult, case: Case, observations: RunObservations, packing: Packing | None
) -> Failure | None:
    """Locate the wrong elements by the most telling failed check; None where no check can."""
    failed = {check.name for check in result.checks if check.status is Status.FAIL}
    for name in (name for name in _TELLING if name in failed):
        if name == "packing":
            if packing is not None and packing.region.count:
                region, got, want = packing.region, packing.stored, packing.original
                return _failure(region, region.first, got, want, operand=packing.operand)
            continue
        inside = (
            _in_sample(name, result, case, observations.sample) if observations.sample else None
        )
        found = _in_all(name, observations) or inside
        if found is None or not found.count:
            continue
        products = result.exact[1] // (case.shape.M * case.shape.N) if result.exact else 0
        products = products or max(result.pooled, found.layers)
        if observations.sample is None or inside is None or inside.first is None:
            return _failure(found, found.first, products=products)
        i, j = inside.first
        got, want = float(observations.sample.C[i, j]), _want(name, observations.sample, i, j)
        return _failure(found, inside.first, got, want, products=products)
    return None


def _want(name: str, sample: Sample, i: int, j: int) -> float:
    """Return the wanted C[i, j]: from R where the check compares with R, else from S."""
    if name in {"zero", "max_abs", "mean_rel"} and sample.R is not None:
        return float(sample.R[i, j])
    return float(sample.stored_a[i].astype(np.float64) @ sample.stored_b[:, j])


# The checks that locate wrong elements, the one that explains most first: a difference between two
# runs comes last, because it does not say which is right.
_TELLING = (
    *("packing", "over-read", "old C", "written", "finite", "exact", "conformance"),
    *("zero", "max_abs", "mean_rel", "determinism"),
)


def _in_all(name: str, observations: RunObservations) -> Region | None:
    """Return where any of the case's products is wrong; None for checks that keep no region."""
    if name == "over-read":
        over = observations.over_read
        names = ("finite", "exact", "conformance")
        found = [over and _in_all(one, over) for one in names]
        return next((region for region in found if region and region.count), None)
    regions = {
        "old C": observations.old_c,
        "written": observations.written,
        "finite": observations.finite,
        "exact": observations.wrong,
        "conformance": observations.deviation.over if observations.deviation else None,
        "determinism": observations.differs,
    }
    return regions.get(name)


def _in_sample(name: str, result: CaseResult, case: Case, sample: Sample) -> Region | None:
    """Find where the sample is wrong by itself, so that its numbers can be shown."""
    C, A, B, R = sample.C, sample.stored_a, sample.stored_b, sample.R
    if name in {"old C", "written", "finite", "over-read"}:  # what was never written holds a NaN
        found = compare.region(C.view(np.uint32))
        if found.count or name != "over-read":
            return found
        name = "exact" if FAMILIES[case.family].exact else "conformance"
    if name == "exact":
        return unequal(case, C, A, B)
    if name == "conformance":
        return compare.deviation(C, A, B, sample.limit).over
    if R is None or result.metrics is None:
        return None
    return _over_activation(name, C, R, result.metrics)


def _over_activation(name: str, C: F32, R: F32, metrics: Metrics) -> Region | None:
    """Find where C is over a limit of the activation rule, or over zero where R is all zero."""
    if name == "zero":
        return compare.over([C], [R], 0.0, strict=True)
    if name == "max_abs":
        return compare.over([C], [R], metrics.max_abs_limit)
    if name == "mean_rel":
        return _over_relative(C, R, 0.01 * metrics.mean_ref)
    return None


def _over_relative(C: F32, R: F32, floor: float) -> Region:
    """Find where an element's relative error is over the limit of the mean."""
    found = Region((C.shape[0], C.shape[1]))
    for block in blocks(*C.shape):
        r = R[block].astype(np.float64)
        relative = np.abs(C[block] - r) / np.maximum(np.abs(r), floor)
        found.add(relative >= MEAN_REL_LIMIT, block[0].start, block[1].start)
    return found


def _failure(
    region: Region,
    first: tuple[int, int] | None,
    got: float | None = None,
    want: float | None = None,
    *,
    products: int = 1,
    operand: str = "C",
) -> Failure:
    assert first is not None
    tall, wide = region.cell_shape
    rows, columns = region.shape
    heights = np.minimum(tall, rows - tall * np.arange(region.cells.shape[0]))
    widths = np.minimum(wide, columns - wide * np.arange(region.cells.shape[1]))
    wrong = region.cells / (np.outer(heights, widths) * max(1, region.layers))
    return Failure(
        count=region.count,
        total=rows * columns * products,
        first=first,
        got=got,
        want=want,
        where=region.where,
        cells=tuple(tuple(float(x) for x in row) for row in wrong),
        cell_shape=region.cell_shape,
        operand=operand,
    )


def save(folder: Path, result: CaseResult, case: Case, sample: Sample) -> str:
    """Write A, B, F, R, S of the product that failed as .npz, with the case as JSON beside them.

    R is absent where the family has no reference. Returns the file's name.

    Raises:
        OSError: where it cannot be written; no partial file is left then.
    """
    M, N = sample.C.shape
    S = np.empty((M, N))
    for block in blocks(M, N):
        S[block] = product(sample.stored_a, sample.stored_b, block)
    arrays: dict[str, Any] = {"A": sample.A, "B": sample.B, "F": sample.C, "S": S}
    if sample.R is not None:
        arrays["R"] = sample.R
    engine, adapter = case.adapter.identity if case.adapter else ("", "")
    about = Description(
        path=case.path.name,
        source=case.path.source,
        file=str(Path(case.path.file).absolute()) if case.path.file else "",
        shape=case.shape.label,
        family=case.family,
        seed=case.seed,
        repeat=case.repeat,
        reason=result.reason,
        engine=engine,
        adapter=adapter,
    )
    # Two engines may fail one case in one run.
    ran_on = case.adapter.engine if case.adapter else DEFAULT_ENGINE
    stem = f"{case.id}_{case.seed}" + (f"_{ran_on}" if ran_on != DEFAULT_ENGINE else "")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", stem) + ".npz"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{name}.{os.getpid()}"
    try:
        with part.open("wb") as file:
            arrays[DESCRIPTION] = np.array(about.to_json())
            np.savez_compressed(file, **arrays)
        part.replace(folder / name)
    finally:
        part.unlink(missing_ok=True)
    return str(folder / name)
