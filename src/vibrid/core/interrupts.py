"""Requests to stop: Ctrl-C and SIGTERM, which a long computation answers in the same way."""

from __future__ import annotations

import _thread
import contextlib
import gc
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType


class Terminated(KeyboardInterrupt):
    """A request to terminate (SIGTERM): work ends as it does by Ctrl-C; no file is left half-written."""


class _Waits:
    """Whether requests wait: none of them, the first, or all; and the one that does."""

    which: str = "none"
    asked: int | None = None


_waits = _Waits()


def stop_requested(number: int, frame: FrameType | None) -> None:
    """Handler of SIGINT and SIGTERM: ends the work by an exception, unless requests wait.

    An exception is lost in a callback of the garbage collector and in `__del__`; JAX has such a callback, often the
    first to run after a long compilation. The request is then repeated a moment later.
    """
    if _waits.which == "all" or (_waits.which == "first" and _waits.asked is None):
        _waits.asked = number
    elif _loses_exceptions(frame):
        _thread.start_new_thread(_repeat, (number,))  # without the locks of `threading`, which may be held here
    else:
        _waits.asked = None
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextlib.contextmanager
def _waiting(which: str) -> Iterator[None]:
    """Only in the main thread, to which requests come: what another thread does says nothing of how they wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _waits.which = _waits.which, which
    try:
        yield
    finally:
        _waits.which = before


def _taken() -> int | None:
    """The request that waited, once."""
    number, _waits.asked = _waits.asked, None
    return number


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """A request waits while a result that is nearly there is completed, and comes after it; a second one does not."""
    try:
        with _waiting("first"):
            yield
    finally:
        if _waits.which == "none" and (number := _taken()) is not None:
            _thread.start_new_thread(_repeat, (number,))


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Inside `finishing`, a part that can be interrupted and keeps what it has; a request that waits is answered."""
    with _waiting("none"):
        if (number := _taken()) is not None:
            stop_requested(number, None)
        yield


def _repeat(number: int) -> None:
    """Ask again a moment later, by a signal where there are signals: it also ends a call that waits, as for a reply."""
    time.sleep(0.01)
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _loses_exceptions(frame: FrameType | None) -> bool:
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


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
        self._earlier: dict[int, object] = {}

    def __enter__(self) -> PatientStop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if callable(signal.getsignal(number)):
                    self._earlier[number] = signal.signal(number, stop_requested)
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
        self._earlier = {}

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """A step that is not interrupted; a request that came meanwhile is answered after it."""
        try:
            with _waiting("all"):
                yield
        finally:
            number = _taken()
        if number is not None:
            stop_requested(number, None)
