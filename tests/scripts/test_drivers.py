"""What each unpacked software driver is to each engine: the ground the tests on it stand on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drivers
import pytest

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

# Run in the Python that the driver's env file names: what Dawn finds, with unsafe features on.
DAWN = """\
import json
import wgpudawn
from wgpudawn.backends.dawn import extras
extras.set_instance_extras(enable_toggles=["allow_unsafe_apis"])
found = [
    {
        "name": adapter.info["device"],
        "driver": adapter.info["description"],
        "features": sorted(adapter.features),
        "matrices": extras.get_adapter_properties(adapter).get("subgroup_matrix_configs", []),
    }
    for adapter in wgpudawn.gpu.enumerate_adapters_sync()
]
print(json.dumps(found))
"""
CONFIGURATIONS = {("f16", "f16"), ("f16", "f32"), ("u8", "u32"), ("i8", "i32")}


@dataclass(frozen=True)
class Expected:
    """name: of the device in every engine. mesa: the version in the driver's description."""

    name: str
    mesa: str
    shader_f16: bool
    matrices: bool


EXPECTED = {
    "lavapipe25": Expected("llvmpipe", "Mesa 25.", shader_f16=True, matrices=False),
    "lavapipe26": Expected("llvmpipe", "Mesa 26.", shader_f16=True, matrices=True),
    "swiftshader": Expected("SwiftShader", "", shader_f16=False, matrices=False),
}


def output(command: list[str], environment: dict[str, str]) -> Any:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", EXPECTED)
def test_native_finds_the_driver(name: str) -> None:
    command = [sys.executable, "-P", "-m", "tinygate", "probe", "--json"]
    report = output(command, drivers.environment(name))
    (adapter,) = [found for found in report["adapters"] if found["backend"] == "Vulkan"]

    assert adapter["name"].startswith(EXPECTED[name].name)
    assert EXPECTED[name].mesa in adapter["driver"]
    assert ("shader-f16" in adapter["features"]) == EXPECTED[name].shader_f16
    assert "subgroups" in adapter["features"]


@pytest.mark.parametrize("name", EXPECTED)
def test_dawn_finds_the_driver(name: str) -> None:
    environment = drivers.environment(name)
    python = environment.get("TINYGATE_WORKER_PYTHON", sys.executable)
    (adapter,) = output([python, "-c", DAWN], environment)

    assert adapter["name"].startswith(EXPECTED[name].name)
    assert EXPECTED[name].mesa in adapter["driver"]
    assert ("shader-f16" in adapter["features"]) == EXPECTED[name].shader_f16
    assert "subgroups" in adapter["features"]
    matrix = "chromium-experimental-subgroup-matrix"
    assert (matrix in adapter["features"]) == EXPECTED[name].matrices
    types = {
        (found["component_type"], found["result_component_type"]) for found in adapter["matrices"]
    }
    assert types == (CONFIGURATIONS if EXPECTED[name].matrices else set())


@pytest.mark.parametrize("name", EXPECTED)
def test_the_gate_passes_a_right_path_there(name: str) -> None:
    command = [sys.executable, "-P", "-m", "tinygate", "verify", "--shape", "17x33x65"]
    done = subprocess.run(
        [*command, "--path", "f16-storage"],
        env=drivers.environment(name),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert EXPECTED[name].name in done.stdout.splitlines()[0]


def test_scripts_test_prepares_each_of_them() -> None:
    text = (SCRIPTS / "test").read_text()
    (named,) = [line for line in text.splitlines() if '"$root/scripts/setup" ' in line]
    assert set(named.partition(" ||")[0].split()[1:]) == set(EXPECTED)


def test_a_driver_that_is_missing_is_a_failure_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINYGATE_NO_ADAPTER", raising=False)
    monkeypatch.setattr(drivers, "ADAPTERS", tmp_path)
    with pytest.raises(pytest.fail.Exception, match="hint: scripts/setup lavapipe25 unpacks it"):
        drivers.environment("lavapipe25")
    monkeypatch.setenv("TINYGATE_NO_ADAPTER", "1")
    with pytest.raises(pytest.skip.Exception):
        drivers.environment("lavapipe25")


def test_a_drivers_settings_take_the_place_of_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapters = tmp_path / ".adapter"
    folder = adapters / "new"
    folder.mkdir(parents=True)
    (folder / "ready").touch()
    (folder / "env").write_text("export VK_DRIVER_FILES='a b'\nexport LINES='x\ny'\n")
    monkeypatch.setattr(drivers, "ADAPTERS", adapters)
    monkeypatch.delenv("TINYGATE_NO_ADAPTER", raising=False)
    for variable, value in {
        "VK_ICD_FILENAMES": "other",
        "TINYGATE_WORKER_PYTHON": "other",
        "LD_LIBRARY_PATH": f"{adapters}/old/lib:/mine",
        "MINE": "kept",
    }.items():
        monkeypatch.setenv(variable, value)
    found = drivers.environment("new")

    assert found["VK_DRIVER_FILES"] == "a b"
    assert found["LINES"] == "x\ny"
    assert found["LD_LIBRARY_PATH"] == "/mine"
    assert found["MINE"] == "kept"
    assert not {"VK_ICD_FILENAMES", "TINYGATE_WORKER_PYTHON"} & set(found)
