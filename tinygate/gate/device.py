"""Open a device for the gate: the engine's adapters, the one that is used, what it really does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinygate.core.adapter import AdapterInfo, MeasuredNumerics, choose
from tinygate.gate.products import Harness
from tinygate.gpu import engines
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.probe import probe


@dataclass(frozen=True)
class OpenDevice:
    """A device that cases run on, as chosen among the engine's adapters."""

    harness: Harness
    adapter: AdapterInfo
    adapters: tuple[AdapterInfo, ...]
    numerics: MeasuredNumerics


def list_adapters(engine: str, features: Sequence[str]) -> tuple[AdapterInfo, ...]:
    """List every adapter of an engine, last resorts too."""
    return tuple(engines.load(engine, every_backend=True, features=features).adapters())


def open_device(
    engine: str, adapter: str | None, features: Sequence[str], *, every_backend: bool
) -> OpenDevice:
    """Open the adapter that is asked for, with those of the features that it has.

    Raises:
        NoAdapterError: where the engine has none.
        UnknownNameError: where none matches.
        DeviceError: where the driver fails.
    """
    started = engines.load(engine, every_backend=every_backend, features=features)
    adapters = started.adapters()
    chosen = choose(adapters, adapter, engine=engine)
    switched_on = [name for name in features if name in chosen.features]
    runner = Runner(started.open(chosen.index, switched_on))
    return OpenDevice(Harness(runner), chosen, tuple(adapters), probe(runner))
