"""The device server: one allowed client at a time; all others are refused and logged."""

from __future__ import annotations

import contextlib
import logging
import socket
import warnings
from collections.abc import Callable
from dataclasses import replace

from vibrid.core.errors import FileProblem, InputError
from vibrid.hybrid.interlock import Interlock
from vibrid.hybrid.latch import StopLatch
from vibrid.hybrid.limits import SafetyLimits, require_limits
from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.substructure import Substructure
from vibrid.hybrid.wire.admission import Admission, turning_away
from vibrid.hybrid.wire.datagrams import enlarge
from vibrid.hybrid.wire.ending import Ending
from vibrid.hybrid.wire.links import Link, name_of, resolve
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.protocol import MessageLayout
from vibrid.hybrid.wire.record import CommitRows
from vibrid.hybrid.wire.session import AFTER_STOP, REPORTED, Session
from vibrid.hybrid.wire.watchdog import Watchdog

LOG = logging.getLogger("vibrid.hybrid.wire")


class DeviceServer:
    """Serves a device to OpenSees' `genericClient`, or to vibrid's own `RemoteSubstructure`, one test at a time.

    Arguments
        specimen: makes a new device for each test, or returns the one of the laboratory.
        listener: address and allowed clients.
        limits: safety limits of the device. Those of displacement, velocity, force and step are required.
        unlimited: serve the device even without required limits; limits that are given are checked in any case.
        recorder: makes the recorder of a test, given the specimen; None records nothing.
        watchdog: what happens when the client is silent.
        latch: keeps a safety stop until it is cleared (`latch.clear(by="name")`); by default in memory.
        step: seconds between commits, where the client sends no time.
        damping, after_stop: see `Session`.

    Example
        >>> limits = SafetyLimits(displacement=0.05, velocity=0.3, force=90e3, step=0.002)
        >>> server = DeviceServer(lambda: DeviceSubstructure(LawDevice(vb.Linear(4e5)), 0.01), Listener(), limits)
        >>> print(server.serve())
    """

    def __init__(self, specimen: Callable[[], Substructure], listener: Listener | None = None,
                 limits: SafetyLimits | None = None, *, unlimited: bool = False,
                 recorder: Callable[[Substructure], Recorder] | None = None, watchdog: Watchdog | None = None,
                 latch: StopLatch | None = None, step: float = 1.0 / 1024,
                 damping: str = "in force", after_stop: str = "answer", door: Listener | None = None):  # fmt: skip
        if door is not None:
            warnings.warn("`door` is `listener` since 0.2; the old name goes away in 0.3.", DeprecationWarning, 2)
            listener = listener or door
        if damping not in ("in force", "apart") or after_stop not in AFTER_STOP:
            raise InputError("damping is 'in force' or 'apart', and after_stop is 'answer' or 'close'.")
        self.limits = require_limits(limits, unlimited, "that there are none: unlimited=True, --unlimited")
        self.specimen, self.listener, self.step = specimen, listener or Listener(), step
        self.recorder, self.damping, self.after_stop = recorder, damping, after_stop
        self.watchdog, self.latch = watchdog or Watchdog(), latch or StopLatch()
        if self.watchdog.when_silent == "ramp" and self.watchdog.ramp_velocity > self.limits.velocity:
            raise InputError("The velocity of the watchdog's ramp is beyond the limit of velocity.")
        self._ready: Substructure | None = specimen()  # compiled and zeroed before a client can connect
        self._held: tuple[float, ...] | None = None  # deformations at which the last test left the device
        self._latched = False
        self._requests: list[tuple] = []
        self.refused = 0
        self._closing = False
        self._socket = self._listen()
        self.address = self._socket.getsockname()[:2]
        self.port = self.address[1]

    def _listen(self) -> socket.socket:
        family, address = resolve(self.listener.host, self.listener.port, self.listener.protocol)
        kind = socket.SOCK_STREAM if self.listener.protocol == "tcp" else socket.SOCK_DGRAM
        listening = socket.socket(family, kind)
        try:
            if self.listener.protocol == "tcp":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            else:
                enlarge(listening)
            listening.bind(address)
            if self.listener.protocol == "tcp":
                listening.listen(64)
        except OSError as problem:
            listening.close()
            raise InputError(f"Cannot listen on {name_of(address)} ({problem.strerror}).") from None
        return listening

    def serve(self) -> Ending | None:
        """Wait for a client, serve its test, and return how it ended; None when closed before a client came.

        A client that disconnects before any trial has not run a test: the server waits for the next one. While a safety
        stop is not cleared, clients are answered NaN, the device is not moved, and the server goes on waiting.
        """
        LOG.info("%s listens on %s", self.listener.protocol.upper(), name_of(self.address))
        while not self._closing:
            specimen, self._ready = self._ready or self.specimen(), None
            try:
                admission = Admission(self._socket, self.listener, specimen.count, self._refuse, self._requests)
                client = admission.next_client(lambda: self._closing)
                if client is None:
                    return None
                ending = self._test(specimen, *client)
            finally:
                specimen.stop("the server ended")
            LOG.info("the test ended: %s", ending)
            if ending.well or ending.trials or ending.stopped:
                return ending
        return None

    def _test(self, specimen: Substructure, link: Link, layout: MessageLayout, who: str) -> Ending:
        LOG.info("a test begins: %s, degrees of freedom %d, numbers in a message %d", who, layout.count, layout.size)
        with contextlib.ExitStack() as stack:
            stack.callback(link.close)
            stack.enter_context(turning_away(self._socket, self.listener, self._refuse, self._requests))
            standing = self._standing()
            if self._latched and not standing:  # whoever cleared the stop has brought the device back
                self._held, self._latched = None, False
            interlock = Interlock(self.limits, self._start(specimen), nominal=self.step)
            keep = self.recorder(specimen) if self.recorder is not None and not standing else None
            if keep is not None and self.latch.note:
                keep.note(f"before this test the device was {self.latch.note}")
            session = Session(
                link, layout, specimen, interlock, idle=self.listener.idle, watchdog=self.watchdog,
                damping=self.damping, after_stop=self.after_stop,
                rows=None if keep is None else CommitRows(keep, specimen, self.step), log=LOG,
            )  # fmt: skip
            if standing:
                session.stop(14, f"the device was {standing}; nobody has cleared this stop")
                return replace(session.run(), stopped=False)
            ending = Ending("a fault", False)
            try:
                ending = session.run()
            finally:
                self._held = interlock.deformation if specimen.keeps_position else None
                if session.stopped is not None:
                    self._latch(session.stopped[1])
                if keep is not None:
                    keep.close("" if ending.well else ending.reason)
                    if keep.problem:
                        LOG.warning(keep.problem)
        return ending

    def _start(self, specimen: Substructure) -> tuple[float, ...]:
        """The deformations at which the device is: measured, or those at which the last test left it."""
        if specimen.position is not None and specimen.count == 1:
            return (specimen.position,)
        if self._held is not None and specimen.keeps_position:
            return self._held
        return (0.0,) * len(specimen.deformation_rows)

    def _standing(self) -> str:
        """The safety stop that nobody has cleared; empty when the device may be moved."""
        try:
            standing = self.latch.standing
        except FileProblem as problem:
            return f"stopped before, it seems: {problem}"
        return "" if standing is None else str(standing)

    def _latch(self, reason: str) -> None:
        self._latched = True
        try:
            self.latch.set(reason)
        except FileProblem as problem:
            LOG.error("the safety stop holds in this program, but could not be kept: %s", problem)

    def clear(self, by: str) -> str:
        """Clear a safety stop, after the device was inspected and is back at zero; `by` is the name of a person."""
        cleared = str(self.latch.clear(by))
        LOG.warning("the device was %s", cleared)
        return cleared

    def close(self) -> None:
        """Stop waiting for clients; a running test continues to its end."""
        self._closing = True
        self._socket.close()

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        if self.refused <= REPORTED or self.refused % 1000 == 0:
            LOG.warning("refused (%d so far): %s", self.refused, reason[:300])
