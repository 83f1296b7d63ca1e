"""Multiply matrices on the GPU, each on the fastest path that was verified for its shape."""

from tinygate.ops.gpu_ops import GpuOps

__all__ = ["GpuOps"]
