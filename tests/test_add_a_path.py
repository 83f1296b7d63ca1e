"""A new path is two files: a kernel, and one entry of the built-in table. CONTRIBUTING holds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ENTRY = """    FastPath(
        name="my-path",
        pill="my path",
        kernel="matmul/my_path.wgsl",
        b="f16-packed",
        entries=(_MATVEC, Entry("main", 64, 128)),
        pack=PACKERS["f16-packed"],
        why="a copy of f16-storage under a name of its own",
    ),
"""

pytestmark = pytest.mark.slow


def recipe() -> list[str]:
    """The commands that CONTRIBUTING gives for a path, as they are printed there."""
    section = CONTRIBUTING.partition("\n### A path\n")[2].partition("\n### ")[0]
    block = re.search(r"\n\n((?:    .+\n)+)", section)
    assert block, "CONTRIBUTING has no commands under 'A path'"
    return [line.partition("  #")[0].strip() for line in block[1].splitlines()]


def test_a_path_is_added_as_contributing_says(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    for name in subprocess.run(
        ["git", "ls-files", "--modified", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines():  # what is being worked on counts, too
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    before = _changed(clone)

    kernel = clone / "wgsl" / "matmul" / "my_path.wgsl"
    shutil.copy(clone / "wgsl" / "matmul" / "f16_storage.wgsl", kernel)
    table = clone / "tinygate" / "paths" / "builtin.py"
    text = table.read_text(encoding="utf-8")
    at = text.index('    FastPath(\n        name="subgroups"')
    table.write_text(text[:at] + ENTRY + text[at:], encoding="utf-8")
    written_by_hand = _changed(clone) - before
    assert written_by_hand == {"wgsl/matmul/my_path.wgsl", "tinygate/paths/builtin.py"}

    commands = recipe()
    assert any("my-path" in command for command in commands)
    assert "scripts/test --fast" in commands
    for command in commands:
        done = subprocess.run(
            shlex.split(command),
            cwd=clone,
            env={**os.environ, "TINYGATE_NO_ADAPTER": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    page = (clone / "docs" / "precision.md").read_text(encoding="utf-8")
    assert "\n## my-path\n" in page
    assert "my-path" in (clone / "README.md").read_text(encoding="utf-8")


def _changed(clone: Path) -> set[str]:
    done = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line[3:] for line in done.stdout.splitlines()}
