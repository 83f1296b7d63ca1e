"""Count how often a right kernel is rejected, and measure how much of its limits it uses.

    python benchmarks/seeds.py [--path NAME] [--seeds 200] [--suite ragged|tiny|odd] [--inputs all]
        [--engine dawn] [--json FILE]

Runs a path over the families for every seed, in one process, and prints for each shape and family
the verdicts and the largest use of each limit. Exit 1 if any case is not a PASS.
`tiny` is 1x1x1 1x5x3 1x64x1 2x64x1 3x257x129, `ragged` is 64x128x128 and the suite of that name,
`odd` has every M up to 9 and every remainder of K, N and M by four.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from pathlib import Path

from tinygate.core import adapter
from tinygate.core.case import Case
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.family import DEFAULT_FAMILIES, parse_families
from tinygate.core.shape import SUITES, Shape
from tinygate.gate.case_run import run_case
from tinygate.gate.products import Harness
from tinygate.gpu import engines
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.probe import probe
from tinygate.paths.registry import registered, select

SHAPES = {
    "ragged": (Shape(64, 128, 128), *SUITES["ragged"]),
    "tiny": tuple(map(Shape.parse, ["1x1x1", "1x5x3", "1x64x1", "2x64x1", "3x257x129"])),
    "odd": (
        *(Shape(M, 40 + 11 * M, 29 + 2 * M) for M in range(1, 10)),
        *map(Shape.parse, ["66x71x70", "70x130x134", "131x257x131", "18x15x514", "9x1027x10"]),
    ),
}


def main() -> int:
    """Run every seed and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", default="f16-storage")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--suite", choices=SHAPES, default="ragged")
    parser.add_argument("--inputs", default=",".join(DEFAULT_FAMILIES))
    parser.add_argument("--engine", default=DEFAULT_ENGINE)
    parser.add_argument("--adapter")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    (path,) = select([options.path], registered())
    every = options.adapter is not None
    engine = engines.load(options.engine, every_backend=every, features=path.requires)
    info = adapter.choose(engine.adapters(), options.adapter, engine=options.engine)
    if missing := path.missing_features(info):
        parser.error(f"{path.name}: {missing}")
    path = path.for_adapter(info)[0]
    runner = Runner(engine.open(info.index, path.requires))
    harness, found = Harness(runner), probe(runner)
    print(
        f"{path.name}; {info.engine}, {info.name}, {info.driver}, {info.backend}; "
        f"seeds {options.first} to {options.first + options.seeds - 1}"
    )
    began = time.perf_counter()
    rows, bad = [], 0
    for shape in SHAPES[options.suite]:
        for family in parse_families(options.inputs):
            verdicts: collections.Counter[str] = collections.Counter()
            used: dict[str, float] = {}
            for seed in range(options.first, options.first + options.seeds):
                result = run_case(harness, found, Case(path, shape, family, seed))
                verdicts[str(result.status)] += 1
                if result.status != "PASS":
                    print(f"{result.id} seed {seed}: {result.status} {result.reason}")
                for check in result.checks:
                    if check.used is not None:
                        used[check.name] = max(used.get(check.name, 0.0), check.used)
            bad += sum(verdicts.values()) - verdicts["PASS"]
            rows.append(
                {
                    "shape": str(shape),
                    "family": family,
                    "verdicts": dict(verdicts),
                    "worst_share_of_limit": used,
                }
            )
            listed = ", ".join(f"{name} {fraction:.0%}" for name, fraction in used.items())
            print(f"{shape!s:>12} {family:8} {dict(verdicts)} {listed}", flush=True)
    print(f"{bad} not PASS; {time.perf_counter() - began:.0f} s")
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "path": path.name,
                    "engine": f"{info.engine} {info.engine_version}",
                    "adapter": info.name,
                    "driver": info.driver,
                    "backend": info.backend,
                    "seeds": options.seeds,
                    "first": options.first,
                    "not_pass": bad,
                    "rows": rows,
                },
                indent=2,
            )
            + "\n"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
