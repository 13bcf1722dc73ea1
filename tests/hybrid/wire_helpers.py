"""Servers in a thread, and small devices without compilation, for the tests of the wire."""

import contextlib
import socket
import threading
import time

import numpy as np

from vibrid.hybrid import DeviceServer, Listener, RemoteSubstructure, SafetyLimits, Substructure
from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.wire.record import channels_of

STIFFNESS = 1e6
LIMITS = SafetyLimits(displacement=0.06, velocity=1.0, force=1e5, step=0.02)


class Spring(Substructure):
    """F = k x, with mischief at a chosen trial: a stall, or a force that is not a number."""

    def __init__(self, stall_at=None, stall=0.0, nan_at=None, count=1):
        self.count, self.stall_at, self.stall, self.nan_at = count, stall_at, stall, nan_at
        self.trials = self.commits = 0
        self.stopped = None
        self.moved = []
        self.released = threading.Event()

    def trial(self, displacement, velocity, acceleration, time):
        self.trials += 1
        self.moved.append((float(displacement[0]), float(velocity[0]), time))
        if self.trials == self.stall_at:
            self.released.wait(self.stall)
        if self.trials == self.nan_at:
            return np.full(self.count, np.nan)
        return STIFFNESS * displacement

    def commit(self):
        self.commits += 1

    def stiffness(self):
        return STIFFNESS * np.eye(self.count)

    def stop(self, reason):
        self.stopped = self.stopped or reason


class Serving:
    """A server in a thread."""

    def __init__(self, device, protocol="tcp", limits=None, record=None, when_full="continue", **settings):
        listener = {"idle": 60.0} | {k: settings.pop(k) for k in ("idle", "greeting", "allow") if k in settings}
        self.device, self.record = device, None

        def recorder(made):
            self.record = Recorder(record, channels_of(made), when_full=when_full)
            return self.record

        self.server = DeviceServer(
            lambda: device, Listener(port=0, protocol=protocol, **listener), limits, unlimited=True,
            recorder=recorder if record else None, **settings,
        )  # fmt: skip
        self.port = self.server.port
        self.again()

    def again(self):
        """Serve the next test."""
        self.ending = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        self.ending = self.server.serve()

    def end(self, seconds=60.0):
        """How the test ended; a server that hangs fails the test."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the server hangs"
        return self.ending

    def refused(self, count, seconds=60.0):
        """Wait until so many have been refused."""
        until = time.monotonic() + seconds
        while self.server.refused < count and time.monotonic() < until:
            time.sleep(0.005)
        return self.server.refused


@contextlib.contextmanager
def serving(device=None, *arguments, **settings):
    made = Serving(device or Spring(), *arguments, **settings)
    try:
        yield made
    finally:
        getattr(made.device, "released", threading.Event()).set()
        made.server.close()
        made.thread.join(60)
        assert not made.thread.is_alive(), "the server hangs"


def drive(remote, steps, first=0, dt=1e-3):
    """Move a substructure along a sine; its forces."""
    forces = []
    for k in range(first, first + steps):
        t = (k + 1) * dt
        x = 0.01 * np.sin(20 * t)
        forces.append(float(remote.trial(np.array([x]), np.array([0.2 * np.cos(20 * t)]), np.zeros(1), t)[0]))
        remote.commit()
    return np.array(forces)


def expected(steps, dt=1e-3):
    return STIFFNESS * 0.01 * np.sin(20 * dt * np.arange(1, steps + 1))


def step(client, x, t, v=0.0):
    """One step of a plain client, as OpenSees makes it: the force, and the number of the stop."""
    client.tell(3, x, v, 0.0, t)
    answer = client.ask(10, x, v, 0.0, t)
    client.tell(5, x, v, 0.0, t)
    return answer[:2]


def remote(served, protocol="tcp", **settings):
    """A client of vibrid that waits long enough on a busy machine."""
    return RemoteSubstructure("127.0.0.1", served.port, 1, protocol, **{"timeout": 60.0} | settings)


class Relay:
    """A bad network between a client and a server: datagrams are lost, doubled, delayed and exchanged, by chance."""

    def __init__(self, port, seed):
        self.random = np.random.default_rng(seed)
        self.front, self.back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.front.bind(("127.0.0.1", 0))
        self.back.connect(("127.0.0.1", port))
        self.port, self.client, self.closing, self.kept = self.front.getsockname()[1], None, False, []
        self.harmed, self.good = 0, False
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self.forward, self.backward)]
        for thread in self.threads:
            thread.start()

    def forward(self):
        self.front.settimeout(0.1)
        while not self.closing:
            try:
                data, self.client = self.front.recvfrom(10000)
            except TimeoutError:
                continue
            self.pass_on(data, self.back.send)

    def backward(self):
        self.back.settimeout(0.1)
        while not self.closing:
            try:
                data = self.back.recv(10000)
            except (TimeoutError, ConnectionRefusedError):
                continue
            self.pass_on(data, lambda answer: self.front.sendto(answer, self.client))

    def pass_on(self, data, send):
        chance = 0.5 if self.good else self.random.random()
        self.harmed += chance < 0.15
        if chance < 0.05:
            return
        send(data)
        if chance < 0.1:
            send(data)
        elif chance < 0.15:
            self.kept.append((data, send))
        elif self.kept and chance > 0.9:
            late, how = self.kept.pop(0)
            how(late)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing = True
        for thread in self.threads:
            thread.join()
        self.front.close()
        self.back.close()


class Mirror(Relay):
    """A network that also sends every datagram of the client back to it, before the answer can come."""

    def __init__(self, port):
        self.on = False
        super().__init__(port, 0)

    def pass_on(self, data, send):
        if self.on and send == self.back.send:
            self.front.sendto(data, self.client)
        send(data)
