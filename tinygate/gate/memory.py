"""Refuse a case that is too large for this machine, before the machine kills it."""

from __future__ import annotations

from tinygate.core.errors import LimitError
from tinygate.core.memory import available_memory
from tinygate.core.shape import Shape

# A case needs up to this many times its f32 operands and result, and this much beside them.
PEAK_FACTOR = 3
PEAK_BASE = 64 << 20
# Quantized operands are decoded to float64.
QUANTIZED_FACTOR = 6


def check_memory(shape: Shape, *, quantized: bool = False) -> None:
    """Raise LimitError where the case would not fit into what is available."""
    operands = 4 * (shape.M * shape.K + shape.K * shape.N + shape.M * shape.N)
    needed = (QUANTIZED_FACTOR if quantized else PEAK_FACTOR) * operands + PEAK_BASE
    available = available_memory()
    if available is not None and needed > available:
        raise LimitError(
            f"{shape} needs about {needed >> 20} MiB, over the available memory of "
            f"{available >> 20} MiB",
            "use a smaller --shape, or free memory",
        )
