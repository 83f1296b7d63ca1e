"""`tinygate replay FILE`: run one saved failing case again, and compare with what was saved.

A saved case may come from anybody, so nothing in the file is trusted: no pickles, no member but the
known ones, no array larger than the shape it claims.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tinygate.errors import UsageError
from tinygate.families import FAMILIES
from tinygate.inputs import generate
from tinygate.paths import FastPath
from tinygate.results import Report
from tinygate.shapes import Shape

_ABOUT_BYTES = 1 << 16
_HEADER_BYTES = 1 << 12  # of an .npy member
_MOST_BYTES = 4 << 30
_HINT = "name a file that `tinygate verify --save-failures DIR` wrote"


@dataclass(frozen=True)
class Saved:
    """A saved case: what to run, and the arrays of the product that failed (R may be absent)."""

    path: str
    source: str
    shape: Shape
    family: str
    seed: int
    repeat: int
    arrays: dict[str, np.ndarray[Any, Any]]


def load(file: Path) -> Saved:
    """Read a saved case.

    Raises:
        UsageError: naming the file and what is wrong with it.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return _read(file, archive)
    except (OSError, zipfile.BadZipFile, EOFError, ValueError, KeyError, TypeError) as error:
        raise _bad(file, f"{type(error).__name__}: {error}") from error
    except (NotImplementedError, RuntimeError, MemoryError, RecursionError) as error:
        raise _bad(file, str(error) or type(error).__name__) from error


def _read(file: Path, archive: zipfile.ZipFile) -> Saved:
    members = {info.filename: info.file_size for info in archive.infolist()}
    known = {f"{name}.npy" for name in ("about", "A", "B", "F", "R", "S")}
    if len(members) != len(archive.infolist()) or not set(members) <= known:
        raise _bad(file, "it holds something else than A, B, F, R, S and about")
    if sum(members.values()) > _MOST_BYTES:
        raise _bad(file, "it is over 4 GiB unpacked")
    if members.get("about.npy", _ABOUT_BYTES + 1) > _ABOUT_BYTES:
        raise _bad(file, "its description is missing or too large")
    about = json.loads(str(_array(archive, "about.npy")))
    if not isinstance(about, dict) or about.get("schema_version") != 1:
        raise _bad(file, "its description is not of this version")
    shape = Shape.parse(str(about["shape"]))
    family = str(about["family"])
    if family not in FAMILIES:
        raise _bad(file, f"it names an unknown family {family!r}")
    sizes = {"A": (shape.M, shape.K), "B": (shape.K, shape.N)}
    sizes |= dict.fromkeys("FRS", (shape.M, shape.N))
    arrays = {}
    for name, size in sizes.items():
        member = f"{name}.npy"
        if member not in members and name == "R":
            continue
        width = 8 if name == "S" else 4
        if members[member] > width * size[0] * size[1] + _HEADER_BYTES:
            raise _bad(file, f"{name} is larger than its shape {shape}")
        array = _array(archive, member)
        if array.shape != size or array.dtype != (np.float64 if name == "S" else np.float32):
            raise _bad(file, f"{name} is {array.dtype}{list(array.shape)}, not of shape {shape}")
        arrays[name] = array
    seed, repeat = int(about["seed"]), int(about["repeat"])
    if not (0 <= seed < 2**63 and 1 <= repeat <= 10_000):
        raise _bad(file, "its seed or repeat is out of range")
    return Saved(str(about["path"]), str(about["source"]), shape, family, seed, repeat, arrays)


def _array(archive: zipfile.ZipFile, member: str) -> np.ndarray[Any, Any]:
    data = archive.read(member)
    array: np.ndarray[Any, Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _bad(file: Path, what: str) -> UsageError:
    return UsageError(f"{file} is not a saved case: {' '.join(what.split())[:200]}", _HINT)


def same_inputs(saved: Saved, path: FastPath) -> bool:
    """Whether this version draws the saved operands, bit for bit, somewhere in the case."""
    A, B = saved.arrays["A"].view(np.uint32), saved.arrays["B"].view(np.uint32)
    return any(
        np.array_equal(weights.B.view(np.uint32), B)
        and any(np.array_equal(a.view(np.uint32), A) for a in weights.activations())
        for weights in generate(saved.family, saved.shape, path, saved.seed)
    )


def verdict(saved: Saved, path: FastPath, report: Report) -> list[str]:
    """What the new run has to say of the saved one, a line each."""
    inputs = "the same bits as saved" if same_inputs(saved, path) else "drawn otherwise than saved"
    files = [case.saved for case in report.cases if case.saved]
    if not files:
        return [f"inputs: {inputs}", "outputs: it does not fail now"]
    try:
        again = load(Path(files[0]))
    except UsageError as error:
        return [f"inputs: {inputs}", f"outputs: not compared, {error.message}"]
    different = int(
        np.count_nonzero(again.arrays["F"].view(np.uint32) != saved.arrays["F"].view(np.uint32))
    )
    total = saved.arrays["F"].size
    outputs = (
        f"{different} of {total} differ from the saved ones"
        if different
        else "the same bits as saved"
    )
    return [f"inputs: {inputs}", f"outputs: {outputs}"]


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Where the new run saves what it finds."""
    return tempfile.TemporaryDirectory(prefix="tinygate-replay-")


def chosen(saved: Saved, registered: Iterable[FastPath]) -> FastPath:
    """The path the case is of.

    Raises:
        UsageError: where no registered path has its name.
    """
    for path in registered:
        if path.name == saved.path:
            return path
    raise UsageError(
        f"the case is of path {saved.path!r} ({saved.source}), which is not registered here",
        "tinygate paths lists the registered ones",
    )
