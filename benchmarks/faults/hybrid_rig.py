"""A served device on loopback that counts the commands beyond its limits, by rules of its own."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from wire_helpers import LIMITS, Relay, Serving, Spring, serving

import vibrid as vb

RIG_LIMITS = dataclasses.replace(LIMITS, acceleration=300.0, force=4e4, energy=500.0)
_ROUND = 1 + 1e-9


class WatchedSpring(Spring):
    """Counts the commands that reach it beyond a limit. It measures nothing of vibrid's interlock."""

    def __init__(self, **mischief):
        super().__init__(**mischief)
        self.beyond: list[str] = []
        self.at, self.last, self.rate, self.when = 0.0, 0.0, None, None

    def trial(self, displacement, velocity, acceleration, time):
        x, v, a = float(displacement[0]), float(velocity[0]), float(acceleration[0])
        limits, seen = RIG_LIMITS, {}
        seen["displacement"] = abs(x) <= limits.displacement
        seen["velocity"] = abs(v) <= limits.velocity
        seen["acceleration"] = abs(a) <= limits.acceleration
        seen["step"] = abs(x - self.last) <= limits.step * _ROUND
        seen["time"] = np.isfinite(time) and (self.when is None or time >= self.when)
        if self.when is not None and time > self.when:
            rate = (x - self.at) / (time - self.when)
            seen["velocity by differences"] = abs(rate) <= limits.velocity * _ROUND
            if self.rate is not None:
                change = abs(rate - self.rate) / (time - self.when)
                seen["acceleration by differences"] = change <= limits.acceleration * _ROUND
            self.next_rate = rate
        self.beyond += [f"{name} at {time:.6g} s" for name, within in seen.items() if not within]
        self.last, self.now = x, time
        return super().trial(displacement, velocity, acceleration, time)

    def commit(self):
        if self.when is not None and self.now > self.when:
            self.rate = self.next_rate
        self.at, self.when = self.last, self.now
        super().commit()


class Rig:
    """A served device under one fault, and what was wrong."""

    def __init__(self, served: Serving, folder: Path):
        self.served, self.folder, self.device = served, folder, served.device
        self.problems: list[str] = []
        self.ending = None

    def expect(self, holds: object, text: str) -> None:
        if not holds:
            self.problems.append(text)

    def end(self):
        """How the test ended; a hang is an AssertionError of `Serving.end`."""
        self.ending = self.served.end()
        return self.ending

    def check(self) -> None:
        """What holds for every fault: no command beyond a limit, and every committed step is in the record."""
        self.problems += [f"a command beyond a limit reached the device: {text}" for text in self.device.beyond]
        records = sorted(self.folder.glob("test*.h5"))
        rows = sum(int((np.asarray(vb.read_record(path)["stop"]) == 0).sum()) for path in records)
        if rows < self.device.commits:
            self.problems.append(f"{self.device.commits - rows} of {self.device.commits} steps are not recorded")


@contextmanager
def rig(protocol: str = "tcp", device: WatchedSpring | None = None, **settings) -> Iterator[Rig]:
    """A server of a watched device with all limits and a record."""
    with tempfile.TemporaryDirectory() as place:
        settings = {"limits": RIG_LIMITS, "record": Path(place) / "test.h5"} | settings
        with serving(device or WatchedSpring(), protocol, **settings) as served:
            bench = Rig(served, Path(place))
            yield bench
        bench.check()


class HarmedRelay(Relay):
    """A network that harms datagrams in one way. harm: datagram and its number; the datagrams that arrive instead."""

    def __init__(self, port: int, harm: Callable[[bytes, int], list[bytes]]):
        self.harm, self.number = harm, 0
        super().__init__(port, 0)

    def pass_on(self, data, send):
        if self.good:
            send(data)
            return
        self.number += 1
        for datagram in self.harm(data, self.number):
            send(datagram)
