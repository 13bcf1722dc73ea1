"""The device server: lets one client in at a time, and only those it may; everybody else is refused and noted."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vibrid.core.errors import InputError
from vibrid.hybrid.limits import Limits
from vibrid.hybrid.substructure import Substructure
from vibrid.hybrid.wire.links import PROTOCOLS, Gone, Silent, TcpLink, UdpLink, name_of, resolve
from vibrid.hybrid.wire.protocol import (
    DATAGRAM_BYTES,
    HELLO_BYTES,
    KNOCK,
    WELCOME,
    Layout,
    WireProblem,
    decode_hello,
)
from vibrid.hybrid.wire.session import AFTER_STOP, Ending, Session

LOG = logging.getLogger("vibrid.hybrid.wire")
TOLD = 20
"""Refusals that are told one by one; after that every thousandth."""
_LOOK = 0.2  # seconds between looks at whether the server should go on waiting


@dataclass(frozen=True)
class Door:
    """Where a server listens, who may come in, and how long it waits.

    host, port: this machine alone unless said otherwise; port 0 takes a free one.
    allow: addresses or networks (`192.168.1.20`, `10.0.0.0/24`) of clients; needed when others can reach the server.
    greeting: seconds in which a client that connected must say what it wants; idle: seconds without a message after
    which a client in a test is given up.
    """

    host: str = "127.0.0.1"
    port: int = 8090
    protocol: str = "tcp"
    allow: tuple[str, ...] = ()
    greeting: float = 5.0
    idle: float = 60.0
    networks: tuple = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.protocol not in PROTOCOLS:
            raise InputError(f"A server speaks {' or '.join(PROTOCOLS)}, not '{self.protocol}'.")
        if not (self.greeting > 0 and self.idle > 0):
            raise InputError("The seconds for a greeting and of idleness must be positive.")
        if not 0 <= self.port <= 65535:
            raise InputError(f"{self.port} is not a port: they go from 0 to 65535.")
        try:
            networks = tuple(ipaddress.ip_network(peer, strict=False) for peer in self.allow)
        except ValueError as problem:
            raise InputError(f"The list of allowed clients holds something else than addresses: {problem}.") from None
        object.__setattr__(self, "networks", networks)
        _, address = resolve(self.host, self.port, self.protocol)
        if not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback and not networks:
            raise InputError(
                f"'{self.host}' can be reached from other machines, and whoever reaches the server moves the device: "
                'say which clients may, as in allow = ["192.168.1.20"] or --allow 192.168.1.20.'
            )

    def lets_in(self, address) -> bool:
        """Whether a client with this address may come in."""
        found = ipaddress.ip_address(address[0].partition("%")[0])
        found = getattr(found, "ipv4_mapped", None) or found
        if not self.networks:
            return found.is_loopback
        return any(found in network for network in self.networks)


class DeviceServer:
    """Serves a device to OpenSees' `genericClient`, or to vibrid's own `RemoteSubstructure`, one test at a time.

    Arguments
        specimen: makes the device anew for each test.
        door: where to listen and for whom.
        limits: what no test may cross.
        recorder: makes what keeps a test, given the specimen; None keeps nothing.
        damping, after_stop: see `Session`.

    Example
        >>> server = DeviceServer(lambda: DeviceSubstructure(LawDevice(vb.Linear(4e5)), 0.01), Door(port=8090))
        >>> print(server.serve())
    """

    def __init__(self, specimen: Callable[[], Substructure], door: Door | None = None, limits: Limits | None = None, *,
                 recorder: Callable | None = None, damping: str = "in force", after_stop: str = "answer"):  # fmt: skip
        if damping not in ("in force", "apart") or after_stop not in AFTER_STOP:
            raise InputError("damping is 'in force' or 'apart', and after_stop is 'answer' or 'close'.")
        self.specimen, self.door, self.limits = specimen, door or Door(), limits or Limits()
        self.recorder, self.damping, self.after_stop = recorder, damping, after_stop
        self._ready: Substructure | None = specimen()  # compiled and zeroed before anyone can connect
        self.refused = 0
        self._closing = False
        self._socket = self._listen()
        self.address = self._socket.getsockname()[:2]
        self.port = self.address[1]

    def _listen(self) -> socket.socket:
        family, address = resolve(self.door.host, self.door.port, self.door.protocol)
        kind = socket.SOCK_STREAM if self.door.protocol == "tcp" else socket.SOCK_DGRAM
        made = socket.socket(family, kind)
        try:
            if self.door.protocol == "tcp":
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            if self.door.protocol == "tcp":
                made.listen(8)
        except OSError as problem:
            made.close()
            raise InputError(f"Cannot listen on {name_of(address)} ({problem.strerror}).") from None
        return made

    def serve(self) -> Ending | None:
        """Wait for a client, serve its test to the end, and say how that was; None when closed before anyone came."""
        specimen, self._ready = self._ready or self.specimen(), None
        LOG.info("%s listens on %s", self.door.protocol.upper(), name_of(self.address))
        try:
            with contextlib.ExitStack() as stack:
                met = self._meet(specimen.count)
                if met is None:
                    return None
                link, layout = met
                stack.callback(link.close)
                keep = self.recorder(specimen) if self.recorder is not None else None
                if self.door.protocol == "tcp":
                    stack.enter_context(self._doorkeeper())
                session = Session(
                    link, layout, specimen, self.limits,
                    damping=self.damping, after_stop=self.after_stop, recorder=keep, log=LOG,
                )  # fmt: skip
                LOG.info("a test begins: %d degrees of freedom, %d numbers a message", layout.count, layout.size)
                try:
                    ending = session.run()
                finally:
                    specimen.stop("the server ended")
                    if keep is not None:
                        keep.close(session.stopped[1] if session.stopped else "")
                LOG.info("the test ended: %s", ending)
                if keep is not None and keep.problem:
                    LOG.warning(keep.problem)
                return ending
        finally:
            specimen.stop("the server ended")

    def close(self) -> None:
        """Wait for nobody any more; a test that runs goes on to its end."""
        self._closing = True
        self._socket.close()

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        if self.refused <= TOLD or self.refused % 1000 == 0:
            LOG.warning("refused (%d so far): %s", self.refused, reason[:300])

    # -- meeting a client ----------------------------------------------------------------------------------------

    def _meet(self, count: int):
        """A client that may come in and has said what it wants: its link and the layout of its messages."""
        knock = self._accept if self.door.protocol == "tcp" else self._answer_knock
        while not self._closing:
            if not _readable(self._socket, _LOOK):
                continue
            found = knock()
            if found is None:
                continue
            link, who = found
            try:
                layout = self._greet(link, count)
            except (WireProblem, Gone, Silent) as problem:
                link.close()
                self._refuse(f"{who}: {problem}" if str(problem) else f"{who} said nothing")
                continue
            link.set_patience(self.door.idle)
            LOG.info("a client at %s", who)
            return link, layout
        return None

    def _greet(self, link, count: int) -> Layout:
        """Read and check the first message."""
        if self.door.protocol == "udp":
            link.send(WELCOME)
        hello = bytearray(HELLO_BYTES)
        link.receive(memoryview(hello))
        layout = decode_hello(bytes(hello))
        if layout.count != count:
            raise WireProblem(f"it wants {layout.count} degrees of freedom and the device has {count}.")
        if self.door.protocol == "udp" and layout.bytes > DATAGRAM_BYTES:
            raise WireProblem(f"messages of {layout.bytes} bytes do not fit a datagram; use TCP.")
        return layout

    def _accept(self):
        try:
            connection, sender = self._socket.accept()
        except OSError:  # it left again, or the server closes
            return None
        if not self.door.lets_in(sender):
            connection.close()
            return self._refuse(f"{name_of(sender)} is not on the list of allowed clients")
        return TcpLink(connection, self.door.greeting), name_of(sender)

    def _answer_knock(self):
        try:
            said, sender = self._socket.recvfrom(DATAGRAM_BYTES)
        except OSError:
            return None
        if not self.door.lets_in(sender):
            return self._refuse(f"{name_of(sender)} is not on the list of allowed clients")
        if said != KNOCK:
            return self._refuse(f"a datagram of {len(said)} bytes from {name_of(sender)}, which does not begin a test")
        return UdpLink(self._socket.dup(), sender, self.door.greeting, self._refuse), name_of(sender)

    @contextlib.contextmanager
    def _doorkeeper(self):
        """Turns away whoever connects while a test runs; sleeps until somebody does."""
        inside, outside = socket.socketpair()

        def turn_away() -> None:
            while True:
                ready = select.select([self._socket, inside], [], [])[0]
                if inside in ready:
                    return
                with contextlib.suppress(OSError):
                    connection, sender = self._socket.accept()
                    connection.close()
                    self._refuse(f"{name_of(sender)} came while a test is running")
                    time.sleep(0.01)  # a crowd at the door must not take time from the test

        keeper = threading.Thread(target=turn_away, name="vibrid doorkeeper", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            outside.send(b"x")
            keeper.join()
            inside.close()
            outside.close()


def _readable(ear: socket.socket, seconds: float) -> bool:
    try:
        return bool(select.select([ear], [], [], seconds)[0])
    except (OSError, ValueError):  # closed meanwhile
        return False
