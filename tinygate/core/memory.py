"""Measure the available memory of this machine, from /proc and /sys if they exist."""

from __future__ import annotations

from pathlib import Path


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping, or None if unknown."""
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
    """Return the bytes of inactive file cache, which memory.current counts though it is free."""
    try:
        for line in (root / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return 0
