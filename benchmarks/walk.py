"""Trace how a run goes through the package: the modules it enters, and how often it climbs.

    python benchmarks/walk.py [--root CHECKOUT] [-- verify --shape 64x128x128]

A step is a call from one module of tinygate into another, counted once for each pair, in the host
process and in the worker alike. A module's floor is the longest chain of imports below it. A climb
is a step to a higher floor: a call that the imports do not show, such as a callback. Imports are
not steps.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

# Runs in every Python of the measured command: the first call of each pair is a line of the file.
SPY = """
import os, sys, threading
seen, out = set(), open(os.environ["WALK_FILE"], "a", buffering=1)
def spy(frame, event, _):
    if event != "call" or frame.f_back is None:
        return
    to, of = frame.f_globals.get("__name__", ""), frame.f_back.f_globals.get("__name__", "")
    if to != of and to.startswith("tinygate") and of.startswith("tinygate"):
        if frame.f_code.co_name != "<module>" and (of, to) not in seen:
            seen.add((of, to))
            out.write(f"{os.getpid()} {of} {to}\\n")
sys.setprofile(spy)
threading.setprofile(spy)
"""


def arrows(root: Path) -> dict[str, set[str]]:
    """Map each module of tinygate to those that it imports, anywhere in its file."""
    files = {
        ".".join(f.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): f
        for f in (root / "tinygate").rglob("*.py")
    }
    del files["tinygate"]  # it imports what it exports only on demand
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        names: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        found[module] = (names & files.keys()) - {module}
    return found


def floors(below: dict[str, set[str]]) -> dict[str, int]:
    """Compute the floor of each module; import cycles are cut where the search enters them."""

    @cache
    def floor(module: str) -> int:
        if module in open_now:
            return 0
        open_now.add(module)
        found = 1 + max((floor(other) for other in below[module]), default=-1)
        open_now.discard(module)
        return found

    open_now: set[str] = set()
    return {module: floor(module) for module in below}


def walk(root: Path, arguments: list[str]) -> dict[str, set[tuple[str, str]]]:
    """Run a command, and return the steps of the host process and of the workers."""
    with tempfile.TemporaryDirectory() as folder:
        spy, log = Path(folder) / "sitecustomize.py", Path(folder) / "steps"
        spy.write_text(SPY, encoding="utf-8")
        log.touch()
        process = subprocess.Popen(
            [sys.executable, "-m", "tinygate", *arguments],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": f"{folder}{os.pathsep}{root}",
                "WALK_FILE": str(log),
            },
            stdout=subprocess.DEVNULL,
        )
        if process.wait():
            sys.exit(f"walk: the command ended with {process.returncode}")
        steps: dict[str, set[tuple[str, str]]] = {}
        for line in log.read_text(encoding="utf-8").splitlines():
            pid, of, to = line.split()
            who = "host" if int(pid) == process.pid else "worker"
            steps.setdefault(who, set()).add((of, to))
    return steps


def main() -> None:
    """Print the size of the package, and the steps and climbs of each process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("arguments", nargs="*", default=["verify", "--shape", "64x128x128"])
    options = parser.parse_args()
    below = arrows(options.root)
    level = floors(below)
    folders = {module.split(".")[1] for module in below if module.count(".") > 1}

    def folder(module: str) -> str:
        name = module.split(".")[1]
        return name if name in folders else ""

    crossing = [(folder(of), folder(to)) for of in below for to in below[of]]
    crossing = [(of, to) for of, to in crossing if of != to]
    print(
        f"{len(below)} modules on {max(level.values()) + 1} floors, "
        f"{sum(map(len, below.values()))} import arrows, {len(crossing)} of them between "
        f"folders, which makes {len(set(crossing))} arrows from folder to folder"
    )
    for who, steps in sorted(walk(options.root, options.arguments).items()):
        named = {(of.replace("__main__", ""), to) for of, to in steps}
        climbs = [(of, to) for of, to in named if level.get(to, 0) > level.get(of, 0)]
        entered = {to for _, to in named}
        print(f"{who}: {len(entered)} modules entered, {len(named)} steps, {len(climbs)} climbs")
        for of, to in sorted(climbs):
            print(f"  {of} -> {to}")


if __name__ == "__main__":
    main()
