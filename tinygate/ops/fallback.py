"""Order paths by their declared fallbacks, the fastest first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygate.core.fast_path import FastPath
from tinygate.core.vocabulary import Format
from tinygate.paths.builtin import BUILTIN


def chain(paths: Iterable[FastPath], b: Format) -> tuple[FastPath, ...]:
    """List the paths that take an f32 A and B in the format `b`, the fastest first.

    A path comes before its fallback, and that before its own fallback, even through a built-in path
    that is not among `paths`. Equals keep their order. The reference, which ends every chain, is
    not listed.
    """
    every = tuple(paths)
    by_name = {path.name: path for path in (*BUILTIN, *every)}
    fitting = [path for path in every if path.b == b and path.a == "f32" and not path.call]
    return tuple(sorted(fitting, key=lambda path: -_steps(path, by_name)))


def _steps(path: FastPath, by_name: Mapping[str, FastPath]) -> int:
    """Count the paths in a chain of fallbacks, this one included; a cycle is followed once."""
    passed = {path.name}
    name = path.fallback
    while name in by_name and name not in passed:
        passed.add(name)
        name = by_name[name].fallback
    return len(passed)
