"""Read a saved failing case, as the gate wrote it or as anybody might have.

Nothing in the file is trusted: no pickles, no member but the known ones, no array that is not of
the shape the file claims, nothing unpacked before its size is known to be that of its array.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from tinygate.core.errors import UsageError
from tinygate.core.family import FAMILIES
from tinygate.core.memory import available_memory
from tinygate.core.saved_case import ARRAYS, DESCRIPTION, OPTIONAL_ARRAYS, SCHEMA_VERSION
from tinygate.core.shape import Shape
from tinygate.core.text import shown

_ABOUT_BYTES = 1 << 16
_HEADER_BYTES = 1 << 12  # at most, of an .npy member
_DTYPES = {name: np.dtype(kind) for name, kind in ARRAYS.items()}
_MEMBERS = {f"{name}.npy" for name in (DESCRIPTION, *ARRAYS)}
_HINT = "name a file that `tinygate verify --save-failures DIR` wrote"


@dataclass(frozen=True)
class Saved:
    """A saved case: what to run, and the arrays of the product that failed (R may be absent).

    source, file     where the path was from; file is empty unless that was a manifest
    saved_on         engine and adapter it ran on; empty where the file does not say
    """

    path: str
    source: str
    file: str
    shape: Shape
    family: str
    seed: int
    repeat: int
    arrays: dict[str, np.ndarray[Any, Any]]
    saved_on: tuple[str, str] = ("", "")


class _UnfitError(Exception):
    """What is wrong with a file, in words."""


def load(file: Path) -> Saved:
    """Read a saved case.

    Raises:
        UsageError: naming the file and what is wrong with it.
    """
    try:
        if not file.is_file():
            # Opening a pipe would wait for ever.
            raise _UnfitError("is not a regular file" if file.exists() else "is not there")
        with zipfile.ZipFile(file) as archive:
            return _read(archive)
    except Exception as error:  # a hostile archive finds more than zipfile and numpy document
        what = str(error) if isinstance(error, _UnfitError) else _reason(error)
        raise UsageError(f"{shown(file)} cannot be replayed: it {what}", _HINT) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {shown(error.strerror or error)}"
    text = shown(" ".join(str(error).split()) or type(error).__name__)
    return f"is damaged, or no saved case: {text}"


def _read(archive: zipfile.ZipFile) -> Saved:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise _UnfitError("holds a member twice")
    if odd := sorted(set(members) - _MEMBERS):
        raise _UnfitError(f"holds {shown(odd[0], 60)}, which is no part of a saved case")
    if missing := sorted(_MEMBERS - {f"{name}.npy" for name in OPTIONAL_ARRAYS} - set(members)):
        raise _UnfitError(f"has no {missing[0]}")
    for name, info in members.items():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _UnfitError(f"holds {name} in an unknown compression")
    about = _about(archive, members[f"{DESCRIPTION}.npy"].file_size)
    shape, family = _shape(about), _text(about, "family")
    if family not in FAMILIES:
        raise _UnfitError(f"names an unknown input family {shown(repr(family), 60)}")
    sizes = {"A": (shape.M, shape.K), "B": (shape.K, shape.N)}
    sizes |= dict.fromkeys("FRS", (shape.M, shape.N))
    sizes = {name: size for name, size in sizes.items() if f"{name}.npy" in members}
    wanted = {name: m * n * _DTYPES[name].itemsize for name, (m, n) in sizes.items()}
    for name, size in wanted.items():
        if not size < members[f"{name}.npy"].file_size <= size + _HEADER_BYTES:
            raise _UnfitError(f"holds another amount of {name} than {shape} has")
    available = available_memory()
    if available is not None and sum(wanted.values()) > available:
        raise _UnfitError(f"holds more than the available memory of {available >> 20} MiB")
    return Saved(
        path=_text(about, "path"),
        source=_text(about, "source"),
        file=_text(about, "file"),
        shape=shape,
        family=family,
        seed=_integer(about, "seed", 0, 2**63 - 1),
        repeat=_integer(about, "repeat", 1, 10_000),
        arrays={name: _array(archive, name, size) for name, size in sizes.items()},
        saved_on=(_text(about, "engine", ""), _text(about, "adapter", "")),
    )


def _about(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The case's description: a JSON object of this version."""
    if size > _ABOUT_BYTES:
        raise _UnfitError("has a description that is too large")
    with archive.open(f"{DESCRIPTION}.npy") as member:
        shape, _, dtype = _header(member)
        if shape != () or dtype.kind != "U":
            raise _UnfitError("has a description that is no text")
        # Bytes of UTF-32 are decoded here, because numpy takes any number for a character.
        text = member.read(size).decode("utf-32-le" if dtype.str[0] == "<" else "utf-32-be")
    about = json.loads(text.rstrip("\0"))
    if not isinstance(about, dict) or about.get("schema_version") != SCHEMA_VERSION:
        raise _UnfitError("has a description of another version")
    return about


def _shape(about: dict[str, Any]) -> Shape:
    text = _text(about, "shape")
    try:
        return Shape.parse(text)
    except UsageError as error:
        raise _UnfitError(f"names a shape that is none: {error.message}") from error


def _text(about: dict[str, Any], key: str, default: str | None = None) -> str:
    value = about.get(key, default)
    if not isinstance(value, str):
        raise _UnfitError(f"has no {key} in its description")
    return value


def _integer(about: dict[str, Any], key: str, min_: int, max_: int) -> int:
    value = about.get(key)
    if type(value) is not int or not min_ <= value <= max_:
        raise _UnfitError(f"has a {key} that is not a number from {min_} to {max_}")
    return value


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, dtype; `member` is then at the data."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise _UnfitError(f"holds an array in .npy version {version[0]}.{version[1]}, not 1.0")
    return np.lib.format.read_array_header_1_0(member, max_header_size=_HEADER_BYTES)


def _array(archive: zipfile.ZipFile, name: str, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    """An array, whose header is held against what is expected before anything is made from it."""
    with archive.open(f"{name}.npy") as member:
        shape, by_columns, dtype = _header(member)
        if shape != size or dtype != _DTYPES[name]:
            found = f"{dtype.name}{list(shape)}"
            raise _UnfitError(f"holds {name} as {found}, not {_DTYPES[name].name}{list(size)}")
        data = bytearray(member.read())  # to the end, so that the checksum is checked
    if len(data) != size[0] * size[1] * dtype.itemsize:
        raise _UnfitError(f"is cut off in {name}")
    flat = np.frombuffer(data, dtype)
    return flat.reshape(size[::-1]).T if by_columns else flat.reshape(size)


def digest(array: np.ndarray[Any, Any]) -> str:
    """SHA-256 of an array's bytes, row by row."""
    return hashlib.sha256(array.tobytes()).hexdigest()


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two float32 arrays agree bit for bit: a NaN is equal to itself, 0 not to -0."""
    return a.shape == b.shape and np.array_equal(a.view(np.uint32), b.view(np.uint32))


def different_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> int:
    """How many elements of two float32 arrays of one shape differ."""
    return int(np.count_nonzero(a.view(np.uint32) != b.view(np.uint32)))
