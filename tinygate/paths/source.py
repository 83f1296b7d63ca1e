"""Kernel source text: read with care, hashed for a verdict's identity."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from functools import lru_cache
from pathlib import Path

from tinygate.core.errors import ConfigError
from tinygate.core.fast_path import FastPath, wgsl_file
from tinygate.paths import include
from tinygate.paths.builtin import REFERENCE

_COMMENT = re.compile(r"//[^\n]*")
_MAX_SOURCE_BYTES = 1 << 20


def load_source(file: Path) -> include.Source:
    """Load a kernel as it is compiled: with what it includes, and where each line stands.

    Raises:
        ConfigError: where the file cannot be read, is over 1 MiB or is not UTF-8, or where an
            include in it cannot be followed.
    """
    return _expanded(shown(file), _read(file))


def read_source(file: Path) -> str:
    """Read a kernel's text as it is compiled; raise what `load_source` does."""
    return load_source(file).text


@lru_cache(maxsize=32)
def _expanded(label: str, text: str) -> include.Source:
    """Expand a kernel's text, once. A dispatch asks for it every time, and tinygate's own files
    stay as they are while it runs; the kernel's own file is always read anew."""
    return include.expand(label, text, lambda name: _read(wgsl_file(name), name))


def _read(file: Path, name: str = "") -> str:
    """Read a file's text. Messages call it by its name, where one is given."""
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
    """Name a kernel for messages: its name in wgsl/, else the way to it from here."""
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


# What a kernel's text shows that it uses, whatever it declares.
_USES = {
    "shader-f16": re.compile(r"^\s*enable\s+f16\s*;", re.MULTILINE),
    "subgroups": re.compile(r"^\s*enable\s+subgroups\s*;|\bsubgroup[A-Z]\w*\s*\(", re.MULTILINE),
    "subgroup-matrix": re.compile(r"^\s*enable\s+\w*subgroup_matrix\s*;", re.MULTILINE),
}


def undeclared_features(path: FastPath) -> tuple[str, ...]:
    """List the features that a path's WGSL uses and its `requires` does not name.

    A run switches on what any of its paths requires, so such a path passes beside others and fails
    alone.
    """
    text = "\n".join(_COMMENT.sub("", read_source(file)) for file in path.files())
    found = (name for name, use in _USES.items() if use.search(text))
    return tuple(name for name in found if name not in path.requires)
