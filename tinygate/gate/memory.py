"""How much memory this machine can still give, so that a case too large is refused, not killed."""

from __future__ import annotations

from pathlib import Path

from tinygate.core.errors import LimitError
from tinygate.core.shape import Shape

# A case needs up to this many times its f32 operands and result, and this much beside them.
PEAK_FACTOR = 3
PEAK_BASE = 64 << 20
# Quantised operands are decoded to float64.
QUANTISED_FACTOR = 6


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system doesn't tell."""
    found = [value for value in (_meminfo(), _cgroup()) if value is not None]
    return min(found, default=None)


def check_memory(shape: Shape, *, quantised: bool = False) -> None:
    """Raise LimitError where the case would not fit into what is available."""
    operands = 4 * (shape.M * shape.K + shape.K * shape.N + shape.M * shape.N)
    needed = (QUANTISED_FACTOR if quantised else PEAK_FACTOR) * operands + PEAK_BASE
    available = available_memory()
    if available is not None and needed > available:
        raise LimitError(
            f"{shape} needs about {needed >> 20} MiB, over the available memory of "
            f"{available >> 20} MiB",
            "use a smaller --shape, or free memory",
        )


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _cgroup() -> int | None:
    root = Path("/sys/fs/cgroup")
    try:
        most = (root / "memory.max").read_text(encoding="ascii").strip()
        used = (root / "memory.current").read_text(encoding="ascii").strip()
        return None if most == "max" else max(0, int(most) - int(used) + _file_cache(root))
    except (OSError, ValueError):
        return None


def _file_cache(root: Path) -> int:
    """Bytes of cached files that nobody uses now: memory.current counts them, though they are given
    back to whoever asks."""
    try:
        for line in (root / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return 0
