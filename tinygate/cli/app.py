"""The commands, for typer: parse, call one function, render, exit. No arithmetic.

Nothing heavy is imported before a command runs, so that `--help` is quick and works without numpy,
wgpu or an adapter.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tinygate import __version__
from tinygate.cli import options, provenance, time_limit
from tinygate.core.errors import UsageError
from tinygate.paths.toml_file import shown

if TYPE_CHECKING:
    from tinygate.paths.registry import Registry
    from tinygate.verification.plan import Plan

_PATIENCE = 2.0  # seconds for a regular expression over all case ids

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
    """Common to all commands."""


@app.command()
def probe(
    context: typer.Context,
    manifests: options.Manifests = None,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    no_plugins: options.NoPlugins = False,
    debug: options.Debug = False,
) -> None:
    """List adapters, the one used and why, what each path finds.

    FILE.toml: manifests to try too.

    Example: tinygate probe --json
    """
    from tinygate.cli import probe as probing

    registry = _registry(no_plugins, files=manifests)
    chosen = provenance.read(context, "engine", _one_engine, engine)
    with provenance.blamed(context, "adapter"):
        found = probing.probe(chosen, adapter, registry.paths)
    if as_json:
        sys.stdout.write(probing.render_json(found))
    else:
        sys.stdout.write(probing.render_text(found))


@app.command()
def paths(
    manifests: options.Manifests = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    no_plugins: options.NoPlugins = False,
    debug: options.Debug = False,
) -> None:
    """List the registered paths and where each comes from.

    FILE.toml: manifests to list too.

    Example: tinygate paths
    """
    from tinygate.cli import paths as listing
    from tinygate.cli.terminal import Terminal

    every = _registry(no_plugins, files=manifests).paths
    if as_json:
        sys.stdout.write(listing.render_json(every))
    else:
        sys.stdout.write(listing.render_text(every, Terminal.of("auto", sys.stdout).width))


@app.command()
def new(
    name: options.Name,
    debug: options.Debug = False,
) -> None:
    """Write a kernel and its manifest that pass, to start from.

    NAME: what the path is to be called. Both go into the current folder.

    Example: tinygate new my-path
    """
    from pathlib import Path

    from tinygate.cli import new as scaffold

    kernel, manifest = scaffold.write(name, Path())
    sys.stdout.write(f"wrote {kernel} and {manifest}\nnext: tinygate verify --path {manifest}\n")


@app.command()
def verify(
    context: typer.Context,
    shape: options.Shape = None,
    suite: options.Suite = None,
    path: options.Path = None,
    keep: options.Keep = None,
    inputs: options.Inputs = "uniform,positive,integer,identity",
    seed: options.Seed = 12345,
    repeat: options.Repeat = 2,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    require: options.Require = None,
    timeout: options.Timeout = 120.0,
    output_format: options.Format = options.OutputFormat.TEXT,
    export_json: options.ExportJson = None,
    export_junit: options.ExportJunit = None,
    export_markdown: options.ExportMarkdown = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    save_failures: options.SaveFailures = None,
    no_plugins: options.NoPlugins = False,
    list_cases: options.ListCases = False,
    color: options.Color = options.ColorMode.AUTO,
    debug: options.Debug = False,
) -> None:
    """Run the gate: every path against the f32 reference.

    Exit 1 on a FAIL, 3 where there is no verdict.

    Example: tinygate verify --shape 64x128x128 --export-json report.json
    """
    from tinygate.cli import session
    from tinygate.core import family
    from tinygate.core import shape as shapes
    from tinygate.verification.plan import Plan

    if verbose and quiet:
        raise UsageError("-v and -q exclude each other", "tinygate verify -v")
    with provenance.blamed(context, "path", "require"):
        registry = _registry(no_plugins, [*(path or ()), *(require or ())])
    required = provenance.read(context, "require", registry.select, require) if require else ()
    plan = Plan(
        paths=provenance.read(context, "path", registry.select, path or []),
        shapes=provenance.read(context, "shape", shapes.parse_all, shape or [])
        + provenance.read(context, "suite", shapes.suites, suite or ([] if shape else ["smoke"])),
        families=provenance.read(context, "inputs", family.parse_families, inputs),
        seed=seed,
        repeat=repeat,
        timeout=timeout,
        engines=provenance.read(context, "engine", _engines, engine),
        adapter=adapter,
        keep=provenance.read(context, "keep", _regex, keep),
        required=tuple(path.name for path in required),
        save_failures=""
        if list_cases
        else provenance.read(context, "save_failures", _folder, save_failures),
    )
    with provenance.blamed(context, "keep"):
        _check_keep(plan)
    if list_cases:
        listed = session.list_cases(plan)
        sys.stdout.write(listed)
        if not listed:
            sys.stderr.write(f"note: no case matches -k {keep!r}\n")
        return
    exports = {"json": export_json, "junit": export_junit, "markdown": export_markdown}
    view = session.View(
        output_format.value,
        {k: v for k, v in exports.items() if v is not None},
        verbosity=int(verbose) - int(quiet),
        color=color,
    )
    with provenance.blamed(context, "adapter", *(f"export_{kind}" for kind in exports)):
        raise typer.Exit(session.run(plan, view).exit_code)


@app.command()
def replay(
    context: typer.Context,
    file: options.Saved,
    path: options.Path = None,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    timeout: options.Timeout = 120.0,
    verbose: options.Verbose = False,
    no_plugins: options.NoPlugins = False,
    color: options.Color = options.ColorMode.AUTO,
    debug: options.Debug = False,
) -> None:
    """Run one saved failing case again and compare.

    FILE: what `tinygate verify --save-failures DIR` wrote. It runs on the engine that it failed
    on, unless --engine says another.

    Example: tinygate replay failures/f16-storage_17x33x65_uniform_12345.npz
    """
    from pathlib import Path

    from tinygate.cli import replay, session
    from tinygate.core.text import clean
    from tinygate.verification.plan import Plan

    saved = replay.load(Path(file))
    registry = _registry(no_plugins, replay.manifests(saved, path or ()))
    chosen = replay.chosen(saved, registry.paths)
    with replay.scratch() as folder:
        plan = Plan(
            paths=(chosen,),
            shapes=(saved.shape,),
            families=(saved.family,),
            seed=saved.seed,
            repeat=max(2, saved.repeat),
            timeout=timeout,
            engines=(
                provenance.read(context, "engine", _one_engine, engine or replay.engine(saved)),
            ),
            adapter=adapter,
            save_failures=folder,
        )
        view = session.View(verbosity=int(verbose), color=color, names_saved=False)
        with provenance.blamed(context, "adapter"):
            report = session.run(plan, view)
        if note := replay.elsewhere(saved, report):
            sys.stderr.write(f"note: {clean(note)}\n")
        sys.stdout.write(f"{replay.verdict(saved, chosen, report)}\n")
    raise typer.Exit(report.exit_code)


def _registry(
    no_plugins: bool, arguments: list[str] | None = None, files: list[str] | None = None
) -> Registry:
    """Every path to choose from; what had to be left out is said on stderr."""
    from tinygate.core.text import clean
    from tinygate.paths import registry

    found = registry.load(arguments or (), files=files or (), with_plugins=not no_plugins)
    for warning in found.warnings:
        sys.stderr.write(f"warning: {clean(warning)}\n")
    return found


def _folder(name: str | None) -> str:
    """The folder for failures, made and tried before the run."""
    from tinygate.gate.failure import writable

    return writable(name) if name else ""


def _engines(names: list[str] | None) -> tuple[str, ...]:
    """The engines to use, each installed."""
    from tinygate.gpu import engines

    return tuple(dict.fromkeys(map(engines.check, names or [engines.DEFAULT_ENGINE])))


def _one_engine(names: list[str] | None) -> str:
    """The engine to use where there can be only one."""
    one, *others = _engines(names)
    if others:
        raise UsageError("--engine: one engine at a time here", f"--engine {one}")
    return one


def _regex(text: str | None) -> str | None:
    try:
        with time_limit.at_most(_PATIENCE):
            re.compile(text or "")
    except (re.error, RecursionError, OverflowError, time_limit.OutOfPatienceError) as error:
        raise UsageError(
            f"-k: {shown(text, 60)!r} is not a regular expression: {shown(error, 80)}",
            "tinygate verify -k uniform",
        ) from error
    return text


def _check_keep(plan: Plan) -> None:
    """Match once, in bounded time, what a run matches again and again."""
    try:
        with time_limit.at_most(_PATIENCE):
            for path in plan.paths:
                plan.cases(path)
    except time_limit.OutOfPatienceError as error:
        raise UsageError(
            f"-k: {shown(plan.keep, 60)!r} takes over {_PATIENCE:g} s to match",
            "tinygate verify -k uniform",
        ) from error
