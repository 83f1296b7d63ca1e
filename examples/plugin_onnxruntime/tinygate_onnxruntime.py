"""Gate another runtime's matrix product: onnxruntime-webgpu's MatMul, in float32 and in float16.

A plug-in declares what a path claims to do and gives the function that does it; tinygate draws the
inputs, runs the function in its worker process and judges what comes back.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinygate import PythonPath, refuse_over

F16_MAX = 65504.0
_PROVIDER = "WebGpuExecutionProvider"


@cache
def session(kind: str) -> Any:
    """Create an onnxruntime session of one MatMul on WebGPU.

    It may not fall back to the CPU: a verdict on another provider would say nothing about this one.
    """
    import onnxruntime
    from onnx import TensorProto, helper

    element = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}[kind]
    matrices = {
        name: helper.make_tensor_value_info(name, element, axes)
        for name, axes in {"A": ["M", "K"], "B": ["K", "N"], "C": ["M", "N"]}.items()
    }
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["A", "B"], ["C"])],
        "product",
        [matrices["A"], matrices["B"]],
        [matrices["C"]],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    opened = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=[_PROVIDER], enable_fallback=0
    )
    if _PROVIDER not in opened.get_providers():
        raise RuntimeError(f"onnxruntime has no {_PROVIDER} here")
    return opened


def matmul(kind: str, A: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[Any]:
    """C = A·B by onnxruntime, both operands and the result in `kind`."""
    (C,) = session(kind).run(None, {"A": A.astype(kind), "B": B.astype(kind)})
    result: NDArray[Any] = C
    return result


def to_f16(B: NDArray[np.float32]) -> NDArray[np.float16]:
    """Round B to float16, as the float16 product stores it."""
    refuse_over(B, F16_MAX)
    return B.astype(np.float16)


def paths() -> list[PythonPath]:
    """List the paths of this plug-in; only the first product imports onnxruntime."""
    return [
        PythonPath(
            name="ort-f32",
            run=lambda A, B: matmul("float32", A, B),
            why="onnxruntime-webgpu's MatMul in float32",
        ),
        PythonPath(
            name="ort-f16",
            run=lambda A, B: matmul("float16", A, B),
            stored=to_f16,
            b="f16-packed",
            products="f16",
            output="f16",
            why="onnxruntime-webgpu's MatMul in float16, taken to sum in float32",
        ),
    ]
