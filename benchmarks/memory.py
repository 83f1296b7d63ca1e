"""Measure the peak memory of a case, as a multiple of its f32 operands and result.

    python benchmarks/memory.py [--shape MxKxN ...] [--json FILE]

Each shape runs in a separate process. Its memory is the peak resident size minus that of the same
process after a tiny case, which loads Python, numpy, wgpu, the driver and its compiler. On a CPU
adapter it includes the device's memory. Goal: at most 3 times (operands + result) + 64 MiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

from tinygate.core.shape import Shape

DEFAULT = (
    "256x1024x1024",
    "1x4096x4096",
    "2048x2048x2048",
    "4096x64x4096",
    "1x256x50257",
    "2048x4096x64",
)


def peak() -> int:
    """Return the peak resident bytes of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(shape: Shape, family: str) -> dict[str, object]:
    """Run the case in this process, after a tiny one."""
    from tinygate.core import adapter
    from tinygate.core.case import Case
    from tinygate.gate.case_run import run_case
    from tinygate.gate.products import Harness
    from tinygate.gpu import engines
    from tinygate.gpu.dispatch import Runner
    from tinygate.gpu.probe import probe
    from tinygate.paths.registry import registered

    engine = engines.load("native")
    info = adapter.choose(engine.adapters())
    runner = Runner(engine.open(info.index, []))
    harness, found = Harness(runner), probe(runner)
    path = registered()[0]
    for m in (1, 64):  # both entry points
        run_case(harness, found, Case(path, Shape(m, 64, 64), family, 1))
    before = peak()
    result = run_case(harness, found, Case(path, shape, family, 1))
    extra = peak() - before
    operands = 4 * (shape.M * shape.K + shape.K * shape.N + shape.M * shape.N)
    return {
        "shape": str(shape),
        "family": family,
        "status": result.status,
        "reason": result.reason,
        "adapter": info.name,
        "operands_bytes": operands,
        "base_bytes": before,
        "peak_extra_bytes": extra,
        "ratio": max(0, extra - (64 << 20)) / operands,
    }


def main() -> int:
    """Measure every shape and family, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", action="append")
    parser.add_argument("--family", action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(Shape.parse(options.shape[0]), options.family[0])))
        return 0
    rows = []
    for shape in options.shape or DEFAULT:
        for family in options.family or ("uniform", "identity", "integer"):
            command = [sys.executable, __file__, "--one", "--shape", shape, "--family", family]
            row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            rows.append(row)
            print(
                f"{row['shape']:>16} {family:8} {row['status']}: operands and result "
                f"{row['operands_bytes'] >> 20} MiB, peak {row['peak_extra_bytes'] >> 20} MiB "
                f"over the base of {row['base_bytes'] >> 20} MiB: ratio {row['ratio']:.2f} "
                f"(goal 3) {row['reason']}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["ratio"] <= 3 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
