"""Measure what WGSL leaves to the adapter, and what it promises and an adapter may not keep.

Left open are rounding, f16 subnormals and the subgroup size. Promised are workgroup memory that
starts at zero and loops that run to their end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.errors import ShaderError
from tinygate.core.fast_path import wgsl_file
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.engines.base import Binding, Words
from tinygate.gpu.kernel import pack_kernel

_ULP = 2.0**-23  # of f32 at 1
_F16_ULP = 2.0**-10
_F16_SUBNORMAL = 2.0**-20
# llvmpipe's Mesa 22.3 ends loops after 65,535 iterations.
_ITERATIONS = 70_000
_FACTOR = 1664525
# More than a CPU adapter has threads, so that some group runs where another one has been.
_GROUPS = 128


def probe(runner: Runner) -> MeasuredNumerics:
    """Run the probe kernels on an open device, and set the runner's subgroup size."""
    device = runner.device
    if "subgroups" in device.info.features:
        runner.subgroup_size = _subgroup_size(runner)
    values = np.array(
        [1.0, 0.75 * _ULP, 0.25 * _ULP, 1 + 0.75 * _F16_ULP, _F16_SUBNORMAL], np.float32
    )
    halves_bits = 0x0010  # an f16 subnormal, 2^-20
    rest = np.array([halves_bits, _ITERATIONS, 1, _FACTOR, 0xDEADBEEF, 7, 7], np.uint32)
    words = np.concatenate([values.view(np.uint32), rest])
    out = _run(runner, "probe/numerics.wgsl", words, 8, groups=_GROUPS, times=2)
    sums = out[:2].view(np.float32).astype(np.float64)
    halves = out[2:4].view("<f2")[::2].astype(np.float64)
    return MeasuredNumerics(
        subgroup_size=runner.subgroup_size,
        f32_round_to_nearest=bool(np.array_equal(sums, [1 + _ULP, 1.0])),
        f16_round_to_nearest=bool(halves[0] == 1 + _F16_ULP),
        f16_subnormals=bool(halves[1] == _F16_SUBNORMAL)
        and float(out[4:5].view(np.float32)[0]) == _F16_SUBNORMAL,
        workgroup_memory_zeroed=not out[7],
        loop_limit=loop_limit(int(out[5]), int(out[6])),
    )


def loop_limit(iterations: int, state: int) -> int | None:
    """Give the number of iterations after which a loop was ended; None where it ran to its end.

    iterations, state: as the probe left them; a loop that ran to its end has done _ITERATIONS of
    them, and multiplied by _FACTOR in each.
    """
    if state == pow(_FACTOR, _ITERATIONS, 1 << 32):
        return None
    return min(iterations, _ITERATIONS - 1)


def _subgroup_size(runner: Runner) -> int | None:
    """Count the lanes that add up together; None where the engine can't compile the probe."""
    try:
        out = _run(runner, "probe/subgroup.wgsl", np.zeros(1, np.uint32), 128)
    except ShaderError:
        return None
    return int(out.max())


def _run(
    runner: Runner, name: str, words: Words, results: int, *, groups: int = 1, times: int = 1
) -> Words:
    device = runner.device
    source, target, status = (device.storage(512) for _ in range(3))
    device.write(source, 0, words)
    kernel = pack_kernel(wgsl_file(name))
    bindings = [Binding(buffer, 0, 512) for buffer in (source, target, status)]
    dispatch = replace(runner.single(kernel, *bindings), groups=(groups, 1, 1))
    device.submit([dispatch] * times)
    out = np.empty(results, np.uint32)
    device.read(target, 0, out)
    for buffer in (source, target, status):
        buffer.destroy()
    return out
