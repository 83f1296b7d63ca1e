"""Verify paths from Python, like `tinygate verify` but without its output."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tinygate.core.engine import DEFAULT_ENGINE, installed
from tinygate.core.family import DEFAULT_INPUTS, DEFAULT_SEED, parse_families
from tinygate.core.fast_path import FastPath
from tinygate.core.results import Report
from tinygate.core.shape import DEFAULT_SUITE, Shape, suite
from tinygate.core.vocabulary import Judge
from tinygate.paths import registry
from tinygate.paths.validate import validate
from tinygate.verification.plan import Plan
from tinygate.verification.run import Listener, run
from tinygate.worker.supervisor import DEFAULT_TIMEOUT, Supervisor


def verify(
    shapes: Iterable[Shape | str] = (),
    *,
    paths: Iterable[FastPath | str | Path] = (),
    inputs: str = DEFAULT_INPUTS,
    seed: int = DEFAULT_SEED,
    repeat: int = 2,
    timeout: float = DEFAULT_TIMEOUT,
    engines: Iterable[str] = (DEFAULT_ENGINE,),
    adapter: str | int | None = None,
    save_failures: str | Path = "",
    check: Judge | None = None,
) -> Report:
    """Run the gate and return its report; nothing is printed.

    shapes: each a Shape or "MxKxN"; by default the suite `smoke`.
    paths: each a FastPath, a registered name, or a manifest's file; by default every registered
        path that is not opt-in.
    inputs: input families, comma separated, or "all".
    repeat: runs per case, whose outputs must agree bit for bit; at least 2.
    timeout: time limit of one case, in seconds.
    adapter: an index or part of a name, as `tinygate probe` lists them.
    check: what every path is asked, "activation" or "conformance"; each path's own by default.
    save_failures: a folder for the operands and results of each FAIL; empty to save none.

    Raises:
        UsageError: an unknown shape, path, family, engine or adapter, or a bad manifest.
        CannotVerifyError: there is no adapter, or the driver fails while it is opened.
    """
    every = registry.load()
    chosen: list[FastPath] = []
    for path in paths:
        if isinstance(path, FastPath):
            chosen.append(validate(path))
        else:
            every = every.with_manifests(registry.manifests([str(path)]))
            chosen += every.select([str(path)])
    asked = tuple(s if isinstance(s, Shape) else Shape.parse(s) for s in shapes)
    plan = Plan(
        paths=tuple(chosen) or every.select(()),
        shapes=asked,
        suite_shapes=() if asked else suite(DEFAULT_SUITE),
        families=parse_families(inputs),
        seed=seed,
        repeat=max(2, repeat),
        timeout=timeout,
        engines=tuple(map(installed, engines)),
        adapter=None if adapter is None else str(adapter),
        judge=check,
        save_failures=str(Path(save_failures).absolute()) if save_failures else "",
    )
    return verify_plan(plan)


def verify_plan(plan: Plan, listener: Listener | None = None) -> Report:
    """Run a plan in a new worker.

    Raises:
        TinygateError: the only engine has no device, or the plan has no case.
    """
    with Supervisor(plan.adapter, plan.features, plan.timeout) as worker:
        return run(plan, worker, listener)
