"""Reports of `tinygate verify`, as small as the stored measurements' tests need them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from precision import convert, stored  # noqa: E402

Object = dict[str, Any]


def check(name: str = "max_abs", status: str = "PASS", **changes: Any) -> Object:
    return {"name": name, "status": status, "used": None, **changes}


def case(shape: str = "64x128x128", family: str = "uniform", **changes: Any) -> Object:
    """A case as a report has it, with what is stored of it."""
    return {
        "shape": shape,
        "family": family,
        "status": "PASS",
        "reason": None,
        "used": 0.26,
        "metrics": {"max_abs": 1.21e-4, "mean_rel": 0.00077, "nmse": 4.3e-8},
        "predicted": {"mean_rel": {"predicted": 0.0008}},
        "checks": [
            check("reference", used=0.9),
            check("max_abs", used=0.1),
            check("zero"),
            check("conformance", used=0.26),
        ],
        **changes,
    }


def report(*cases: Object, path: str = "f16-storage", **changes: Any) -> Object:
    """A report of one path on one engine."""
    platform = {
        "engine": {"name": "native", "version": "0.32.0"},
        "adapter": {
            "name": "Card",
            "driver": "Driver 7 (LLVM 1)",
            "backend": "Vulkan",
            "toggles": [],
        },
        "numerics": {"subgroup_size": 8},
    }
    found = {"path": path, "engine": "native", "state": "active", "reason": None, "missing": None}
    return {
        "schema_version": 3,
        "tinygate": "0.1.0",
        "started": "2026-12-02T05:34:17+00:00",
        "seed": 12345,
        "exit_code": 0,
        "agreements": [],
        "platforms": [platform],
        "paths": [{**found, "cases": list(cases), **changes}],
    }


def text(document: Object, command: str = "tinygate verify") -> str:
    return convert.convert("report.json", document, command)


def read(document: Object, name: str = "card.csv") -> list[stored.Stored]:
    """What is read back of a report once it is stored."""
    return stored.parse(name, text(document))


def store(folder: Path, **documents: Object | str) -> Path:
    for name, document in documents.items():
        written = document if isinstance(document, str) else text(document)
        (folder / f"{name}.csv").write_text(written, encoding="utf-8")
    return folder
