"""The software drivers that `scripts/test` unpacks beside the one the tests themselves run on.

A Vulkan loader reads its settings once, so whatever uses another driver is a process of its own:
`subprocess.run(..., env=drivers.environment("lavapipe25"))`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).resolve().parent.parent / ".adapter"


def environment(name: str) -> dict[str, str]:
    """This process's environment with the named driver's settings in place of any other's.

    The test fails where the driver is not unpacked, and is skipped with TINYGATE_NO_ADAPTER=1.
    """
    if os.environ.get("TINYGATE_NO_ADAPTER") == "1":
        pytest.skip("TINYGATE_NO_ADAPTER=1")
    settings = ADAPTERS / name / "env"
    if not (ADAPTERS / name / "ready").is_file() or not settings.is_file():
        pytest.fail(
            f"the software driver {name} is not unpacked in {ADAPTERS}\n"
            f"hint: scripts/setup {name} unpacks it, or says why it cannot; scripts/test does so "
            "by itself, and TINYGATE_NO_ADAPTER=1 skips the tests that need an adapter"
        )
    done = subprocess.run(
        ["/bin/sh", "-euc", '. "$0" && env -0', str(settings)],
        env=_ordinary(),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)


def _ordinary() -> dict[str, str]:
    """This process's environment without the settings of the driver that the tests run on."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("VK_")}
    variables.pop("TINYGATE_WORKER_PYTHON", None)
    folders = variables.pop("LD_LIBRARY_PATH", "").split(":")
    kept = [folder for folder in folders if folder and ADAPTERS.name not in Path(folder).parts]
    if kept:
        variables["LD_LIBRARY_PATH"] = ":".join(kept)
    return variables
