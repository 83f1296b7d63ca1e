"""Describe what a saved failing case holds: named arrays, and this beside them as JSON.

The gate writes such files (gate/failure.py); `tinygate replay` reads them (report/saved_case.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

SCHEMA_VERSION = 1
# numpy's name for each array's type. A and B are the originals, F the candidate's C, R the
# reference's where the family has one, S the float64 product of the stored operands.
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

    source, file       where the path was from; file is empty unless that was a manifest
    shape              "MxKxN", with its name where it had one
    engine, adapter    what it ran on, with versions; empty where that was not said
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
        """Write it for the file."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)})
