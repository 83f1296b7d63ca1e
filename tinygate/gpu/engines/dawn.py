"""Dawn, the engine behind Chrome: WGSL goes through Tint. From the package wgpudawn, which has
wgpu-py's API and lives beside wgpu in one process.

wgpudawn is imported inside functions only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tinygate.core.adapter import MatrixConfiguration
from tinygate.gpu.engines import tint
from tinygate.gpu.engines.wgpu_api import Dialect, WgpuEngine

_MATRIX = "chromium-experimental-subgroup-matrix"
_FEATURES = {
    "shader-f16": "shader-f16",
    "subgroups": "subgroups",
    "subgroup-matrix": _MATRIX,
    "timestamp-query": "timestamp-query",
}
# What Chrome keeps off by itself, and the feature that is not to be had without it. They hold for
# the whole instance, so they are set only for a run that asks for the feature, and reported.
_TOGGLES = {
    "subgroup-matrix": "allow_unsafe_apis",
    "shader-f16": "vulkan_enable_f16_on_nvidia",
}


def start(*, every_backend: bool, features: Sequence[str] = ()) -> WgpuEngine:  # noqa: ARG001
    """Start the engine with the toggles that the wanted features need.

    Dawn has no OpenGL adapter that would be a last resort, so `every_backend` changes nothing.
    """
    import wgpudawn
    from wgpudawn.backends.dawn import extras

    toggles = tuple(toggle for name, toggle in _TOGGLES.items() if name in features)
    # A program that has used Dawn before keeps the instance it has, and so its own toggles.
    try:
        extras.set_instance_extras(enable_toggles=list(toggles))
    except RuntimeError:
        toggles = ()
    return WgpuEngine(
        Dialect(
            name="dawn",
            module=wgpudawn,
            features=_FEATURES,
            complaint=tint.one_line,
            configurations=lambda adapter: _configurations(extras, adapter),
            toggles=toggles,
        )
    )


def _configurations(extras: ModuleType, adapter: Any) -> tuple[MatrixConfiguration, ...]:
    """Read what the adapter lists, in its own order."""
    if _MATRIX not in adapter.features:
        return ()
    found = extras.get_adapter_properties(adapter).get("subgroup_matrix_configs", ())
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return tuple(
            MatrixConfiguration(
                component=str(one["component_type"]),
                result=str(one["result_component_type"]),
                M=int(one["m"]),
                N=int(one["n"]),
                K=int(one["k"]),
            )
            for one in found
        )
    return ()
