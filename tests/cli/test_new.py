"""`tinygate new`: the pair passes as it is, and FAILs once it is made wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygate.cli import new as scaffold
from tinygate.cli.main import run
from tinygate.core.errors import UsageError
from tinygate.core.shape import SUITES
from tinygate.paths import manifest

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pair_passes_until_it_is_made_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "my-path"]) == 0
    out = capsys.readouterr().out
    assert out == "wrote my_path.wgsl and my_path.toml\nnext: tinygate verify --path my_path.toml\n"
    verify = out.splitlines()[1].removeprefix("next: tinygate ").split()
    shapes = [f"--shape={shape}" for shape in SUITES["ragged"] if shape.M < 100]
    assert run([*verify, "--suite", "smoke", *shapes]) == 0
    assert "my-path gate verdict: PASS — my-path path active" in capsys.readouterr().out

    kernel = folder / "my_path.wgsl"
    right = kernel.read_text(encoding="utf-8")
    for old, new, says in (
        ("k < dims.K;", "k + 1u < dims.K;", "exact: "),
        ("c[row * dims.N + col] = sum.x;", "", "never written"),
        ("if (col + 1u < dims.N) { c", "{ c", "gate verdict: FAIL"),
        ("unpack2x16float(", "0.999 * unpack2x16float(", "conformance"),
    ):
        assert old in right
        kernel.write_text(right.replace(old, new), encoding="utf-8")
        assert run([*verify, "--shape", "17x33x65"]) == 1, new
        out = capsys.readouterr().out
        assert "my-path gate verdict: FAIL — falling back to f32" in out
        assert says in out
    kernel.write_text(right.replace("var sum", "var vec2f"), encoding="utf-8")
    assert run([*verify, "--shape", "17x33x65"]) == 3
    assert "ERROR: my_path.wgsl:" in capsys.readouterr().out


def test_the_manifest_says_what_it_means(tmp_path: Path) -> None:
    kernel, file = scaffold.write("a-b", tmp_path)
    path = manifest.load(file)
    assert (path.name, path.pill, Path(path.kernel)) == ("a-b", "a b", kernel.resolve())
    assert kernel.read_text(encoding="utf-8").startswith("// C[M,N] = ")


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x.wgsl", "x.toml"):
        (folder / name).write_text("mine")
        assert run(["new", "x"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"tinygate: {name} already exists\nhint: ")
        assert [file.name for file in folder.iterdir()] == [name]
        (folder / name).unlink()


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", "a.b", "-a", "a" * 41, "a\n", "é"])
def test_a_name_no_path_may_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a name for a path"):
        scaffold.write(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        scaffold.write("x", tmp_path / "gone")
