"""Messages as datagrams (UDP) to and from one peer: plain ones, and numbered ones between two programs of vibrid.

A datagram can be lost, come twice, come late, or come from someone else. Plain datagrams, those of OpenSees, carry
nothing by which the first three could be noticed. Numbered ones begin with the key of the session and a number
(`HEADER`): the server executes each number once and in order, answers the last one again from memory when it comes
again, and ignores all others; the client sends what was not answered again until it is. A client ignores its own
datagrams where a network sends them back: an answer carries the inverted key, or, plain, is not what was sent.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable

from vibrid.hybrid.wire.links import AT_ONCE, SPIN, Gone, Link, Silent, name_of
from vibrid.hybrid.wire.protocol import DATAGRAM_BYTES, HEADER

RESEND = 0.1
"""Seconds after which a numbered datagram without an answer is sent again."""
RECEIVE_BYTES = 4 * 1024 * 1024
"""Requested size of the receive buffer; where it is full, datagrams are lost."""


class UdpLink(Link):
    """Plain datagrams; those of other senders or of a wrong size are counted, reported and ignored.

    Arguments
        peer: address of the other side.
        report: called with a message about each ignored datagram. A client has none: its socket is connected to its
            peer, so that the system reports at once when no program listens there any more.
        waiting: datagrams of the peer that have been received already.
    """

    may_repeat = True

    def __init__(self, connection: socket.socket, peer, patience: float, report: Callable[[str], None] | None = None,
                 spin: float = SPIN, waiting: tuple[bytes, ...] = ()):  # fmt: skip
        super().__init__(connection, patience, spin)
        self.peer, self._report, self._waiting = peer, report, list(waiting)
        self._buffer = bytearray(DATAGRAM_BYTES + HEADER.size + 1)
        self._view = memoryview(self._buffer)
        self._sent: deque[bytes] = deque(maxlen=16)

    def receive(self, into: memoryview) -> None:
        until = time.monotonic() + self.patience
        into[:] = self._next(len(into), until)

    def _next(self, size: int, until: float) -> memoryview:
        """The next datagram of the peer with this size."""
        while True:
            came, sender = self._take()
            if sender == self.peer and came == size and self._view[:came] not in self._sent:
                return self._view[:came]
            if sender != self.peer:
                self.ignore(f"a datagram of {came} bytes from {name_of(sender)}, which is not the client of this test")
            elif came != size:
                self.ignore(f"a datagram of {came} bytes where {size} are expected")
            else:
                self.ignore("a datagram of this side, sent back by the network")
            if time.monotonic() > until:
                raise Silent

    def _take(self):
        """Size and sender of the next datagram, which is then in the buffer."""
        if self._waiting:
            data = self._waiting.pop(0)
            self._buffer[: len(data)] = data
            return len(data), self.peer
        while True:
            try:
                return self._wait(self.socket.recvfrom_into, self._buffer)
            except (BlockingIOError, TimeoutError):
                raise Silent from None
            except OSError as problem:
                if self._report is not None and problem.errno == errno.ECONNREFUSED:
                    continue  # a server learns from silence: such a report can be forged, and the client may return
                raise Gone(problem.strerror or str(problem)) from None

    def ignore(self, why: str) -> None:
        """Count a datagram that is not executed, and report it."""
        self.ignored += 1
        if self._report is not None:
            self._report(why)

    def send(self, data) -> None:
        if self._report is None:
            self._discard()
            self._remember(bytes(data))
        try:
            _ = self.socket.sendto(data, self.peer) if not self._is_connected() else self.socket.send(data)
        except (BlockingIOError, TimeoutError):
            raise Silent from None
        except OSError as problem:
            if self._report is None or problem.errno != errno.ECONNREFUSED:
                raise Gone(problem.strerror or str(problem)) from None

    def _discard(self) -> None:
        """A client awaits one answer at a time: what has come before its next message is an answer that came twice."""
        while AT_ONCE is not None:
            try:
                self.socket.recv_into(self._buffer, 0, AT_ONCE)
            except BlockingIOError:
                return
            except OSError as problem:
                raise Gone(problem.strerror or str(problem)) from None
            self.ignored += 1

    def _remember(self, data: bytes) -> None:
        """Messages with a motion: one without could equal its answer, as the request of a mass of 15 kg does."""
        if data[8:].strip(b"\0"):
            self._sent.append(data)

    def _is_connected(self) -> bool:
        return self._report is None or sys.platform == "linux"


class NumberedServerLink(UdpLink):
    """The server's side of numbered datagrams: each is executed once and in order."""

    may_repeat = False

    def __init__(self, *arguments, key: bytes, number: int, **more):
        """key: of the session; number: of the last message that was executed, the first message of the client."""
        super().__init__(*arguments, **more)
        self.key, self._answering, self._number = key, answering(key), number
        self._answer: tuple[int, bytes] = (0, b"")

    def receive(self, into: memoryview) -> None:
        until = time.monotonic() + self.patience
        while True:
            data = self._next(HEADER.size + len(into), until)
            key, number = HEADER.unpack_from(data)
            if key != self.key:
                self.ignore("a datagram with the key of another session")
            elif number == self._number + 1:
                self._number = number
                into[:] = data[HEADER.size :]
                return
            elif number <= self._number:
                self.ignore(f"datagram {number} came again")
                if number == self._answer[0]:
                    super().send(self._answer[1])
            else:
                self.ignore(f"datagram {number} came before datagram {self._number + 1}, which will be sent again")
            if time.monotonic() > until:
                raise Silent

    def send(self, data) -> None:
        frame = HEADER.pack(self._answering, self._number) + bytes(data)
        self._answer = self._number, frame
        super().send(frame)


