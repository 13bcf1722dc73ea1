"""The client side: a remote substructure, moved by the protocol of OpenSees."""

from __future__ import annotations

import contextlib
import socket
import time

import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.device import SPECIMENS
from vibrid.hybrid.substructure import Connection, Substructure
from vibrid.hybrid.wire.datagrams import NumberedClientLink, UdpLink
from vibrid.hybrid.wire.links import PROTOCOLS, Gone, Silent, TcpLink, resolve
from vibrid.hybrid.wire.protocol import (
    GRANT,
    KEY_BYTES,
    REQUEST,
    SEQUENCED,
    STOPS,
    USUAL_NUMBERS,
    Action,
    Incoming,
    MessageLayout,
    Outgoing,
    WireProblem,
    encode_hello,
)


class RemoteSubstructure(Substructure):
    """A remote part of the structure: a vibrid or an OpenFresco device server.

    Arguments
        host, port: of the server.
        count: degrees of freedom.
        protocol: "tcp" or "udp".
        timeout: seconds to wait for any answer; then the test ends with a message. Choose it longer than the stalls
            that the test may survive.
        size: numbers in a message.
        numbered: over UDP, ask the server for numbered datagrams (see `wire.datagrams`); a server of another make does
            not offer them. False does not ask.
    """

    needs_limits = False

    def __init__(self, host: str, port: int, count: int = 1, protocol: str = "tcp", timeout: float = 5.0,
                 size: int = USUAL_NUMBERS, numbered: bool = True):  # fmt: skip
        if protocol not in PROTOCOLS:
            raise InputError(f"The protocol is {' or '.join(PROTOCOLS)}, not '{protocol}'.")
        if not timeout > 0:
            raise InputError(f"The timeout must be a positive number of seconds, not {timeout!r}.")
        self.count, self.timeout, self._numbered = count, timeout, numbered
        self.where = f"the device server at {host} port {port}"
        self.layout = MessageLayout(count, max(size, 2 + 3 * count, count * count))
        self._out, self._in = Outgoing(self.layout), Incoming(self.layout)
        self.stopped: str | None = None
        self._link = self._connect(host, port, protocol)
        self._send(encode_hello(self.layout))
        self._separate = self._matrix(Action.DAMPING)
        """Damping that the server leaves out of its forces; the client adds it, as OpenSees does."""

    def _connect(self, host, port, protocol):
        family, address = resolve(host, port, protocol)
        kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
        wire = socket.socket(family, kind)
        wire.settimeout(self.timeout)
        try:
            wire.connect(address)
            if protocol == "tcp":
                return TcpLink(wire, self.timeout)
            key = self._request(wire)
            if key:
                return NumberedClientLink(wire, wire.getpeername(), self.timeout, key)
            return UdpLink(wire, wire.getpeername(), self.timeout)
        except TimeoutError:
            wire.close()
            raise WireProblem(f"{self.where} did not answer within {self.timeout:g} s: is it serving a test?") from None
        except OSError as problem:
            wire.close()
            raise WireProblem(f"{self.where} cannot be reached ({problem.strerror}).") from None
        except WireProblem:
            wire.close()
            raise

    def _request(self, wire: socket.socket) -> bytes:
        """Ask until the server answers: a datagram may be lost, or the server busy with another client.

        Returns the key of a session with numbered datagrams; empty where the server does not offer them. Servers that
        take only the plain request are asked by every second one.
        """
        until = time.monotonic() + self.timeout
        wire.settimeout(min(0.25, self.timeout))
        numbered = self._numbered
        while True:
            wire.send(REQUEST + SEQUENCED if numbered else REQUEST)
            try:
                answer = wire.recv(64)
            except TimeoutError:
                if time.monotonic() > until:
                    raise
                numbered = self._numbered and not numbered
                continue
            if answer[:1] != GRANT or len(answer) not in (1, 1 + KEY_BYTES):
                raise WireProblem(f"{self.where} did not answer as a device server does.")
            return answer[1:]

    def trial(self, displacement, velocity, acceleration, time):
        self._out.set_motion(displacement, velocity, acceleration, time)
        self._send(self._out.message(Action.TRIAL))
        self._ask(Action.FORCE)
        force = self._in.forces.astype(float)
        self._check_stop(force)
        return force + self._separate @ velocity

    def _check_stop(self, numbers: np.ndarray) -> None:
        if not np.isfinite(numbers).all():
            why = STOPS.get(int(np.nan_to_num(self._in.stop[0])), "its answers are not numbers")
            self.stop(why)
            raise WireProblem(f"{self.where} stopped the test: {why}. See its log.")

    def commit(self):
        self._send(self._out.message(Action.COMMIT))

    def stiffness(self):
        return self._matrix(Action.STIFFNESS)

    def damping(self):
        return self._separate

    def mass(self):
        return self._matrix(Action.MASS)

    def stop(self, reason):
        if self.stopped is None:
            self.stopped = reason
            with contextlib.suppress(Gone, Silent):  # it may have ended already
                self._link.send(self._out.message(Action.END))
                for _ in range(2):
                    self._link.send_again()  # it is not answered, and may be lost
            self._link.close()

    def _matrix(self, action: Action) -> np.ndarray:
        self._ask(action)
        self._check_stop(self._in.forces)
        return self._in.matrix.astype(float)

    def _ask(self, action: Action) -> None:
        self._send(self._out.message(action))
        try:
            self._link.receive(self._in.data)
        except Silent:
            self.stop("no answer")
            raise WireProblem(f"{self.where} did not answer within {self.timeout:g} s.") from None
        except Gone as gone:
            self.stop("the server has gone")
            raise WireProblem(f"{self.where} has gone ({gone}).") from None

    def _send(self, data) -> None:
        if self.stopped is not None:
            raise WireProblem(f"The connection to {self.where} is closed: {self.stopped}.")
        try:
            self._link.send(data)
        except (Gone, Silent) as gone:
            self.stop("the server has gone")
            raise WireProblem(f"{self.where} has gone ({gone or 'it does not accept messages'}).") from None


@SPECIMENS.register("remote")
class Remote(Connection):
    """A remote device in a project file: `kind = "remote"`.

    Arguments
        host, port: of the device server.
        protocol: "tcp" or "udp".
        timeout: seconds to wait for an answer before the test ends.
        numbered: over UDP, ask the server for numbered datagrams.
    """

    host: str = "127.0.0.1"
    port: int = 8090
    protocol: str = "tcp"
    timeout: float = 5.0
    numbered: bool = True

    def connect(self) -> RemoteSubstructure:
        return RemoteSubstructure(self.host, self.port, 1, self.protocol, self.timeout, numbered=self.numbered)
