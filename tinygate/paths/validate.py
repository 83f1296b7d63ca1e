"""Check declarations of paths: built-ins, plug-ins and manifests alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tinygate.core.engine import TARGETS
from tinygate.core.errors import ConfigError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import MAX_BINDINGS, MAX_CONSTANTS, MAX_FIELDS, SYMBOLS, Entry
from tinygate.core.vocabulary import (
    A_FORMATS,
    ACCUMULATORS,
    FEATURES,
    FORMATS,
    JUDGES,
    PRECISIONS,
    PRODUCTS,
    QUANTIZED,
)


def validate(path: FastPath) -> FastPath:
    """Return the path after checking its declaration.

    Raises:
        ConfigError: the declaration is wrong; the message names the key, its value and what it may
            be.
    """
    for key, value, expected in faults(path):
        raise ConfigError(
            f"path {path.name!r}: {key} is {value!r}, expected {expected}",
            "tinygate paths lists working declarations",
        )
    return path


def faults(path: FastPath) -> Iterator[tuple[str, object, str]]:
    """Find what is wrong with a declaration: each key, its value and what it may be."""
    yield from _vocabulary_faults(path)
    yield from _int8_faults(path)
    if any(n < 1 for n in path.multiple_of):
        yield "multiple_of", path.multiple_of, "positive integers"
    if len(path.over_read) > 200 or not path.over_read.isprintable():
        yield "over_read", path.over_read, "a reason of at most 200 printable characters"
    yield from _python_faults(path) if path.call else _kernel_faults(path)


def _vocabulary_faults(path: FastPath) -> Iterator[tuple[str, object, str]]:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", path.name):
        yield "name", path.name, "1 to 40 of a-z, 0-9 and '-'"
    for key, values, known in (
        ("requires", path.requires, FEATURES),
        ("engines", path.engines, TARGETS),
        ("a", (path.a,), A_FORMATS),
        ("b", (path.b,), FORMATS),
        ("accumulate", (path.accumulate,), ACCUMULATORS),
        ("products", (path.products,), PRODUCTS),
        ("output", (path.output,), PRECISIONS),
        ("judge", (path.judge,), JUDGES),
    ):
        for value in values:
            if value not in known:
                yield key, value, f"one of {', '.join(known)}"
    if not path.engines:
        yield "engines", path.engines, "at least one engine"


def _int8_faults(path: FastPath) -> Iterator[tuple[str, object, str]]:
    if path.accumulate == "i32" and (path.a, path.b, path.products, path.output) != (
        *("int8-packed", "int8-packed"),
        *("f32", "f32"),
    ):
        yield "accumulate", path.accumulate, "i32 only where a and b are int8-packed"
    if path.a == "int8-packed" and path.holds_f16:
        yield "a", path.a, "f32 where products, sums or output are f16: int8 products are over 2^11"
    if path.a == "int8-packed" and "f16" in (path.accumulate, path.products, path.output):
        yield "a", path.a, "f32 where products, sums or output are f16: int8 products are over 2^11"


def _python_faults(path: FastPath) -> Iterator[tuple[str, object, str]]:
    if path.kernel or path.pack or path.pack_a:
        yield "kernel", path.kernel, "no kernel where the path is Python"
    if path.a != "f32" or path.b in QUANTIZED:
        yield "b", path.b, "f32 or f16-packed, and a f32, where the path is Python"


def _kernel_faults(path: FastPath) -> Iterator[tuple[str, object, str]]:
    if (path.pack is not None) != (path.b != "f32"):
        yield "pack", path.pack, "a packer exactly where b is packed"
    if (path.pack_a is not None) != (path.a != "f32"):
        yield "pack_a", path.pack_a, "a packer exactly where a is packed"
    if not path.entries or path.entries[-1].max_m is not None:
        yield "entries", path.entries, "a last entry point that takes any M"
    for entry in path.entries:
        yield from _entry_faults(entry)
    slots = path.layout.slots
    if len(set(slots)) != len(slots) or not all(0 <= slot < MAX_BINDINGS for slot in slots):
        yield "bindings", slots, f"different slots, each from 0 to {MAX_BINDINGS - 1}"
    if not 1 <= len(path.dims) <= MAX_FIELDS:
        yield "dims", len(path.dims), f"1 to {MAX_FIELDS} fields"
    for key, file in (
        ("kernel", path.kernel_file()),
        ("pack", path.pack_file()),
        ("pack_a", path.pack_a_file()),
    ):
        if file is not None and not file.is_file():
            yield key, str(file), "a file that exists"


def _entry_faults(entry: Entry) -> Iterator[tuple[str, object, str]]:
    if min(entry.rows, entry.cols, entry.max_m or 1) < 1:
        yield "entries", entry, "positive sizes"
    if len(entry.axes) > 3 or any(step.per < 1 for step in entry.axes if step):
        yield "dispatch", entry.axes, "x, y and z, each with per of at least 1"
    if len(entry.constants) > MAX_CONSTANTS:
        yield "constants", len(entry.constants), f"at most {MAX_CONSTANTS}"
    for name, value in entry.constants:
        if isinstance(value, str) and value not in SYMBOLS:
            yield f"constants.{name}", value, f"a number or one of {', '.join(SYMBOLS)}"
