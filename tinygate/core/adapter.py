"""Adapters as engines describe them, and which one is used. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tinygate.core.errors import NoAdapterError, UnknownNameError

Kind = Literal["discrete", "integrated", "CPU", "unknown"]


@dataclass(frozen=True)
class AdapterLimits:
    """The adapter limits that decide whether a product fits. Bytes, or counts."""

    max_buffer_size: int
    max_storage_buffer_binding_size: int
    max_compute_workgroups_per_dimension: int
    max_compute_invocations_per_workgroup: int
    max_compute_workgroup_storage_size: int
    min_storage_buffer_offset_alignment: int


@dataclass(frozen=True)
class MatrixConfiguration:
    """One shape that subgroup matrices can have: [M,K] x [K,N] of `component` summed up in
    `result`, both types of WGSL."""

    component: str
    result: str
    M: int
    N: int
    K: int

    @property
    def sizes(self) -> str:
        """`16x8x16`: M, N and K in the order in which drivers name them."""
        return f"{self.M}x{self.N}x{self.K}"


@dataclass(frozen=True)
class AdapterInfo:
    """One adapter of one engine, as the engine describes it.

    `features` are tinygate's own names (paths.FEATURES). Subgroup sizes are the advertised range,
    None where the engine does not say.

    unavailable      features that are there in some way and cannot be used, each with the reason
    matrices         the shapes of subgroup matrices
    toggles          what the engine was told to switch on for the whole process
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
        """One line for lists: index, name, kind, backend."""
        return f"{self.index}: {self.name} ({self.kind}, {self.backend})"

    @property
    def identity(self) -> tuple[str, str]:
        """Engine with its version, adapter with backend and driver: what results may depend on."""
        return (
            f"{self.engine} {self.engine_version}",
            f"{self.name} · {self.backend} · {self.driver}",
        )


@dataclass(frozen=True)
class MeasuredNumerics:
    """What probes measured on an open device.

    subgroup_size            lanes that really ran together; None where there are no subgroups
    f32_round_to_nearest     whether 1 + 1.5 * 2^-24 gives 1 + 2^-23
    f16_round_to_nearest     whether pack2x16float rounds to nearest (WGSL allows either neighbour)
    f16_subnormals           whether pack2x16float and unpack2x16float keep f16 subnormals
    workgroup_memory_zeroed  whether workgroup memory starts at zero, as WGSL promises
    loop_limit               iterations after which the driver ends an invocation's loops without a
                             word; None where 70,000 ran to their end
    """

    subgroup_size: int | None = None
    f32_round_to_nearest: bool = True
    f16_round_to_nearest: bool = True
    f16_subnormals: bool = True
    workgroup_memory_zeroed: bool = True
    loop_limit: int | None = None


@dataclass(frozen=True)
class Platform:
    """One engine on one adapter, with what probes measured there; no adapter where none opened."""

    engine: str
    adapter: AdapterInfo | None
    numerics: MeasuredNumerics | None


# A discrete GPU before an integrated one before whatever else before a CPU.
_KINDS: tuple[Kind, ...] = ("discrete", "integrated", "unknown", "CPU")
_PREFERRED_BACKENDS = ("Vulkan", "Metal", "D3D12")


def rank(adapter: AdapterInfo) -> tuple[int, bool, int]:
    """Sort key: kind, then Vulkan, Metal or Direct3D 12 before OpenGL, then the engine's order."""
    return (
        _KINDS.index(adapter.kind),
        adapter.backend not in _PREFERRED_BACKENDS,
        adapter.index,
    )


def choose(
    adapters: Sequence[AdapterInfo], query: str | None = None, *, engine: str = ""
) -> AdapterInfo:
    """The adapter to use: the preferred one, or the preferred one of those the query names.

    query: an index, or part of a name, whatever its case.
    engine: whose adapters these are, where that explains that there are none.

    Raises:
        NoAdapterError: where there is none at all.
        UnknownNameError: where none matches, with the list.
    """
    if not adapters and engine == "dawn":
        raise NoAdapterError(
            "no WebGPU adapter that Dawn takes; it passes over old drivers, Mesa before 25 for one",
            "update the driver, try --engine native, or from a clone scripts/setup lavapipe25",
        )
    if not adapters:
        raise NoAdapterError(
            "no WebGPU adapter: no GPU driver was found, nor a software one",
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
            f"no adapter matches {query!r}; there are {listed}",
            "tinygate probe",
            option="--adapter",
        )
    return min(found, key=rank)


def notes(adapters: Sequence[AdapterInfo], chosen: AdapterInfo) -> tuple[str, ...]:
    """What a reader must know about the choice."""
    if chosen.kind != "CPU":
        return ()
    gpu = next((a for a in sorted(adapters, key=rank) if a.kind != "CPU"), None)
    if gpu is not None:
        return (
            f"{chosen.name} is a software adapter, though {gpu.name} is here: "
            "its verdicts say nothing about that GPU",
        )
    return (f"{chosen.name} is a CPU adapter: its verdicts say nothing about a GPU",)


def reason(chosen: AdapterInfo, adapters: Sequence[AdapterInfo], query: str | None) -> str:
    """Why this adapter, in words."""
    if query is not None:
        return f"--adapter {query}"
    if len(adapters) == 1:
        return "the only adapter"
    return f"{chosen.kind} on {chosen.backend} is preferred"
