"""Messages of a fixed size between two sides, each with a timeout; this module has those over TCP."""

from __future__ import annotations

import socket
import struct
import sys
import time

from vibrid.core.errors import InputError

PROTOCOLS = ("tcp", "udp")
SPIN = 100e-6
"""Seconds of active waiting for the next message before sleeping: waking up costs about 15 µs each way."""
_QUICKACK = getattr(socket, "TCP_QUICKACK", None)  # Linux
AT_ONCE = getattr(socket, "MSG_DONTWAIT", None)  # not on Windows


class Gone(Exception):
    """The other side has closed the connection, or its computer reports that no program listens."""


class Silent(Exception):
    """The other side sent no message within the timeout."""


class Link:
    """Base of all links: a socket that waits at most `patience` seconds, the first `spin` of them actively."""

    may_repeat = False
    """Whether a message can be lost, come twice or come late without the link noticing."""
    ignored = 0
    """Messages that were not those of the peer, or came again."""

    def __init__(self, connection: socket.socket, patience: float, spin: float = SPIN):
        self.socket, self.spin = connection, spin if AT_ONCE is not None else 0.0
        self.set_patience(patience)

    def set_patience(self, seconds: float) -> None:
        """Seconds to wait for a message.

        The timeout is that of the operating system: one of Python would need two system calls per message.
        """
        self.patience = seconds
        self.socket.setblocking(True)
        whole = int(seconds)
        if sys.platform == "win32":
            value = struct.pack("L", max(int(1000 * seconds), 1))
        else:
            value = struct.pack("ll", whole, max(int(1e6 * (seconds - whole)), 1))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)

    def receive(self, into: memoryview) -> None:
        """Fill a buffer with one message."""
        raise NotImplementedError

    def send(self, data) -> None:
        """Send one message."""
        raise NotImplementedError

    def send_again(self) -> None:
        """Send what was not answered again, where the link keeps it."""

    def close(self) -> None:
        self.socket.close()

    def _wait(self, take, *into):
        """The result of a receiving call: polled at first, then asleep."""
        if self.spin > 0:
            until = time.perf_counter() + self.spin
            while time.perf_counter() < until:
                try:
                    return take(*into, 0, AT_ONCE)
                except BlockingIOError:
                    continue
        return take(*into)


class TcpLink(Link):
    """Messages over a TCP connection.

    Neither side may wait for more data to send (Nagle), nor delay its acknowledgement, for which the other side's Nagle
    waits: together they cost 44 ms per step. Linux resets the second option, so it is set again before each receive.
    """

    def __init__(self, connection: socket.socket, patience: float, spin: float = SPIN):
        super().__init__(connection, patience, spin)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self, into: memoryview) -> None:
        """Fill a buffer with one message."""
        total, got, deadline = len(into), 0, None
        while got < total:
            try:
                if _QUICKACK is not None:
                    self.socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
                came = self._wait(self.socket.recv_into, into[got:] if got else into)
            except (BlockingIOError, TimeoutError):
                raise Silent from None
            except OSError as problem:
                raise Gone(problem.strerror or str(problem)) from None
            if came == 0:
                raise Gone("it closed the connection")
            got += came
            if got < total:  # the rest must follow soon: single bytes do not extend the timeout
                now = time.monotonic()
                deadline = now + self.patience if deadline is None else deadline
                if now > deadline:
                    raise Silent

    def send(self, data) -> None:
        try:
            self.socket.sendall(data)
        except (BlockingIOError, TimeoutError):
            raise Silent from None
        except OSError as problem:
            raise Gone(problem.strerror or str(problem)) from None


def name_of(address) -> str:
    """An address as people write it."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def resolve(host: str, port: int, protocol: str):
    """Family and first address of a host name."""
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    try:
        entry = socket.getaddrinfo(host, port, type=kind)[0]
    except (OSError, UnicodeError, OverflowError) as problem:
        raise InputError(f"There is no computer called '{host}' ({problem}).") from None
    return entry[0], entry[4]
