"""Render everything a report holds as JSON, as schema.json beside this file describes it.

Units are SI. null means "not measured". A measured value that is not finite is a string, "NaN",
"Infinity" or "-Infinity", because JSON has no token for it and null would hide it.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tinygate.core.adapter import AdapterInfo, MeasuredNumerics, Platform
from tinygate.core.metrics import Metrics
from tinygate.core.results import CaseResult, Failure, PathResult, Report
from tinygate.core.status import Check, Status
from tinygate.core.text import clean
from tinygate.report.gate_line import agreement_line, case_line, path_line

Object = dict[str, Any]


def render(report: Report) -> str:
    """Render the report as one JSON object, in ASCII so that no encoding can break it."""
    return json.dumps(document(report), indent=2, allow_nan=False) + "\n"


def document(report: Report) -> Object:
    """Convert the report to dictionaries and lists, as `schema.json` describes them."""
    return {
        "schema_version": report.schema_version,
        "tinygate": clean(report.version),
        "platforms": [_platform(platform) for platform in report.platforms],
        "started": clean(report.started) or None,
        "seconds": number(report.seconds),
        "seed": report.seed,
        "shapes": _texts(report.shapes),
        "families": _texts(report.families),
        "required": _texts(report.required),
        "notes": _texts(report.notes),
        "agreements": [clean(agreement_line(one)) for one in report.agreements],
        "interrupted": report.interrupted,
        "exit_code": report.exit_code,
        "status_line": clean(report.status_line),
        "paths": [_path(path, report) for path in report.paths],
    }


def number(value: float | None) -> float | str | None:
    """Convert a float to a value of strict JSON; what is not finite becomes a string."""
    if value is None or math.isfinite(value):
        # float() because a numpy scalar is not a number to the json module.
        return None if value is None else float(value)
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _texts(values: tuple[str, ...]) -> list[str]:
    return [clean(value) for value in values]


def _platform(platform: Platform) -> Object:
    return {
        "engine": _engine(platform),
        "adapter": _adapter(platform.adapter),
        "numerics": _numerics(platform.numerics),
    }


def _engine(platform: Platform) -> Object:
    version = clean(platform.adapter.engine_version) if platform.adapter else None
    return {"name": clean(platform.engine), "version": version}


def _adapter(adapter: AdapterInfo | None) -> Object | None:
    if adapter is None:
        return None
    limits = adapter.limits
    return {
        "index": adapter.index,
        "name": clean(adapter.name),
        "kind": adapter.kind,
        "backend": clean(adapter.backend),
        "driver": clean(adapter.driver),
        "features": _texts(adapter.features),
        "subgroup_min": adapter.subgroup_min,
        "subgroup_max": adapter.subgroup_max,
        "matrices": [
            {"component": m.component, "result": m.result, "M": m.M, "N": m.N, "K": m.K}
            for m in adapter.matrices
        ],
        "toggles": _texts(adapter.toggles),
        "limits": {
            "max_buffer_size": limits.max_buffer_size,
            "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
            "max_compute_workgroups_per_dimension": limits.max_compute_workgroups_per_dimension,
            "max_compute_invocations_per_workgroup": limits.max_compute_invocations_per_workgroup,
            "max_compute_workgroup_storage_size": limits.max_compute_workgroup_storage_size,
            "min_storage_buffer_offset_alignment": limits.min_storage_buffer_offset_alignment,
        },
    }


def _numerics(numerics: MeasuredNumerics | None) -> Object | None:
    if numerics is None:
        return None
    return {
        "subgroup_size": numerics.subgroup_size,
        "f32_round_to_nearest": numerics.f32_round_to_nearest,
        "f16_round_to_nearest": numerics.f16_round_to_nearest,
        "f16_subnormals": numerics.f16_subnormals,
        "workgroup_memory_zeroed": numerics.workgroup_memory_zeroed,
        "loop_limit": numerics.loop_limit,
    }


def _path(path: PathResult, report: Report) -> Object:
    return {
        "path": clean(path.path),
        "engine": clean(path.engine),
        "pill": clean(path.pill),
        "status": path.status.value,
        "state": clean(path.state_words),
        "reason": clean(path.reason) or None,
        "detected": path.detected,
        "missing": clean(path.missing) or None,
        "active": path.active,
        "active_classes": _texts(tuple(map(str, path.active_classes))),
        "deciding": clean(path.deciding.id) if path.deciding else None,
        "source_hash": path.source_hash or None,
        "used": number(path.used),
        "speed_up": None,
        "line": clean(path_line(path)),
        "identity": _identity(path, report),
        "cases": [_case(case, report) for case in path.cases],
    }


def _identity(path: PathResult, report: Report) -> Object:
    """Collect what the verdict depends on: if any of it changes, a stored verdict is void.

    A limit is identified by the check's name and its rule; its value depends on the shape and the
    data, and stands with each case.
    """
    platform = report.platform(path.engine)
    adapter, numerics = platform.adapter, platform.numerics
    limits: dict[str, list[str]] = {}
    for check in (check for case in path.cases for check in case.checks):
        rules = limits.setdefault(clean(check.name), [])
        if check.why and clean(check.why) not in rules:
            rules.append(clean(check.why))
    return {
        "engine": _engine(platform),
        "adapter": clean(adapter.name) if adapter else None,
        "driver": clean(adapter.driver) if adapter else None,
        "backend": clean(adapter.backend) if adapter else None,
        "subgroup_size": numerics.subgroup_size if numerics else None,
        "source_hash": path.source_hash or None,
        "shape_classes": list(
            dict.fromkeys(
                clean(str(case.shape_class))
                for case in path.cases
                if case.status is not Status.SKIP
            )
        ),
        "families": list(dict.fromkeys(clean(case.family) for case in path.cases)),
        "seed": report.seed,
        "limits": limits,
    }


def _case(case: CaseResult, report: Report) -> Object:
    return {
        "id": clean(case.id),
        "path": clean(case.path),
        "engine": clean(case.engine),
        "shape": clean(case.shape),
        "shape_class": clean(str(case.shape_class)),
        "family": clean(case.family),
        "companion": case.companion,
        "seed": case.seed,
        "status": case.status.value,
        "reason": clean(case.reason) or None,
        "hint": clean(case.hint) or None,
        "metrics": _metrics(case.metrics, case.checks),
        "predicted": _predicted(case),
        "error_parts": _error_parts(case),
        "exact": None if case.exact is None else {"wrong": case.exact[0], "total": case.exact[1]},
        "checks": [_check(check) for check in case.checks],
        "used": number(case.used),
        "runs": case.runs,
        "failed": case.failed,
        "pooled": case.pooled,
        "digests": {
            "outputs": case.digests[0] or None,
            "reference": case.digests[1] or None,
        },
        "seconds": number(case.seconds),
        "speed_up": None,
        "line": clean(case_line(case, single_shape=report.single_shape)),
        "replay": clean(case.replay) or None,
        "saved": clean(case.saved) or None,
        "replay_saved": clean(case.replay_saved) or None,
        "failure": _failure(case.failure),
        "warnings": _texts(case.warnings),
    }


def _predicted(case: CaseResult) -> Object | None:
    """Pair each predicted number with the measured one."""
    found = case.comparisons
    if not found:
        return None
    return {
        one.name: {
            "predicted": number(one.predicted),
            "measured": number(one.measured),
            "ratio": number(one.ratio),
            "limit": number(one.limit),
            "used": number(one.used),
        }
        for one in found
    }


def _error_parts(case: CaseResult) -> Object | None:
    parts = case.parts
    if parts is None:
        return None
    return {
        "stored": {"rms": number(parts.stored_rms), "nmse": number(parts.stored)},
        "kernel": {"rms": number(parts.kernel_rms), "nmse": number(parts.kernel)},
    }


def _failure(failure: Failure | None) -> Object | None:
    if failure is None:
        return None
    return {
        "operand": clean(failure.operand),
        "count": failure.count,
        "total": failure.total,
        "first": list(failure.first),
        "got": number(failure.got),
        "want": number(failure.want),
        "where": clean(failure.where) or None,
        "cell_shape": list(failure.cell_shape),
        "cells": [[number(wrong) for wrong in row] for row in failure.cells],
    }


def _metrics(metrics: Metrics | None, checks: tuple[Check, ...]) -> Object | None:
    if metrics is None:
        return None
    return {
        "mean_ref": number(metrics.mean_ref),
        "max_abs": number(metrics.max_abs),
        "max_abs_limit": number(metrics.max_abs_limit),
        "mean_rel": number(metrics.mean_rel),
        # The limit that was applied, so that it can't drift from the one that is printed.
        "mean_rel_limit": number(next((c.limit for c in checks if c.name == "mean_rel"), None)),
        "max_rel": number(metrics.max_rel),
        "count": metrics.count,
        "nmse": number(metrics.nmse),
    }


def _check(check: Check) -> Object:
    return {
        "name": clean(check.name),
        "status": check.status.value,
        "measured": number(check.measured),
        "limit": number(check.limit),
        "used": number(check.used),
        "why": clean(check.why) or None,
        "reason": clean(check.reason) or None,
    }
