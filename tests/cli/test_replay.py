"""Saved failures: what is written, what is read back, and how hostile files are met."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tinygate.cli import replay
from tinygate.cli.main import run
from tinygate.core.case import Case
from tinygate.core.errors import UsageError
from tinygate.core.kernel_abi import Entry
from tinygate.core.shape import Shape
from tinygate.gate import failure
from tinygate.gate.observations import Sample
from tinygate.gpu.engines.base import Device
from tinygate.numerics.tolerance import conformance_tolerance
from tinygate.paths import builtin
from tinygate.report import saved_case
from tinygate.report.saved_case import load

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("replay")]

FAULTS = Path(__file__).parents[1] / "faults"
SHAPE = "17x33x65"


def register(monkeypatch: pytest.MonkeyPatch, kernel: str) -> None:
    """A path "wrong" that runs a kernel of tests/faults; it is the only one there is."""
    wrong = replace(
        builtin.REFERENCE,
        name="wrong",
        kernel=str(FAULTS / kernel),
        entries=(Entry("main", 8, 8),),
    )
    monkeypatch.setattr(builtin, "BUILTIN", (wrong,))


@pytest.fixture
def saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Path:
    """The file that a failing run left, of a path that is registered as long as the test runs."""
    register(monkeypatch, "scale.wgsl")
    folder = tmp_path / "new" / "failures"
    args = ["verify", "--shape", SHAPE, "--inputs", "uniform", "--save-failures", str(folder)]
    assert run(args) == 1
    out = capsys.readouterr().out
    (file,) = folder.iterdir()
    assert f"    replay: tinygate replay {file}\n" in out
    assert "    replay: tinygate verify --shape 17x33x65 --path wrong" in out
    return file


@pytest.fixture(scope="session")
def case_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved case like that, made without an adapter."""
    shape = Shape.parse(SHAPE)
    case = Case(replace(builtin.REFERENCE, name="wrong"), shape, "uniform", 12345)
    rng = np.random.default_rng(1)
    A = rng.random((shape.M, shape.K), np.float32)
    B = rng.random((shape.K, shape.N), np.float32)
    limit = conformance_tolerance(case.path, shape.K, "G")
    sample = Sample(A, B, A, B, 2 * (A @ B), A @ B, wrong=True, limit=limit)
    return Path(failure.save(tmp_path_factory.mktemp("saved"), case.not_run(), case, sample))


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
    assert "map of C" in out
    last = out.splitlines()[-1]
    assert last == "replay: inputs same bits as saved; outputs same bits as saved"
    # The new run's own file is gone by now, so it must not be named.
    assert "tinygate replay" not in out


