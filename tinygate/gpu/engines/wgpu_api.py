"""What the engines that speak wgpu-py's API have in common: wgpu-native and Dawn.

Nothing here imports either: the module comes in from the engine that was started.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from tinygate.core.adapter import AdapterInfo, AdapterLimits, MatrixConfiguration
from tinygate.core.errors import DeviceError, LimitError, ShaderError
from tinygate.gpu.engines.base import (
    CHUNK_BYTES,
    Buffer,
    Dispatch,
    Kernel,
    Pipeline,
    Words,
)
from tinygate.paths.include import Location

T = TypeVar("T")

_STORAGE_BUFFERS = "max-storage-buffers-per-shader-stage"
_KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "CPU"}
_USAGE = {"read": "read-only-storage", "read_write": "storage", "uniform": "uniform"}


@dataclass(frozen=True)
class Dialect:
    """What tells one engine from another.

    features            tinygate's feature names in the engine's own words
    complaint           the kernel's label, the compiler's text, and where a line of the kernel's
                        text stands -> one line, the place first
    unknown_directives  extensions that the engine does not know as `enable` directives
    unavailable         an adapter -> features it lists or has that cannot be used, each with the
                        reason
    configurations      an adapter -> what its subgroup matrices can be
    toggles             what was switched on for the whole instance
    """

    name: str
    module: Any
    features: Mapping[str, str]
    complaint: Callable[[str, str, Callable[[int], Location]], str]
    unknown_directives: tuple[str, ...] = ()
    unavailable: Callable[[Any], tuple[tuple[str, str], ...]] = lambda _adapter: ()
    configurations: Callable[[Any], tuple[MatrixConfiguration, ...]] = lambda _adapter: ()
    toggles: tuple[str, ...] = field(default=())


class WgpuEngine:
    """An instance and its adapters."""

    def __init__(self, dialect: Dialect) -> None:
        self.name = dialect.name
        self._dialect = dialect
        self._adapters: list[Any] = dialect.module.gpu.enumerate_adapters_sync()

    def adapters(self) -> list[AdapterInfo]:
        """Every adapter of the backends that were started."""
        return [self._describe(index, adapter) for index, adapter in enumerate(self._adapters)]

    def open(self, index: int, features: Sequence[str]) -> WgpuDevice:
        """Open a device with the adapter's own limits, so that none is lower than it need be."""
        adapter = self._adapters[index]
        info = self._describe(index, adapter)
        limits = {name.replace("_", "-"): value for name, value in vars(info.limits).items()}
        # A kernel of another program may declare more than the eight that are always there.
        limits[_STORAGE_BUFFERS] = adapter.limits[_STORAGE_BUFFERS]
        own = self._dialect.features
        device = guarded(
            lambda: adapter.request_device_sync(
                required_features=[own[name] for name in features], required_limits=limits
            )
        )
        return WgpuDevice(self._dialect, device, info)

    def _describe(self, index: int, adapter: Any) -> AdapterInfo:
        info, limits, dialect = adapter.info, adapter.limits, self._dialect
        unavailable = dialect.unavailable(adapter)
        known = {name for name, own in dialect.features.items() if own in adapter.features}
        return AdapterInfo(
            engine=self.name,
            engine_version=dialect.module.__version__,
            index=index,
            name=info["device"],
            kind=cast(Any, _KINDS.get(info["adapter_type"], "unknown")),
            backend=info["backend_type"],
            driver=info["description"],
            features=tuple(sorted(known - {name for name, _ in unavailable})),
            limits=AdapterLimits(
                **{
                    name: int(limits[name.replace("_", "-")])
                    for name in AdapterLimits.__annotations__
                }
            ),
            subgroup_min=info.get("stackgroup_min_size") or None,
            subgroup_max=info.get("stackgroup_max_size") or None,
            unavailable=unavailable,
            matrices=dialect.configurations(adapter),
            toggles=dialect.toggles,
        )


