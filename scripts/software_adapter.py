"""Decide which adapter the scripts run on, and unpack a software one where the machine has none.

Standard library only. The outcome is `.adapter/env`, a shell file for the other scripts to source:
empty where the machine has an adapter of its own, else the settings that lead a Vulkan loader to
a driver unpacked under `.adapter/NAME` from the distribution's own packages.

A further driver is one more row below.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debian_packages import PrivateApt, SetupError, library_folders, run, say, unresolved

FOLDER = Path(__file__).resolve().parent.parent / ".adapter"
OVERRIDE = "TINYGATE_SOFTWARE_ADAPTER"


@dataclass(frozen=True)
class Driver:
    """One software driver.

    packages: asked of apt by name; whatever they need and the machine lacks comes along.
    icd: the driver's manifest, a pattern below the packages' usr/share/vulkan/icd.d.
    """

    name: str
    packages: tuple[str, ...]
    icd: str


_ROWS = (Driver("lavapipe", packages=("libvulkan1", "mesa-vulkan-drivers"), icd="lvp_icd.*json"),)
DRIVERS = {driver.name: driver for driver in _ROWS}
DEFAULT = "lavapipe"


def read_adapters(text: str) -> list[dict[str, Any]]:
    """The adapters in what `tinygate probe --json` printed; none where it printed nothing."""
    if not text.strip():
        return []
    report = json.loads(text)
    adapters = report.get("adapters", [])
    return [adapter for adapter in adapters if isinstance(adapter, dict)]


def usable(adapters: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The adapter to rely on, a GPU first. OpenGL does not count: it lacks shader-f16."""
    real = [adapter for adapter in adapters if adapter.get("backend") != "OpenGL"]
    gpus = [adapter for adapter in real if adapter.get("kind") != "CPU"]
    return next(iter(gpus + real), None)


def manifest(text: str, library: Path) -> str:
    """A Vulkan driver manifest that names its library by absolute path."""
    document = json.loads(text)
    document["ICD"]["library_path"] = str(library)
    return json.dumps(document, indent=2) + "\n"


def environment(manifest: Path, libraries: Sequence[Path], runtime: Path) -> str:
    """The shell lines that lead a Vulkan loader to this driver and to no other."""
    icd = shlex.quote(str(manifest))
    path = shlex.quote(":".join(map(str, libraries)))
    return (
        f"export VK_DRIVER_FILES={icd}\n"
        f"export VK_ICD_FILENAMES={icd}\n"
        f'export LD_LIBRARY_PATH={path}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
        f'[ -n "${{XDG_RUNTIME_DIR:-}}" ] || export XDG_RUNTIME_DIR={shlex.quote(str(runtime))}\n'
    )


def probe(python: str, settings: Path | None = None) -> tuple[dict[str, Any] | None, str]:
    """What `tinygate probe` finds and says; `settings` is an environment file to source first."""
    command = [python, "-P", "-m", "tinygate", "probe", "--json"]
    if settings is not None:
        command = ["sh", "-c", '. "$0" && exec "$@"', str(settings), *command]
    done = run(command)
    trouble = SetupError(
        f"tinygate probe gave no list of adapters (exit code {done.returncode})",
        f"run it alone: {shlex.join(command)}; "
        f"to pass over a broken GPU driver set {OVERRIDE}={DEFAULT}",
        done.stdout + done.stderr,
    )
    if done.returncode not in (0, 3):
        raise trouble
    try:
        return usable(read_adapters(done.stdout)), done.stderr
    except (ValueError, AttributeError, TypeError):
        raise trouble from None


def fetch(driver: Driver, folder: Path) -> None:
    """Download the driver's packages and unpack them into folder/root, complete or not at all."""
    for tool in ("apt-get", "dpkg", "ldd"):
        if shutil.which(tool) is None:
            raise SetupError(
                f"no Vulkan or Metal adapter, and no {tool} to unpack a software one with",
                "install a Vulkan driver (Mesa's lavapipe is a software one) and run this again",
            )
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    root = work / "root"
    root.mkdir(parents=True)
    apt = PrivateApt(work)
    planned = apt.resolve(driver.packages)
    # Named ones always (apt leaves them out where they are installed), then what is new. An
    # upgrade of what the machine has is rarely needed by the driver; ldd is the judge of that.
    new = [package for package in planned if not package.upgrade]
    named = [name for name in driver.packages if name not in {package.name for package in new}]
    apt.unpack([*named, *(package.pinned for package in new)], root)
    libraries = [find_library(driver, root), *root.glob("usr/lib/*-linux-*/libvulkan.so.1")]
    missing = unresolved(libraries, root)
    # Never the C library: one that differs from the running Python's ends in a crash.
    upgrades = [
        package.pinned
        for package in planned
        if package.upgrade and not package.name.startswith("libc6")
    ]
    if missing and upgrades:
        say("the machine's own libraries are too old for the driver: taking newer ones beside it")
        apt.unpack(upgrades, root)
        missing = unresolved(libraries, root)
    if missing:
        raise SetupError(
            f"{driver.name}'s driver needs what this machine lacks: {', '.join(missing)}",
            f"as root: apt-get install {' '.join(driver.packages)}; then run this again",
        )
    root.rename(folder / "root")
    (folder / "ready").write_text(identity(driver))
    shutil.rmtree(work)


def find_manifest(driver: Driver, root: Path) -> Path:
    """The driver's own manifest."""
    for path in sorted(root.glob(f"usr/share/vulkan/icd.d/{driver.icd}")):
        return path
    raise SetupError(
        f"the packages {' and '.join(driver.packages)} hold no {driver.icd}",
        f"this distribution builds Mesa without {driver.name}: install another Vulkan driver",
    )


