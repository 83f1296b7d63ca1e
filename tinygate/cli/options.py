"""Define the options of the command line: flag, variable, allowed values, help.

Every option of `verify` can also be set by a TINYGATE_… variable or a configuration file.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from tinygate.core.engine import ENGINES
from tinygate.core.shape import DEFAULT_SUITE, SUITES
from tinygate.core.text import shown
from tinygate.report import ReportFormat


class JudgeMode(StrEnum):
    """What a path is asked."""

    ACTIVATION = "activation"
    CONFORMANCE = "conformance"


class ColorMode(StrEnum):
    """When to colour output."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def integer(min_: int, max_: int) -> Callable[[str | int], int]:
    """Make a parser of whole numbers within bounds, both included."""

    def parse(value: str | int) -> int:
        text = str(value).strip()
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text) or not min_ <= int(text) <= max_:
            raise typer.BadParameter(
                f"{shown(text, 40)!r} is not a whole number from {min_} to {max_}"
            )
        return int(text)

    return parse


class DrawnSeed(int):
    """A seed that was drawn, and so has to be said."""


def seed_number(value: str | int) -> int:
    """Parse a seed, or draw one for `random`."""
    if str(value).strip() == "random":
        return DrawnSeed(secrets.randbelow(2**63))
    return integer(0, 2**63 - 1)(value)


def seconds(value: str | float) -> float:
    """Parse a time limit in seconds."""
    with contextlib.suppress(ValueError):
        number = float(value)
        if 0.1 <= number <= 86_400:
            return number
    raise typer.BadParameter(
        f"{shown(str(value), 40)!r} is not a number of seconds from 0.1 to 86400"
    )


_SUITES = (f"{DEFAULT_SUITE} (the default)", *(s for s in SUITES if s != DEFAULT_SUITE))

Engine = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        envvar="TINYGATE_ENGINE",
        show_envvar=False,
        metavar="NAME",
        help=f"WebGPU engine, {' or '.join(ENGINES)}; `verify` takes several.",
    ),
]
Adapter = Annotated[
    str | None,
    typer.Option(
        "--adapter",
        envvar="TINYGATE_ADAPTER",
        show_envvar=False,
        metavar="INDEX|NAME",
        help="Adapter by index or part of its name.",
    ),
]
Color = Annotated[
    ColorMode,
    typer.Option(
        "--color",
        envvar="TINYGATE_COLOR",
        show_envvar=False,
        metavar="WHEN",
        help="Colour: auto, always or never; auto obeys NO_COLOR and FORCE_COLOR.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        envvar="TINYGATE_TIMEOUT",
        show_envvar=False,
        parser=seconds,
        metavar="SECONDS",
        help="Time limit of a case: 0.1 to 86400.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        envvar="TINYGATE_VERBOSE",
        show_envvar=False,
        help="Show every check.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


Shape = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        envvar="TINYGATE_SHAPE",
        show_envvar=False,
        metavar="MxKxN[:NAME]",
        help="A[M,K] x B[K,N]; repeatable.",
    ),
]
Suite = Annotated[
    list[str] | None,
    typer.Option(
        "--suite",
        envvar="TINYGATE_SUITE",
        show_envvar=False,
        metavar="NAME",
        help=f"{', '.join(_SUITES)}; repeatable.",
    ),
]
Path = Annotated[
    list[str] | None,
    typer.Option(
        "--path",
        envvar="TINYGATE_PATH",
        show_envvar=False,
        metavar="NAME|FILE.toml",
        help="A registered path, or a manifest; repeatable. Default: all that are not opt-in.",
    ),
]
NoPlugins = Annotated[
    bool,
    typer.Option(
        "--no-plugins",
        envvar="TINYGATE_NO_PLUGINS",
        show_envvar=False,
        help="Leave installed plug-ins out.",
    ),
]
# Hidden from the list of arguments, where typer would show each one's Python type; the usage line
# names them, and the command's text describes them.
Manifests = Annotated[list[str] | None, typer.Argument(metavar="FILE.toml", hidden=True)]
Name = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
Saved = Annotated[str, typer.Argument(metavar="FILE", hidden=True)]
Filter = Annotated[
    str | None,
    typer.Option(
        "-k",
        envvar="TINYGATE_K",
        show_envvar=False,
        metavar="REGEX",
        help="Only cases whose id matches.",
    ),
]
Inputs = Annotated[
    str,
    typer.Option(
        "--inputs",
        envvar="TINYGATE_INPUTS",
        show_envvar=False,
        metavar="NAMES",
        help="Input families, comma separated, or all.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        envvar="TINYGATE_SEED",
        show_envvar=False,
        parser=seed_number,
        metavar="SEED|random",
        help="Seed of all inputs: 0 to 2^63-1, or random to draw one and say which.",
    ),
]
Repeat = Annotated[
    int,
    typer.Option(
        "--repeat",
        envvar="TINYGATE_REPEAT",
        show_envvar=False,
        parser=integer(2, 10_000),
        metavar="N",
        help="Runs per case; outputs must agree bit for bit: 2 to 10000.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        envvar="TINYGATE_REQUIRE",
        show_envvar=False,
        metavar="NAME",
        help="Exit 3 if this path is skipped; repeatable.",
    ),
]
Format = Annotated[
    ReportFormat,
    typer.Option(
        "--output-format",
        envvar="TINYGATE_OUTPUT_FORMAT",
        show_envvar=False,
        metavar="FORMAT",
        help=f"Format of stdout: {', '.join(ReportFormat)}.",
    ),
]
ExportJson = Annotated[
    str | None,
    typer.Option(
        "--export-json",
        envvar="TINYGATE_EXPORT_JSON",
        show_envvar=False,
        metavar="FILE",
        help="Also write JSON to FILE; '-' is stdout.",
    ),
]
ExportJunit = Annotated[
    str | None,
    typer.Option(
        "--export-junit",
        envvar="TINYGATE_EXPORT_JUNIT",
        show_envvar=False,
        metavar="FILE",
        help="Also write JUnit XML to FILE.",
    ),
]
ExportMarkdown = Annotated[
    str | None,
    typer.Option(
        "--export-markdown",
        envvar="TINYGATE_EXPORT_MARKDOWN",
        show_envvar=False,
        metavar="FILE",
        help="Also write Markdown to FILE.",
    ),
]
Check = Annotated[
    JudgeMode | None,
    typer.Option(
        "--check",
        envvar="TINYGATE_CHECK",
        show_envvar=False,
        metavar="WHAT",
        help="activation: may a model use it; conformance: only whether it does what it declares, "
        "for int8, 4-bit and f16 paths. Default: each path's own.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        envvar="TINYGATE_QUIET",
        show_envvar=False,
        help="Show pills and verdicts only.",
    ),
]
SaveFailures = Annotated[
    str | None,
    typer.Option(
        "--save-failures",
        envvar="TINYGATE_SAVE_FAILURES",
        show_envvar=False,
        metavar="DIR",
        help="Write the operands and results of each FAIL to DIR, for replay.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
ListCases = Annotated[bool, typer.Option("--list", help="List the cases without running them.")]
