"""The house: which room may import which, and what a process has loaded in the end."""

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
FILES = {
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}

# A room -> the rooms it may import. Nothing goes upward, so there is no cycle.
MAY_IMPORT: dict[str, str] = {
    "core": "",
    "paths": "core",
    "numerics": "core",
    "gpu": "core paths",
    "report": "core",
    "gate": "core paths numerics gpu",
    "worker": "core paths",
    "verification": "core paths worker",
    "ops": "core paths numerics gpu report verification worker",
    "cli": "core ops paths report verification worker",
}
# The one module through which the worker's process enters the gate.
DOORS = {"tinygate.worker.process": "gate"}

# Third-party modules that a room may import; every other room has the standard library alone.
NUMPY = {"numpy"}
OUTSIDE = {
    "numerics": NUMPY,
    "gpu": NUMPY,
    "gate": NUMPY,
    "ops": NUMPY,
    "report": {"rich"},
    "cli": {"rich", "typer"},
}
OUTSIDE_OF_ONE = {
    "tinygate.report.saved_case": NUMPY,  # loaded by `replay` alone
    "tinygate.paths.plugins": NUMPY,  # inside a function that plug-ins call
}
ENGINES = {"wgpu", "wgpudawn", "playwright"}
# What arithmetic and data must not reach.
SIDE_EFFECTS = {"time", "datetime", "random", "subprocess", "threading", "socket", "signal"}
PURE = ("core", "numerics", "report")


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, by whatever statement or call."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: relative import"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in FILES else module
        elif isinstance(node, ast.Call) and node.args:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            first = node.args[0]
            if name in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                yield str(first.value)


def room(module: str) -> str:
    """The room a module of the package is in; empty for the door itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else ""


def outside(module: str) -> set[str]:
    """What a module imports that is not tinygate's."""
    return {name.split(".")[0] for name in imports(FILES[module])} - {"tinygate"}


def test_the_walk_sees_imports(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "import wgpu.utils as u\ndef f():\n  from playwright.sync_api import x\n"
        "  importlib.import_module('wgpudawn')\n"
    )
    assert {name.split(".")[0] for name in imports(file)} == ENGINES
    assert len(FILES) > 60


def test_every_folder_is_a_room() -> None:
    folders = {f.name for f in PACKAGE.iterdir() if f.is_dir() and f.name != "__pycache__"}
    assert folders - {"wgsl"} == set(MAY_IMPORT)
    assert {name for name in FILES if not room(name)} == {"tinygate", "tinygate.__main__"}


def test_the_table_has_no_cycle() -> None:
    done: set[str] = set()
    left = dict(MAY_IMPORT)
    while left:
        ready = {name for name, may in left.items() if set(may.split()) <= done}
        assert ready, f"a cycle among {sorted(left)}"
        done |= ready
        left = {name: may for name, may in left.items() if name not in ready}


@pytest.mark.parametrize("module", [name for name in FILES if room(name)])
def test_a_room_imports_only_what_the_table_says(module: str) -> None:
    may = {room(module), *MAY_IMPORT[room(module)].split(), DOORS.get(module, "")}
    reached = {room(name) for name in imports(FILES[module]) if name in FILES}
    assert reached - {""} <= may


@pytest.mark.parametrize("module", FILES)
def test_a_room_uses_only_the_packages_it_may(module: str) -> None:
    known = OUTSIDE.get(room(module), set()) | OUTSIDE_OF_ONE.get(module, set())
    if module.startswith("tinygate.gpu.engines."):
        known |= ENGINES
    assert outside(module) - set(sys.stdlib_module_names) <= known


@pytest.mark.parametrize("module", [name for name in FILES if room(name) in PURE])
def test_pure_rooms_reach_no_device_clock_or_process(module: str) -> None:
    assert not outside(module) & SIDE_EFFECTS


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
LOADED = f"print(sorted(name for name in {HEAVY!r} if name in sys.modules))"


def test_the_command_line_starts_without_numpy_and_engines() -> None:
    done = python(f"import tinygate.cli.app, tinygate.cli.main\n{LOADED}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "args", [["verify", "--shape", "8x8x8", "--path", "f16-storage"], ["probe"]], ids=" ".join
)
def test_a_finished_command_has_not_loaded_numpy_in_the_host(
    device: object, args: list[str]
) -> None:
    """Only the worker does; the host starts in the time that numpy alone takes."""
    code = f"from tinygate.cli.main import run\ncode = run({args!r})\n{LOADED}\nsys.exit(code)"
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


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


def test_importing_tinygate_loads_nothing_heavy() -> None:
    done = python(f"import tinygate, sys\n{LOADED}\nprint(len(sys.modules))", without=())
    assert done.stdout.splitlines()[0] == "[]"
    done = python("import tinygate\nprint(tinygate.Shape, tinygate.UsageError)", without=HEAVY)
    assert done.returncode == 0, done.stderr


def test_the_public_names_are_sorted_and_there() -> None:
    names = tinygate.__all__
    assert names == sorted(names)
    assert {"GpuOps", "FastPath", "PythonPath", "Shape", "verify"} <= set(names)
    for name in names:
        assert getattr(tinygate, name) is not None
    assert set(names) <= set(dir(tinygate))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tinygate.nothing


def test_every_error_is_public() -> None:
    from tinygate.core import errors

    own = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.TinygateError)
    }
    assert own <= set(tinygate.__all__)
