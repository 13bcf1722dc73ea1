"""The protocol of OpenSees' remote element `genericClient`, which OpenFresco's servers use too.

Over TCP the client connects; over UDP it sends one byte `a` and waits for one byte. Then, both ways and in the byte
order of the client:

- once, from the client, eleven 32-bit integers: the sizes of its commands (displacement, velocity, acceleration, force,
  time), of its measurements (the same five), and of every later message:
  `[n, n, n, 0, 1,  0, 0, 0, n, 0,  size]`;
- from then on messages of exactly `size` 64-bit numbers: `[action, displacement (n), velocity (n), acceleration (n),
  time, 0 …]` from the client, `[force (n), 0 …]` or an n × n matrix by columns as the answer.

Trial (3), commit (5) and end (99) have no answer; force (10), initial stiffness (12), tangent stiffness (13), damping
(14) and mass (15) have one. Only numbers cross the wire; nothing that arrives is executed.

A server that had to stop the test answers NaN, so that the client is not left waiting, and gives the reason as the
number after the forces (`STOPS`), which OpenSees does not read.

Over UDP a client of vibrid asks for an extension (`SEQUENCED`): every datagram begins with the key of the session and a
number (`HEADER`), every answer with the inverted key: a client does not take its own datagram, sent back to it by a
network, for the answer. A server of another make reads only the first byte of the request; the extension is not used.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from vibrid.core.errors import VibridError

MOST_FREEDOMS = 64
"""The most degrees of freedom of a remote part."""
MOST_NUMBERS = 8192
"""The most numbers in a message."""
DATAGRAM_BYTES = 9126
"""The largest datagram that OpenSees sends in one piece."""
USUAL_NUMBERS = 256
"""Numbers in a message unless the client asks for more."""
HELLO_BYTES = 11 * 4
REQUEST, GRANT = b"a", b"b"
"""First datagrams over UDP, of a client and of the server."""
SEQUENCED = b"vibrid sequence 2"
"""Follows the request of a client that numbers its datagrams; the grant is then followed by the key of the session."""
KEY_BYTES = 8
HEADER = struct.Struct(f"<{KEY_BYTES}sQ")
"""Before every numbered datagram: the key of the session (inverted in an answer), and its number."""


class WireProblem(VibridError):
    """The other side of a connection violated the protocol, or did not respond."""


class Action(IntEnum):
    """The requests of a client."""

    TRIAL = 3
    COMMIT = 5
    FORCE = 10
    STIFFNESS = 12
    TANGENT = 13
    DAMPING = 14
    MASS = 15
    END = 99


ACTIONS = {float(a): a for a in Action}
STOPS = {
    1: "a displacement beyond its limit was commanded",
    2: "a velocity beyond its limit was commanded",
    3: "the force exceeded its limit",
    4: "the force of the device is not a finite number",
    5: "the client commanded a value that is not a finite number",
    6: "the operator stopped the test",
    7: "the device failed",
    8: "the test could not be recorded any more",
    9: "the time of the commands ran backwards",
    10: "an acceleration beyond its limit was commanded",
    11: "a step beyond its limit was commanded",
    12: "the energy of one cycle exceeded its limit",
    13: "a datagram was lost or came out of order",
    14: "the device was stopped in an earlier test, and nobody has cleared the stop",
}
"""Reasons why a server stopped a test, by the number that follows the NaN forces."""
TRIPS = {
    "displacement": 1, "velocity": 2, "force": 3, "reading": 4, "command": 5,
    "time": 9, "acceleration": 10, "step": 11, "energy": 12,
}  # fmt: skip
"""The number of each kind of `Trip`."""


@dataclass(frozen=True)
class MessageLayout:
    """The shape of the messages of one connection: degrees of freedom, numbers in a message, `<` or `>`."""

    count: int
    size: int = USUAL_NUMBERS
    order: str = "<" if sys.byteorder == "little" else ">"

    @property
    def bytes(self) -> int:
        return 8 * self.size

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(f"{self.order}f8")

    @property
    def time(self) -> int:
        """Index of the time in a message, after displacement, velocity and acceleration."""
        return 1 + 3 * self.count


def encode_hello(layout: MessageLayout) -> bytes:
    """The first message of a client."""
    n = layout.count
    return struct.pack(f"{layout.order}11i", n, n, n, 0, 1, 0, 0, 0, n, 0, layout.size)


def decode_hello(data: bytes) -> MessageLayout:
    """The shape of the messages to come; refused unless it is exactly what the remote element of OpenSees sends."""
    if len(data) != HELLO_BYTES:
        raise WireProblem(f"a first message has {HELLO_BYTES} bytes, not {len(data)}.")
    order = min("<>", key=lambda o: abs(struct.unpack(f"{o}i", data[:4])[0]))  # small in the client's byte order
    sizes = struct.unpack(f"{order}11i", data)
    n, size = sizes[0], sizes[10]
    if sizes[:10] != (n, n, n, 0, 1, 0, 0, 0, n, 0):
        raise WireProblem(
            f"the sizes {list(sizes)} are not [n, n, n, 0, 1, 0, 0, 0, n, 0, size]: displacement, velocity, "
            "acceleration and time one way, force the other."
        )
    if not 1 <= n <= MOST_FREEDOMS:
        raise WireProblem(f"{n} degrees of freedom were announced; 1 to {MOST_FREEDOMS} are possible.")
    least = max(2 + 3 * n, n * n)
    if not least <= size <= MOST_NUMBERS:
        raise WireProblem(f"messages of {size} numbers were announced; {least} to {MOST_NUMBERS} are possible.")
    return MessageLayout(n, size, order)


class Outgoing:
    """Messages of a client, written into one buffer."""

    def __init__(self, layout: MessageLayout):
        n = layout.count
        self._numbers = np.zeros(layout.size, layout.dtype)
        self._motion = self._numbers[1 : 2 + 3 * n]
        self.data = self._numbers.data.cast("B")

    def set_motion(self, displacement, velocity, acceleration, time: float) -> None:
        self._motion[:] = (*displacement, *velocity, *acceleration, time)

    def message(self, action: Action) -> memoryview:
        self._numbers[0] = action
        return self.data


class Incoming:
    """A buffer that a client receives answers into, and views of their parts."""

    def __init__(self, layout: MessageLayout):
        self._bytes = bytearray(layout.bytes)
        n = layout.count
        self.data = memoryview(self._bytes)
        numbers = np.frombuffer(self._bytes, layout.dtype)
        self.forces = numbers[:n]
        self.stop = numbers[n : n + 1]
        self.matrix = numbers[: n * n].reshape(n, n, order="F")


class Request:
    """A buffer that a server receives messages into, and their numbers as Python's own."""

    def __init__(self, layout: MessageLayout):
        self._bytes = bytearray(layout.bytes)
        self._head = struct.Struct(f"{layout.order}{2 + 3 * layout.count}d")
        self.data = memoryview(self._bytes)

    def read(self) -> tuple[Action, tuple[float, ...]]:
        """The action, and displacement, velocity, acceleration and time; unknown actions are refused."""
        number, *motion = self._head.unpack_from(self._bytes)
        action = ACTIONS.get(number)
        if action is None:
            raise WireProblem(f"there is no action {number:g}; {', '.join(str(int(a)) for a in Action)} are known.")
        return action, tuple(motion)


class Reply:
    """The answer of a server: some numbers and then zeros, written into one buffer."""

    def __init__(self, layout: MessageLayout, count: int):
        self._bytes = bytearray(layout.bytes)
        self._head = struct.Struct(f"{layout.order}{min(count, layout.size)}d")

    def of(self, *numbers: float) -> bytearray:
        self._head.pack_into(self._bytes, 0, *numbers)
        return self._bytes
