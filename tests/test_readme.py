"""README is true: its code runs, its commands and files exist, its changelog heading is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tinygate.cli import config
from tinygate.cli.main import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_notebook_lines_run() -> None:
    multiplies, verifies = blocks("python")
    for code, says in (
        (
            multiplies,
            "<PathResult f16-storage PASS, active for main · M 33–128, K 65–128, N 65–128> "
            "('f16-storage',)",
        ),
        (
            verifies,
            "<Report f16-storage active, exit 0> 0\n"
            "f16-storage active (<main · M 33–128, K 65–128, N 65–128>,) 0.",
        ),
    ):
        lines = [line for line in code.splitlines() if line.strip() and "import" not in line]
        assert len(lines) <= 5
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert says in done.stdout


def test_the_commands_in_readme_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for block in blocks("console") for line in block.splitlines()]
    for line in lines:
        words = line.removeprefix("$ ").split()
        if words and words[0] == "tinygate" and words[1] in {"verify", "probe"}:
            assert run([words[1], "--help"]) == 0
            known = capsys.readouterr().out
            assert all(word in known for word in words if word.startswith("--"))
        elif words and words[0].startswith("scripts/"):
            assert os.access(ROOT / words[0], os.X_OK)


def test_the_configuration_in_readme_is_one(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    found = config.defaults(tmp_path)
    assert found["probe"] == {"adapter": "llvmpipe"}
    assert set(found["verify"]) == {"adapter", "shape", "output_format"}  # type: ignore[call-overload]


def test_the_sample_output_is_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Up to the numbers, which are the adapter's."""

    def masked(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if line.startswith("[ops]")]
        return [re.sub(r"=[^ ,]+|limit [^)]+", "=", line) for line in lines]

    sample = blocks("console")[0]
    assert run(sample.splitlines()[0].removeprefix("$ tinygate ").split()) == 0
    printed = masked(capsys.readouterr().out)
    assert len(masked(sample)) == 9
    assert set(masked(sample)) <= set(printed)
    assert "(CPU)" not in sample or "\nnote: " in sample


def test_what_the_readme_has_written_is_ignored() -> None:
    ignored = (ROOT / ".gitignore").read_text().split()
    written = re.findall(r"--(?:export-\w+|save-failures) ([a-z./]+)", README)
    assert set(written) == {"failures", "gate.xml"}
    assert all({f"/{name}", f"/{name}/"} & set(ignored) for name in written)


def test_the_links_in_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_ci_runs_the_test_command_that_readme_prints() -> None:
    assert "scripts/test" in README
    assert "scripts/test" in (ROOT / ".ci" / "run").read_text()
