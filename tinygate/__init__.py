"""tinygate decides whether a fast GPU path may be trusted: verified, never merely detected."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinygate.core.errors import (
        CannotVerifyError,
        ConfigError,
        DeviceError,
        InputError,
        LimitError,
        NoAdapterError,
        PackingRefusedError,
        ShaderError,
        ShapeError,
        TinygateError,
        UnknownNameError,
        UsageError,
    )
    from tinygate.core.fast_path import FastPath
    from tinygate.core.kernel_abi import Entry, Layout, Steps
    from tinygate.core.shape import Shape
    from tinygate.ops.gpu_ops import GpuOps
    from tinygate.paths.plugins import PythonPath, refuse_over
    from tinygate.verification.verify import verify

__version__ = "0.1.0"

__all__ = [
    "CannotVerifyError",
    "ConfigError",
    "DeviceError",
    "Entry",
    "FastPath",
    "GpuOps",
    "InputError",
    "Layout",
    "LimitError",
    "NoAdapterError",
    "PackingRefusedError",
    "PythonPath",
    "ShaderError",
    "Shape",
    "ShapeError",
    "Steps",
    "TinygateError",
    "UnknownNameError",
    "UsageError",
    "refuse_over",
    "verify",
]

# Where each name lives; what is not here is an error of core/errors.py. A name is imported when it
# is asked for, so that importing tinygate loads neither numpy nor an engine.
_HOMES = {
    "Entry": "core.kernel_abi",
    "FastPath": "core.fast_path",
    "GpuOps": "ops.gpu_ops",
    "Layout": "core.kernel_abi",
    "PythonPath": "paths.plugins",
    "Shape": "core.shape",
    "Steps": "core.kernel_abi",
    "refuse_over": "paths.plugins",
    "verify": "verification.verify",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tinygate' has no attribute {name!r}")
    home = import_module(f"tinygate.{_HOMES.get(name, 'core.errors')}")
    found = getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
