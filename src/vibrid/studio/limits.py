"""Limits of a process that reads files of unknown origin: memory, processor time, no files written."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingLimits:
    """Bounds on the process that reads one file.

    Arguments
        memory: bytes of its address space.
        processor: seconds of processor time.
        seconds: until it is stopped, whatever it does.
    """

    memory: int = 4 * 1024**3
    processor: int = 60
    seconds: float = 90.0

    def apply(self) -> None:
        """Limit this process, where the system can (Linux, macOS in part)."""
        try:
            import resource
        except ImportError:  # Windows: only the time is limited, by the process that asks
            return
        wanted = {"RLIMIT_AS": self.memory, "RLIMIT_CPU": self.processor, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
        for name, value in wanted.items():
            with contextlib.suppress(ValueError, OSError):  # a lower limit stands already
                resource.setrlimit(getattr(resource, name), (value, value))
