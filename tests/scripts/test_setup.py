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

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
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
    monkeypatch.syspath_prepend(str(SCRIPTS / "drivers"))
    return importlib.import_module("debian_packages")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS / "drivers"))
    return importlib.import_module("debian_sources")


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS / "drivers"))
    return importlib.import_module("software_drivers")


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS / "drivers"))
    module = importlib.import_module("software_adapter")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def unpacked(drivers: Any, folder: Path) -> Path:
    """A driver as fetch leaves it."""
    driver = drivers.DRIVERS["lavapipe"]
    root: Path = folder / driver.name / "root"
    libraries: Path = root / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    (libraries / "libvulkan_lvp.so").touch()
    icd = root / "usr/share/vulkan/icd.d"
    icd.mkdir(parents=True)
    named = {"ICD": {"api_version": "1.3.230", "library_path": "/usr/lib/libvulkan_lvp.so"}}
    (icd / "lvp_icd.x86_64.json").write_text(json.dumps(named))
    (folder / driver.name / "ready").write_text(drivers.identity(driver))
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


def test_manifest_names_the_library_by_absolute_path(drivers: Any) -> None:
    text = json.dumps({"ICD": {"library_path": "libvulkan_lvp.so"}, "file_format_version": "1.0.0"})
    rewritten = json.loads(drivers.manifest(text, Path("/clone/libvulkan_lvp.so")))

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
    drivers: Any, before: dict[str, str], library_path: str, runtime: str
) -> None:
    text = drivers.environment(
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
    drivers: Any,
    debian: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: list[list[str]],
    taken: list[list[str]],
    complaint: str | None,
) -> None:
    work = tmp_path / "lavapipe" / "work"

    def fill() -> None:
        unpacked(drivers, tmp_path / "source")
        (tmp_path / "source/lavapipe/root").rename(work / "root")

    apt = FakeApt(debian, fill)
    answers = iter(missing)
    monkeypatch.setattr(drivers, "apt_for", lambda driver, work: apt)
    monkeypatch.setattr(drivers, "unresolved", lambda libraries, root, loader: next(answers))
    monkeypatch.setattr(shutil, "which", lambda tool: tool)
    ready = tmp_path / "lavapipe" / "ready"

    if complaint is None:
        drivers.fetch(drivers.DRIVERS["lavapipe"], tmp_path / "lavapipe")
        assert ready.is_file()
        assert not work.exists()
    else:
        with pytest.raises(drivers.SetupError, match=complaint):
            drivers.fetch(drivers.DRIVERS["lavapipe"], tmp_path / "lavapipe")
        assert not ready.exists()
    assert apt.unpacked == taken


def test_own_adapter_means_no_software_one(
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: (GPU, ""))
    monkeypatch.setattr(drivers, "fetch", lambda driver, folder: pytest.fail("fetched"))
    adapter.prepare("python", "")

    assert "export" not in (tmp_path / "env").read_text()


def test_no_adapter_means_a_software_one_that_then_has_to_be_found(
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([(None, ""), (CPU, "")])
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: next(found))
    monkeypatch.setattr(drivers, "fetch", lambda driver, folder: unpacked(drivers, tmp_path))
    adapter.prepare("python", "")

    assert f"VK_DRIVER_FILES={tmp_path}/lavapipe/icd.json" in (tmp_path / "env").read_text()
    assert next(found, "both used") == "both used"


def test_a_software_adapter_that_is_not_found_is_an_error_and_is_not_kept(
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: (None, "why"))
    monkeypatch.setattr(drivers, "fetch", lambda driver, folder: unpacked(drivers, tmp_path))

    with pytest.raises(adapter.SetupError, match="finds no adapter") as caught:
        adapter.prepare("python", "")
    assert caught.value.log == "why"
    assert not (tmp_path / "lavapipe" / "ready").exists()


def test_a_driver_that_could_not_be_tried_is_not_kept_either(
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "fetch", lambda driver, folder: unpacked(drivers, tmp_path))

    with pytest.raises(adapter.SetupError, match="exit code 1"):
        adapter.use(drivers.DRIVERS["lavapipe"], "false", "for a test")
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
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked(drivers, tmp_path / "old")
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
    scripts = [*SHELL, *SCRIPTS.rglob("*.py")]
    assert len(scripts) > len(SHELL)
    for path in [*scripts, CI, ROOT / "Makefile"]:
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