def test_replay_counts_outputs_that_differ(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    F = load(saved).arrays["F"].copy()
    F[3, :7] += 1
    other = rewritten(saved, tmp_path, {"F.npy": npy(F)})
    assert run(["replay", str(other)]) == 1
    assert "outputs not the same: 7 of 1105 outputs differ" in capsys.readouterr().out


def test_replay_says_where_the_inputs_are_not_the_saved_ones(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = rewritten(saved, tmp_path, {"about.npy": about(seed=1)})
    assert run(["replay", str(other)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert "inputs differ from the saved ones; outputs not compared" in last


def test_replay_on_another_adapter_says_so(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, adapter = load(saved).saved_on
    assert engine.startswith("native ")
    assert adapter.count(" · ") == 2
    assert run(["replay", str(saved)]) == 1
    assert "the case was saved by" not in capsys.readouterr().err
    other = rewritten(
        saved, tmp_path, {"about.npy": about(engine=engine, adapter="a card \x1b[31m")}
    )
    assert run(["replay", str(other)]) == 1
    err = capsys.readouterr().err
    assert f"note: the case was saved by {engine} on 'a card \\x1b[31m'" in err
    assert f"; this run used {engine} on {adapter}\n" in err
    assert "\x1b" not in err


def test_replay_takes_the_engine_that_was_saved_where_it_is_here(case_file: Path) -> None:
    case = load(case_file)
    assert replay._engine(case) == []
    assert replay._engine(replace(case, saved_on=("native 0.1.0", "x"))) == ["native"]
    assert replay._engine(replace(case, saved_on=("nope 1", "x"))) == []


def test_engines_do_not_save_into_one_file(device: Device, case_file: Path, tmp_path: Path) -> None:
    saved = load(case_file)
    A, B, F = (saved.arrays[name] for name in "ABF")
    path = replace(builtin.REFERENCE, name="wrong")
    limit = conformance_tolerance(path, saved.shape.K, "G")
    sample = Sample(A, B, A, B, F, F, wrong=True, limit=limit)
    for name in ("native", "dawn"):
        case = Case(path, saved.shape, "uniform", 1, adapter=replace(device.info, engine=name))
        failure.save(tmp_path, case.not_run(), case, sample)
    found = {file.name: load(file).saved_on[0].split()[0] for file in tmp_path.iterdir()}
    assert found == {
        f"wrong_{SHAPE}_uniform_1.npz": "native",
        f"wrong_{SHAPE}_uniform_1_dawn.npz": "dawn",
    }


def test_a_file_that_does_not_say_its_adapter_is_fine_and_one_that_lies_is_not(
    case_file: Path, tmp_path: Path
) -> None:
    assert load(case_file).saved_on == ("", "")
    with pytest.raises(UsageError, match="has no adapter"):
        load(rewritten(case_file, tmp_path, {"about.npy": about(adapter=3)}))


def test_replay_of_what_was_mended_passes(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builtin, "BUILTIN", (replace(builtin.REFERENCE, name="wrong"),))
    assert run(["replay", str(saved)]) == 0
    assert "outputs not compared: it passes now" in capsys.readouterr().out


def test_replay_of_what_cannot_run_is_exit_3(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = replace(builtin.BUILTIN[0], engines=("browser",))
    monkeypatch.setattr(builtin, "BUILTIN", (lacking,))
    assert run(["replay", str(saved)]) == 3
    assert "nothing to compare" in capsys.readouterr().out


def test_replay_of_an_unregistered_path_is_exit_2(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(builtin, "BUILTIN", ())
    assert run(["replay", str(saved)]) == 2
    assert "'wrong'" in capsys.readouterr().err


def test_a_path_from_a_manifest_is_found_again_and_its_loss_is_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "my-path"]) == 0
    (kernel,) = tmp_path.glob("*.wgsl")
    text = kernel.read_text()
    assert text.count("fn main(") == 1
    # A kernel that writes nothing at all is wrong everywhere.
    head, body = text.split("fn main(")
    signature, rest = body.split("{", 1)
    kernel.write_text(f"{head}fn main({signature}{{ if (dims.M > 0u) {{ return; }}{rest}")
    (manifest,) = tmp_path.glob("*.toml")
    args = ["verify", "--shape", SHAPE, "--path", manifest.name, "--inputs", "integer"]
    assert run([*args, "--save-failures", "out"]) == 1
    (file,) = (tmp_path / "out").iterdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    capsys.readouterr()
    assert run(["replay", str(file)]) == 1
    assert "outputs same bits as saved" in capsys.readouterr().out
    moved = tmp_path / "moved.toml"
    manifest.rename(moved)
    assert run(["replay", str(file)]) == 2
    assert f"{manifest}: file not found" in capsys.readouterr().err
    assert run(["replay", str(file), "--path", str(moved)]) == 1
    assert "outputs same bits as saved" in capsys.readouterr().out


def test_a_manifest_is_only_looked_for_where_it_can_be_one(case_file: Path) -> None:
    case = load(case_file)
    assert replay._manifests(case, []) == []
    assert replay._manifests(case, ["f16-storage"]) == []
    assert replay._manifests(case, ["a.toml"]) == ["a.toml"]
    for file in ("/dev/zero", "/etc/passwd", "no\0.toml", "x" * 5000 + ".toml", "/nowhere/x.toml"):
        with pytest.raises(UsageError, match="file not found"):
            replay._manifests(replace(case, file=file), [])


def test_a_folder_that_cannot_be_made_is_exit_2_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    target = str(tmp_path / "file" / "folder")
    assert run(["verify", "--save-failures", target]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot be written" in captured.err


def test_the_folder_comes_from_a_variable_or_a_file_too_and_list_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "scale.wgsl")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tinygate.toml").write_text('save-failures = "from_file"\n')
    args = ["verify", "--shape", SHAPE, "--inputs", "integer"]
    assert run([*args, "--list"]) == 0
    assert not (tmp_path / "from_file").exists()
    assert run(args) == 1
    assert len(list((tmp_path / "from_file").iterdir())) == 1
    monkeypatch.setenv("TINYGATE_SAVE_FAILURES", "from_variable")
    assert run(args) == 1
    assert len(list((tmp_path / "from_variable").iterdir())) == 1


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(file: Path, folder: Path, change: dict[str, bytes | None]) -> Path:
    """The file with other members; None leaves one out."""
    bad = folder / "bad.npz"
    with zipfile.ZipFile(bad, "w") as archive:
        for name, data in {**members(file), **change}.items():
            if data is not None:
                archive.writestr(name, data)
    return bad


def npy(array: np.ndarray, *, pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickle)
    return out.getvalue()


def about(**changed: object) -> bytes:
    right: dict[str, object] = {
        "schema_version": 1,
        "path": "wrong",
        "source": "built in",
        "file": "",
        "shape": SHAPE,
        "family": "uniform",
        "seed": 12345,
        "repeat": 2,
    }
    return npy(np.array(json.dumps({**right, **changed})))


def header(text: str) -> bytes:
    """An .npy member with this header and no data worth the name."""
    data = text.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(data).to_bytes(2, "little") + data + bytes(2244)


RIGHT_A = np.zeros((17, 33), np.float32)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"about.npy": about(shape="1x1")}, "1x1 is not a shape"),
        ({"about.npy": about(shape=7)}, "has no shape"),
        ({"about.npy": about(shape="99999x99999x99999")}, "another amount of A"),
        ({"about.npy": about(family="nope")}, "unknown input family 'nope'"),
        ({"about.npy": about(family="\x1b[31m\u202e")}, "unknown input family"),
        ({"about.npy": about(seed=-1)}, "a seed that is not a number"),
        ({"about.npy": about(seed="x")}, "a seed that is not a number"),
        ({"about.npy": about(seed=True)}, "a seed that is not a number"),
        ({"about.npy": about(seed=float("inf"))}, "a seed that is not a number"),
        ({"about.npy": about(repeat=10**9)}, "a repeat that is not a number"),
        ({"about.npy": about(path=None)}, "has no path"),
        ({"about.npy": about(file=["x"])}, "has no file"),
        ({"about.npy": about(schema_version=2)}, "of another version"),
        ({"about.npy": npy(np.array("not json"))}, "is damaged"),
        ({"about.npy": npy(np.array("[1]"))}, "of another version"),
        ({"about.npy": npy(np.array("[" * 5000))}, "is damaged"),
        ({"about.npy": npy(np.array("9" * 5000))}, "is damaged"),
        ({"about.npy": npy(np.array(["x"]))}, "description that is no text"),
        ({"about.npy": npy(np.array(3.0))}, "description that is no text"),
        ({"about.npy": npy(np.array("x" * 20_000))}, "description that is too large"),
        ({"about.npy": b"not an array"}, "is damaged"),
        ({"about.npy": None}, "has no about.npy"),
        ({"A.npy": None}, "has no A.npy"),
        ({"F.npy": None}, "has no F.npy"),
        ({"A.npy": npy(RIGHT_A.astype(np.float64))}, "holds A as float64[17, 33]"),
        ({"A.npy": npy(RIGHT_A.astype(np.int32))}, "holds A as int32[17, 33]"),
        ({"A.npy": npy(RIGHT_A.astype(">f4"))}, "holds A as float32"),
        ({"A.npy": npy(RIGHT_A.T.copy())}, "holds A as float32[33, 17]"),
        ({"A.npy": npy(RIGHT_A)[:-4] + b""}, "is cut off in A"),
        ({"A.npy": npy(RIGHT_A) + bytes(4)}, "is cut off in A"),
        ({"A.npy": b"\x93NUMPY\x09\x00" + npy(RIGHT_A)[8:]}, "version 9.0"),
        ({"A.npy": header("{'descr': '<f4', 'fortran_order': False, 'shape': (17,")}, "damaged"),
        ({"A.npy": header("[" * 3000)}, "is damaged"),
        ({"A.npy": header("{'descr': '|O', 'fortran_order': False, 'shape': (17, 33)}")}, "object"),
        ({"A.npy": header("{'descr': '<f4', 'fortran_order': False, 'shape': (2**62, 9)}")}, ""),
        ({"A.npy": header("{'descr': '<f4', 'fortran_order': 3, 'shape': (1,)}")}, "damaged"),
        ({"B.npy": npy(np.array([{}], object), pickle=True)}, "another amount of B"),
        ({"F.npy": npy(np.zeros((17, 65_000), np.float32))}, "another amount of F"),
        ({"extra.npy": npy(np.zeros(1))}, "holds extra.npy"),
        ({"../A.npy": npy(np.zeros(1))}, "holds ../A.npy"),
        ({"\x1b[2J.npy": b""}, "which is no part of a saved case"),
    ],
)
def test_a_hostile_file_is_exit_2_with_what_is_wrong(
    case_file: Path,
    tmp_path: Path,
    change: dict[str, bytes | None],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = rewritten(case_file, tmp_path, change)
    assert run(["replay", str(bad)]) == 2
    err = capsys.readouterr().err
    assert str(bad) in err
    assert says in err
    assert len(err.splitlines()) == 2
    assert "\x1b" not in err


def test_arrays_that_lie_by_columns_are_read_as_they_are(case_file: Path, tmp_path: Path) -> None:
    A = load(case_file).arrays["A"]
    again = load(rewritten(case_file, tmp_path, {"A.npy": npy(np.asfortranarray(A))}))
    assert np.array_equal(again.arrays["A"], A)


def test_a_member_twice_is_refused(case_file: Path, tmp_path: Path) -> None:
    bad = rewritten(case_file, tmp_path, {})
    with zipfile.ZipFile(bad, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("A.npy", npy(RIGHT_A))
    with pytest.raises(UsageError, match="a member twice"):
        load(bad)


def test_other_compressions_are_refused(case_file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_BZIP2) as archive:
        for name, data in members(case_file).items():
            archive.writestr(name, data)
    with pytest.raises(UsageError, match="unknown compression"):
        load(bad)


def test_what_does_not_fit_into_memory_is_not_unpacked(
    case_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_case, "available_memory", lambda: 1000)
    with pytest.raises(UsageError, match="available memory"):
        load(case_file)


@pytest.mark.parametrize("keep", [0, 1, 100, 2000, -1])
def test_a_truncated_file_is_refused(case_file: Path, tmp_path: Path, keep: int) -> None:
    bad = tmp_path / "bad.npz"
    bad.write_bytes(case_file.read_bytes()[:keep])
    with pytest.raises(UsageError, match=r"bad\.npz"):
        load(bad)


def test_any_damage_is_refused_or_does_no_harm(case_file: Path, tmp_path: Path) -> None:
    integer, chance = case_file.read_bytes(), random.Random(1)
    bad = tmp_path / "bad.npz"
    for _ in range(300):
        data = bytearray(integer)
        for _ in range(chance.randint(1, 8)):
            # The end holds the directory, which is where damage has most ways to go wrong.
            low = chance.choice([0, len(data) - 700])
            data[chance.randrange(low, len(data))] = chance.randrange(256)
        bad.write_bytes(data)
        with contextlib.suppress(UsageError):
            assert load(bad).arrays["F"].shape == (17, 65)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("none.npz", "file not found"), (".", "regular"), ("pipe", "regular")):
        with pytest.raises(UsageError, match=says):
            load(tmp_path / name)
    with pytest.raises(UsageError):
        load(Path("nul\0.npz"))
