"""The device server: one allowed client at a time; all others are refused and logged."""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections.abc import Callable

from vibrid.core.errors import InputError
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.substructure import Substructure
from vibrid.hybrid.wire.admission import Admission
from vibrid.hybrid.wire.links import name_of, resolve
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.session import AFTER_STOP, Ending, Session

LOG = logging.getLogger("vibrid.hybrid.wire")
TOLD = 20
"""Refusals that are logged one by one; after that every thousandth."""


class DeviceServer:
    """Serves a device to OpenSees' `genericClient`, or to vibrid's own `RemoteSubstructure`, one test at a time.

    Arguments
        specimen: makes a new device for each test.
        listener: address and allowed clients.
        limits: safety limits of every test.
        recorder: makes the recorder of a test, given the specimen; None records nothing.
        damping, after_stop: see `Session`.

    Example
        >>> server = DeviceServer(lambda: DeviceSubstructure(LawDevice(vb.Linear(4e5)), 0.01), Listener(port=8090))
        >>> print(server.serve())
    """

    def __init__(self, specimen: Callable[[], Substructure], listener: Listener | None = None,
                 limits: SafetyLimits | None = None, *,
                 recorder: Callable | None = None, damping: str = "in force", after_stop: str = "answer"):  # fmt: skip
        if damping not in ("in force", "apart") or after_stop not in AFTER_STOP:
            raise InputError("damping is 'in force' or 'apart', and after_stop is 'answer' or 'close'.")
        self.specimen, self.listener, self.limits = specimen, listener or Listener(), limits or SafetyLimits()
        self.recorder, self.damping, self.after_stop = recorder, damping, after_stop
        self._ready: Substructure | None = specimen()  # compiled and zeroed before a client can connect
        self.refused = 0
        self._closing = False
        self._socket = self._listen()
        self.address = self._socket.getsockname()[:2]
        self.port = self.address[1]

    def _listen(self) -> socket.socket:
        family, address = resolve(self.listener.host, self.listener.port, self.listener.protocol)
        kind = socket.SOCK_STREAM if self.listener.protocol == "tcp" else socket.SOCK_DGRAM
        listener = socket.socket(family, kind)
        try:
            if self.listener.protocol == "tcp":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            if self.listener.protocol == "tcp":
                listener.listen(64)
        except OSError as problem:
            listener.close()
            raise InputError(f"Cannot listen on {name_of(address)} ({problem.strerror}).") from None
        return listener

    def serve(self) -> Ending | None:
        """Wait for a client, serve its test, and return how it ended; None when closed before a client came.

        A client that disconnects before any trial has not run a test: the server waits for the next one.
        """
        LOG.info("%s listens on %s", self.listener.protocol.upper(), name_of(self.address))
        while not self._closing:
            specimen, self._ready = self._ready or self.specimen(), None
            try:
                met = Admission(self._socket, self.listener, specimen.count, self._refuse).next_client(
                    lambda: self._closing
                )
                if met is None:
                    return None
                ending = self._test(specimen, *met)
            finally:
                specimen.stop("the server ended")
            LOG.info("the test ended: %s", ending)
            if ending.well or ending.trials or ending.reason.startswith("stopped"):
                return ending
        return None

    def _test(self, specimen: Substructure, link, layout, who: str) -> Ending:
        LOG.info("a test begins: %s, degrees of freedom %d, numbers in a message %d", who, layout.count, layout.size)
        keep = self.recorder(specimen) if self.recorder is not None else None
        with contextlib.ExitStack() as stack:
            stack.callback(link.close)
            if self.listener.protocol == "tcp":
                stack.enter_context(self._turning_away())
            session = Session(
                link, layout, specimen, self.limits, idle=self.listener.idle,
                damping=self.damping, after_stop=self.after_stop, recorder=keep, log=LOG,
            )  # fmt: skip
            ending = Ending("a fault", False)
            try:
                ending = session.run()
            finally:
                if keep is not None:
                    keep.close("" if ending.well else ending.reason)
                    if keep.problem:
                        LOG.warning(keep.problem)
        return ending

    def close(self) -> None:
        """Stop waiting for clients; a running test continues to its end."""
        self._closing = True
        self._socket.close()

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        if self.refused <= TOLD or self.refused % 1000 == 0:
            LOG.warning("refused (%d so far): %s", self.refused, reason[:300])

    @contextlib.contextmanager
    def _turning_away(self):
        """Refuses clients that connect while a test runs; sleeps in between."""
        inside, outside = socket.socketpair()

        def turn_away() -> None:
            while True:
                try:
                    ready = select.select([self._socket, inside], [], [])[0]
                except (OSError, ValueError):  # the server has been closed
                    return
                if inside in ready:
                    return
                with contextlib.suppress(OSError):
                    connection, sender = self._socket.accept()
                    connection.close()
                    self._refuse(f"{name_of(sender)} connected while a test is running")
                    time.sleep(0.01)  # many connections must not take time from the test

        keeper = threading.Thread(target=turn_away, name="vibrid refusals", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            outside.send(b"x")
            keeper.join()
            inside.close()
            outside.close()
