"""Every built-in path on every software driver and both engines: right, or unavailable with reason.

The drivers are processes of their own (drivers.py). A cell of the table is a path on an engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import drivers
import pytest

from tinygate.core.shape import SUITES, Shape
from tinygate.paths.builtin import BUILTIN

pytestmark = pytest.mark.slow

BOTH = ("--engine", "native", "--engine", "dawn")
PATHS = {path.name: path for path in BUILTIN if not path.opt_in}
NO_MATRIX = "adapter lacks subgroup-matrix"
# What a driver has, by engine: a path that requires no more must be active.
FEATURES: dict[tuple[str, str], set[str]] = {
    ("lavapipe25", "native"): {"shader-f16", "subgroups"},
    ("lavapipe25", "dawn"): {"shader-f16", "subgroups"},
    # It lists cooperative-matrix, which wgpu-native cannot switch on.
    ("lavapipe26", "native"): {"shader-f16", "subgroups"},
    ("lavapipe26", "dawn"): {"shader-f16", "subgroups", "subgroup-matrix"},
    ("swiftshader", "native"): {"subgroups"},
    ("swiftshader", "dawn"): {"subgroups"},
}
# One process computes a driver's report, which its tests share.
DRIVERS = [
    pytest.param(driver, marks=pytest.mark.xdist_group(driver))
    for driver in sorted({driver for driver, _ in FEATURES})
]
CELLS = [
    pytest.param(driver, engine, marks=pytest.mark.xdist_group(driver))
    for driver, engine in FEATURES
]


def tinygate(driver: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`tinygate` in a process on that driver."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "tinygate", *arguments],
        env=drivers.environment(driver),
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def report(driver: str) -> dict[str, Any]:
    """Both engines on the driver: the suite smoke, a single element, ragged tiles, a long K beside
    few rows. SwiftShader, which is slow, goes without the long K; docs/measurements holds whole
    suites."""
    shapes = [*SUITES["smoke"], Shape(1, 1, 1), Shape(66, 33, 34)]
    if driver != "swiftshader":
        shapes += [Shape(66, 4099, 34), Shape(12, 8191, 5)]
    more = [word for shape in shapes for word in ("--shape", str(shape))]
    done = tinygate(driver, "verify", *BOTH, *more, "--output-format", "json")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("driver", "engine"), CELLS)
def test_a_path_is_active_or_says_what_is_missing(driver: str, engine: str, path: str) -> None:
    found = {(one["engine"], one["path"]): one for one in report(driver)["paths"]}
    one = found[engine, path]
    lacking = [name for name in PATHS[path].requires if name not in FEATURES[driver, engine]]
    if not lacking:
        assert one["state"] == "active", one["reason"]
        assert {case["status"] for case in one["cases"]} == {"PASS"}
    else:
        assert one["status"] == "SKIP"
        assert all(name in one["missing"] for name in lacking)


@pytest.mark.xdist_group("lavapipe26")
def test_a_feature_that_cannot_be_switched_on_says_why() -> None:
    (native,) = [
        one
        for one in report("lavapipe26")["paths"]
        if (one["engine"], one["path"]) == ("native", "coop-matrix")
    ]
    assert native["missing"] == (
        "subgroup-matrix is listed as cooperative-matrix, but wgpu-native cannot switch "
        "experimental features on; --engine dawn can"
    )


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("what", ["f16-storage", "f32 reference"])
def test_both_engines_compute_the_same_bits(driver: str, what: str) -> None:
    (line,) = [line for line in report(driver)["agreements"] if line.startswith(f"[ops] {what}: ")]
    assert "native and dawn agree bit for bit in " in line


@pytest.mark.parametrize("driver", DRIVERS)
def test_toggles_are_named_where_a_path_needs_them(driver: str) -> None:
    native, dawn = report(driver)["platforms"]
    assert native["adapter"]["toggles"] == []
    assert dawn["adapter"]["toggles"] == ["allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"]
    done = tinygate(
        driver, "verify", "--engine", "dawn", "--path", "f16-storage", "--shape", "4x4x4"
    )
    assert done.returncode == 0, done.stderr
    assert "toggles" not in done.stdout


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("engine", "zeroed"), [("native", False), ("dawn", True)])
def test_only_dawn_zeroes_workgroup_memory(driver: str, engine: str, zeroed: bool) -> None:
    done = tinygate(driver, "probe", "--json", "--engine", engine)
    assert done.returncode == 0, done.stderr
    numerics = json.loads(done.stdout)["numerics"]
    assert numerics["workgroup_memory_zeroed"] is zeroed
    assert numerics["loop_limit"] is None


def test_coop_skip() -> None:
    arguments = ["verify", "--engine", "dawn", "--shape", "17x33x65"]
    arguments += ["--path", "f16-storage", "--path", "coop-matrix"]
    without = tinygate("lavapipe25", *arguments)
    assert without.returncode == 0, without.stderr
    assert f"coop-matrix gate verdict: SKIP — {NO_MATRIX}" in without.stdout
    required = tinygate("lavapipe25", *arguments, "--require", "coop-matrix")
    assert required.returncode == 3
    assert f"required, but skipped: {NO_MATRIX}" in required.stdout


SUMS = ("verify", "--engine", "dawn", "--path", "coop-matrix-f16-sums")


def test_one_small_shape_is_not_enough() -> None:
    small = tinygate("lavapipe26", *SUMS, "--shape", "64x128x128")
    assert small.returncode == 0, small.stdout
    both = tinygate("lavapipe26", *SUMS, "--shape", "64x128x128", "--shape", "256x1024x256")
    assert both.returncode == 1
    assert "rejected (256x1024x256 uniform: max_abs over limit" in both.stdout


@pytest.mark.parametrize("driver", ["lavapipe25", "lavapipe26"])
def test_dawn_names_the_place_of_a_shader_error(driver: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-P", "-m", "tinygate", "new", "mine"], cwd=tmp_path, check=True
    )
    assert made.returncode == 0
    kernel = tmp_path / "mine.wgsl"
    lines = kernel.read_text().splitlines()
    kernel.write_text("\n".join(["fn broken() -> u32 { return 1.5; }", *lines]) + "\n")
    done = tinygate(
        driver,
        "verify",
        "--engine",
        "dawn",
        "--shape",
        "4x4x4",
        "--path",
        str(tmp_path / "mine.toml"),
    )
    assert done.returncode == 3
    assert "mine.wgsl:1:" in done.stdout
