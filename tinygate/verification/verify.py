"""Verify paths from Python: what `tinygate verify` does, without its output."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tinygate.core.engine import DEFAULT_ENGINE, installed
from tinygate.core.family import DEFAULT_INPUTS, DEFAULT_SEED, parse_families
from tinygate.core.fast_path import FastPath
from tinygate.core.results import Report
from tinygate.core.shape import DEFAULT_SUITE, Shape, suite
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
) -> Report:
    """Run the gate and return its report; nothing is printed.

    shapes: each a Shape or "MxKxN"; the suite `smoke` where none is given.
    paths: each a FastPath, a registered name, or a manifest's file; every registered path that is
        not opt-in where none is given.
    inputs: input families, comma separated, or "all".
    timeout: seconds a case may take.
    adapter: an index or part of a name, as `tinygate probe` lists them.
    save_failures: a folder for the operands and results of each FAIL.

    Raises:
        UsageError: a shape, path, family, engine or adapter that there is not, or a bad manifest.
        CannotVerifyError: no adapter, or a driver that fails while it is opened.
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
        shapes=asked or suite(DEFAULT_SUITE),
        families=parse_families(inputs),
        seed=seed,
        repeat=max(2, repeat),
        timeout=timeout,
        engines=tuple(map(installed, engines)),
        adapter=None if adapter is None else str(adapter),
        save_failures=str(Path(save_failures).absolute()) if save_failures else "",
    )
    return verify_plan(plan)


def verify_plan(plan: Plan, listener: Listener | None = None) -> Report:
    """Run a plan in a worker of its own.

    Raises:
        TinygateError: where no device could be opened at all, or the plan holds no case.
    """
    with Supervisor(plan.adapter, plan.features, plan.timeout) as worker:
        return run(plan, worker, listener)