class NumberedClientLink(UdpLink):
    """The client's side of numbered datagrams: what was not answered is sent again, for `timeout` seconds."""

    may_repeat = False

    def __init__(self, connection: socket.socket, peer, timeout: float, key: bytes):
        super().__init__(connection, peer, min(RESEND, timeout))
        self.key, self._answering, self.timeout = key, answering(key), timeout
        self._number = 0
        self._unanswered: list[bytes] = []

    def send(self, data) -> None:
        self._number += 1
        frame = HEADER.pack(self.key, self._number) + bytes(data)
        self._unanswered.append(frame)
        super().send(frame)

    def receive(self, into: memoryview) -> None:
        until = time.monotonic() + self.timeout
        while True:
            try:
                data = self._next(HEADER.size + len(into), until)
            except Silent:
                if time.monotonic() > until:
                    raise
                self.send_again()
                continue
            key, number = HEADER.unpack_from(data)
            if key == self._answering and number == self._number:
                into[:] = data[HEADER.size :]
                self._unanswered.clear()
                return
            self.ignore(f"the answer to datagram {number}, where that to {self._number} is awaited")

    def send_again(self) -> None:
        """Send everything again that was not answered."""
        for frame in self._unanswered:
            super().send(frame)


def new_key() -> bytes:
    """A key that nobody can guess."""
    return os.urandom(8)


def answering(key: bytes) -> bytes:
    """The key that answers carry."""
    return bytes(255 - byte for byte in key)


def session_socket(listening: socket.socket, peer) -> tuple[socket.socket, list[tuple[bytes, tuple]]]:
    """A socket that receives the datagrams of one peer only, and what came to the listening one until then.

    On Linux it is a second socket on the same port, connected to the peer: datagrams of others do not fill its buffer,
    and so cannot push out those of the test. Elsewhere it is the listening socket itself.
    """
    if sys.platform != "linux":
        return listening.dup(), []
    own = socket.socket(listening.family, socket.SOCK_DGRAM)
    try:
        enlarge(own)
        for one in (listening, own):  # only now: a second server on this port is refused
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(listening.getsockname())
        own.connect(peer)
    except OSError:
        own.close()
        raise
    finally:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return own, pending(listening)


def pending(listening: socket.socket) -> list[tuple[bytes, tuple]]:
    """The datagrams that wait at a socket, with their senders."""
    came = []
    while len(came) < 10_000:
        try:
            came.append(listening.recvfrom(DATAGRAM_BYTES + HEADER.size + 1, AT_ONCE or 0))
        except OSError:
            break
    return came


def enlarge(receiver: socket.socket) -> None:
    """Request a large receive buffer; the system may grant less."""
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
