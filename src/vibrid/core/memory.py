"""Requests that would not fit in memory are refused with their size before they start."""

from __future__ import annotations

import os
from pathlib import Path

from vibrid.core.errors import InputError

_SHARE = 0.9  # of the free memory that one request may take
_SMALL = 1 << 28  # bytes that are never asked about
_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def free_memory() -> int | None:
    """Bytes that this process may still take; None where the system does not say."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
        limit, used = (path.read_text(encoding="ascii").strip() for path in _LIMITS)
        if limit != "max":
            found.append(int(limit) - int(used))
    except (OSError, ValueError, IndexError):
        pass
    if not found:
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, OSError, ValueError):
            return None
    return max(0, min(found))


def refuse_without_memory(what: str, size: float, instead: str) -> None:
    """Refuse `what`, which needs `size` bytes, where these are not free; `instead` says what to do."""
    if size < _SMALL:
        return
    free = free_memory()
    if free is not None and size > _SHARE * free:
        raise InputError(f"{what} needs {in_words(size)} of memory, and {in_words(free)} are free; {instead}.")


def in_words(size: float) -> str:
    """A number of bytes as "3.2 GiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.3g} {unit}"
        size /= 1024
    raise AssertionError
