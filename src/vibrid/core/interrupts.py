"""Requests to stop: Ctrl-C and SIGTERM, which a long computation answers in the same way."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Terminated(KeyboardInterrupt):
    """A request to terminate (SIGTERM): work ends as it does by Ctrl-C; no file is left half-written."""


def spoken(problem: KeyboardInterrupt) -> str:
    """How the user, or the system, stopped the work."""
    return "stopped by a request to terminate" if isinstance(problem, Terminated) else "stopped by Ctrl-C"


class PatientStop:
    """Ctrl-C and SIGTERM wait while a step is under way, so that its result is complete.

    Example
        >>> with PatientStop() as stop:
        ...     for sample in samples:      # interrupted here
        ...         with stop.step():       # never here
        ...             run.feed(sample)
    """

    def __init__(self):
        self._busy = False
        self._asked: int | None = None
        self._earlier: dict[int, object] = {}

    def __enter__(self) -> PatientStop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._earlier[number] = signal.signal(number, self._answer)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        self._earlier = {}

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """A step that is not interrupted; a request that came meanwhile is answered after it."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked is not None:
            self._raise(self._asked)

    def _answer(self, number: int, frame) -> None:
        if self._busy:
            self._asked = number
        else:
            self._raise(number)

    def _raise(self, number: int) -> None:
        self._asked = None
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
