"""Describe adapters as engines report them, and choose the one to use. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tinygate.core.errors import NoAdapterError, UnknownNameError

Kind = Literal["discrete", "integrated", "CPU", "unknown"]


@dataclass(frozen=True)
class AdapterLimits:
    """The adapter limits that decide whether a product fits, in bytes or counts."""

    max_buffer_size: int
    max_storage_buffer_binding_size: int
    max_compute_workgroups_per_dimension: int
    max_compute_invocations_per_workgroup: int
    max_compute_workgroup_storage_size: int
    min_storage_buffer_offset_alignment: int


@dataclass(frozen=True)
class MatrixConfiguration:
    """One subgroup-matrix shape: [M,K] x [K,N] of `component`, summed in `result` (WGSL types)."""

    component: str
    result: str
    M: int
    N: int
    K: int

    @property
    def sizes(self) -> str:
        """`16x8x16`: M, N and K, in the order that drivers use."""
        return f"{self.M}x{self.N}x{self.K}"


@dataclass(frozen=True)
class AdapterInfo:
    """One adapter of one engine, as the engine describes it.

    `features` are tinygate's names (core.vocabulary.FEATURES). Subgroup sizes are the advertised
    range, None if the engine does not report it.

    unavailable      features that the adapter has but tinygate cannot use, each with the reason
    matrices         the supported subgroup-matrix shapes
    toggles          engine options that were switched on for the process
    """

    engine: str
    engine_version: str
    index: int
    name: str
    kind: Kind
    backend: str
    driver: str
    features: tuple[str, ...]
    limits: AdapterLimits
    subgroup_min: int | None = None
    subgroup_max: int | None = None
    unavailable: tuple[tuple[str, str], ...] = ()
    matrices: tuple[MatrixConfiguration, ...] = ()
    toggles: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Index, name, kind and backend on one line."""
        return f"{self.index}: {self.name} ({self.kind}, {self.backend})"

    @property
    def identity(self) -> tuple[str, str]:
        """Engine with version, and adapter with backend and driver; results may depend on both."""
        return (
            f"{self.engine} {self.engine_version}",
            f"{self.name} · {self.backend} · {self.driver}",
        )


@dataclass(frozen=True)
class MeasuredNumerics:
    """The numeric behaviour that probes measured on an open device.

    subgroup_size            lanes that ran together; None if the adapter has no subgroups
    f32_round_to_nearest     whether 1 + 1.5 * 2^-24 gives 1 + 2^-23
    f16_round_to_nearest     whether pack2x16float rounds to nearest (WGSL allows either neighbour)
    f16_subnormals           whether pack2x16float and unpack2x16float keep f16 subnormals
    workgroup_memory_zeroed  whether workgroup memory starts at zero, as WGSL promises
    loop_limit               the iterations after which the driver silently ends loops; None if
                             70,000 ran to their end
    """

    subgroup_size: int | None = None
    f32_round_to_nearest: bool = True
    f16_round_to_nearest: bool = True
    f16_subnormals: bool = True
    # A group finds what another left only by chance: no reason to take two processes' adapters for
    # different ones.
    workgroup_memory_zeroed: bool = field(default=True, compare=False)
    loop_limit: int | None = None


@dataclass(frozen=True)
class Platform:
    """One engine on one adapter with its measured numerics; both None if no adapter opened."""

    engine: str
    adapter: AdapterInfo | None
    numerics: MeasuredNumerics | None


# In order of preference.
_KINDS: tuple[Kind, ...] = ("discrete", "integrated", "unknown", "CPU")
_PREFERRED_BACKENDS = ("Vulkan", "Metal", "D3D12")


def rank(adapter: AdapterInfo) -> tuple[int, bool, int]:
    """Return the sort key: kind, then Vulkan, Metal or Direct3D 12 before OpenGL, then index."""
    return (
        _KINDS.index(adapter.kind),
        adapter.backend not in _PREFERRED_BACKENDS,
        adapter.index,
    )


def choose(
    adapters: Sequence[AdapterInfo], query: str | None = None, *, engine: str = ""
) -> AdapterInfo:
    """Choose the preferred adapter, among those that match the query if there is one.

    query: an index, or part of a name; case is ignored.
    engine: the engine that lists these adapters; with none listed, the error depends on it.

    Raises:
        NoAdapterError: the list is empty.
        UnknownNameError: no adapter matches; the message lists them.
    """
    if not adapters and engine == "dawn":
        raise NoAdapterError(
            "no WebGPU adapter for Dawn; it does not support old drivers such as Mesa before 25",
            "update the driver, try --engine native, or from a clone scripts/setup lavapipe25",
        )
    if not adapters:
        raise NoAdapterError(
            "no WebGPU adapter: neither a GPU driver nor a software driver was found",
            "install a Vulkan driver (Debian: mesa-vulkan-drivers), or run scripts/verify",
        )
    if query is None:
        return min(adapters, key=rank)
    if query.isascii() and query.isdigit():
        index = query.lstrip("0") or "0"
        found = [adapter for adapter in adapters if str(adapter.index) == index]
    else:
        found = [adapter for adapter in adapters if query.lower() in adapter.name.lower()]
    if not found or not query:
        listed = ", ".join(adapter.summary for adapter in adapters)
        raise UnknownNameError(
            f"no adapter matches {query!r}; the adapters are {listed}",
            "tinygate probe",
            option="--adapter",
        )
    return min(found, key=rank)


def notes(adapters: Sequence[AdapterInfo], chosen: AdapterInfo) -> tuple[str, ...]:
    """List the notes that a reader needs about the chosen adapter."""
    if chosen.kind != "CPU":
        return ()
    gpu = next((a for a in sorted(adapters, key=rank) if a.kind != "CPU"), None)
    if gpu is not None:
        return (
            f"{chosen.name} is a software adapter, though {gpu.name} is available: "
            "its verdicts say nothing about that GPU",
        )
    return (f"{chosen.name} is a CPU adapter: its verdicts say nothing about a GPU",)


def reason(chosen: AdapterInfo, adapters: Sequence[AdapterInfo], query: str | None) -> str:
    """Say in words why this adapter was chosen."""
    if query is not None:
        return f"--adapter {query}"
    if len(adapters) == 1:
        return "the only adapter"
    return f"{chosen.kind} on {chosen.backend} is preferred"
