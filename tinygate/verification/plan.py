"""Plan what to verify: engines x paths x shapes x families, as cases in the order they run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tinygate.core.case import Case
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.family import ACTIVATING_FAMILIES, DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.core.vocabulary import Judge
from tinygate.verification.coverage import companions
from tinygate.worker.supervisor import DEFAULT_TIMEOUT


@dataclass(frozen=True)
class Plan:
    """What to verify, and how.

    repeat           runs per case
    timeout          time limit of one case, in seconds
    adapter          an index or part of a name; None for the preferred one
    filter           a regular expression; only cases whose id matches run
    required         names of paths that must PASS, or the exit code is 3
    save_failures    a folder for the operands and results of each FAIL; empty to save none
    extra_features   features to switch on besides those that the paths require
    """

    paths: tuple[FastPath, ...]
    shapes: tuple[Shape, ...]
    families: tuple[str, ...] = DEFAULT_FAMILIES
    seed: int = DEFAULT_SEED
    repeat: int = 2
    timeout: float = DEFAULT_TIMEOUT
    engines: tuple[str, ...] = (DEFAULT_ENGINE,)
    adapter: str | None = None
    filter: str | None = None
    required: tuple[str, ...] = ()
    save_failures: str = ""
    extra_features: tuple[str, ...] = ()
    suite_shapes: tuple[Shape, ...] = ()
    judge: Judge | None = None

    def cases(self, path: FastPath) -> list[Case]:
        """List the path's cases in the order in which they run.

        Each shape with every family; then, for each class of these shapes, what the class is
        measured at beside them. Without all the activating families nothing becomes active, so
        that a class has no companions then.
        """
        asked = dict.fromkeys((*self.shapes, *map(path.fitting, self.suite_shapes)))
        found = [
            Case(
                path,
                shape,
                family,
                self.seed,
                self.repeat,
                self.save_failures,
                judge=self.judge or path.judge,
            )
            for shape in asked
            for family in self.families
        ]
        if set(self.families) >= set(ACTIVATING_FAMILIES):
            found = _merged(found, self._companions(path, asked))
        return [case for case in found if self.filter is None or re.search(self.filter, case.id)]

    def _companions(self, path: FastPath, asked: Iterable[Shape]) -> Iterator[Case]:
        """Yield the cases of every class of the shapes, each class once."""
        fitting = (shape for shape in asked if path.shape_mismatch(shape) is None)
        for shape in {path.shape_class(shape): shape for shape in fitting}.values():
            for one in companions(path, shape):
                yield Case(
                    path,
                    one.shape,
                    one.family,
                    self.seed if one.seed is None else one.seed,
                    max(self.repeat, one.runs),
                    self.save_failures,
                    companion=True,
                    judge=self.judge or path.judge,
                )

    @property
    def features(self) -> tuple[str, ...]:
        """The features to switch on; subgroups always, so that their size can be measured."""
        required = [name for path in self.paths for name in path.requires]
        return tuple(dict.fromkeys(["subgroups", *required, *self.extra_features]))

    def replay(self, case: Case, engine: str) -> str:
        """Write the command that runs exactly this case again."""
        words = [
            "tinygate verify",
            f"--shape {case.shape.label}",
            f"--path {shlex.quote(case.path.cli_name)}",
            f"--inputs {case.family}",
            f"--seed {case.seed}",
        ]
        if self.judge is not None:
            words.append(f"--check {self.judge}")
        if case.repeat != 2:
            words.append(f"--repeat {case.repeat}")
        if engine != DEFAULT_ENGINE:
            words.append(f"--engine {engine}")
        if self.adapter is not None:
            words.append(f"--adapter {shlex.quote(self.adapter)}")
        return " ".join(words)


def _merged(asked: list[Case], more: Iterable[Case]) -> list[Case]:
    """Add the gate's own cases; one that is asked for already runs more often."""
    found = {(case.shape.label, case.family, case.seed): case for case in asked}
    for case in more:
        key = (case.shape.label, case.family, case.seed)
        if key in found:
            found[key] = replace(found[key], repeat=max(found[key].repeat, case.repeat))
        else:
            found[key] = case
    return list(found.values())
