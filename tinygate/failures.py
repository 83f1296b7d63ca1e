"""From a failed case to what explains it: the place, the map, the operands on disk."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tinygate.blocks import blocks, product
from tinygate.cases import Case
from tinygate.compare import Packing, Region
from tinygate.errors import UsageError
from tinygate.facts import Facts, Sample
from tinygate.results import CaseResult, Failure, Status


def writable(name: str) -> str:
    """The folder's absolute name, once it has been made and written to.

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
            f"--save-failures: {name} cannot be written: {error}", "name a folder you may write"
        ) from error


def explain(result: CaseResult, case: Case, facts: Facts, packing: Packing | None) -> CaseResult:
    """The result of a FAIL with its Failure and, where the case asks for it, the file saved."""
    if result.status is not Status.FAIL:
        return result
    region = _decisive(result, facts, packing)
    failure = None if region is None else _failure(region, facts.sample, packing)
    saved = ""
    if case.save_failures and facts.sample is not None:
        saved = save(Path(case.save_failures), result, case, facts.sample)
    return replace(result, failure=failure, saved=saved)


def _decisive(result: CaseResult, facts: Facts, packing: Packing | None) -> Region | None:
    """The region of the first check that failed and has one."""
    deviation = facts.deviation.over if facts.deviation else None
    regions = {
        "packing": packing.region if packing else None,
        "written": facts.written,
        "finite": facts.finite,
        "exact": facts.wrong,
        "conformance": deviation,
        "max_abs": deviation,
        "determinism": facts.differs,
    }
    for check in result.checks:
        region = regions.get(check.name)
        if check.status is Status.FAIL and region is not None and region.count:
            return region
    return None


def _failure(region: Region, sample: Sample | None, packing: Packing | None) -> Failure:
    assert region.first is not None
    i, j = region.first
    got = want = float("nan")
    if packing is not None and region is packing.region:
        got, want = packing.stored, packing.original
    elif sample is not None:
        got = float(sample.C[i, j])
        want = float(sample.A[i].astype(np.float64) @ sample.held[:, j].astype(np.float64))
    tall, wide = region.cell_shape
    M, N = region.shape
    heights = np.minimum(tall, M - tall * np.arange(region.cells.shape[0]))
    widths = np.minimum(wide, N - wide * np.arange(region.cells.shape[1]))
    share = np.minimum(1.0, region.cells / np.outer(heights, widths))
    return Failure(
        count=region.count,
        total=M * N,
        first=region.first,
        got=got,
        want=want,
        where=region.where,
        cells=tuple(tuple(float(x) for x in row) for row in share),
        cell_shape=region.cell_shape,
    )


def save(folder: Path, result: CaseResult, case: Case, sample: Sample) -> str:
    """Write A, B, F, R, S of the product that failed as .npz, with the case as JSON beside them.

    R is absent where the family has no reference. Returns the file's name, or what went wrong:
    a disk that is full does not change a verdict.
    """
    M, N = sample.C.shape
    S = np.empty((M, N))
    for block in blocks(M, N):
        S[block] = product(sample.A, sample.held, block)
    arrays: dict[str, Any] = {"A": sample.A, "B": sample.B, "F": sample.C, "S": S}
    if sample.R is not None:
        arrays["R"] = sample.R
    about = {
        "schema_version": 1,
        "path": case.path.name,
        "source": case.path.source,
        "shape": case.shape.label,
        "family": case.family,
        "seed": case.seed,
        "repeat": case.repeat,
        "reason": result.reason,
    }
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{case.id}_{case.seed}") + ".npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)
    except OSError as error:
        return f"not saved: {error}"
    return str(folder / name)
