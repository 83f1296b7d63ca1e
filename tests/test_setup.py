"""The set-up scripts: their pure parts, and what every one of them has to hold."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
SHELL = [SCRIPTS / name for name in ("setup", "test", "tinygate", "verify")]
CI = ROOT / ".ci" / "run"

SIMULATION = """\
NOTE: This is only a simulation!
Inst libegl-mesa0 [22.3.6-1+deb12u1] (22.3.6-1+deb12u2 Debian:12/oldstable [amd64]) []
Inst libllvm15 (1:15.0.6-4+b1 Debian:12/oldstable [amd64])
Inst libvulkan1 (1.3.239.0-1 Debian:12/oldstable [amd64])
Conf libvulkan1 (1.3.239.0-1 Debian:12/oldstable [amd64])
"""
LDD = """\
/root/libvulkan_lvp.so: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /root/x.so)
\tlinux-vdso.so.1 (0x00007ffd)
\tlibdrm.so.2 => /root/libdrm.so.2 (0x00007f)
\tlibLLVM-15.so.1 => not found
\tlibLLVM-15.so.1 => not found
"""
CPU = {"kind": "CPU", "backend": "Vulkan", "name": "llvmpipe"}
GPU = {"kind": "discrete", "backend": "Vulkan", "name": "a GPU"}
GL = {"kind": "discrete", "backend": "OpenGL", "name": "a GPU"}


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("debian_packages")


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("software_adapter")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def unpacked(adapter: Any, folder: Path) -> Path:
    """A driver as fetch leaves it."""
    driver = adapter.DRIVERS["lavapipe"]
    root: Path = folder / driver.name / "root"
    libraries: Path = root / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    (libraries / "libvulkan_lvp.so").touch()
    icd = root / "usr/share/vulkan/icd.d"
    icd.mkdir(parents=True)
    named = {"ICD": {"api_version": "1.3.230", "library_path": "/usr/lib/libvulkan_lvp.so"}}
    (icd / "lvp_icd.x86_64.json").write_text(json.dumps(named))
    (folder / driver.name / "ready").write_text(adapter.identity(driver))
    return libraries


def test_simulation_tells_new_packages_from_upgrades(debian: Any) -> None:
    packages = debian.parse_simulation(SIMULATION)

    assert [(package.pinned, package.upgrade) for package in packages] == [
        ("libegl-mesa0=22.3.6-1+deb12u2", True),
        ("libllvm15=1:15.0.6-4+b1", False),
        ("libvulkan1=1.3.239.0-1", False),
    ]
    assert debian.parse_simulation("") == []


def test_missing_libraries_are_named_once(debian: Any) -> None:
    assert debian.missing_libraries(LDD) == ["GLIBC_2.38", "libLLVM-15.so.1"]


def test_error_shows_the_end_of_the_log_then_what_to_do(debian: Any) -> None:
    log = "\n".join(f"line {number}" for number in range(100))
    lines = debian.SetupError("apt failed", "check the network", log).render().splitlines()

    assert lines[0] == "  | line 88"
    assert lines[-2:] == ["setup: FAILED: apt failed", "hint: check the network"]


@pytest.mark.parametrize(
    ("adapters", "expected"),
    [
        ([], None),
        ([GL], None),
        ([CPU], CPU),
        ([CPU, GPU], GPU),
        ([GL, CPU], CPU),
        ([{"kind": "integrated", "backend": "Metal"}], {"kind": "integrated", "backend": "Metal"}),
    ],
)
def test_a_gpu_comes_first_and_opengl_never(
    adapter: Any, adapters: list[dict[str, str]], expected: dict[str, str] | None
) -> None:
    assert adapter.usable(adapter.read_adapters(json.dumps({"adapters": adapters}))) == expected


def test_a_probe_without_output_is_no_adapter(adapter: Any) -> None:
    assert adapter.read_adapters("\n") == []


def test_manifest_names_the_library_by_absolute_path(adapter: Any) -> None:
    text = json.dumps({"ICD": {"library_path": "libvulkan_lvp.so"}, "file_format_version": "1.0.0"})
    rewritten = json.loads(adapter.manifest(text, Path("/clone/libvulkan_lvp.so")))

    assert rewritten["ICD"]["library_path"] == "/clone/libvulkan_lvp.so"
    assert rewritten["file_format_version"] == "1.0.0"


@pytest.mark.parametrize(
    ("before", "library_path", "runtime"),
    [
        ({}, "/a b/lib:/a b/lib2", "/a b/run"),
        (
            {"LD_LIBRARY_PATH": "/mine", "XDG_RUNTIME_DIR": "/run/user/1"},
            "/a b/lib:/a b/lib2:/mine",
            "/run/user/1",
        ),
    ],
)
def test_environment_keeps_what_the_user_had(
    adapter: Any, before: dict[str, str], library_path: str, runtime: str
) -> None:
    text = adapter.environment(
        Path("/a b/icd.json"), [Path("/a b/lib"), Path("/a b/lib2")], Path("/a b/run")
    )
    names = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR")
    show = "".join(f'printf "%s\\n" "${name}"; ' for name in names)
    shell = subprocess.run(
        ["/bin/sh", "-euc", text + show], env=before, capture_output=True, text=True, check=True
    )

    assert shell.stdout.splitlines() == ["/a b/icd.json", "/a b/icd.json", library_path, runtime]


class FakeApt:
    """Resolves to one new package and two upgrades; unpacking leaves a driver's files."""

    def __init__(self, debian: Any, fill: Callable[[], object]) -> None:
        self.debian = debian
        self.fill = fill
        self.unpacked: list[list[str]] = []

    def resolve(self, names: tuple[str, ...]) -> Any:
        assert names == ("libvulkan1", "mesa-vulkan-drivers")
        return [
            self.debian.Package("libc6", "2.41", upgrade=True),
            self.debian.Package("libdrm2", "2.4.124", upgrade=True),
            self.debian.Package("mesa-vulkan-drivers", "25.0", upgrade=False),
        ]

    def unpack(self, names: list[str], root: Path) -> None:
        self.unpacked.append(names)
        if len(self.unpacked) == 1:
            self.fill()


