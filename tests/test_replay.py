"""Saved failures: what is written, what is read back, and how hostile files are met."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tinygate import paths
from tinygate.__main__ import run
from tinygate.errors import UsageError
from tinygate.replay import load

FAULT = str(Path(__file__).parent / "faults" / "scale.wgsl")
SHAPE = "17x33x65"


@pytest.fixture
def saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """The file that a failing run left, of a path that is registered as long as the test runs."""
    wrong = replace(
        paths.REFERENCE, name="wrong", kernel=FAULT, entries=(paths.Entry("main", 8, 8),)
    )
    monkeypatch.setattr(paths, "BUILTIN", (wrong,))
    folder = tmp_path / "new" / "failures"
    args = ["verify", "--shape", SHAPE, "--inputs", "uniform", "--save-failures", str(folder)]
    assert run(args) == 1
    out = capsys.readouterr().out
    (file,) = folder.iterdir()
    assert f"saved: {file}" in out
    assert "map of C" in out
    return file


def test_what_is_saved_is_the_case(saved: Path) -> None:
    case = load(saved)
    assert (case.path, str(case.shape), case.family, case.seed) == (
        "wrong",
        SHAPE,
        "uniform",
        12345,
    )
    A, B, S = (case.arrays[name].astype(np.float64) for name in "ABS")
    assert np.allclose(A @ B, S, rtol=1e-12, atol=1e-12)
    assert np.allclose(case.arrays["R"], S, rtol=1e-4, atol=1e-5)
    assert not np.allclose(case.arrays["F"], S, rtol=1e-2)


def test_replay_runs_it_again_and_compares(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(saved)]) == 1
    out = capsys.readouterr().out
    assert "[ops] wrong gate: mean|ref|=" in out
    assert "inputs: the same bits as saved" in out
    assert "outputs: the same bits as saved" in out


def test_replay_of_what_was_mended_passes(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILTIN", (replace(paths.REFERENCE, name="wrong"),))
    assert run(["replay", str(saved)]) == 0
    assert "it does not fail now" in capsys.readouterr().out


def test_replay_of_an_unregistered_path_is_exit_2(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILTIN", ())
    assert run(["replay", str(saved)]) == 2
    assert "'wrong'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_exit_2_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    target = str(tmp_path / "file" / "folder")
    assert run(["verify", "--save-failures", target]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot be written" in captured.err


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array: np.ndarray, *, pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickle)
    return out.getvalue()


def about(**changed: object) -> bytes:
    right: dict[str, object] = {
        "schema_version": 1,
        "path": "wrong",
        "source": "built in",
        "shape": SHAPE,
        "family": "uniform",
        "seed": 12345,
        "repeat": 2,
    }
    return npy(np.array(json.dumps({**right, **changed})))


@pytest.mark.parametrize(
    "change",
    [
        {"about.npy": about(shape="1x1")},
        {"about.npy": about(shape="99999x99999x99999")},
        {"about.npy": about(family="nope")},
        {"about.npy": about(seed=-1)},
        {"about.npy": about(seed="x")},
        {"about.npy": about(repeat=10**9)},
        {"about.npy": about(schema_version=2)},
        {"about.npy": npy(np.array("not json"))},
        {"about.npy": npy(np.array("[" * 5000))},
        {"about.npy": b"not an array"},
        {"about.npy": None},
        {"A.npy": None},
        {"F.npy": None},
        {"A.npy": npy(np.zeros((17, 33), np.float64))},
        {"A.npy": npy(np.zeros((33, 17), np.float32))},
        {"B.npy": npy(np.array([{}], object), pickle=True)},
        {"F.npy": npy(np.zeros((17, 65_000), np.float32))},
        {"extra.npy": npy(np.zeros(1))},
        {"../A.npy": npy(np.zeros(1))},
    ],
)
def test_a_hostile_file_is_exit_2_with_its_name(
    saved: Path,
    tmp_path: Path,
    change: dict[str, bytes | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = tmp_path / "bad.npz"
    with zipfile.ZipFile(bad, "w") as archive:
        for name, data in {**members(saved), **change}.items():
            if data is not None:
                archive.writestr(name, data)
    assert run(["replay", str(bad)]) == 2
    err = capsys.readouterr().err
    assert str(bad) in err or "is not a shape" in err
    assert len(err.splitlines()) <= 3


@pytest.mark.parametrize("keep", [0, 1, 100, 2000, -1])
def test_a_truncated_file_is_exit_2(saved: Path, tmp_path: Path, keep: int) -> None:
    bad = tmp_path / "bad.npz"
    bad.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(UsageError, match=r"bad\.npz"):
        load(bad)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.npz"):
        load(tmp_path / "none.npz")
    with pytest.raises(UsageError):
        load(tmp_path)
