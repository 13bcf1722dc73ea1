"""Admission of clients: many may connect at once, one is admitted. A slow client does not delay the others."""

from __future__ import annotations

import contextlib
import select
import socket
import sys
import threading
import time
from collections.abc import Callable

from vibrid.hybrid.wire.datagrams import NumberedServerLink, UdpLink, new_key, pending, session_socket
from vibrid.hybrid.wire.links import Link, TcpLink, name_of
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.protocol import (
    DATAGRAM_BYTES,
    GRANT,
    HEADER,
    HELLO_BYTES,
    KEY_BYTES,
    REQUEST,
    SEQUENCED,
    MessageLayout,
    WireProblem,
    decode_hello,
)

MOST_GRANTED = 4096
"""Requests over UDP that are remembered; beyond that the oldest is forgotten."""
MOST_WAITING = 32
"""Clients that may wait for admission at the same time; beyond that the oldest is disconnected."""
_LOOK = 0.2  # seconds between checks whether the server is closing


class Admission:
    """Waits for an allowed client with a valid first message; all others are refused (`refuse(reason)`)."""

    def __init__(self, listening: socket.socket, listener: Listener, count: int, refuse: Callable[[str], None],
                 requests: list[tuple] | None = None):  # fmt: skip
        """requests: addresses that asked over UDP while a test was running; OpenSees asks once and waits for ever."""
        self.socket, self.listener, self.count, self.refuse = listening, listener, count, refuse
        self.requests = [] if requests is None else requests

    def next_client(self, closing: Callable[[], bool]) -> tuple[Link, MessageLayout, str] | None:
        """Its link, the layout of its messages and its address; None when the server is closing."""
        wait = self._tcp if self.listener.protocol == "tcp" else self._udp
        return wait(closing)

    def _layout(self, hello: bytes) -> MessageLayout:
        layout = decode_hello(hello)
        if layout.count != self.count:
            raise WireProblem(f"it asks for {layout.count} degrees of freedom and the device has {self.count}.")
        if self.listener.protocol == "udp" and layout.bytes > DATAGRAM_BYTES:
            raise WireProblem(f"messages of {layout.bytes} bytes do not fit a datagram; use TCP.")
        return layout

    # -- TCP -----------------------------------------------------------------------------------------------------

    def _tcp(self, closing):
        """Connections are read together, each until its first message is complete or its time is over."""
        waiting: dict[socket.socket, tuple[bytearray, float, str]] = {}
        try:
            while not closing():
                ready = _readable([self.socket, *waiting])
                if self.socket in ready:
                    self._admit(waiting)
                for client in [g for g in waiting if g in ready]:
                    hello, _, who = waiting[client]
                    try:
                        came = client.recv(HELLO_BYTES - len(hello))
                    except BlockingIOError:
                        continue
                    except OSError:
                        came = b""
                    hello += came
                    if came and len(hello) < HELLO_BYTES:
                        continue
                    del waiting[client]
                    try:
                        if not came:
                            raise WireProblem("it disconnected without a message.")
                        layout = self._layout(bytes(hello))
                    except WireProblem as problem:
                        client.close()
                        self.refuse(f"{who}: {problem}")
                        continue
                    return TcpLink(client, self.listener.greeting, self.listener.spin), layout, who
                now = time.monotonic()
                for client in [g for g, (_, until, _) in waiting.items() if now > until]:
                    self.refuse(f"{waiting.pop(client)[2]} did not send its first message in time")
                    client.close()
            return None
        finally:
            for client in waiting:
                client.close()

    def _admit(self, waiting) -> None:
        try:
            client, sender = self.socket.accept()
        except OSError:  # it disconnected, or the server closes
            return
        if not self.listener.allows(sender):
            client.close()
            return self.refuse(f"{name_of(sender)} is not on the list of allowed clients")
        client.setblocking(False)
        waiting[client] = bytearray(), time.monotonic() + self.listener.greeting, name_of(sender)
        if len(waiting) > MOST_WAITING:
            first = next(iter(waiting))
            self.refuse(f"{waiting.pop(first)[2]} did not send its first message, and others wait")
            first.close()

    # -- UDP -----------------------------------------------------------------------------------------------------

    def _udp(self, closing):
        """Every request is granted; the first client that then sends a valid first message is admitted."""
        granted: dict[tuple, tuple[float, bytes]] = {}
        while self.requests:
            self._grant(granted, self.requests.pop(0), False)
        while not closing():
            if not _readable([self.socket]):
                continue
            try:
                message, sender = self.socket.recvfrom(DATAGRAM_BYTES)
            except OSError:
                continue
            if not self.listener.allows(sender):
                self.refuse(f"{name_of(sender)} is not on the list of allowed clients")
            elif message in (REQUEST, REQUEST + SEQUENCED):
                self._grant(granted, sender, message != REQUEST)
            elif granted.get(sender, (0.0,))[0] < time.monotonic():
                self.refuse(f"a datagram of {len(message)} bytes from {name_of(sender)}, which does not begin a test")
            else:
                try:
                    return self._begin(message, sender, granted[sender][1])
                except WireProblem as problem:
                    if not granted[sender][1]:  # a numbered first message that was lost is sent again
                        del granted[sender]
                    self.refuse(f"{name_of(sender)}: {problem}")
        return None

    def _grant(self, granted, sender, numbered: bool) -> None:
        """A client that once asked for numbered datagrams keeps its key: its first request may come again, or late."""
        key = granted.pop(sender, (0.0, b""))[1] or (new_key() if numbered else b"")
        granted[sender] = time.monotonic() + self.listener.greeting, key
        while len(granted) > MOST_GRANTED:
            del granted[next(iter(granted))]
        with contextlib.suppress(OSError):
            self.socket.sendto(GRANT + key, sender)

    def _begin(self, message: bytes, sender, key: bytes) -> tuple[Link, MessageLayout, str]:
        """The link to a client whose first message is valid."""
        number = 0
        if key:
            if len(message) != HEADER.size + HELLO_BYTES or message[:KEY_BYTES] != key:
                raise WireProblem("its first message does not have the key that it was given.")
            number = HEADER.unpack_from(message)[1]
            message = message[HEADER.size :]
        layout = self._layout(message)
        try:
            own, came = session_socket(self.socket, sender)
        except OSError as problem:
            raise WireProblem(f"there is no socket for it ({problem.strerror}).") from None
        for _, other in (entry for entry in came if entry[1] != sender):
            self.refuse(f"a datagram from {name_of(other)} when a test began")
        waiting = tuple(data for data, other in came if other == sender)
        arguments = (own, sender, self.listener.greeting, self.refuse, self.listener.spin, waiting)
        link = NumberedServerLink(*arguments, key=key, number=number) if key else UdpLink(*arguments)
        return link, layout, name_of(sender)


