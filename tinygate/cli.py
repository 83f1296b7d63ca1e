"""The commands, for typer: parse, call one function, render, exit. No arithmetic.

Nothing heavy is imported before a command runs, so that `--help` is quick and works without numpy,
wgpu or an adapter.
"""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from typing import Annotated

import typer

from tinygate import __version__
from tinygate.errors import UsageError

app = typer.Typer(
    name="tinygate",
    help="Decide whether a fast WebGPU path may be trusted: verified, never merely detected.\n\n"
    "Example: tinygate verify --shape 64x128x128",
    rich_markup_mode=None,
    no_args_is_help=True,
)


class OutputFormat(StrEnum):
    """What stdout carries."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    GITHUB = "github"
    MARKDOWN = "markdown"


class ColorMode(StrEnum):
    """When output is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"tinygate {__version__}\n")
        raise typer.Exit


# Options that several commands share.
Engine = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        envvar="TINYGATE_ENGINE",
        show_envvar=False,
        metavar="NAME",
        help="WebGPU engine: native.",
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
        help="Colour: NO_COLOR and FORCE_COLOR decide where this is auto.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Common to all commands."""


@app.command()
def probe(
    engine: Engine = None,
    adapter: Adapter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    debug: Debug = False,
) -> None:
    """List adapters, the one that would be used and why, and what each path finds there.

    Example: tinygate probe --json
    """
    from tinygate import probing

    found = probing.probe(_one_engine(engine), adapter)
    if as_json:
        sys.stdout.write(probing.render_json(found))
    else:
        sys.stdout.write(probing.render_text(found))


@app.command()
def paths(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    debug: Debug = False,
) -> None:
    """List the registered paths and where each comes from.

    Example: tinygate paths
    """
    from tinygate import listing

    sys.stdout.write(listing.render_json() if as_json else listing.render_text())


@app.command()
def verify(
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            envvar="TINYGATE_SHAPE",
            show_envvar=False,
            metavar="MxKxN[:NAME]",
            help="A[M,K] x B[K,N]; repeatable.",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            envvar="TINYGATE_SUITE",
            show_envvar=False,
            metavar="NAME",
            help="smoke (the default), ragged, inference, training, head, production.",
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            envvar="TINYGATE_PATH",
            show_envvar=False,
            metavar="NAME",
            help="A registered path; repeatable. Default: all that are not opt-in.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "-k",
            envvar="TINYGATE_K",
            show_envvar=False,
            metavar="REGEX",
            help="Only cases whose id matches.",
        ),
    ] = None,
    inputs: Annotated[
        str,
        typer.Option(
            "--inputs",
            envvar="TINYGATE_INPUTS",
            show_envvar=False,
            metavar="NAMES",
            help="Input families, comma separated, or all.",
        ),
    ] = "uniform,positive,integer,identity",
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            envvar="TINYGATE_SEED",
            show_envvar=False,
            min=0,
            max=2**63 - 1,
            help="Seed of every input.",
        ),
    ] = 12345,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            envvar="TINYGATE_REPEAT",
            show_envvar=False,
            min=1,
            max=10_000,
            metavar="N",
            help="Fresh runs per case; never fewer than 2.",
        ),
    ] = 2,
    engine: Engine = None,
    adapter: Adapter = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            envvar="TINYGATE_REQUIRE",
            show_envvar=False,
            metavar="NAME",
            help="A path whose SKIP is exit 3; repeatable.",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            envvar="TINYGATE_TIMEOUT",
            show_envvar=False,
            min=0.1,
            max=86_400,
            metavar="SECONDS",
            help="Longest a case may take.",
        ),
    ] = 120.0,
    output_format: Annotated[
        OutputFormat,
        typer.Option(
            "--output-format",
            envvar="TINYGATE_OUTPUT_FORMAT",
            show_envvar=False,
            help="What goes to stdout.",
        ),
    ] = OutputFormat.TEXT,
    export_json: Annotated[
        str | None,
        typer.Option(
            "--export-json",
            envvar="TINYGATE_EXPORT_JSON",
            show_envvar=False,
            metavar="FILE",
            help="Write the report there too; '-' is stdout.",
        ),
    ] = None,
    export_junit: Annotated[
        str | None,
        typer.Option(
            "--export-junit",
            envvar="TINYGATE_EXPORT_JUNIT",
            show_envvar=False,
            metavar="FILE",
            help="The same as JUnit XML.",
        ),
    ] = None,
    export_markdown: Annotated[
        str | None,
        typer.Option(
            "--export-markdown",
            envvar="TINYGATE_EXPORT_MARKDOWN",
            show_envvar=False,
            metavar="FILE",
            help="The same as Markdown.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            envvar="TINYGATE_VERBOSE",
            show_envvar=False,
            help="Show every check.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            "--quiet",
            envvar="TINYGATE_QUIET",
            show_envvar=False,
            help="Show pills and verdicts only.",
        ),
    ] = False,
    list_cases: Annotated[
        bool, typer.Option("--list", help="List the cases and run none.")
    ] = False,
    color: Color = ColorMode.AUTO,
    debug: Debug = False,
) -> None:
    """Run the gate: every path against the f32 reference; exit 1 on a FAIL, 3 on no verdict.

    Example: tinygate verify --shape 64x128x128 --export-json report.json
    """
    from tinygate import families, paths, session, shapes
    from tinygate.verify import Plan

    if verbose and quiet:
        raise UsageError("-v and -q exclude each other", "tinygate verify -v")
    registered = paths.registered()
    chosen = [shapes.Shape.parse(text) for text in shape or ()]
    for name in suite or (() if chosen else ("smoke",)):
        chosen += shapes.suite(name)
    plan = Plan(
        paths=paths.select(path or (), registered),
        shapes=tuple(chosen),
        families=families.parse_families(inputs),
        seed=seed,
        repeat=repeat,
        timeout=timeout,
        engine=_one_engine(engine),
        adapter=adapter,
        keep=_regex(keep),
        required=tuple(p.name for p in paths.select(require, registered)) if require else (),
    )
    if list_cases:
        sys.stdout.write(session.list_cases(plan))
        return
    exports = {"json": export_json, "junit": export_junit, "markdown": export_markdown}
    view = session.View(
        output_format.value,
        {k: v for k, v in exports.items() if v is not None},
        verbosity=int(verbose) - int(quiet),
        color=color,
    )
    raise typer.Exit(session.run(plan, view))


def _one_engine(names: list[str] | None) -> str:
    """The engine to use; one at a time for now."""
    from tinygate import engines

    checked = list(dict.fromkeys(engines.check(name) for name in names or ()))
    return checked[0] if checked else engines.DEFAULT_ENGINE


def _regex(text: str | None) -> str | None:
    try:
        re.compile(text or "")
    except re.error as error:
        raise UsageError(
            f"-k {text!r} is not a regular expression: {error}", "tinygate verify -k uniform"
        ) from error
    return text
