"""Conventions: short files that say what they do, kernels that open alike, no file named utils."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinygate

PACKAGE = Path(tinygate.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted((ROOT / "wgsl").rglob("*.wgsl"))
EVERY_FILE = pytest.mark.parametrize(
    "file", FILES, ids=[str(file.relative_to(PACKAGE)) for file in FILES]
)
MAX_LINES = 320

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Public classes, functions and methods, with the names they are reached by."""
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{prefix}{node.name}.")


def undocumented(file: Path) -> list[str]:
    """The public names of a file that have no docstring."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    missing = [] if ast.get_docstring(tree) else ["the module"]
    return missing + [name for name, node in public(tree) if not ast.get_docstring(node)]


def test_the_walk_finds_what_is_public_and_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text("def a(): pass\nclass B:\n  'doc'\n  def c(self): pass\n  def _d(self): pass\n")
    assert undocumented(file) == ["the module", "a", "B.c"]


@EVERY_FILE
def test_everything_public_has_a_docstring(file: Path) -> None:
    assert undocumented(file) == []


@EVERY_FILE
def test_public_names_are_sorted_and_exist(file: Path) -> None:
    parts = file.relative_to(ROOT).with_suffix("").parts
    if "__all__" not in file.read_text(encoding="utf-8"):
        return
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    names = list(module.__all__)
    assert names == sorted(set(names))
    assert all(hasattr(module, name) for name in names)


@EVERY_FILE
def test_no_file_is_too_long_to_be_read_at_once(file: Path) -> None:
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{lines} lines: split {file.name} by what its parts are for"


def test_no_module_is_named_for_nothing_in_particular() -> None:
    assert not {file.stem for file in FILES} & {"utils", "util", "helpers", "misc", "common"}


@pytest.mark.parametrize("file", KERNELS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_kernel_opens_with_what_it_computes(file: Path) -> None:
    """What a reader must know before the first line of code, in a comment of its own."""
    head = file.read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    assert head
    assert all(line.startswith("//") for line in head)
    if file.parent.name == "matmul":
        text = "\n".join(head)
        for topic in ("Tile", "Layout:", "Numerics:", "Source:"):
            assert f"// {topic}" in text, f"{file.name} does not say its {topic}"


def test_tests_mirror_the_package() -> None:
    """A folder of tests is called like the room that it tests."""
    rooms = {folder.name for folder in PACKAGE.iterdir() if folder.is_dir()}
    folders = {f.name for f in (ROOT / "tests").iterdir() if f.is_dir() and f.name != "__pycache__"}
    assert folders - {"faults", "scripts"} <= rooms


def test_what_needs_another_driver_is_not_fast() -> None:
    """`scripts/test --fast` unpacks no driver but the default one."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "drivers.environment(" in text:
            assert "pytestmark = pytest.mark.slow" in text, file.name
