"""Every example is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import drivers
import pytest

from tinygate.cli.main import run
from tinygate.paths import manifest
from tinygate.paths.manifest import _PATH_KEYS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TESTED = {"my_path", "plugin_onnxruntime"}


def test_every_example_has_a_test_and_a_readme() -> None:
    assert {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()} == TESTED
    for name in TESTED:
        assert (EXAMPLES / name / "README.md").is_file()


def test_my_path_passes_as_its_readme_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (EXAMPLES / "my_path" / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    tinygate (verify .*)$", text, re.MULTILINE)
    assert run([*command.split(), "--suite", "ragged", "--inputs", "all"]) == 0
    assert "my-path gate verdict: PASS — my-path path active" in capsys.readouterr().out


def test_the_readme_of_my_path_has_every_key() -> None:
    text = (EXAMPLES / "my_path" / "README.md").read_text(encoding="utf-8")
    for key in _PATH_KEYS:
        assert f"\n| `{key}` |" in text
    for key in ("A", "B", "C", "dims", "unused", "access", "fields", "x", "y", "z"):
        assert f"`{key}`" in text
    assert manifest.load(EXAMPLES / "my_path" / "my_path.toml").name == "my-path"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in as pip would install it, as far as imports and entry points go."""
    source = EXAMPLES / "plugin_onnxruntime"
    info = tmp_path / "tinygate_onnxruntime-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tinygate-onnxruntime\nVersion: 0.1.0\n"
    )
    text = (source / "pyproject.toml").read_text(encoding="utf-8")
    (point,) = re.findall(r'entry-points."tinygate.paths"\]\n(\w+) = "(.*)"', text)
    (info / "entry_points.txt").write_text(f"[tinygate.paths]\n{point[0]} = {point[1]}\n")
    folders = [str(tmp_path), str(source), str(ROOT)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    for folder in folders:
        monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("plugin")
def test_the_plugin_offers_its_paths_without_the_runtime(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["paths"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    for name in ("ort-f32", "ort-f16"):
        assert re.search(rf"^{name} .* plug-in tinygate-onnxruntime 0\.1\.0$", captured.out, re.M)


@pytest.mark.usefixtures("plugin", "device")
def test_without_the_runtime_it_is_an_error_and_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The runtime may be installed: an import of it has to fail in the worker all the same.
    (tmp_path / "onnxruntime.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'onnxruntime'\")\n"
    )
    assert run(["verify", "--path", "ort-f32", "--shape", "4x4x4"]) == 3
    assert "ModuleNotFoundError" in capsys.readouterr().out


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("path", "code", "says"),
    [
        ("ort-f32", 0, "gate verdict: PASS — ort-f32 path active"),
        ("ort-f16", 1, "gate verdict: FAIL — falling back to f32"),
    ],
)
def test_onnxruntime_passes_in_float32_and_fails_in_float16(
    path: str, code: int, says: str
) -> None:
    # Dawn, which onnxruntime runs on, takes no older Mesa.
    command = [sys.executable, "-P", "-m", "tinygate", "verify", "--path", path]
    done = subprocess.run(
        [*command, "--shape", "64x128x128"],
        env=drivers.environment("lavapipe25"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert f"{path} {says}" in done.stdout
    # Its float16 product errs more than f16 operands and an f16 result explain.
    assert ("times over limit" in done.stdout) == (code == 1)