class WgpuDevice:
    """One device. See engines.base.Device."""

    def __init__(self, dialect: Dialect, device: Any, info: AdapterInfo) -> None:
        self._dialect = dialect
        self._wgpu = dialect.module
        self._device = device
        self.info = info
        self._layouts: dict[tuple[str | None, ...], tuple[Any, Any]] = {}
        self._staging: Any = None
        self._unflushed = 0

    def storage(self, nbytes: int) -> Buffer:
        """Make a zeroed storage buffer."""
        usage = self._wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        return cast(Buffer, guarded(lambda: self._device.create_buffer(size=nbytes, usage=flags)))

    def uniform(self, words: Words) -> Buffer:
        """Make a uniform buffer that holds words."""
        usage = self._wgpu.BufferUsage
        flags = usage.UNIFORM | usage.COPY_DST
        return cast(
            Buffer,
            guarded(lambda: self._device.create_buffer_with_data(data=words, usage=flags)),
        )

    def write(self, buffer: Buffer, offset: int, words: Words) -> None:
        """Copy words in chunks, flushed so that staging memory stays at about one chunk's."""
        flat = words.reshape(-1)
        step = CHUNK_BYTES // 4
        for start_word in range(0, flat.size, step):
            part = np.ascontiguousarray(flat[start_word : start_word + step])
            at = offset + 4 * start_word
            guarded(partial(self._device.queue.write_buffer, buffer, at, part))
            self._unflushed += part.nbytes
            if self._unflushed >= CHUNK_BYTES:
                # Until a submission the queue keeps a copy of all that was written.
                guarded(lambda: self._device.queue.submit([]))
                self._wait()

    def read(self, buffer: Buffer, offset: int, words: Words) -> None:
        """Fill words through one staging buffer, a chunk at a time."""
        flat = words.reshape(-1)
        step = CHUNK_BYTES // 4
        for start_word in range(0, flat.size, step):
            part = flat[start_word : start_word + step]
            at = offset + 4 * start_word
            guarded(partial(self._read_chunk, buffer, at, part))

    def _read_chunk(self, buffer: Buffer, offset: int, words: Words) -> None:
        if self._staging is None or self._staging.size < words.nbytes:
            usage = self._wgpu.BufferUsage
            size = min(CHUNK_BYTES, max(words.nbytes, 1 << 16))
            self._staging = self._device.create_buffer(
                size=size, usage=usage.MAP_READ | usage.COPY_DST
            )
        encoder = self._device.create_command_encoder()
        encoder.copy_buffer_to_buffer(buffer, offset, self._staging, 0, words.nbytes)
        self._device.queue.submit([encoder.finish()])
        self._staging.map_sync("READ_NOSYNC", 0, words.nbytes)
        try:
            mapped = self._staging.read_mapped(0, words.nbytes, copy=False)
            words[:] = np.frombuffer(mapped, np.uint32)
        finally:
            self._staging.unmap()

    def compile(self, kernel: Kernel) -> Pipeline:
        """Compile through the engine and the driver."""
        source = kernel.source.without_directives(self._dialect.unknown_directives)
        try:
            module = self._device.create_shader_module(label=source.label, code=source.text)
            pipeline = self._device.create_compute_pipeline(
                label=source.label,
                layout=self._layout(kernel.layout)[1],
                compute={
                    "module": module,
                    "entry_point": kernel.entry,
                    "constants": dict(kernel.constants),
                },
            )
        except Exception as error:  # wgpu raises GPUError, RuntimeError and ValueError here
            raise ShaderError(
                self._dialect.complaint(source.label, message(error), source.at),
                "the words are the engine's own: fix the kernel there and run again",
            ) from error
        return cast(Pipeline, (pipeline, kernel.layout))

    def submit(self, dispatches: Sequence[Dispatch]) -> None:
        """Encode all dispatches in one pass, submit, and wait."""
        guarded(lambda: self._submit(dispatches))
        self._wait()

    def close(self) -> None:
        """Destroy the device."""
        self._device.destroy()

    def _submit(self, dispatches: Sequence[Dispatch]) -> None:
        encoder = self._device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        for dispatch in dispatches:
            pipeline, layout = cast(tuple[Any, tuple[str | None, ...]], dispatch.pipeline)
            group = self._device.create_bind_group(
                layout=self._layout(layout)[0],
                entries=[
                    {
                        "binding": slot,
                        "resource": {"buffer": b.buffer, "offset": b.offset, "size": b.size},
                    }
                    for slot, b in enumerate(dispatch.bindings)
                    if b is not None
                ],
            )
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(*dispatch.groups)
        compute.end()
        self._device.queue.submit([encoder.finish()])

    def _wait(self) -> None:
        self._unflushed = 0
        # Not queue.on_submitted_work_done_sync: in wgpu 0.32 its callback has the wrong signature.
        guarded(self._device._poll_wait)

    def _layout(self, access: tuple[str | None, ...]) -> tuple[Any, Any]:
        if access not in self._layouts:
            group = self._device.create_bind_group_layout(
                entries=[
                    {
                        "binding": slot,
                        "visibility": self._wgpu.ShaderStage.COMPUTE,
                        "buffer": {"type": _USAGE[kind]},
                    }
                    for slot, kind in enumerate(access)
                    if kind is not None
                ]
            )
            self._layouts[access] = (
                group,
                self._device.create_pipeline_layout(bind_group_layouts=[group]),
            )
        return self._layouts[access]


def guarded(call: Callable[[], T]) -> T:
    """Run a wgpu call; whatever it raises becomes a DeviceError, or a LimitError for memory."""
    try:
        return call()
    except MemoryError as error:
        raise LimitError(
            f"the device is out of memory: {message(error)}", "use a smaller --shape"
        ) from error
    except Exception as error:
        text = message(error)
        lost = "lost" in text.lower()
        raise DeviceError(
            f"device lost: {text}" if lost else f"the engine rejected a call: {text}",
            "run again; if it stays, another driver or --adapter may work",
        ) from error


def message(error: BaseException) -> str:
    """Give the engine's text without the preamble that wgpu puts before every error."""
    lines = [line.rstrip() for line in str(error).splitlines()]
    kept = [
        line
        for line in lines
        if line.strip()
        and line.strip() not in ("Validation Error", "Caused by:")
        and not line.strip().startswith("In wgpu")
    ]
    return "\n".join(kept) or type(error).__name__
