"""What `tinygate verify --shape 64x128x128` dispatches, with wgpu and numpy and nothing else of
tinygate than the reader of its kernels.

The yardstick of benchmarks/startup.py: same kernels, same inputs, same number of dispatches and
readbacks, a plain comparison at the end, no guards, no worker process, no report.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import wgpu

from tinygate.core.fast_path import wgsl_file
from tinygate.paths.source import load_source

M, K, N = 64, 128, 128


def main() -> None:
    """Run and print the seed's numbers for the uniform family."""
    adapter: Any = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    device = adapter.request_device_sync(
        required_features=[name for name in ("subgroup",) if name in adapter.features]
    )
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
    visibility = wgpu.ShaderStage.COMPUTE
    kinds = ["read-only-storage", "read-only-storage", "storage", "uniform", "storage"]
    layouts: dict[int, Any] = {
        count: device.create_bind_group_layout(
            entries=[
                {"binding": i, "visibility": visibility, "buffer": {"type": kind}}
                for i, kind in enumerate(kinds[:count])
            ]
        )
        for count in (4, 5)
    }
    pipelines: dict[tuple[str, str], Any] = {}

    def buffer(data: Any) -> Any:
        return device.create_buffer_with_data(data=np.ascontiguousarray(data), usage=usage)

    def run(file: str, entry: str, groups: int, buffers: list[Any], dims: list[int]) -> None:
        count = len(buffers) + 1
        if (file, entry) not in pipelines:
            pipelines[file, entry] = device.create_compute_pipeline(
                layout=device.create_pipeline_layout(bind_group_layouts=[layouts[count]]),
                compute={
                    "module": device.create_shader_module(
                        code=load_source(wgsl_file(file)).without_directives(["subgroups"]).text
                    ),
                    "entry_point": entry,
                },
            )
        uniform = device.create_buffer_with_data(
            data=np.array([*dims, 0], np.uint32),
            usage=wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST,
        )
        bound = [*buffers[:3], uniform, *buffers[3:]]
        group = device.create_bind_group(
            layout=layouts[count],
            entries=[{"binding": i, "resource": {"buffer": b}} for i, b in enumerate(bound)],
        )
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipelines[file, entry])
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(groups)
        compute.end()
        device.queue.submit([encoder.finish()])

    def read(source: Any, dtype: Any) -> Any:
        return np.frombuffer(device.queue.read_buffer(source), dtype)

    def probe(file: str, words: int, groups: int = 1) -> None:
        out = buffer(np.zeros(words, np.uint32))
        given = np.ones(16, np.uint32)
        given[6] = 70_000  # iterations of numerics.wgsl's loop
        run(
            file,
            "main",
            groups,
            [buffer(np.zeros(8)), buffer(given), out, buffer(np.zeros(8))],
            [0, 1, 1],
        )
        read(out, np.uint32)

    probe("probe/numerics.wgsl", 128, 128)
    if "subgroup" in adapter.features and "--subgroups" in sys.argv:
        probe("probe/subgroup.wgsl", 128)
    for family in ("uniform", "positive", "integer", "identity"):
        rng = np.random.default_rng(12345)
        if family == "integer":
            A = rng.integers(1, 3, (M, K)).astype(np.float32)
            B = rng.integers(1, 100, (K, N)).astype(np.float32)
        else:
            low, high = (0.0, 0.4) if family == "positive" else (-0.2, 0.2)
            A = rng.uniform(low, high, (M, K)).astype(np.float32)
            B = rng.uniform(low, high, (K, N)).astype(np.float32)
        a, b = buffer(A), buffer(B)
        packed, status = buffer(np.zeros(K * N // 2, np.uint32)), buffer(np.zeros(64, np.uint32))
        measured = family in ("uniform", "positive")
        R = A @ B
        if measured:
            c = buffer(np.zeros(M * N, np.float32))
            run("matmul/f32.wgsl", "main", 2, [a, b, c], [M, K, N])
            R = read(c, np.float32).reshape(M, N)
        run("pack/f16.wgsl", "main", K * N // 128, [a, b, packed, status], [0, K, N])
        read(packed, np.uint32)
        out = buffer(np.zeros(K * N, np.uint32))
        run("probe/convert_f16.wgsl", "main", K * N // 64, [a, b, out, status], [0, 1, K * N])
        read(out, np.uint32)
        for _ in range(2):
            c = buffer(np.zeros(M * N, np.float32))
            run("matmul/f16_storage.wgsl", "main", 2, [a, packed, c], [M, K, N])
            F = read(c, np.float32).reshape(M, N)
        if family == "uniform":
            m = float(np.abs(R).mean())
            error = np.abs(F.astype(np.float64) - R)
            relative = error / np.maximum(np.abs(R), 0.01 * m)
            print(f"mean|ref|={m:.2e} max_abs={error.max():.2e} mean_rel={relative.mean():.3%}")


if __name__ == "__main__":
    main()
