"""Run `tinygate replay FILE`: run a saved failing case again, and compare it with the saved one."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tinygate.cli import options, provenance
from tinygate.core.engine import installed
from tinygate.core.errors import UsageError
from tinygate.core.fast_path import FastPath
from tinygate.core.results import CaseResult, Report
from tinygate.core.status import Status
from tinygate.core.text import clean, shown
from tinygate.paths.registry import manifests
from tinygate.worker.protocol import Redraw
from tinygate.worker.supervisor import DEFAULT_TIMEOUT, Supervisor

if TYPE_CHECKING:
    from tinygate.report.saved_case import Saved
    from tinygate.verification.plan import Plan


def replay(
    context: typer.Context,
    file: options.Saved,
    path: options.Path = None,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    verbose: options.Verbose = False,
    no_plugins: options.NoPlugins = False,
    color: options.Color = options.ColorMode.AUTO,
    debug: options.Debug = False,
) -> None:
    """Run one saved failing case again and compare.

    FILE: a case that `tinygate verify --save-failures DIR` wrote. It runs on the engine on which it
    failed, unless --engine names another.

    Example: tinygate replay failures/f16-storage_17x33x65_uniform_12345.npz
    """
    from tinygate.cli.lookup import load_paths, one_engine
    from tinygate.cli.show import View
    from tinygate.cli.verify import run_and_show
    from tinygate.report.saved_case import load
    from tinygate.verification.plan import Plan

    saved = load(Path(file))
    registry = load_paths(no_plugins, _manifests(saved, path or ()))
    with tempfile.TemporaryDirectory(prefix="tinygate-replay-") as folder:
        plan = Plan(
            paths=(_path(saved, registry.paths),),
            shapes=(saved.shape,),
            families=(saved.family,),
            seed=saved.seed,
            repeat=max(2, saved.repeat),
            timeout=timeout,
            engines=(provenance.read(context, "engine", one_engine, engine or _engine(saved)),),
            adapter=adapter,
            save_failures=folder,
        )
        view = View(verbosity=int(verbose), color=color, names_saved=False)
        with provenance.blamed(context, "adapter"):
            report = run_and_show(plan, view)
        if note := _elsewhere(saved, report):
            sys.stderr.write(f"note: {clean(note)}\n")
        sys.stdout.write(f"{_comparison(saved, plan, report)}\n")
    raise typer.Exit(report.exit_code)


def _path(saved: Saved, registered: Iterable[FastPath]) -> FastPath:
    """Find the path of the saved case.

    Raises:
        UsageError: it is not registered.
    """
    for path in registered:
        if path.name == saved.path and bool(path.file) == bool(saved.file):
            return path
    raise UsageError(
        f"the saved path {shown(repr(saved.path), 80)} ({shown(saved.source)}) is not registered",
        "tinygate paths lists the registered ones; --path FILE.toml adds a manifest",
    )


def _manifests(saved: Saved, given: Iterable[str]) -> list[str]:
    """List the manifests to search for the path: those of --path, or else the one it came from.

    Raises:
        UsageError: the manifest that it came from was not found.
    """
    named = manifests(given)
    if named or not saved.file:
        return named
    with contextlib.suppress(OSError, ValueError):
        if saved.file.endswith(".toml") and Path(saved.file).is_file():
            return [saved.file]
    raise UsageError(
        f"the manifest of path {shown(repr(saved.path), 80)}, {shown(saved.file)}: file not found",
        "restore it, or name its new location: tinygate replay --path FILE.toml",
    )


def _engine(saved: Saved) -> list[str]:
    """Return the engine it ran on, if that is installed."""
    name = saved.saved_on[0].partition(" ")[0]
    with contextlib.suppress(UsageError):
        return [installed(name)]
    return []


def _comparison(saved: Saved, plan: Plan, report: Report) -> str:
    """Compare the new run with the saved one, on one line."""
    result = next(iter(report.cases), None)
    if result is None or result.status not in (Status.PASS, Status.FAIL):
        return "replay: nothing to compare, because the case did not run"
    from tinygate.report.saved_case import digest

    (case,) = plan.cases(plan.paths[0])
    request = Redraw(case, digest(saved.arrays["A"]), digest(saved.arrays["B"]))
    with Supervisor(plan.adapter, plan.features, plan.timeout) as worker:
        same = worker.redraws(request)
    inputs = "same bits as saved" if same else "differ from the saved ones"
    return f"replay: inputs {inputs}; outputs {_outputs(saved, result)}"


def _elsewhere(saved: Saved, report: Report) -> str:
    """Note that the new run used another engine or adapter than the saved one; empty if not."""
    adapter = report.platforms[0].adapter
    now = adapter.identity if adapter else ("", "")
    if not all(saved.saved_on) or saved.saved_on == now:
        return ""
    was = " on ".join(shown(part, 100) for part in saved.saved_on)
    return f"the case was saved by {was}; this run used {' on '.join(now)}"


def _outputs(saved: Saved, result: CaseResult) -> str:
    from tinygate.report.saved_case import different_bits, load, same_bits

    if result.status is Status.PASS:
        return "not compared: it passes now"
    if not result.saved:
        return "not compared: this time they were not saved"
    try:
        again = load(Path(result.saved))
    except UsageError as error:
        return f"not compared: {error.message}"
    if not all(same_bits(again.arrays[name], saved.arrays[name]) for name in "AB"):
        return "not compared: this time other operands of the case failed first"
    F = saved.arrays["F"]
    different = different_bits(again.arrays["F"], F)
    if not different:
        return "same bits as saved"
    return f"not the same: {different} of {F.size} outputs differ from the saved ones"
