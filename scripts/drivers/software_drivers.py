"""Unpack software Vulkan drivers, and write the files that point a Vulkan loader to them.

Standard library only. Each driver has a folder: `root` with the libraries, `icd.json` for the
Vulkan loader, `env` for a shell to source, and `ready` once it is complete.

A new driver is one more row below.
"""

from __future__ import annotations

import contextlib
import json
import platform
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from debian_packages import Package, PrivateApt, SetupError, library_folders, say, unresolved
from debian_sources import archive, machine_sources, retarget


@dataclass(frozen=True)
class Driver:
    """One software driver.

    packages: the packages to unpack; their dependencies are added unless installed.
    icd: the driver's manifest, a pattern below the packages' root.
    suites: Debian's suites to take them from, by the machine's codename ("" for any other); the
        last one is preferred. Without an entry: the machine's sources.
    alone: add no dependencies, since the packages hold programs too, which need much more.
    own_libc: it needs a newer C library than the machine's. Every library is unpacked with it, and
        the Python that opens it has to be started through the linker of that C library.
    """

    name: str
    packages: tuple[str, ...]
    icd: str
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alone: bool = False
    own_libc: bool = False


_MESA = ("libvulkan1", "mesa-vulkan-drivers")
_LAVAPIPE = "usr/share/vulkan/icd.d/lvp_icd*.json"
_ROWS = (
    Driver("lavapipe", _MESA, _LAVAPIPE),
    # libdrm is named because the linker accepts an older one, which fails only when called.
    Driver(
        "lavapipe25",
        (*_MESA, "libdrm2", "libdrm-amdgpu1"),
        _LAVAPIPE,
        suites={"bookworm": ("bookworm", "bookworm-backports")},
    ),
    Driver("lavapipe26", _MESA, _LAVAPIPE, {"": ("trixie", "trixie-backports")}, own_libc=True),
    Driver(
        "swiftshader",
        ("libvulkan1", "chromium-common"),
        "usr/lib/chromium/vk_swiftshader_icd.json",
        alone=True,
    ),
)
DRIVERS = {driver.name: driver for driver in _ROWS}
DEFAULT = "lavapipe"


def release() -> Mapping[str, str]:
    """Read the distribution's os-release file."""
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release()
    return {}


def identity(driver: Driver) -> str:
    """Describe what an unpacked driver depends on: its row above, distribution, processor."""
    system = f"{release().get('ID')} {release().get('VERSION_ID')} {platform.machine()}"
    return f"{driver}\n{system}\n"


def suites(driver: Driver, system: Mapping[str, str]) -> tuple[str, ...]:
    """List the suites to take a driver from on this system; none for the machine's sources.

    Raises:
        SetupError: the driver needs Debian's suites, and this system is not Debian.
    """
    if not driver.suites:
        return ()
    if system.get("ID") != "debian":
        raise SetupError(
            f"{driver.name} comes from Debian's packages, and this is {system.get('ID')}",
            "use Debian 12 or 13 (a container will do) for what needs this driver",
        )
    return driver.suites.get(system.get("VERSION_CODENAME", ""), driver.suites.get("", ()))


def apt_for(driver: Driver, work: Path) -> PrivateApt:
    """Set up a private apt with the driver's sources, and read its package lists.

    Raises:
        SetupError: the driver needs other suites, and no source of this machine can be retargeted.
    """
    system = release()
    wanted = suites(driver, system)
    text = ""
    if wanted:
        source = archive(machine_sources(), system.get("VERSION_CODENAME", ""))
        if source is None:
            raise SetupError(
                f"no apt source of this machine is for {system.get('VERSION_CODENAME')} itself, "
                f"so there is no mirror to take {wanted[-1]} from",
                "add the distribution's main archive to the sources in /etc/apt",
            )
        text = retarget(source, wanted)
    apt = PrivateApt(work, text, wanted[-1] if wanted else "", complete=driver.own_libc)
    apt.update()
    return apt


def fetch(driver: Driver, folder: Path) -> None:
    """Download the driver's packages and unpack them into folder/root, completely or not at all.

    Raises:
        SetupError: a program, a package or a library is missing.
    """
    for tool in ("apt-get", "dpkg", "ldd"):
        if shutil.which(tool) is None:
            raise SetupError(
                f"no {tool} to unpack {driver.name}, a software adapter, with",
                "install a Vulkan driver (Mesa's lavapipe is a software one) and run this again",
            )
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    root = work / "root"
    root.mkdir(parents=True)
    apt = apt_for(driver, work)
    planned = [] if driver.alone else apt.resolve(driver.packages)
    # The named packages always (apt's plan omits installed ones), then new dependencies. Upgrades
    # are rarely needed, so they are added only if the linker misses something.
    new = [package for package in planned if not package.upgrade]
    named = [name for name in driver.packages if name not in {package.name for package in new}]
    apt.unpack([*named, *(package.pinned for package in new)], root)
    missing = check(driver, root)
    upgrades = upgradable(planned)
    if missing and upgrades:
        say("the machine's own libraries are too old for the driver: taking newer ones beside it")
        apt.unpack(upgrades, root)
        missing = check(driver, root)
    if missing:
        raise SetupError(
            f"{driver.name} needs libraries that this machine does not have: {', '.join(missing)}",
            f"as root: apt-get install {' '.join(driver.packages)}; then run this again",
        )
    root.rename(folder / "root")
    (folder / "ready").write_text(identity(driver))
    shutil.rmtree(work)


