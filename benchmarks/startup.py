"""Measure how much of a command's wall time tinygate itself takes.

    python benchmarks/startup.py [--json FILE]

Compares, alternating within one run: `tinygate --help` with `python -c "import typer, rich"`
(goal: at most 1.5 times), and `tinygate verify --shape 64x128x128` with bare_verify.py, which makes
the same dispatches (goal: at most 2 times). It prints medians and their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PAIRS = {
    "help": (["-m", "tinygate", "--help"], ["-c", "import typer, rich"], 1.5),
    "verify": (
        ["-m", "tinygate", "verify", "--shape", "64x128x128"],
        [str(HERE / "bare_verify.py"), "--subgroups"],
        2.0,
    ),
}


def seconds(args: list[str]) -> float:
    """Return the wall time of one Python process in seconds."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *args], check=True, capture_output=True, cwd=HERE.parent)
    return time.perf_counter() - began


def main() -> None:
    """Measure every pair of commands, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    for name, (ours, bare, goal) in PAIRS.items():
        seconds(ours), seconds(bare)  # warm the disk cache
        pairs = [(seconds(ours), seconds(bare)) for _ in range(options.runs)]
        mine, yardstick = (statistics.median(times) for times in zip(*pairs, strict=True))
        results[name] = {
            "seconds": mine,
            "bare_seconds": yardstick,
            "ratio": mine / yardstick,
            "goal": goal,
        }
        print(
            f"{name}: {mine:.3f} s, bare {yardstick:.3f} s, ratio {mine / yardstick:.2f} "
            f"(goal {goal})"
        )
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
