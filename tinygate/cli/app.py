"""Assemble the commands for typer. Each is in the file of its name.

Nothing heavy is imported before a command runs, so that `--help` is quick and works without numpy,
wgpu or an adapter.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tinygate import __version__
from tinygate.cli.new import new
from tinygate.cli.paths import paths
from tinygate.cli.probe import probe
from tinygate.cli.replay import replay
from tinygate.cli.verify import verify

app = typer.Typer(
    name="tinygate",
    help="Decide whether a fast WebGPU path may be trusted: verified, never merely detected.\n\n"
    "Example: tinygate verify --shape 64x128x128",
    rich_markup_mode=None,
    no_args_is_help=True,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"tinygate {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Accept the options that come before a command."""


for command in (probe, paths, verify, replay, new):
    app.command()(command)


def command_names() -> tuple[str, ...]:
    """List the names of the commands."""
    return tuple(each.callback.__name__ for each in app.registered_commands if each.callback)
