"""Make the dispatches of `tinygate verify --shape 64x128x128` with little more than wgpu and numpy.

This is the yardstick of benchmarks/startup.py: the same kernels, the same inputs, the same number
of dispatches and readbacks and a plain comparison at the end, but no guards, no worker process and
no report. Of tinygate it uses only the reader of kernels.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import wgpu

from tinygate.core.fast_path import wgsl_file
from tinygate.paths.source import load_source

M, K, N = 64, 128, 128


class Bare:
    """A device, and the few calls on it that the dispatches need."""

    def __init__(self) -> None:
        self.adapter: Any = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        self.device = self.adapter.request_device_sync(
            required_features=[name for name in ("subgroup",) if name in self.adapter.features]
        )
        self.usage = (
            wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        )
        visibility = wgpu.ShaderStage.COMPUTE
        kinds = ["read-only-storage", "read-only-storage", "storage", "uniform", "storage"]
        self.layouts: dict[int, Any] = {
            count: self.device.create_bind_group_layout(
                entries=[
                    {"binding": i, "visibility": visibility, "buffer": {"type": kind}}
                    for i, kind in enumerate(kinds[:count])
                ]
            )
            for count in (4, 5)
        }
        self.pipelines: dict[tuple[str, str], Any] = {}

    def buffer(self, data: Any) -> Any:
        """Upload an array into a new buffer."""
        return self.device.create_buffer_with_data(
            data=np.ascontiguousarray(data), usage=self.usage
        )

    def run(self, file: str, entry: str, groups: int, buffers: list[Any], dims: list[int]) -> None:
        """Dispatch a kernel; the uniform is binding 3, between the buffers."""
        count = len(buffers) + 1
        if (file, entry) not in self.pipelines:
            layout = self.device.create_pipeline_layout(bind_group_layouts=[self.layouts[count]])
            code = load_source(wgsl_file(file)).without_directives(["subgroups"]).text
            self.pipelines[file, entry] = self.device.create_compute_pipeline(
                layout=layout,
                compute={
                    "module": self.device.create_shader_module(code=code),
                    "entry_point": entry,
                },
            )
        uniform = self.device.create_buffer_with_data(
            data=np.array([*dims, 0], np.uint32),
            usage=wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST,
        )
        bound = [*buffers[:3], uniform, *buffers[3:]]
        group = self.device.create_bind_group(
            layout=self.layouts[count],
            entries=[{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(bound)],
        )
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(self.pipelines[file, entry])
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(groups)
        compute.end()
        self.device.queue.submit([encoder.finish()])

    def read(self, source: Any, dtype: Any) -> Any:
        """Read a buffer back."""
        return np.frombuffer(self.device.queue.read_buffer(source), dtype)

    def probe(self, file: str, words: int, groups: int = 1) -> None:
        """Run one of the numeric probes."""
        given = np.ones(16, np.uint32)
        given[6] = 70_000  # iterations of numerics.wgsl's loop
        out = self.buffer(np.zeros(words, np.uint32))
        a, b, status = (
            self.buffer(np.zeros(8)),
            self.buffer(given),
            self.buffer(np.zeros(8)),
        )
        self.run(file, "main", groups, [a, b, out, status], [0, 1, 1])
        self.read(out, np.uint32)


def operands(family: str) -> tuple[Any, Any]:
    """Draw A and B as the input family has them."""
    rng = np.random.default_rng(12345)
    if family == "integer":
        A = rng.integers(1, 3, (M, K)).astype(np.float32)
        B = rng.integers(1, 100, (K, N)).astype(np.float32)
    else:
        low, high = (0.0, 0.4) if family == "positive" else (-0.2, 0.2)
        A = rng.uniform(low, high, (M, K)).astype(np.float32)
        B = rng.uniform(low, high, (K, N)).astype(np.float32)
    return A, B


def products(bare: Bare, family: str) -> tuple[Any, Any]:
    """Compute one family's reference R and candidate F."""
    A, B = operands(family)
    a, b = bare.buffer(A), bare.buffer(B)
    packed = bare.buffer(np.zeros(K * N // 2, np.uint32))
    status = bare.buffer(np.zeros(64, np.uint32))
    R = A @ B
    if family in ("uniform", "positive"):
        c = bare.buffer(np.zeros(M * N, np.float32))
        bare.run("matmul/f32.wgsl", "main", 2, [a, b, c], [M, K, N])
        R = bare.read(c, np.float32).reshape(M, N)
    bare.run("pack/f16.wgsl", "main", K * N // 128, [a, b, packed, status], [0, K, N])
    bare.read(packed, np.uint32)
    out = bare.buffer(np.zeros(K * N, np.uint32))
    bare.run("probe/convert_f16.wgsl", "main", K * N // 64, [a, b, out, status], [0, 1, K * N])
    bare.read(out, np.uint32)
    F = R
    for _ in range(2):
        c = bare.buffer(np.zeros(M * N, np.float32))
        bare.run("matmul/f16_storage.wgsl", "main", 2, [a, packed, c], [M, K, N])
        F = bare.read(c, np.float32).reshape(M, N)
    return R, F


def main() -> None:
    """Run the four default families and print the activation rule's numbers for uniform."""
    bare = Bare()
    bare.probe("probe/numerics.wgsl", 128, 128)
    if "subgroup" in bare.adapter.features and "--subgroups" in sys.argv:
        bare.probe("probe/subgroup.wgsl", 128)
    for family in ("uniform", "positive", "integer", "identity"):
        R, F = products(bare, family)
        if family == "uniform":
            m = float(np.abs(R).mean())
            error = np.abs(F.astype(np.float64) - R)
            relative = error / np.maximum(np.abs(R), 0.01 * m)
            print(f"mean|ref|={m:.2e} max_abs={error.max():.2e} mean_rel={relative.mean():.3%}")


if __name__ == "__main__":
    main()
