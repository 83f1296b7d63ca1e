"""Kernel source text: read with care, hashed for a verdict's identity."""

from __future__ import annotations

import hashlib
import json
import stat
from functools import lru_cache
from pathlib import Path

from tinygate.core.errors import ConfigError
from tinygate.core.fast_path import FastPath, wgsl_file
from tinygate.paths import include
from tinygate.paths.builtin import REFERENCE

_MAX_SOURCE_BYTES = 1 << 20


def load_source(file: Path) -> include.Source:
    """A kernel as it is compiled: with what it includes, and where each line stands.

    Raises:
        ConfigError: where the file cannot be read, is over 1 MiB or is not UTF-8, or where an
            include in it cannot be followed.
    """
    return _expanded(shown(file), _read(file))


def read_source(file: Path) -> str:
    """A kernel's text as it is compiled; raises what `load_source` does."""
    return load_source(file).text


@lru_cache(maxsize=32)
def _expanded(label: str, text: str) -> include.Source:
    """A kernel's text with what it includes. A dispatch asks for it every time, and tinygate's own
    files stay as they are while it runs; the kernel's own file is always read anew."""
    return include.expand(label, text, lambda name: _read(wgsl_file(name), name))


def _read(file: Path, name: str = "") -> str:
    """A file's text. Messages call it by its name, where one is given."""
    called = name or str(file)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{called} is not a regular file", "name a WGSL file")
        if status.st_size > _MAX_SOURCE_BYTES:
            raise ConfigError(f"{called} is over 1 MiB: not a kernel", "name a WGSL file")
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if name and isinstance(error, FileNotFoundError):
            raise ConfigError(
                f"there is no {name}", "wgsl/README.md lists what there is"
            ) from error
        raise ConfigError(
            f"{called} cannot be read: {error}", "name a readable WGSL file"
        ) from error
    if "\0" in text:  # the engine would take it for the end
        raise ConfigError(f"{called} holds a NUL character: not a kernel", "name a WGSL file")
    return text


def shown(file: Path) -> str:
    """What messages call a kernel: its name in wgsl/, else the way to it from here."""
    if file.is_relative_to(wgsl_file("")):
        return file.relative_to(wgsl_file("")).as_posix()
    try:
        return str(file.relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, or the current folder is gone
        return str(file)


def source_hash(path: FastPath) -> str:
    """SHA-256 over kernel and packers with all they include, entry points with their constants,
    bindings and uniform, what is declared of the numerics, and the reference's kernel: what a
    verdict is of. Of a Python path over its plug-in's name and version: more is out of reach."""
    digest = hashlib.sha256()
    for file in (*path.files(), REFERENCE.kernel_file()):
        digest.update(read_source(file).encode())
        digest.update(b"\0")
    declared = (path.a, path.b, path.accumulate, path.products, path.output, path.deterministic)
    digest.update(repr((declared, path.matrix_types, path.matrix_sizes)).encode())
    entries = [(e.name, e.rows, e.cols, e.max_m, e.constants) for e in path.entries]
    digest.update(json.dumps(entries).encode())
    if path.call:
        digest.update(f"{path.call} {path.source}".encode())
    judged = (path.guard, path.over_read)
    interface = (path.layout, path.dims, *judged, [e.axes for e in path.entries])
    digest.update(repr(interface).encode())
    return digest.hexdigest()
