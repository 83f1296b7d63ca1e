"""Decide which adapter the scripts run on, and unpack a software adapter if the machine has none.

Standard library only. The outcome is `.adapter/env`, a shell file for the other scripts to source.
It sets nothing if the machine has an adapter; otherwise it points the Vulkan loader to a driver
that was unpacked under `.adapter/NAME` from the distribution's packages. Each unpacked driver also
has such a file, `.adapter/NAME/env`; `--also NAME...` prepares further drivers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from debian_packages import SetupError, run, say
from software_drivers import DEFAULT, DRIVERS, Driver, activate

FOLDER = Path(__file__).resolve().parents[2] / ".adapter"
OVERRIDE = "TINYGATE_SOFTWARE_ADAPTER"


def read_adapters(text: str) -> list[dict[str, Any]]:
    """Parse the adapters that `tinygate probe --json` printed, if it printed anything."""
    if not text.strip():
        return []
    report = json.loads(text)
    adapters = report.get("adapters", [])
    return [adapter for adapter in adapters if isinstance(adapter, dict)]


def usable(adapters: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Choose the adapter to use, a GPU first; one of OpenGL does not count, without shader-f16."""
    real = [adapter for adapter in adapters if adapter.get("backend") != "OpenGL"]
    gpus = [adapter for adapter in real if adapter.get("kind") != "CPU"]
    return next(iter(gpus + real), None)


def probe(python: str, settings: Path | None = None) -> tuple[dict[str, Any] | None, str]:
    """Run `tinygate probe`, and return the adapter to use and what it printed on stderr.

    settings: an env file to source first.

    Raises:
        SetupError: it printed no list of adapters.
    """
    command = [python, "-P", "-m", "tinygate", "probe", "--json"]
    if settings is not None:
        command = ["sh", "-c", '. "$0" && exec "$@"', str(settings), *command]
    done = run(command)
    trouble = SetupError(
        f"tinygate probe gave no list of adapters (exit code {done.returncode})",
        f"run it alone: {shlex.join(command)}; "
        f"to ignore a broken GPU driver set {OVERRIDE}={DEFAULT}",
        done.stdout + done.stderr,
    )
    if done.returncode not in (0, 3):
        raise trouble
    try:
        return usable(read_adapters(done.stdout)), done.stderr
    except (ValueError, AttributeError, TypeError):
        raise trouble from None


def without_ours(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Remove from these variables what an env file below `folder` added to them.

    A clone whose env file is sourced in the calling shell would otherwise mistake its own driver
    for the machine's.
    """

    def kept(entry: str) -> bool:
        return not Path(entry).is_relative_to(folder)

    cleaned = dict(environment)
    for name in ("LD_LIBRARY_PATH", "VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        if name in cleaned:
            cleaned[name] = ":".join(filter(kept, cleaned[name].split(":")))
    for name in ("TINYGATE_WORKER_PYTHON", "XDG_RUNTIME_DIR"):
        if not kept(cleaned.get(name, "")):
            cleaned[name] = ""
    emptied = {name for name, value in cleaned.items() if environment[name] and not value}
    return {name: value for name, value in cleaned.items() if name not in emptied}


def surroundings() -> str:
    """List what a change of adapter would alter: devices, drivers, loaders, settings, packages."""
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
    """Name the driver to use, or "own" for the machine's adapter.

    Asking tinygate takes seconds, so its last answer is kept until something it depends on changes.
    """
    seen = surroundings()
    with contextlib.suppress(OSError):
        name, _, then = (FOLDER / "decided").read_text().partition("\n")
        if then == seen and name in ("own", *DRIVERS):
            return name
    return DEFAULT if probe(python)[0] is None else "own"


def known(name: str) -> Driver:
    """Return the driver of that name.

    Raises:
        SetupError: there is none.
    """
    if name not in DRIVERS:
        raise SetupError(
            f"{name} is not a software adapter", f"choose one of: {', '.join(DRIVERS)}"
        )
    return DRIVERS[name]


def prepare(python: str, wanted: str) -> None:
    """Write .adapter/env.

    wanted: a driver to use even if the machine has an adapter; empty to decide.
    """
    settings = FOLDER / "env"
    name = known(wanted).name if wanted else decide(python)
    if name == "own":
        settings.write_text("# The machine has an adapter of its own.\n")
    else:
        reason = f"{OVERRIDE}={wanted}" if wanted else "no GPU found"
        settings.write_text(use(DRIVERS[name], python, reason))
    if not wanted:
        (FOLDER / "decided").write_text(f"{name}\n{surroundings()}")


def use(driver: Driver, python: str, reason: str) -> str:
    """Unpack a software driver if need be, check that tinygate finds it, and return its env file.

    Raises:
        SetupError: it cannot be unpacked, or tinygate finds no adapter in it.
    """
    if ":" in str(FOLDER):
        raise SetupError(
            f"the folder {FOLDER.parent} has a colon in its name, which no library path can hold",
            "move the clone to a folder without one",
        )
    folder = FOLDER / driver.name
    if not (folder / "ready").is_file():
        say(f"{reason}: setting up {driver.name}, a software adapter, in {FOLDER}")
    text, fresh = activate(driver, folder, python)
    if not fresh:
        return text
    settings = folder / "env"
    try:
        found, said = probe(python, settings)
    except SetupError:
        (folder / "ready").unlink()
        raise
    if found is None:
        (folder / "ready").unlink()
        raise SetupError(
            f"{driver.name} is unpacked, but tinygate finds no adapter in it",
            f"see its messages: . {settings} && VK_LOADER_DEBUG=all {python} -m tinygate probe",
            said,
        )
    say(f"software adapter: {found.get('name')}")
    return text


def main() -> int:
    """Prepare the drivers, and return the exit code: 1 if one failed, 130 after Ctrl-C, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--python", default=sys.executable, help="the one tinygate is installed in")
    parser.add_argument("--driver", default=os.environ.get(OVERRIDE, ""), help="use this driver")
    parser.add_argument("--also", nargs="+", default=[], metavar="NAME", help="prepare these too")
    options = parser.parse_args()
    cleaned = without_ours(os.environ, FOLDER)
    for name in set(os.environ) - set(cleaned):
        del os.environ[name]
    os.environ.update(cleaned)
    failed = False
    for name in ("", *options.also):
        try:
            FOLDER.mkdir(exist_ok=True)
            if name:
                use(known(name), options.python, "for tests")
            else:
                prepare(options.python, options.driver)
        except SetupError as error:
            print(error.render(), file=sys.stderr)
            failed = True
        except OSError as error:
            trouble = SetupError(str(error), f"check the space and the permissions of {FOLDER}")
            print(trouble.render(), file=sys.stderr)
            failed = True
        except KeyboardInterrupt:
            print("setup: interrupted; run it again to continue", file=sys.stderr)
            return 130
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
