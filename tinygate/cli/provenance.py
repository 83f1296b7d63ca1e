"""Trace where an option's value came from, so that an error names the variable or file to fix.

It also finds TINYGATE_ variables that nothing reads.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar, get_args

import typer

from tinygate.core.errors import UsageError
from tinygate.core.text import shown

# Variables of the scripts, the tests and the engines, which set no option.
_OTHERS = (
    "TINYGATE_BROWSER",
    "TINYGATE_NO_ADAPTER",
    "TINYGATE_SOFTWARE_ADAPTER",
    "TINYGATE_WORKER_PYTHON",
)
_PREFIX = "TINYGATE_"
_LISTS = {"TINYGATE_SHAPE", "TINYGATE_SUITE", "TINYGATE_PATH", "TINYGATE_REQUIRE"}
T = TypeVar("T")
R = TypeVar("R")


def origin(context: Any, name: str) -> str:
    """Name the variable, or the file and key, that set a parameter; empty for a flag or default.

    context: typer's Context.
    """
    source = getattr(context.get_parameter_source(name), "name", "")
    parameter = next(p for p in context.command.params if p.name == name)
    if source == "ENVIRONMENT":
        return str(parameter.envvar)
    if source == "DEFAULT_MAP":
        from tinygate.cli import config

        return config.location(str(context.info_name), config.flag(parameter.opts))
    return ""


@contextmanager
def blamed(context: Any, *names: str) -> Iterator[None]:
    """Make a UsageError name the variable or file that set one of these parameters.

    Of several parameters, the error's `option` tells which one is wrong.
    """
    try:
        yield
    except UsageError as error:
        for name in names:
            flags = next(p.opts for p in context.command.params if p.name == name)
            if len(names) > 1 and error.option not in flags:
                continue
            if where := origin(context, name):
                raise error.set_by(where, remedy(where, error.hint)) from error
        raise


class Read(Protocol):
    """Parses a parameter's value; a UsageError names where it came from."""

    def __call__(self, name: str, parse: Callable[[T], R], value: T) -> R:
        """Parse the value of the parameter `name`."""
        ...


def reader(context: Any) -> Read:
    """Bind `read` to one command's context."""
    return partial(read, context)


def read(context: Any, name: str, parse: Callable[[T], R], value: T) -> R:
    """Parse a parameter's value; a UsageError names where it came from."""
    with blamed(context, name):
        return parse(value)


def remedy(where: str, hint: str = "") -> str:
    """Say how to fix a wrong value that did not come from the command line."""
    what = "correct the file"
    if where.startswith(_PREFIX):
        what = f"correct or unset {where}"
        if "," in os.environ.get(where, "") and where in _LISTS:
            what += ", whose values are separated by spaces"
    if hint.startswith("tinygate verify "):
        return f"{what}; a flag overrides it: {hint}"
    return f"{what}; {hint}" if hint else what


def unknown(environment: Mapping[str, str]) -> list[str]:
    """Warn about each TINYGATE_ variable that nothing reads."""
    known = variables()
    said = []
    for name in sorted(set(environment) - known):
        if name.startswith(_PREFIX):
            rest = name.removeprefix(_PREFIX)[:80]
            parts = [other.removeprefix(_PREFIX) for other in sorted(known)]
            near = difflib.get_close_matches(rest, parts, n=2)
            tip = (
                "did you mean " + " or ".join(_PREFIX + part for part in near) + "?"
                if near
                else "variables are named after options, such as TINYGATE_SAVE_FAILURES"
            )
            said.append(f"{shown(name, 100)} is not a variable that tinygate reads: {tip}")
    return said


def variables() -> set[str]:
    """Collect every TINYGATE_ variable that something reads."""
    from tinygate.cli import options

    found = set(_OTHERS)
    for annotation in vars(options).values():
        for part in get_args(annotation):
            if isinstance(part, typer.models.OptionInfo) and part.envvar:
                found.add(str(part.envvar))
    return found
