"""Measure how much memory this machine can still give. Reads /proc and /sys where they are."""

from __future__ import annotations

from pathlib import Path


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system doesn't tell."""
    found = [value for value in (_meminfo(), _cgroup()) if value is not None]
    return min(found, default=None)


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
        max_ = (root / "memory.max").read_text(encoding="ascii").strip()
        used = (root / "memory.current").read_text(encoding="ascii").strip()
        return None if max_ == "max" else max(0, int(max_) - int(used) + _file_cache(root))
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
