"""Plan what to verify: engines x paths x shapes x families, as cases in the order they run."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from tinygate.core.case import Case
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
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

    def cases(self, path: FastPath) -> list[Case]:
        """List the path's cases, in the order they run."""
        found = [
            Case(path, shape, family, self.seed, self.repeat, self.save_failures)
            for shape in dict.fromkeys(self.shapes)
            for family in self.families
        ]
        return [case for case in found if self.filter is None or re.search(self.filter, case.id)]

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
        if case.repeat != 2:
            words.append(f"--repeat {case.repeat}")
        if engine != DEFAULT_ENGINE:
            words.append(f"--engine {engine}")
        if self.adapter is not None:
            words.append(f"--adapter {shlex.quote(self.adapter)}")
        return " ".join(words)
