"""Two ways to carry messages of a fixed size between two sides: TCP and UDP, each with a patience."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from vibrid.core.errors import InputError
from vibrid.hybrid.wire.protocol import DATAGRAM_BYTES

PROTOCOLS = ("tcp", "udp")
_QUICKACK = getattr(socket, "TCP_QUICKACK", None)  # Linux


class Gone(Exception):
    """The other side has closed the connection, or its machine says that nobody listens."""


class Silent(Exception):
    """The other side said nothing for as long as it may."""


class TcpLink:
    """Messages over a TCP connection.

    Neither side may wait for more to send (Nagle), nor delay its acknowledgement for which the other side's Nagle
    waits: together they cost 44 ms a step. Linux forgets the second wish, so it is said again before each receive.
    """

    def __init__(self, connection: socket.socket, patience: float):
        self.socket = connection
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.set_patience(patience)

    def set_patience(self, seconds: float) -> None:
        """Seconds to wait for a message, from its first byte to its last included."""
        self.patience = seconds
        self.socket.settimeout(seconds)

    def receive(self, into: memoryview) -> None:
        """Fill a buffer with one message."""
        total, got, deadline = len(into), 0, None
        while got < total:
            try:
                if _QUICKACK is not None:
                    self.socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
                came = self.socket.recv_into(into[got:] if got else into)
            except TimeoutError:
                raise Silent from None
            except OSError as problem:
                raise Gone(str(problem)) from None
            if came == 0:
                raise Gone("it closed the connection")
            got += came
            if got < total:  # the rest must come soon: a byte now and then is no sign of life
                now = time.monotonic()
                deadline = now + self.patience if deadline is None else deadline
                if now > deadline:
                    raise Silent

    def send(self, data) -> None:
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise Silent from None
        except OSError as problem:
            raise Gone(str(problem)) from None

    def close(self) -> None:
        self.socket.close()


class UdpLink:
    """Messages as datagrams to and from one peer; those of strangers and of a wrong size are told and passed over.

    A server hears everybody on one socket and tells strangers apart itself (`tell`). A client's socket is connected to
    its peer, so the system reports at once when nobody listens there any more.
    """

    def __init__(self, connection: socket.socket, peer, patience: float, tell: Callable[[str], None] | None = None):
        self.socket, self.peer, self.tell = connection, peer, tell or (lambda sentence: None)
        self._connected = tell is None
        self._buffer = bytearray(DATAGRAM_BYTES + 1)
        self._view = memoryview(self._buffer)
        self.set_patience(patience)

    def set_patience(self, seconds: float) -> None:
        self.patience = seconds
        self.socket.settimeout(seconds)

    def receive(self, into: memoryview) -> None:
        deadline = None
        while True:
            try:
                came, sender = self.socket.recvfrom_into(self._buffer)
            except TimeoutError:
                raise Silent from None
            except OSError as problem:
                raise Gone(str(problem)) from None
            if sender == self.peer and came == len(into):
                into[:] = self._view[:came]
                return
            if sender != self.peer:
                self.tell(f"a datagram of {came} bytes from {name_of(sender)}, which is not the client of this test")
            else:
                self.tell(f"a datagram of {came} bytes where {len(into)} are expected")
            now = time.monotonic()
            deadline = now + self.patience if deadline is None else deadline
            if now > deadline:
                raise Silent

    def send(self, data) -> None:
        try:
            _ = self.socket.send(data) if self._connected else self.socket.sendto(data, self.peer)
        except TimeoutError:
            raise Silent from None
        except OSError as problem:
            raise Gone(str(problem)) from None

    def close(self) -> None:
        self.socket.close()


def name_of(address) -> str:
    """An address as people write it."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def resolve(host: str, port: int, protocol: str):
    """Family and address of the first thing that a name stands for."""
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    try:
        found = socket.getaddrinfo(host, port, type=kind)[0]
    except (OSError, UnicodeError, OverflowError) as problem:
        raise InputError(f"There is no machine called '{host}' ({problem}).") from None
    return found[0], found[4]
