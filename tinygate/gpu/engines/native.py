"""wgpu-native, the engine behind Firefox: WGSL goes through naga.

WGSL promises that workgroup memory starts at zero. naga can write the code for that, as wgpu's
PipelineCompilationOptions asks for by default, but wgpu-native passes
`zero_initialize_workgroup_memory: false` for every pipeline, and no field of its wgpu.h (29.0.1)
changes it. gpu/probe.py measures what an adapter's memory really holds.

wgpu is imported inside functions only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from tinygate.gpu.engines import naga
from tinygate.gpu.engines.wgpu_api import Dialect, WgpuEngine

_FEATURES = {
    "shader-f16": "shader-f16",
    "subgroups": "subgroup",
    "timestamp-query": "timestamp-query",
}
# naga has subgroup operations but not yet the WGSL directive that asks for them.
_UNKNOWN_DIRECTIVES = ("subgroups",)


def start(*, every_backend: bool, features: Sequence[str] = ()) -> WgpuEngine:  # noqa: ARG001
    """Start the engine; with OpenGL only if every backend is asked for or nothing else is there."""
    import wgpu
    from wgpu.backends.wgpu_native import _helpers
    from wgpu.backends.wgpu_native.extras import set_instance_extras

    if every_backend and not wgpu.gpu.enumerate_adapters_sync():
        # An instance without an adapter has no device either, so nobody misses it. Without a public
        # way to start it anew, its source says to drop this name.
        _helpers._the_instance = None
    if not every_backend:
        # A program that has used wgpu before keeps the instance it has.
        with contextlib.suppress(RuntimeError):
            set_instance_extras(backends=["Vulkan", "Metal", "DX12"])
    return WgpuEngine(
        Dialect(
            name="native",
            module=wgpu,
            features=_FEATURES,
            unknown_directives=_UNKNOWN_DIRECTIVES,
            complaint=naga.one_line,
            unavailable=_unavailable,
        )
    )


def _unavailable(adapter: Any) -> tuple[tuple[str, str], ...]:
    """wgpu-native 29 shows cooperative matrices, and device creation with them fails."""
    if "cooperative-matrix" not in adapter.features:
        return ()
    reason = (
        "listed as cooperative-matrix, but wgpu-native cannot switch experimental features on; "
        "--engine dawn can"
    )
    return (("subgroup-matrix", reason),)
