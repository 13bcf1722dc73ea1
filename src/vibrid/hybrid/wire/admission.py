"""Admission of clients: many may connect at once, one is admitted. A slow client does not delay the others."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable

from vibrid.hybrid.wire.links import Link, TcpLink, UdpLink, name_of
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.protocol import (
    DATAGRAM_BYTES,
    HELLO_BYTES,
    KNOCK,
    WELCOME,
    MessageLayout,
    WireProblem,
    decode_hello,
)

MOST_WAITING = 32
"""Clients that may wait for admission at the same time; beyond that the oldest is disconnected."""
_LOOK = 0.2  # seconds between checks whether the server is closing


class Admission:
    """Waits for an allowed client with a valid first message; all others are refused (`refuse(reason)`)."""

    def __init__(self, ear: socket.socket, listener: Listener, count: int, refuse: Callable[[str], None]):
        self.ear, self.listener, self.count, self.refuse = ear, listener, count, refuse

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
                ready = _readable([self.ear, *waiting])
                if self.ear in ready:
                    self._admit(waiting)
                for guest in [g for g in waiting if g in ready]:
                    hello, _, who = waiting[guest]
                    try:
                        came = guest.recv(HELLO_BYTES - len(hello))
                    except BlockingIOError:
                        continue
                    except OSError:
                        came = b""
                    hello += came
                    if came and len(hello) < HELLO_BYTES:
                        continue
                    del waiting[guest]
                    try:
                        if not came:
                            raise WireProblem("it disconnected without a message.")
                        layout = self._layout(bytes(hello))
                    except WireProblem as problem:
                        guest.close()
                        self.refuse(f"{who}: {problem}")
                        continue
                    return TcpLink(guest, self.listener.greeting, self.listener.spin), layout, who
                now = time.monotonic()
                for guest in [g for g, (_, until, _) in waiting.items() if now > until]:
                    self.refuse(f"{waiting.pop(guest)[2]} did not send its first message in time")
                    guest.close()
            return None
        finally:
            for guest in waiting:
                guest.close()

    def _admit(self, waiting) -> None:
        try:
            guest, sender = self.ear.accept()
        except OSError:  # it disconnected, or the server closes
            return
        if not self.listener.allows(sender):
            guest.close()
            return self.refuse(f"{name_of(sender)} is not on the list of allowed clients")
        guest.setblocking(False)
        waiting[guest] = bytearray(), time.monotonic() + self.listener.greeting, name_of(sender)
        if len(waiting) > MOST_WAITING:
            first = next(iter(waiting))
            self.refuse(f"{waiting.pop(first)[2]} did not send its first message, and others wait")
            first.close()

    # -- UDP -----------------------------------------------------------------------------------------------------

    def _udp(self, closing):
        """Every knock is answered; the first client that then sends a valid first message is admitted."""
        knocked: dict[tuple, float] = {}
        while not closing():
            if not _readable([self.ear]):
                continue
            try:
                message, sender = self.ear.recvfrom(DATAGRAM_BYTES)
            except OSError:
                continue
            if not self.listener.allows(sender):
                self.refuse(f"{name_of(sender)} is not on the list of allowed clients")
            elif message == KNOCK:
                knocked[sender] = time.monotonic() + self.listener.greeting
                while len(knocked) > MOST_WAITING:
                    del knocked[next(iter(knocked))]
                with contextlib.suppress(OSError):
                    self.ear.sendto(WELCOME, sender)
            elif knocked.get(sender, 0.0) < time.monotonic():
                self.refuse(f"a datagram of {len(message)} bytes from {name_of(sender)}, which does not begin a test")
            else:
                try:
                    layout = self._layout(message)
                except WireProblem as problem:
                    del knocked[sender]
                    self.refuse(f"{name_of(sender)}: {problem}")
                    continue
                link = UdpLink(self.ear.dup(), sender, self.listener.greeting, self.refuse, self.listener.spin)
                return link, layout, name_of(sender)
        return None


def _readable(ears: list[socket.socket]) -> list[socket.socket]:
    try:
        return select.select(ears, [], [], _LOOK)[0]
    except (OSError, ValueError):  # closed meanwhile
        return []
