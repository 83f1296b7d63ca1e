"""One open device for every test that needs one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from runs import Run

from tinygate.core.adapter import MeasuredNumerics, choose
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.errors import NoAdapterError
from tinygate.gate.products import Harness
from tinygate.gpu import engines
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.engines.base import Device
from tinygate.gpu.probe import probe

# No property has a deadline, so that a busy machine is no failure.
settings.register_profile("tinygate", deadline=None)
settings.load_profile("tinygate")


def open_device() -> Device:
    """A device of the preferred adapter, with the features the faults use."""
    engine = engines.load(DEFAULT_ENGINE)
    info = choose(engine.adapters())
    return engine.open(
        info.index, [name for name in ("shader-f16", "subgroups") if name in info.features]
    )


@pytest.fixture(scope="session")
def device() -> Iterator[Device]:
    """A test that needs an adapter fails where none is found, unless the environment says so."""
    if os.environ.get("TINYGATE_NO_ADAPTER") == "1":
        pytest.skip("TINYGATE_NO_ADAPTER=1")
    try:
        opened = open_device()
    except NoAdapterError as error:
        pytest.fail(f"{error.render()}\nTINYGATE_NO_ADAPTER=1 skips the tests that need one")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def harness(device: Device) -> Harness:
    return Harness(Runner(device))


@pytest.fixture(scope="session")
def measured_numerics(harness: Harness) -> MeasuredNumerics:
    return probe(harness.runner)


@pytest.fixture
def run(harness: Harness, measured_numerics: MeasuredNumerics) -> Run:
    return Run(harness, measured_numerics)
