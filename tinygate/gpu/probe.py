"""What an adapter really does where WGSL leaves it the choice: rounding, subnormals, lanes."""

from __future__ import annotations

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


def probe(runner: Runner) -> MeasuredNumerics:
    """Run the probe kernels on an open device, and tell the runner its subgroup size."""
    device = runner.device
    if "subgroups" in device.info.features:
        runner.subgroup_size = _subgroup_size(runner)
    values = np.array(
        [1.0, 0.75 * _ULP, 0.25 * _ULP, 1 + 0.75 * _F16_ULP, _F16_SUBNORMAL, 0.0],
        np.float32,
    )
    words = values.view(np.uint32).copy()
    words[5] = 0x0010  # an f16 subnormal, 2^-20
    out = _run(runner, "probe/rounding.wgsl", words, 5)
    sums = out[:2].view(np.float32).astype(np.float64)
    halves = out[2:4].view("<f2")[::2].astype(np.float64)
    return MeasuredNumerics(
        subgroup_size=runner.subgroup_size,
        f32_round_to_nearest=bool(np.array_equal(sums, [1 + _ULP, 1.0])),
        f16_round_to_nearest=bool(halves[0] == 1 + _F16_ULP),
        f16_subnormals=bool(halves[1] == _F16_SUBNORMAL)
        and float(out[4:5].view(np.float32)[0]) == _F16_SUBNORMAL,
    )


def _subgroup_size(runner: Runner) -> int | None:
    """Lanes that add up together; None where the engine can't compile the question."""
    try:
        out = _run(runner, "probe/subgroup.wgsl", np.zeros(1, np.uint32), 128)
    except ShaderError:
        return None
    return int(out.max())


def _run(runner: Runner, name: str, words: Words, results: int) -> Words:
    device = runner.device
    source, target, status = (device.storage(512) for _ in range(3))
    device.write(source, 0, words)
    kernel = pack_kernel(wgsl_file(name))
    bindings = [Binding(buffer, 0, 512) for buffer in (source, target, status)]
    device.submit([runner.single(kernel, *bindings)])
    out = np.empty(results, np.uint32)
    device.read(target, 0, out)
    for buffer in (source, target, status):
        buffer.destroy()
    return out
