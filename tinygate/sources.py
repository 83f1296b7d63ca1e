"""Kernel source text: read with care, hashed for a verdict's identity."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tinygate.errors import ConfigError
from tinygate.paths import FastPath

_MAX_SOURCE_BYTES = 1 << 20


def read_source(file: Path) -> str:
    """A kernel's text.

    Raises:
        ConfigError: where the file cannot be read, is over 1 MiB or is not UTF-8.
    """
    try:
        if file.stat().st_size > _MAX_SOURCE_BYTES:
            raise ConfigError(f"{file} is over 1 MiB: not a kernel", "name a WGSL file")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", "name a readable WGSL file") from error


def source_hash(path: FastPath) -> str:
    """SHA-256 over kernel, packer and entry points with their constants: what a verdict is of."""
    digest = hashlib.sha256()
    for file in filter(None, (path.kernel_file(), path.pack_file())):
        digest.update(read_source(file).encode())
        digest.update(b"\0")
    entries = [(e.name, e.rows, e.cols, e.max_m, e.constants) for e in path.entries]
    digest.update(json.dumps(entries).encode())
    return digest.hexdigest()
