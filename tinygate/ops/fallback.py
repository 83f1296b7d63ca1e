"""Which path runs in whose place: the chain of fallbacks, read from the declarations. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygate.core.fast_path import FastPath
from tinygate.core.vocabulary import Format
from tinygate.paths.builtin import BUILTIN


def chain(paths: Iterable[FastPath], b: Format) -> tuple[FastPath, ...]:
    """The paths that take a plain A and B in that format, the fastest first.

    A path comes before what it falls back to, and that before what it falls back to itself, also
    where one in between is built in but not among `paths`. Equals keep their order. What is left
    at the end is the reference, which is not listed.
    """
    every = tuple(paths)
    by_name = {path.name: path for path in (*BUILTIN, *every)}
    fitting = [path for path in every if path.b == b and path.a == "f32" and not path.call]
    return tuple(sorted(fitting, key=lambda path: -_steps(path, by_name)))


def _steps(path: FastPath, by_name: Mapping[str, FastPath]) -> int:
    """How many fallbacks follow it before a name that is no path; a circle is gone round once."""
    passed = {path.name}
    name = path.fallback
    while name in by_name and name not in passed:
        passed.add(name)
        name = by_name[name].fallback
    return len(passed)
