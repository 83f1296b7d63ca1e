"""The wheel, built and run without the checkout at hand."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).resolve().parent.parent
# -P keeps the current folder out of the import path; these settings would bring the checkout back.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, installed into a folder of their own by pip."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*pip, "--target", str(folder), str(wheel)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with the installed wheel first on its path, in an empty folder."""
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**env, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_wheel_holds_kernels_types_and_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    kernels = {path.relative_to(ROOT) for path in (ROOT / "wgsl").rglob("*.wgsl")}
    assert kernels
    assert {f"tinygate/{name.as_posix()}" for name in kernels} <= names
    assert "tinygate/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tinygate"}


def test_the_checkout_is_out_of_reach(installed: Path, tmp_path: Path) -> None:
    code = "from tinygate.core import fast_path as f; print(f.__file__, f.wgsl_file('x').parent)"
    done = run(installed, tmp_path, "-c", code)

    assert done.stdout.split() == [
        str(installed / "tinygate" / "core" / "fast_path.py"),
        str(installed / "tinygate" / "wgsl"),
    ], done.stderr


def test_help(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "-m", "tinygate", "--help")

    assert done.returncode == 0, done.stderr
    assert "verify" in done.stdout


@pytest.mark.skipif(
    os.environ.get("TINYGATE_NO_ADAPTER") == "1", reason="TINYGATE_NO_ADAPTER=1: no adapter wanted"
)
def test_verify(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "-m", "tinygate", "verify", "--shape", "64x128x128")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "[ops] f16-storage gate: mean|ref|=" in done.stdout
    assert "[ops] f16-storage gate verdict: PASS — f16-storage path active" in done.stdout