@pytest.mark.parametrize(
    ("missing", "taken", "complaint"),
    [
        ([[]], [["libvulkan1", "mesa-vulkan-drivers=25.0"]], None),
        (
            [["libdrm.so.2"], []],
            [["libvulkan1", "mesa-vulkan-drivers=25.0"], ["libdrm2=2.4.124"]],
            None,
        ),
        (
            [["GLIBC_2.41"], ["GLIBC_2.41"]],
            [["libvulkan1", "mesa-vulkan-drivers=25.0"], ["libdrm2=2.4.124"]],
            "GLIBC_2.41",
        ),
    ],
    ids=["complete", "needs an upgrade", "needs another C library"],
)
def test_upgrades_are_taken_only_where_the_driver_needs_them(
    adapter: Any,
    debian: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: list[list[str]],
    taken: list[list[str]],
    complaint: str | None,
) -> None:
    work = tmp_path / "lavapipe" / "work"

    def fill() -> None:
        unpacked(adapter, tmp_path / "source")
        (tmp_path / "source/lavapipe/root").rename(work / "root")

    apt = FakeApt(debian, fill)
    answers = iter(missing)
    monkeypatch.setattr(adapter, "PrivateApt", lambda folder: apt)
    monkeypatch.setattr(adapter, "unresolved", lambda libraries, root: next(answers))
    monkeypatch.setattr(shutil, "which", lambda tool: tool)
    ready = tmp_path / "lavapipe" / "ready"

    if complaint is None:
        adapter.fetch(adapter.DRIVERS["lavapipe"], tmp_path / "lavapipe")
        assert ready.is_file()
        assert not work.exists()
    else:
        with pytest.raises(adapter.SetupError, match=complaint):
            adapter.fetch(adapter.DRIVERS["lavapipe"], tmp_path / "lavapipe")
        assert not ready.exists()
    assert apt.unpacked == taken


def test_own_adapter_means_no_software_one(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: (GPU, ""))
    monkeypatch.setattr(adapter, "fetch", lambda driver, folder: pytest.fail("fetched"))
    adapter.prepare("python", "")

    assert "export" not in (tmp_path / "env").read_text()