def _readable(sockets: list[socket.socket]) -> list[socket.socket]:
    try:
        return select.select(sockets, [], [], _LOOK)[0]
    except (OSError, ValueError):  # closed meanwhile
        return []


@contextlib.contextmanager
def turning_away(listening: socket.socket, listener: Listener, refuse: Callable[[str], None], requests: list[tuple]):
    """Refuses all who connect or send to the listening socket while a test runs; sleeps in between.

    requests: is given the addresses of clients that asked over UDP, to be answered after the test.
    """
    protocol = listener.protocol
    if protocol == "udp" and sys.platform != "linux":  # the test itself receives on this socket
        yield
        return
    inside, outside = socket.socketpair()

    def turn_away() -> None:
        while True:
            try:
                ready = select.select([listening, inside], [], [])[0]
            except (OSError, ValueError):  # the server has been closed
                return
            if inside in ready:
                return
            if protocol == "udp":
                for data, sender in pending(listening):
                    refuse(f"a datagram of {len(data)} bytes from {name_of(sender)} while a test is running")
                    if data == REQUEST and listener.allows(sender) and sender not in requests:
                        requests.append(sender)
                        del requests[:-MOST_WAITING]
            else:
                with contextlib.suppress(OSError):
                    connection, sender = listening.accept()
                    connection.close()
                    refuse(f"{name_of(sender)} connected while a test is running")
            time.sleep(0.01)  # many connections must not take time from the test

    refusing = threading.Thread(target=turn_away, name="vibrid refusals", daemon=True)
    refusing.start()
    try:
        yield
    finally:
        outside.send(b"x")
        refusing.join()
        inside.close()
        outside.close()
