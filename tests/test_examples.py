"""Every example is run."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tinygate import manifest
from tinygate.__main__ import run
from tinygate.manifest import _PATH_KEYS

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


def installed() -> bool:
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnx"))


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
    folders = [str(source), str(tmp_path)]
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


@pytest.mark.usefixtures("plugin")
@pytest.mark.skipif(installed(), reason="onnxruntime is here")
def test_without_the_runtime_it_is_an_error_and_no_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "--path", "ort-f32", "--shape", "4x4x4"]) == 3
    assert "ModuleNotFoundError" in capsys.readouterr().out


@pytest.mark.usefixtures("plugin")
@pytest.mark.skipif(not installed(), reason="needs onnxruntime-webgpu and onnx")
def test_onnxruntime_in_float32_passes_and_in_float16_is_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    probe = "from tinygate_onnxruntime import session; session('float32')"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"onnxruntime has no WebGPU adapter: {found.stderr[-200:].decode()}")
    shapes = ["--shape", "64x128x128", "--shape", "17x33x65"]
    assert run(["verify", "--path", "ort-f32", *shapes]) == 0
    assert "ort-f32 gate verdict: PASS — ort-f32 path active" in capsys.readouterr().out
    # Whatever it is on this adapter, it is a verdict; on lavapipe 25 it is a FAIL.
    assert run(["verify", "--path", "ort-f16", *shapes]) in (0, 1)
    assert re.search("ort-f16 gate verdict: (PASS|FAIL)", capsys.readouterr().out)