def upgradable(planned: Sequence[Package]) -> list[str]:
    """List the planned upgrades except the C library.

    A C library that differs from the running Python's would crash it.
    """
    return [
        package.pinned
        for package in planned
        if package.upgrade and not package.name.startswith("libc6")
    ]


def check(driver: Driver, root: Path) -> list[str]:
    """Prune root to what the driver can use, and list what the linker does not find for it."""
    library = find_library(driver, root)
    prune(root, (library, find_manifest(driver, root)))
    loaders = [path for folder in library_folders(root) for path in folder.glob("libvulkan.so.1")]
    return unresolved([library, *loaders], root, linker(root) if driver.own_libc else None)


def prune(root: Path, named: Sequence[Path]) -> None:
    """Delete what no driver loads: documents, programs, and other devices' drivers and layers."""
    folders = library_folders(root)
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # not empty
                path.rmdir()
        elif path not in named and (
            path.parent not in folders or path.name.startswith(("libvulkan_", "libVkLayer_"))
        ):
            path.unlink()


def find_manifest(driver: Driver, root: Path) -> Path:
    """Find the driver's manifest below root.

    Raises:
        SetupError: the packages have none.
    """
    for path in sorted(root.glob(driver.icd)):
        return path
    raise SetupError(
        f"the packages {' and '.join(driver.packages)} hold no {driver.icd}",
        f"this distribution builds its packages without {driver.name}: use another Vulkan driver",
    )


def find_library(driver: Driver, root: Path) -> Path:
    """Find the shared library that the driver's manifest names, by path or by name alone.

    Raises:
        SetupError: the packages do not have it.
    """
    manifest = find_manifest(driver, root)
    named = Path(json.loads(manifest.read_text())["ICD"]["library_path"])
    for folder in (manifest.parent, *library_folders(root)):
        if (path := folder / named.name).exists():
            return path
    raise SetupError(
        f"{named.name} is not among the packages {' and '.join(driver.packages)}",
        "install a Vulkan driver with the system's package manager and run this again",
    )


def linker(root: Path) -> Path:
    """Find the dynamic linker of an unpacked C library.

    Raises:
        SetupError: there is none.
    """
    for folder in library_folders(root):
        for path in sorted(folder.glob("ld-linux-*.so.*")):
            return path
    raise SetupError(f"{root} has no dynamic linker", "this processor is not supported")


def manifest(text: str, library: Path) -> str:
    """Rewrite a Vulkan driver manifest to name its library by absolute path."""
    document = json.loads(text)
    document["ICD"]["library_path"] = str(library)
    return json.dumps(document, indent=2) + "\n"


def wrapper(linker: Path, libraries: Sequence[Path], python: str) -> str:
    """Write a shell program that starts Python on another C library than the machine's.

    The library path is an argument of the linker, so that child processes do not inherit it.
    """
    path = shlex.quote(":".join(map(str, libraries)))
    program = shlex.quote(python)
    start = f"{shlex.quote(str(linker))} --library-path {path} --argv0 {program} {program}"
    return f'#!/bin/sh\nexec {start} "$@"\n'


def environment(
    manifest: Path, libraries: Sequence[Path], runtime: Path, worker: Path | None = None
) -> str:
    """Write the shell lines that point a Vulkan loader to this driver alone.

    worker: the Python that has to open the driver, if the driver needs another C library; it finds
        the libraries without LD_LIBRARY_PATH.
    """
    icd = shlex.quote(str(manifest))
    lines = [f"export VK_DRIVER_FILES={icd}", f"export VK_ICD_FILENAMES={icd}"]
    if worker is not None:
        lines.append(f"export TINYGATE_WORKER_PYTHON={shlex.quote(str(worker))}")
    else:
        path = shlex.quote(":".join(map(str, libraries)))
        lines.append(f'export LD_LIBRARY_PATH={path}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"')
        # Undo another of these files that was sourced before, but keep a worker that the user set.
        ours = f"{shlex.quote(str(runtime.parent))}/*"
        drop = "unset TINYGATE_WORKER_PYTHON"
        lines.append(f'case "${{TINYGATE_WORKER_PYTHON:-}}" in {ours}) {drop} ;; esac')
    keep = '[ -n "${XDG_RUNTIME_DIR:-}" ]'
    lines.append(f"{keep} || export XDG_RUNTIME_DIR={shlex.quote(str(runtime))}")
    return "\n".join(lines) + "\n"


def activate(driver: Driver, folder: Path, python: str) -> tuple[str, bool]:
    """Write the env file of a driver, unpacking the driver first if need be.

    Returns the text of the file, and whether the driver was unpacked now.
    """
    ready = folder / "ready"
    fresh = not ready.is_file() or ready.read_text() != identity(driver)
    if fresh:
        fetch(driver, folder)
    # Written at each run, since the clone may have been moved.
    root = folder / "root"
    icd = folder / "icd.json"
    icd.write_text(manifest(find_manifest(driver, root).read_text(), find_library(driver, root)))
    runtime = folder.parent / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    worker = None
    if driver.own_libc:
        worker = folder / "python"
        worker.write_text(wrapper(linker(root), library_folders(root), python))
        worker.chmod(0o755)
    text = environment(icd, library_folders(root), runtime, worker)
    (folder / "env").write_text(text)
    return text, fresh
