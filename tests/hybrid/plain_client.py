"""A client written from the text of the protocol alone, with plain sockets: it plays OpenSees' `genericClient`.

Nothing of vibrid is used, so that a mistake there cannot hide here. `run` makes the moves of OpenSees' KRAlphaExplicit
for a linear structure: the trial at the weighted motion twice, force and damping asked for, the trial again with the
velocity of the end of the step, commit.
"""

import socket
import struct
import time

import numpy as np

SIZE = 256


class PlainClient:
    """Speaks the protocol for one degree of freedom."""

    def __init__(self, protocol, port, order="=", timeout=60.0, size=SIZE, count=1):
        self.order, self.size, self.udp = order, size, protocol == "udp"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if self.udp else socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        if self.udp:
            self.socket.send(b"a")
            assert self.socket.recv(1) == b"b"
        n = count
        self.socket.sendall(struct.pack(f"{order}11i", n, n, n, 0, 1, 0, 0, 0, n, 0, size))

    def tell(self, action, x=0.0, v=0.0, a=0.0, t=0.0):
        self.socket.sendall(struct.pack(f"{self.order}5d", action, x, v, a, t) + bytes(8 * (self.size - 5)))

    def ask(self, action, x=0.0, v=0.0, a=0.0, t=0.0):
        self.tell(action, x, v, a, t)
        return self.hear()

    def hear(self):
        data = b""
        while len(data) < 8 * self.size:
            came = self.socket.recv(8 * self.size - len(data))
            if not came:
                raise ConnectionError("the server closed")
            data += came
        return struct.unpack(f"{self.order}{self.size}d", data)

    def close(self, end=True):
        if end:
            self.tell(99)
        self.socket.close()


def run(client, m, c, k, inertia, ground, at, dt, rho):
    """Displacements of `m a + c v + k x + device = −inertia ground` by KR-α as OpenSees does it.

    Also the seconds that the messages of each step took. at: the degree of freedom where the device stands; ground:
    acceleration at each step, zero at first.
    """
    n = len(m)
    # what OpenSees asks for before the first step
    kd, cd = client.ask(12)[0], client.ask(14)[0]
    md = client.ask(15)[0]
    e = np.zeros((n, n))
    e[at, at] = 1.0
    M, C, K = m + md * e, c + cd * e, k + kd * e
    af, am = 1 / (1 + rho), (2 - rho) / (1 + rho)
    gamma, beta = 0.5 * (3 - rho) / (1 + rho), 1 / (1 + rho) ** 2
    effective = M + gamma * dt * C + beta * dt * dt * K
    alpha1 = np.linalg.solve(effective, M)
    alpha3 = np.linalg.solve(effective, (1 - am) * M + (1 - af) * dt * (gamma * C + beta * dt * K))
    mhat = M - M @ alpha3
    x, v, a, t = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
    rows, taken = [x], []
    for i in range(len(ground) - 1):
        kick = dt * alpha1 @ a
        x1, v1 = x + dt * v + (0.5 + gamma) * dt * kick, v + kick
        xa, va, aa = (1 - af) * x + af * x1, (1 - af) * v + af * v1, alpha3 @ a
        now = t + af * dt
        began = time.perf_counter()
        client.tell(3, xa[at], va[at], aa[at], now)
        client.tell(3, xa[at], va[at], aa[at], now)
        force = client.ask(10, xa[at], va[at], aa[at], now)[0]
        force += client.ask(14, xa[at], va[at], aa[at], now)[0] * va[at]
        asked = time.perf_counter() - began
        u = (1 - af) * ground[i] + af * ground[i + 1]
        a1 = np.linalg.solve(mhat, -inertia * u - c @ va - k @ xa - force * e[at] - M @ aa)
        began = time.perf_counter()
        client.tell(3, xa[at], v1[at], a1[at], now)
        client.tell(5, xa[at], v1[at], a1[at], now)
        taken.append(asked + time.perf_counter() - began)
        x, v, a, t = x1, v1, a1, t + dt
        rows.append(x)
    return np.array(rows), np.array(taken)