STANZAS = """\
# The archive.
Types: deb deb-src
# An older address.
URIs: mirror://near/archive
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /keys/archive.gpg

Types: deb
URIs: mirror://near/security
Suites: bookworm-security
Components: main

Types: deb
URIs: mirror://near/off
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: mirror://near/sources
Suites: bookworm
Components: main
"""
LINES = """\
# deb mirror://near/comment bookworm main
deb-src mirror://near/archive bookworm main
deb mirror://near/security bookworm-security main
deb [arch=amd64 signed-by=/keys/a.gpg,/keys/b.gpg] mirror://near/archive stable main contrib # here
"""


def test_stanzas_that_are_switched_on_are_read(sources: Any) -> None:
    read = list(sources.parse_stanzas(STANZAS))

    assert [source["uris"] for source in read] == [
        "mirror://near/archive",
        "mirror://near/security",
    ]
    assert sources.archive(read, "bookworm") == read[0]
    assert sources.archive(read[1:], "bookworm") is None


def test_lines_are_read_as_stanzas(sources: Any) -> None:
    read = list(sources.parse_lines(LINES))

    assert [source["uris"] for source in read] == [
        "mirror://near/security",
        "mirror://near/archive",
    ]
    assert sources.archive(read, "bookworm") == {
        "types": "deb",
        "uris": "mirror://near/archive",
        "suites": "stable",
        "components": "main contrib",
        "architectures": "amd64",
        "signed-by": "/keys/a.gpg /keys/b.gpg",
    }


@pytest.mark.parametrize("key", ["/keys/archive.gpg", "\n -----BEGIN\n .\n mQENB\n -----END"])
def test_another_suite_keeps_the_mirror_and_its_keys(sources: Any, key: str) -> None:
    text = STANZAS.replace("/keys/archive.gpg", key)
    source = sources.archive(sources.parse_stanzas(text), "bookworm")
    (read,) = sources.parse_stanzas(sources.retarget(source, ["bookworm", "bookworm-backports"]))

    assert read == {
        "types": "deb",
        "uris": "mirror://near/archive",
        "suites": "bookworm bookworm-backports",
        "components": "main",
        "signed-by": key,
    }


def test_the_machines_own_sources_are_found(
    sources: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "sources.list").write_text(LINES)
    (tmp_path / "parts/a.sources").write_text(STANZAS)
    (tmp_path / "parts/b.sources.disabled").write_text(STANZAS)
    answer = f"LIST='{tmp_path}/sources.list'\nPARTS='{tmp_path}/parts/'\n"
    done = subprocess.CompletedProcess([], 0, answer, "")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: done)

    assert [
        source["uris"].removeprefix("mirror://near/") for source in sources.machine_sources()
    ] == [
        "security",
        "archive",
        "archive",
        "security",
    ]


@pytest.mark.parametrize(
    ("codename", "expected"), [("bookworm", ("bookworm", "bookworm-backports")), ("trixie", ())]
)
def test_suites_follow_the_machines_release(
    drivers: Any, codename: str, expected: tuple[str, ...]
) -> None:
    system = {"ID": "debian", "VERSION_CODENAME": codename}
    assert drivers.suites(drivers.DRIVERS["lavapipe25"], system) == expected
    assert drivers.suites(drivers.DRIVERS["lavapipe"], {"ID": "another"}) == ()


def test_debians_suites_are_not_looked_for_elsewhere(drivers: Any) -> None:
    with pytest.raises(drivers.SetupError, match="this is another") as caught:
        drivers.suites(drivers.DRIVERS["lavapipe25"], {"ID": "another"})
    assert "Debian" in caught.value.hint


