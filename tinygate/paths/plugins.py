"""Load plug-ins: paths that other distributions register as entry points of `tinygate.paths`.

::

    [project.entry-points."tinygate.paths"]
    anything = "my_module:paths"

names a FastPath, a PythonPath, an iterable of them, or a function without arguments that returns
any of these. A broken plug-in is left out with a warning; it never takes the gate down.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tinygate.core.errors import CannotVerifyError, PackingRefusedError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.text import shown
from tinygate.core.vocabulary import Format, Precision
from tinygate.paths.source import read_source
from tinygate.paths.validate import validate

GROUP = "tinygate.paths"
_MAX_PATHS = 1000


@dataclass(frozen=True)
class PythonPath:
    """A path that is a Python function, such as the matrix product of another runtime.

    run           (A[M,K], B[K,N]), float32 -> C[M,N], float32 or float16
    stored        B[K,N] -> B after rounding to its storage format, [K,N]. None if unknown: then
                  there is no conformance verdict, and the path is never active
    b             the storage format of B; the runtime packs B itself
    the rest      as in FastPath

    `run` and `stored` are called in the worker process with read-only copies. `stored` refuses
    weights outside of the format's range with refuse_over.
    """

    name: str
    run: Callable[[Any, Any], Any]
    why: str
    stored: Callable[[Any], Any] | None = None
    pill: str = ""
    b: Format = "f32"
    accumulate: Precision = "f32"
    products: Precision = "f32"
    output: Precision = "f32"
    deterministic: bool = True
    opt_in: bool = False
    multiple_of: tuple[int, int, int] = (1, 1, 1)

    def declared(self, call: str) -> FastPath:
        """Return the declaration without the functions, which cannot be sent to the worker.

        call: the entry point by which the worker finds the functions again.
        """
        return FastPath(
            name=self.name,
            pill=self.pill or self.name.replace("-", " "),
            kernel="",
            why=self.why,
            b=self.b,
            accumulate=self.accumulate,
            products=self.products,
            output=self.output,
            entries=(Entry("call"),),
            deterministic=self.deterministic,
            opt_in=self.opt_in,
            multiple_of=self.multiple_of,
            call=call,
            readback=self.b == "f32" or self.stored is not None,
        )


@dataclass(frozen=True)
class Found:
    """The paths of every plug-in, and a warning for each plug-in that was left out."""

    paths: tuple[FastPath, ...]
    warnings: tuple[str, ...]


def refuse_over(B: Any, largest: float) -> None:
    """Refuse weights B[K,N] over a format's range; called by `stored` instead of clamping them.

    Raises:
        PackingRefusedError: a value is over `largest`; the message names the first, row by row.
    """
    import numpy as np

    outside = np.argwhere(~(np.abs(B) <= largest))
    if outside.size:
        k, n = outside[0]
        raise PackingRefusedError.over(
            largest, (int(k), int(n)), float(B[k, n]), count=len(outside)
        )


def discover() -> Found:
    """Load every installed plug-in."""
    paths: list[FastPath] = []
    warnings: list[str] = []
    for point in _points():
        try:
            paths += [_declared(offer, point) for offer in _offers(point)]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plug-in may call sys.exit
            reason = " ".join(shown(error, 300).split())
            warnings.append(
                f"{_origin(point)} (entry point {shown(point.name, 80)}) was left out: "
                f"{type(error).__name__}: {reason}"
            )
    return Found(tuple(paths), tuple(warnings))


def load_call(path: FastPath) -> PythonPath:
    """Load the Python functions of a declared path into this process.

    Raises:
        CannotVerifyError: the plug-in cannot be loaded, or does not offer the path any more.
    """
    for point in _points():
        if _call(point) == path.call:
            try:
                for offer in _offers(point):
                    if isinstance(offer, PythonPath) and offer.name == path.name:
                        return offer
            except Exception as error:
                raise CannotVerifyError(
                    f"{path.source} cannot be loaded: {type(error).__name__}: {shown(error, 300)}",
                    "install what the plug-in needs, or run with --no-plugins",
                ) from error
    raise CannotVerifyError(
        f"{path.source} does not offer path {path.name!r} any more",
        "tinygate paths lists the paths",
    )


def _points() -> list[EntryPoint]:
    """List the group's entry points, in an order that does not depend on installation folders."""
    return sorted(entry_points(group=GROUP), key=lambda point: (_origin(point), point.name))


def _origin(point: EntryPoint) -> str:
    dist = point.dist
    return f"plug-in {dist.name} {dist.version}" if dist else "a plug-in without a distribution"


def _call(point: EntryPoint) -> str:
    return f"{point.dist.name if point.dist else ''}:{point.name}"


def _offers(point: EntryPoint) -> list[FastPath | PythonPath]:
    """Load what an entry point offers; its prints go to stderr, as stdout may be a report."""
    with contextlib.redirect_stdout(sys.stderr):
        found = point.load()
        if callable(found):
            found = found()
        offers = [found] if isinstance(found, FastPath | PythonPath) else found
        if not isinstance(offers, Iterable):
            raise TypeError(f"it offers {type(found).__name__}, expected FastPath or PythonPath")
        listed = []
        for offer in offers:
            if not isinstance(offer, FastPath | PythonPath):
                raise TypeError(
                    f"it offers {type(offer).__name__}, expected FastPath or PythonPath"
                )
            listed.append(offer)
            if len(listed) > _MAX_PATHS:
                raise ValueError(f"it offers more than {_MAX_PATHS} paths")
    return listed


def _declared(offer: FastPath | PythonPath, point: EntryPoint) -> FastPath:
    """Turn an offer into a path that names its plug-in, validated like a built-in."""
    if isinstance(offer, PythonPath):
        if not callable(offer.run) or not (offer.stored is None or callable(offer.stored)):
            raise TypeError(f"path {offer.name!r}: run and stored must be functions")
        return validate(replace(offer.declared(_call(point)), source=_origin(point)))
    path = validate(replace(offer, source=_origin(point), file="", call=""))
    for file in path.files():
        read_source(file)
    return path
