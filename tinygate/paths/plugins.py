"""Plug-ins: paths that other distributions offer under the entry point group `tinygate.paths`.

::

    [project.entry-points."tinygate.paths"]
    anything = "my_module:paths"

names a FastPath, a PythonPath, an iterable of them, or a function without arguments that gives any
of these. A plug-in that is broken is left out with a warning; it never takes the gate down.
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
    """A path whose run is Python: the matrix product of another runtime, say.

    run           (A[M,K], B[K,N]), float32 -> C[M,N], float32 or float16
    stored        B[K,N] -> the values that B is held as, [K,N]; each is one of its format's. None:
                  nothing is known of them, so there is no conformance verdict, and the path is
                  never active
    b             the format whose precision B is held in; the runtime packs it for itself
    the rest      as in FastPath

    Both are called in the worker process, with copies in which nothing may be changed. Weights that
    cannot be held are refused by `stored`, with refuse_over.
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
        """What the gate knows of it: data only, since a callable does not cross to the worker."""
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
    """Every plug-in's paths, and a sentence for each plug-in that was left out."""

    paths: tuple[FastPath, ...]
    warnings: tuple[str, ...]


def refuse_over(B: Any, largest: float) -> None:
    """Refuse weights over a format's range, for `stored`: they must not be clamped.

    Raises:
        PackingRefusedError: naming the first such value of B[K,N], row by row.
    """
    import numpy as np

    outside = np.argwhere(~(np.abs(B) <= largest))
    if outside.size:
        k, n = outside[0]
        raise PackingRefusedError.over(
            largest, (int(k), int(n)), float(B[k, n]), count=len(outside)
        )


def discover() -> Found:
    """Load every plug-in that is installed."""
    paths: list[FastPath] = []
    warnings: list[str] = []
    for point in _points():
        try:
            paths += [_declared(offer, point) for offer in _offers(point)]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: it runs somebody else's code
            reason = " ".join(shown(error, 300).split())
            warnings.append(
                f"{_origin(point)} (entry point {shown(point.name, 80)}) was left out: "
                f"{type(error).__name__}: {reason}"
            )
    return Found(tuple(paths), tuple(warnings))


def load_call(path: FastPath) -> PythonPath:
    """The Python behind a declared path, in this process.

    Raises:
        CannotVerifyError: where the plug-in is not to be had here.
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
        f"{path.source} offers no path {path.name!r} any more", "tinygate paths lists the paths"
    )


def _points() -> list[EntryPoint]:
    """The group's entry points, in an order that does not depend on where things are installed."""
    return sorted(entry_points(group=GROUP), key=lambda point: (_origin(point), point.name))


def _origin(point: EntryPoint) -> str:
    dist = point.dist
    return f"plug-in {dist.name} {dist.version}" if dist else "a plug-in of no distribution"


def _call(point: EntryPoint) -> str:
    return f"{point.dist.name if point.dist else ''}:{point.name}"


def _offers(point: EntryPoint) -> list[FastPath | PythonPath]:
    """What an entry point gives; its prints go to stderr, as stdout may be a report."""
    with contextlib.redirect_stdout(sys.stderr):
        found = point.load()
        if callable(found):
            found = found()
        offers = [found] if isinstance(found, FastPath | PythonPath) else found
        if not isinstance(offers, Iterable):
            raise TypeError(f"it gives {type(found).__name__}, expected FastPath or PythonPath")
        listed = []
        for offer in offers:
            if not isinstance(offer, FastPath | PythonPath):
                raise TypeError(f"it gives {type(offer).__name__}, expected FastPath or PythonPath")
            listed.append(offer)
            if len(listed) > _MAX_PATHS:
                raise ValueError(f"it gives more than {_MAX_PATHS} paths")
    return listed


def _declared(offer: FastPath | PythonPath, point: EntryPoint) -> FastPath:
    """The offer as a path from there, checked like a built-in."""
    if isinstance(offer, PythonPath):
        if not callable(offer.run) or not (offer.stored is None or callable(offer.stored)):
            raise TypeError(f"path {offer.name!r}: run and stored are functions")
        return validate(replace(offer.declared(_call(point)), source=_origin(point)))
    path = validate(replace(offer, source=_origin(point), file="", call=""))
    for file in path.files():
        read_source(file)
    return path