def test_no_mirror_for_the_release_is_an_error(
    drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(drivers, "release", lambda: system)
    monkeypatch.setattr(drivers, "machine_sources", list)

    with pytest.raises(drivers.SetupError, match="no apt source of this machine is for bookworm"):
        drivers.apt_for(drivers.DRIVERS["lavapipe25"], tmp_path)


def apt_setting(folder: Path, name: str) -> str:
    """What apt itself makes of our configuration; empty where apt is not installed."""
    if shutil.which("apt-config") is None:
        pytest.skip("needs apt-config")
    shell = ["apt-config", "-c", str(folder / "apt.conf"), "shell", "VALUE", name]
    done = subprocess.run(shell, capture_output=True, text=True, check=True)
    return done.stdout.strip().removeprefix("VALUE=").strip("'")


def test_apt_reads_no_sources_but_those_it_is_given(debian: Any, tmp_path: Path) -> None:
    debian.PrivateApt(tmp_path / "own")
    debian.PrivateApt(tmp_path / "other", "types: deb\n", "bookworm-backports")
    debian.PrivateApt(tmp_path / "whole", "types: deb\n", "trixie", complete=True)

    assert apt_setting(tmp_path / "own", "Dir::Etc::sourceparts") == "sources.list.d"
    assert apt_setting(tmp_path / "own", "APT::Default-Release") == ""
    parts = Path(apt_setting(tmp_path / "other", "Dir::Etc::sourceparts/d"))
    assert [file.read_text() for file in parts.iterdir()] == ["types: deb\n"]
    assert apt_setting(tmp_path / "other", "Dir::Etc::sourcelist/f") == "/dev/null"
    assert apt_setting(tmp_path / "other", "APT::Default-Release") == "bookworm-backports"
    assert apt_setting(tmp_path / "other", "Dir::State::status/f") == "/var/lib/dpkg/status"
    status = Path(apt_setting(tmp_path / "whole", "Dir::State::status/f"))
    assert status.parent == tmp_path / "whole"
    assert status.read_text() == ""


def test_only_what_a_driver_loads_is_kept(drivers: Any, tmp_path: Path) -> None:
    libraries = unpacked(drivers, tmp_path)
    root = tmp_path / "lavapipe/root"
    for name in ("libvulkan.so.1", "libLLVM.so", "libvulkan_other.so", "libVkLayer_x.so"):
        (libraries / name).touch()
    for name in ("usr/share/doc/mesa/copyright", "usr/bin/vulkaninfo", "lib64/ld-linux.so.2"):
        (root / name).parent.mkdir(parents=True)
        (root / name).touch()
    driver = drivers.DRIVERS["lavapipe"]
    named = (drivers.find_library(driver, root), drivers.find_manifest(driver, root))
    drivers.prune(root, named)

    kept = {path for path in root.rglob("*") if path.is_file()}
    assert kept == {*named, libraries / "libvulkan.so.1", libraries / "libLLVM.so"}
    assert not (root / "usr/share/doc").exists()


def test_a_library_beside_its_manifest_is_found(drivers: Any, tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/program"
    folder.mkdir(parents=True)
    (folder / "libdriver.so").touch()
    (folder / "icd.json").write_text(json.dumps({"ICD": {"library_path": "./libdriver.so"}}))
    driver = drivers.Driver("x", ("program",), "usr/lib/program/icd.json")

    assert drivers.find_library(driver, tmp_path) == folder / "libdriver.so"
    (folder / "libdriver.so").unlink()
    with pytest.raises(drivers.SetupError, match="not among the packages program"):
        drivers.find_library(driver, tmp_path)


def test_a_worker_on_another_c_library_inherits_and_leaves_no_library_path(
    drivers: Any, tmp_path: Path
) -> None:
    linker = tmp_path / "a b" / "ld.so"
    linker.parent.mkdir()
    linker.write_text('#!/bin/sh\nprintf "%s\\n" "$LD_LIBRARY_PATH" "$@"\n')
    linker.chmod(0o755)
    worker = tmp_path / "worker"
    worker.write_text(drivers.wrapper(linker, [tmp_path / "a b"], "/v e/python"))
    worker.chmod(0o755)
    text = drivers.environment(tmp_path / "icd.json", [tmp_path / "a b"], tmp_path / "run", worker)
    shell = subprocess.run(
        ["/bin/sh", "-euc", f'{text}"$TINYGATE_WORKER_PYTHON" -m "x y"'],
        env={"LD_LIBRARY_PATH": "/mine"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert shell.stdout.splitlines() == [
        "/mine",
        "--library-path",
        f"{tmp_path}/a b",
        "--argv0",
        "/v e/python",
        "/v e/python",
        "-m",
        "x y",
    ]


@pytest.mark.parametrize(
    ("before", "after"), [("/a b/.adapter/new/python", ""), ("/usr/bin/python", "/usr/bin/python")]
)
def test_an_ordinary_driver_ends_the_use_of_our_worker(
    drivers: Any, before: str, after: str
) -> None:
    folder = Path("/a b/.adapter")
    text = drivers.environment(folder / "icd.json", [folder / "lib"], folder / "runtime")
    shell = subprocess.run(
        ["/bin/sh", "-euc", f'{text}printf "%s" "${{TINYGATE_WORKER_PYTHON:-}}"'],
        env={"TINYGATE_WORKER_PYTHON": before},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout == after


def test_settings_of_a_sourced_env_are_told_from_the_users(adapter: Any) -> None:
    folder = Path("/clone/.adapter")
    ours = {
        "VK_DRIVER_FILES": "/clone/.adapter/lavapipe/icd.json",
        "LD_LIBRARY_PATH": "/clone/.adapter/lavapipe/root/lib",
        "XDG_RUNTIME_DIR": "/clone/.adapter/runtime",
        "TINYGATE_WORKER_PYTHON": "/clone/.adapter/x/python",
    }
    users = {
        "VK_ICD_FILENAMES": "/clone/.adapter2/icd.json",
        "TINYGATE_TIMEOUT": "9",
        "PATH": "/clone/.adapter/lavapipe",
        "VK_EMPTY": "",
    }
    mixed = {"LD_LIBRARY_PATH": f"{ours['LD_LIBRARY_PATH']}:/mine"}

    assert adapter.without_ours(ours | users, folder) == users
    assert adapter.without_ours(ours | users | mixed, folder) == {
        **users,
        "LD_LIBRARY_PATH": "/mine",
    }
    assert adapter.without_ours({}, folder) == {}


def run_main(adapter: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["software_adapter.py", *arguments])
    code: int = adapter.main()
    return code


def test_a_sourced_env_does_not_make_our_driver_the_machines_own(
    adapter: Any, drivers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(python: str, settings: Path | None = None) -> tuple[dict[str, str] | None, str]:
        return (CPU if settings or "VK_DRIVER_FILES" in os.environ else None), ""

    monkeypatch.setattr(adapter, "probe", probe)
    monkeypatch.setattr(drivers, "fetch", lambda driver, folder: unpacked(drivers, tmp_path))
    for name in ("LD_LIBRARY_PATH", "VK_ICD_FILENAMES", "VK_DRIVER_FILES"):
        monkeypatch.delenv(name, raising=False)
    assert run_main(adapter, monkeypatch) == 0
    text = (tmp_path / "env").read_text()
    assert "VK_DRIVER_FILES" in text

    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "lavapipe/icd.json"))
    (tmp_path / "decided").unlink()
    assert run_main(adapter, monkeypatch) == 0
    assert (tmp_path / "env").read_text() == text


def test_further_drivers_leave_the_default_as_it_is(
    adapter: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    used: list[str] = []

    def use(driver: Any, python: str, reason: str) -> str:
        used.append(driver.name)
        if driver.name == "lavapipe25":
            raise adapter.SetupError("no backports", "add them")
        return "other\n"

    monkeypatch.setattr(adapter, "probe", lambda python, settings=None: (GPU, ""))
    monkeypatch.setattr(adapter, "use", use)
    monkeypatch.delenv("TINYGATE_SOFTWARE_ADAPTER", raising=False)
    assert run_main(adapter, monkeypatch, "--also", "lavapipe25", "lavapipe", "nonesuch") == 1

    assert used == ["lavapipe25", "lavapipe"]
    assert "export" not in (tmp_path / "env").read_text()
    said = capsys.readouterr().err
    assert "setup: FAILED: no backports\nhint: add them" in said
    assert "setup: FAILED: nonesuch is not a software adapter\nhint: choose one of: lava" in said