def find_library(driver: Driver, root: Path) -> Path:
    """The shared library that the driver's own manifest names."""
    named = json.loads(find_manifest(driver, root).read_text())["ICD"]["library_path"]
    for folder in library_folders(root):
        if (path := folder / Path(named).name).exists():
            return path
    raise SetupError(
        f"{Path(named).name} is not among the packages {' and '.join(driver.packages)}",
        "install a Vulkan driver with the system's package manager and run this again",
    )


def identity(driver: Driver) -> str:
    """What an unpacked driver belongs to: its row above, the distribution, the processor."""
    release: dict[str, str] = {}
    with contextlib.suppress(OSError):
        release = platform.freedesktop_os_release()
    system = f"{release.get('ID')} {release.get('VERSION_ID')} {platform.machine()}"
    return f"{driver}\n{system}\n"


def activate(driver: Driver) -> tuple[str, bool]:
    """The environment text for an unpacked driver, unpacking it first; and whether it is new."""
    folder = FOLDER / driver.name
    ready = folder / "ready"
    fresh = not ready.is_file() or ready.read_text() != identity(driver)
    if fresh:
        fetch(driver, folder)
    # Written at each run, since the clone may have been moved.
    root = folder / "root"
    icd = folder / "icd.json"
    icd.write_text(manifest(find_manifest(driver, root).read_text(), find_library(driver, root)))
    runtime = FOLDER / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return environment(icd, library_folders(root), runtime), fresh


def surroundings() -> str:
    """Where a change of adapter would show: devices, drivers, loaders, settings, dependencies."""
    patterns = (
        "dev/dri/*",
        "dev/dxg",
        "dev/nvidia*",
        "etc/vulkan/icd.d/*",
        "usr/local/share/vulkan/icd.d/*",
        "usr/share/vulkan/icd.d/*",
        "usr/lib*/libvulkan.so.1",
        "usr/lib/*/libvulkan.so.1",
    )
    machine = [path for pattern in patterns for path in Path("/").glob(pattern)]
    home = Path(os.environ.get("HOME", "/"), ".local/share/vulkan/icd.d").glob("*")
    project = FOLDER.parent / "pyproject.toml"
    paths = [path for path in (*machine, *home, project) if path.exists()]
    files = [f"{path} {path.stat().st_mtime_ns}" for path in paths]
    prefixes = ("LD_LIBRARY_PATH", "TINYGATE_", "VK_", "WGPU_")
    settings = [
        f"{name}={value}" for name, value in os.environ.items() if name.startswith(prefixes)
    ]
    return "\n".join(sorted(files) + sorted(settings))


def decide(python: str) -> str:
    """The driver to use, or "own" for the machine's own adapter; asks tinygate only after a change.

    Asking takes seconds, and a second run should not: the last answer is kept with what it
    depended on.
    """
    seen = surroundings()
    with contextlib.suppress(OSError):
        name, _, then = (FOLDER / "decided").read_text().partition("\n")
        if then == seen and name in ("own", *DRIVERS):
            return name
    return DEFAULT if probe(python)[0] is None else "own"


def prepare(python: str, wanted: str) -> None:
    """Write .adapter/env. `wanted` names a driver to use whatever the machine has, or is empty."""
    settings = FOLDER / "env"
    if wanted and wanted not in DRIVERS:
        raise SetupError(
            f"{OVERRIDE}={wanted} is not a software adapter",
            f"choose one of: {', '.join(DRIVERS)}",
        )
    name = wanted or decide(python)
    if name == "own":
        settings.write_text("# The machine has an adapter of its own.\n")
    else:
        use(DRIVERS[name], python, settings, f"{OVERRIDE}={wanted}" if wanted else "no GPU found")
    if not wanted:
        (FOLDER / "decided").write_text(f"{name}\n{surroundings()}")


def use(driver: Driver, python: str, settings: Path, reason: str) -> None:
    """Write the settings of a software driver; one just unpacked has to be found by tinygate."""
    if ":" in str(FOLDER):
        raise SetupError(
            f"the folder {FOLDER.parent} has a colon in its name, which no library path can hold",
            "move the clone to a folder without one",
        )
    if not (FOLDER / driver.name / "ready").is_file():
        say(f"{reason}: setting up {driver.name}, a software adapter, in {FOLDER}")
    text, fresh = activate(driver)
    settings.write_text(text)
    if not fresh:
        return
    found, said = probe(python, settings)
    if found is None:
        (FOLDER / driver.name / "ready").unlink()
        raise SetupError(
            f"{driver.name} is unpacked, but tinygate finds no adapter in it",
            f"see what it says: . {settings} && VK_LOADER_DEBUG=all {python} -m tinygate probe",
            said,
        )
    say(f"software adapter: {found.get('name')}")


def main() -> int:
    """Exit code 0, 1 after saying what failed, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--python", default=sys.executable, help="the one tinygate is installed in")
    parser.add_argument("--driver", default=os.environ.get(OVERRIDE, ""), help="use this driver")
    options = parser.parse_args()
    try:
        FOLDER.mkdir(exist_ok=True)
        prepare(options.python, options.driver)
    except SetupError as error:
        print(error.render(), file=sys.stderr)
        return 1
    except OSError as error:
        trouble = SetupError(str(error), f"check the space and the permissions of {FOLDER}")
        print(trouble.render(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
