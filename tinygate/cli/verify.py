"""Run `tinygate verify`: the gate over paths, shapes and input families."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from tinygate.cli import options, provenance, time_limit
from tinygate.core.errors import TinygateError, UsageError
from tinygate.core.family import DEFAULT_INPUTS, DEFAULT_SEED, parse_families
from tinygate.core.shape import DEFAULT_SUITE, parse_all, suites
from tinygate.core.text import shown
from tinygate.report import EXPORTED, ReportFormat
from tinygate.worker.supervisor import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from tinygate.cli.show import View
    from tinygate.core.results import Report
    from tinygate.verification.plan import Plan

_MATCHING_SECONDS = 2.0  # for a regular expression over all case ids


def verify(
    context: typer.Context,
    shape: options.Shape = None,
    suite: options.Suite = None,
    path: options.Path = None,
    keep: options.Filter = None,
    inputs: options.Inputs = DEFAULT_INPUTS,
    seed: options.Seed = DEFAULT_SEED,
    repeat: options.Repeat = 2,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    require: options.Require = None,
    check: options.Check = None,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    output_format: options.Format = ReportFormat.TEXT,
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

    Exit code 0 on PASS, 1 on FAIL, 3 if there is no verdict.

    Example: tinygate verify --shape 64x128x128 --export-json report.json
    """
    from tinygate.cli.lookup import engines, load_paths
    from tinygate.cli.show import View
    from tinygate.paths.registry import manifests
    from tinygate.report.files import writable_folder
    from tinygate.verification.plan import Plan

    if verbose and quiet:
        raise UsageError("-v and -q cannot be combined", "tinygate verify -v")
    read = provenance.reader(context)
    registry = load_paths(no_plugins)
    registry = read("path", registry.with_manifests, manifests(path or ()))
    registry = read("require", registry.with_manifests, manifests(require or ()))
    plan = Plan(
        paths=read("path", registry.select, path or []),
        shapes=read("shape", parse_all, shape or []),
        suite_shapes=read("suite", suites, suite or ([] if shape else [DEFAULT_SUITE])),
        families=read("inputs", parse_families, inputs),
        seed=seed,
        repeat=repeat,
        timeout=timeout,
        engines=read("engine", engines, engine),
        adapter=adapter,
        filter=read("keep", _regex, keep),
        judge=check.value if check else None,
        required=read("require", registry.names, require or []),
        save_failures=read("save_failures", writable_folder, save_failures)
        if save_failures and not list_cases
        else "",
    )
    with provenance.blamed(context, "keep"):
        _check_filter(plan)
    if list_cases:
        _list(plan)
        return
    if isinstance(seed, options.DrawnSeed):
        sys.stderr.write(f"note: --seed {seed}\n")
    files = zip(EXPORTED, (export_json, export_junit, export_markdown), strict=True)
    exports = {name.value: file for name, file in files if file is not None}
    view = View(output_format, exports, int(verbose) - int(quiet), color)
    with provenance.blamed(context, "adapter", *(f"export_{name}" for name in EXPORTED)):
        report = run_and_show(plan, view)
    raise typer.Exit(report.exit_code)


def run_and_show(plan: Plan, view: View) -> Report:
    """Run a plan, show it, and write the exports.

    Raises:
        TinygateError: nothing could be run; the exports then say so too.
    """
    from tinygate.verification.run import not_run, run
    from tinygate.worker.supervisor import Supervisor

    with Supervisor(plan.adapter, plan.features, plan.timeout) as worker:
        worker.start(plan.engines[0])  # opens the device while this process imports renderers
        from tinygate.cli.show import Show
        from tinygate.report.files import Exports

        outline = not_run(plan)
        exports = Exports(view.exports, outline)
        with Show(view, single_shape=outline.single_shape) as show:
            try:
                report = run(plan, worker, show, outline)
            except TinygateError as error:
                failed = replace(outline, notes=(error.message,))
                exports.write(failed)
                show.failed(failed)
                raise
            exports.write(report)
            show.end(report)
    return report


def _list(plan: Plan) -> None:
    """Print every case id, one per line."""
    listed = "".join(f"{case.id}\n" for path in plan.paths for case in plan.cases(path))
    sys.stdout.write(listed)
    if not listed:
        sys.stderr.write(f"note: no case matches -k {plan.filter!r}\n")


def _regex(text: str | None) -> str | None:
    try:
        with time_limit.at_most(_MATCHING_SECONDS):
            re.compile(text or "")
    except (re.error, RecursionError, OverflowError, time_limit.OutOfTimeError) as error:
        raise UsageError(
            f"{shown(text, 60)!r} is not a regular expression: {shown(error, 80)}",
            "tinygate verify -k uniform",
            about="-k",
        ) from error
    return text


def _check_filter(plan: Plan) -> None:
    """Match every case id once with a time limit, since a run matches them repeatedly.

    Raises:
        UsageError: the expression takes too long.
    """
    try:
        with time_limit.at_most(_MATCHING_SECONDS):
            for path in plan.paths:
                plan.cases(path)
    except time_limit.OutOfTimeError as error:
        raise UsageError(
            f"{shown(plan.filter, 60)!r} takes over {_MATCHING_SECONDS:g} s to match",
            "tinygate verify -k uniform",
            about="-k",
        ) from error
