"""Break right kernels in small ways, and count the mutants that the gate catches.

    python benchmarks/mutations.py [--kernel NAME ...] [--limit N] [--json FILE]

A mutant is a kernel's source with one token changed, in the file itself or in what it includes: an
operator, a comparison, an integer, an index component, min for max. Each runs on the ragged suite
and smaller shapes over the default families, in the worker process, until a case FAILs. A mutant
that passes everything gave the exact product on every integer case, so on these shapes it is the
same kernel; it is listed as a survivor with its change. One that hangs or crashes is an ERROR,
which is no PASS either. Exit 1 if the gate caught no mutant at all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tinygate.core.case import Case
from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath, wgsl_file
from tinygate.core.shape import SUITES, Shape
from tinygate.core.status import Status
from tinygate.paths.builtin import REFERENCE
from tinygate.paths.include import Location
from tinygate.paths.registry import registered
from tinygate.paths.source import load_source
from tinygate.worker.supervisor import Supervisor

SWAPS = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+=": "-=",
    "&&": "||",
    "||": "&&",
    ">>": "<<",
    "<<": ">>",
    "&": "|",
    "min": "max",
    "max": "min",
    ".x": ".y",
    ".y": ".x",
    ".z": ".x",
    ".w": ".x",
}
TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|@[a-z_]+(?:\([^)]*\))?|->|<(?:storage|uniform|private|workgroup)[^>]*>"
    r"|(?:array|vec\d?|atomic|ptr)<[^>]*>|\b\d+\.\d+\w*|0x[0-9a-f]+u?)"
    r"|(?P<op>\+=|-=|<=|>=|==|!=|&&|\|\||<<|>>|\+\+|[-+*/%<>&])"
    r"|(?P<number>\b\d+u?\b)|(?P<word>\bmin\b|\bmax\b|\.[xyzw]\b(?!\w))"
)
# The small shapes that fail most mutants come first, since a mutant stops at its first FAIL.
SHAPES = (
    Shape(17, 33, 65),
    Shape(8, 33, 65),
    Shape(3, 257, 129),
    *(s for s in SUITES["ragged"] if s.M != 17),
)


@dataclass(frozen=True)
class Mutant:
    """One changed token of a kernel, its location, and the source with the change."""

    kernel: str
    place: Location
    column: int
    old: str
    new: str
    source: str

    @property
    def change(self) -> str:
        """The change as `file:line:column old -> new`, and its kernel if the file is an include."""
        of = "" if self.place.file == self.kernel else f" in {self.kernel}"
        return f"{self.place}:{self.column} {self.old} -> {self.new}{of}"


def mutants(name: str) -> Iterator[Mutant]:
    """Generate every one-token change of a kernel's body and of what it includes."""
    kernel = load_source(wgsl_file(name))
    text = kernel.text
    for match in TOKEN.finditer(text):
        if match.lastgroup in (None, "skip"):
            continue
        old = match.group()
        if match.lastgroup == "number":
            value, suffix = int(old.rstrip("u")), "u" * old.endswith("u")
            news = [f"{value + 1}{suffix}"] + [f"{value - 1}{suffix}"] * (value > 0)
        else:
            news = [SWAPS[old]] if old in SWAPS else []
        before = text[: match.start()]
        place, column = kernel.at(before.count("\n") + 1), match.start() - before.rfind("\n")
        for new in news:
            yield Mutant(name, place, column, old, new, before + new + text[match.end() :])


def paths_with(mutant: Mutant, folder: Path) -> FastPath:
    """Return a path that runs the mutant in place of its original kernel or packer."""
    file = folder / "mutant.wgsl"
    file.write_text(mutant.source, encoding="utf-8")
    storage = next(path for path in registered() if path.name == "f16-storage")
    if mutant.kernel == storage.pack:
        return replace(storage, pack=str(file))
    declared = REFERENCE if mutant.kernel == REFERENCE.kernel else storage
    return replace(declared, name="mutant", kernel=str(file))


def judge(path: FastPath, supervisor: Supervisor) -> tuple[str, str]:
    """Judge a mutant: caught, broken (does not compile), error or survivor; and why."""
    errors = ""
    for shape in SHAPES:
        for family in ("integer", *(f for f in DEFAULT_FAMILIES if f != "integer")):
            result = supervisor.run(Case(path, shape, family, DEFAULT_SEED))
            if result.status is Status.FAIL:
                return "caught", f"{shape} {family}: {result.reason}"
            if result.status is Status.ERROR:
                if ".wgsl:" in result.reason:
                    return "broken", result.reason.splitlines()[0]
                errors = f"{shape} {family}: {result.reason}"
                break
        if errors:
            return "error", errors
    return "survivor", ""


def main() -> int:
    """Run every mutant and print the tally."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", action="append")
    parser.add_argument(
        "--limit", type=int, help="at most this many mutants per kernel, spread out"
    )
    parser.add_argument("--timeout", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.kernel or ["matmul/f32.wgsl", "matmul/f16_storage.wgsl", "pack/f16.wgsl"]
    tally: Counter[str] = Counter()
    rows = []
    supervisor = Supervisor(None, (), options.timeout)
    supervisor.open("native")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found = list(mutants(name))
            step = max(1, len(found) // options.limit) if options.limit else 1
            for mutant in found[::step]:
                verdict, decided = judge(paths_with(mutant, Path(folder)), supervisor)
                tally[verdict] += 1
                rows.append({"change": mutant.change, "verdict": verdict, "decided": decided})
                if verdict in ("survivor", "error"):
                    print(f"{verdict}: {mutant.change} {decided}", flush=True)
            print(f"{name}: {dict(tally)} so far", flush=True)
    supervisor.close()
    print(
        f"{sum(tally.values())} mutants: {tally['caught']} caught, {tally['error']} hung or "
        f"crashed, {tally['broken']} did not compile, {tally['survivor']} the same on every shape"
    )
    if options.json:
        options.json.write_text(json.dumps({"tally": tally, "mutants": rows}, indent=2) + "\n")
    return 0 if tally["caught"] else 1


if __name__ == "__main__":
    sys.exit(main())
