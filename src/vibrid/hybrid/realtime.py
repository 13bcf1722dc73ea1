"""Real-time settings of the operating system: priority, cores, locked memory, no garbage collection."""

from __future__ import annotations

import ctypes
import gc
import os

from vibrid.core.errors import InputError

_LOCK_NOW, _LOCK_LATER = 1, 2  # MCL_CURRENT, MCL_FUTURE


class RealTime:
    """Requests these settings on `apply` and undoes them on `restore`; a refused one becomes a message in `notes`.

    Arguments
        priority: 1 to 99 of the first-in-first-out scheduler; None leaves the ordinary one. Linux grants it to root, or
            with `CAP_SYS_NICE`, or within the limit `rtprio`.
        cores: numbers of the cores to run on; empty leaves the choice to the system.
        lock_memory: keep all memory from being swapped out.
        freeze_collector: no garbage collection while the test runs.
    """

    def __init__(self, priority: int | None = None, cores: tuple[int, ...] = (), lock_memory: bool = False,
                 freeze_collector: bool = True):  # fmt: skip
        if priority is not None and not 1 <= priority <= 99:
            raise InputError(f"A real-time priority lies between 1 and 99, not {priority}.")
        self.priority, self.cores, self.lock_memory = priority, tuple(cores), lock_memory
        self.freeze_collector = freeze_collector
        self.notes: tuple[str, ...] = ()
        self._undo: list = []

    def apply(self) -> None:
        """Request all settings; the test can run without them."""
        self.notes, self._undo = (), []
        if self.cores:
            self._try("The cores", self._pin)
        priority = self.priority
        if priority is not None:
            self._try("The priority", lambda: self._raise(priority))
        if self.lock_memory:
            self._try("Locked memory", self._lock)
        if self.freeze_collector:
            self._still()

    def restore(self) -> None:
        """Undo all settings."""
        while self._undo:
            self._undo.pop()()

    def _try(self, setting: str, request) -> None:
        try:
            request()
        except (OSError, AttributeError, TypeError, ValueError) as refused:
            why = getattr(refused, "strerror", None) or "this system does not support it"
            self.notes += (f"{setting} could not be set: {why}.",)

    def _pin(self) -> None:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cores)
        self._undo.append(lambda: os.sched_setaffinity(0, before))

    def _raise(self, priority: int) -> None:
        before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        self._undo.append(lambda: os.sched_setscheduler(0, before, parameters))

    def _lock(self) -> None:
        system = ctypes.CDLL(None, use_errno=True)
        if system.mlockall(_LOCK_NOW | _LOCK_LATER) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._undo.append(system.munlockall)

    def _still(self) -> None:
        was = gc.isenabled()
        gc.collect()
        gc.freeze()
        gc.disable()

        def undo():
            gc.unfreeze()
            if was:
                gc.enable()

        self._undo.append(undo)
