"""Who may import what: engines stay behind their protocol, and help needs nothing but typer."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinygate

PACKAGE = Path(tinygate.__file__).parent
MODULES = {
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts): file
    for file in sorted(PACKAGE.rglob("*.py"))
}
ENGINES = {"wgpu", "wgpudawn", "playwright"}
# Numbers and dataclasses only: what these import decides what can be tested without an adapter.
PURE = (
    "digits",
    "precision",
    "blocks",
    "compare",
    "gate",
    "results",
    "formats",
    "quantised",
    "predict",
    "errorparts",
    "diagnosis",
)


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, by whatever statement or call."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: relative import"
            yield node.module or ""
        elif isinstance(node, ast.Call) and node.args:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            first = node.args[0]
            if name in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                yield str(first.value)


def top(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(file)}


def test_the_walk_sees_imports(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "import wgpu.utils as u\ndef f():\n  from playwright.sync_api import x\n"
        "  importlib.import_module('wgpudawn')\n"
    )
    assert top(file) == ENGINES
    assert len(MODULES) > 30


@pytest.mark.parametrize("name", MODULES)
def test_only_engines_import_an_engine(name: str) -> None:
    if not name.startswith("tinygate.gpu.engines."):
        assert not top(MODULES[name]) & ENGINES


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_reach_no_device_clock_or_file(name: str) -> None:
    found = set(imports(MODULES[f"tinygate.{name}"]))
    assert not {module.split(".")[0] for module in found} & {
        "time",
        "datetime",
        "os",
        "pathlib",
        "io",
        "random",
        "subprocess",
        "threading",
    }
    assert (
        not {f"tinygate.{part}" for part in ("runner", "harness", "worker", "supervisor")} & found
    )


@pytest.mark.parametrize("name", [n for n in MODULES if n.startswith("tinygate.report.")])
def test_a_report_is_rendered_without_device_or_clock(name: str) -> None:
    assert not top(MODULES[name]) & {"time", "datetime", "numpy", "subprocess"}


def python(code: str, *, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run code where some modules cannot be imported."""
    forbid = f"import sys\nfor name in {without!r}: sys.modules[name] = None\n"
    return subprocess.run(
        [sys.executable, "-c", forbid + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NO_COLOR": "1", "COLUMNS": "100"},
    )


HEAVY = ("numpy", "wgpu", "wgpudawn", "playwright")


def test_the_command_line_starts_without_numpy_and_engines() -> None:
    done = python(
        "import tinygate.cli.app, tinygate.cli.main\n"
        f"print(sorted(name for name in {HEAVY!r} if name in sys.modules))"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--help"], "verify"),
        (["--version"], tinygate.__version__),
        (["verify", "--help"], "--shape"),
        (["probe", "--help"], "adapter"),
        (["paths"], "f16-storage"),
        (["verify", "--list", "--suite", "production"], "f16-storage/4x50257x256/identity"),
    ],
)
def test_these_work_with_nothing_heavy_installed(args: list[str], says: str) -> None:
    done = python(f"from tinygate.cli.main import run\nsys.exit(run({args!r}))", without=HEAVY)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert "Traceback" not in done.stderr


def test_a_wrong_shape_is_told_before_anything_is_loaded() -> None:
    args = ["verify", "--shape", "64x128"]
    done = python(f"from tinygate.cli.main import run\nsys.exit(run({args!r}))", without=HEAVY)
    assert done.returncode == 2
    assert done.stderr.startswith("tinygate: 64x128 is not a shape")
