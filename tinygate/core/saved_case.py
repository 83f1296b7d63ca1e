"""Describe the file of a saved failing case: named arrays, with a description as JSON.

The gate writes such files (gate/failure.py); `tinygate replay` reads them (report/saved_case.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

SCHEMA_VERSION = 1
# Each array's numpy type. A and B are the operands before storing, F the candidate's C, R the
# reference's C if the family has one, S the float64 product of the stored operands.
ARRAYS: Mapping[str, str] = {
    "A": "float32",
    "B": "float32",
    "F": "float32",
    "R": "float32",
    "S": "float64",
}
OPTIONAL_ARRAYS = ("R",)
DESCRIPTION = "about"


@dataclass(frozen=True)
class Description:
    """The case that failed.

    source, file       where the path came from; file is empty unless that was a manifest
    shape              "MxKxN" or "MxKxN:name"
    engine, adapter    what it ran on, with versions; empty if unknown
    """

    path: str
    source: str
    file: str
    shape: str
    family: str
    seed: int
    repeat: int
    reason: str = ""
    engine: str = ""
    adapter: str = ""

    def to_json(self) -> str:
        """Serialize the description for the file."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)})