def test_no_adapter_means_a_software_one_that_then_has_to_be_found(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([(None, ""), (CPU, "")])
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: next(found))
    monkeypatch.setattr(adapter, "fetch", lambda driver, folder: unpacked(adapter, tmp_path))
    adapter.prepare("python", "")

    assert f"VK_DRIVER_FILES={tmp_path}/lavapipe/icd.json" in (tmp_path / "env").read_text()
    assert next(found, "both used") == "both used"


def test_a_software_adapter_that_is_not_found_is_an_error_and_is_not_kept(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: (None, "why"))
    monkeypatch.setattr(adapter, "fetch", lambda driver, folder: unpacked(adapter, tmp_path))

    with pytest.raises(adapter.SetupError, match="finds no adapter") as caught:
        adapter.prepare("python", "")
    assert caught.value.log == "why"
    assert not (tmp_path / "lavapipe" / "ready").exists()


def test_tinygate_is_asked_again_only_after_a_change(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def probe(python: str, settings: Path | None = None) -> tuple[dict[str, str], str]:
        asked.append(python)
        return GPU, ""

    monkeypatch.setattr(adapter, "probe", probe)
    adapter.prepare("first", "")
    (tmp_path / "env").unlink()
    adapter.prepare("second", "")
    assert (tmp_path / "env").is_file()
    monkeypatch.setenv("VK_DRIVER_FILES", "/another/driver.json")
    adapter.prepare("third", "")

    assert asked == ["first", "third"]


def test_a_moved_clone_gets_its_new_paths(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked(adapter, tmp_path / "old")
    monkeypatch.setattr(adapter, "FOLDER", tmp_path / "old")
    adapter.prepare("python", "lavapipe")
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.setattr(adapter, "FOLDER", tmp_path / "new")
    adapter.prepare("python", "lavapipe")

    icd = json.loads((tmp_path / "new/lavapipe/icd.json").read_text())
    library = tmp_path / "new/lavapipe/root/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so"
    assert icd["ICD"]["library_path"] == str(library)
    assert str(tmp_path / "old") not in (tmp_path / "new/env").read_text()


def test_an_unknown_driver_is_refused_with_the_list(adapter: Any) -> None:
    with pytest.raises(adapter.SetupError) as caught:
        adapter.prepare("python", "nonesuch")
    assert "lavapipe" in caught.value.hint


@pytest.mark.parametrize(
    ("code", "message"), [("raise SystemExit(7)", "exit code 7"), ("print(3)", "exit code 0")]
)
def test_a_broken_probe_is_not_taken_for_no_adapter(
    adapter: Any, tmp_path: Path, code: str, message: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{code}'\n")
    python.chmod(0o755)

    with pytest.raises(adapter.SetupError, match=message):
        adapter.probe(str(python))


@pytest.mark.parametrize("script", [*SHELL, CI], ids=lambda path: path.name)
def test_scripts_run_as_they_are(script: Path) -> None:
    assert os.access(script, os.X_OK)
    shell = Path(script.read_text().splitlines()[0].split()[0].removeprefix("#!")).name
    shell = "bash" if shell == "env" else shell
    assert shutil.which(shell)
    subprocess.run([shell, "-n", str(script)], check=True)


def test_no_script_names_a_host() -> None:
    # Mirrors and indexes are the machine's own business.
    for path in [*(file for file in SCRIPTS.iterdir() if file.is_file()), CI, ROOT / "Makefile"]:
        assert not re.search(r"https?://|\w\.(org|com|net|io)\b", path.read_text()), path.name


def test_setup_says_what_to_do_when_python_is_missing() -> None:
    done = subprocess.run(
        [str(SCRIPTS / "setup")],
        env={**os.environ, "PYTHON": "/nonexistent/python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "setup: FAILED: PYTHON=/nonexistent/python is not a program\nhint: " in done.stderr


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "scripts/test" in (ROOT / "README.md").read_text()
    assert "scripts/verify" in (ROOT / "README.md").read_text()
    assert re.search(r"^exec scripts/test\b", CI.read_text(), re.M)
