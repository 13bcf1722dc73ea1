"""Faults of the wire of hybrid tests: a served device on loopback, and a client or a network that misbehaves.

For every fault: no command beyond a limit reaches the device, every committed step is in the record, nothing hangs, no
error is raw, and the test goes on or ends as it should.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
import traceback
from collections.abc import Callable

import numpy as np
from plain_client import PlainClient
from wire_helpers import Mirror, drive, expected, remote, step

from faults.hybrid_rig import RIG_LIMITS, HarmedRelay, WatchedSpring, rig
from vibrid.hybrid import RemoteSubstructure, StopLatch, Watchdog, WireProblem
from vibrid.hybrid.wire.protocol import HEADER

STEPS = 60


def _harmed(harm: Callable[[bytes, int], list[bytes]]) -> list[str]:
    """A numbered client behind a network that harms datagrams: every step is made once, in order, with its force."""
    with rig("udp") as bench, HarmedRelay(bench.served.port, harm) as relay:
        relay.good = True
        client = RemoteSubstructure("127.0.0.1", relay.port, 1, "udp", timeout=60.0)
        relay.good = False
        forces = drive(client, STEPS)
        client.stiffness()
        relay.good = True
        client.stop("done")
        ending = bench.end()
        bench.expect(np.allclose(forces, expected(STEPS), rtol=1e-12), "forces of other steps were answered")
        bench.expect(ending.well and ending.steps == STEPS, f"{ending}")
        bench.expect(bench.device.commits == bench.device.trials == STEPS, "a step was lost or made twice")
    return bench.problems


def _late(after: int) -> Callable[[bytes, int], list[bytes]]:
    """Every fifth datagram comes again, so many later."""
    kept: list[tuple[int, bytes]] = []

    def harm(data: bytes, number: int) -> list[bytes]:
        if number % 5 == 0:
            kept.append((number + after, data))
        return [data, *([kept.pop(0)[1]] if kept and kept[0][0] <= number else [])]

    return harm


def _exchanged() -> Callable[[bytes, int], list[bytes]]:
    """Every seventh datagram comes after the next one."""
    kept: list[bytes] = []

    def harm(data: bytes, number: int) -> list[bytes]:
        if number % 7 == 0:
            kept.append(data)
            return []
        return [data, *([kept.pop()] if kept else [])]

    return harm


def _sent_back(numbered: bool) -> list[str]:
    """A network that sends the client's own datagrams back to it."""
    with rig("udp") as bench, Mirror(bench.served.port) as mirror:
        client = RemoteSubstructure("127.0.0.1", mirror.port, 1, "udp", timeout=60.0, numbered=numbered)
        mirror.on = True
        forces = drive(client, STEPS)
        mirror.on = False
        client.stop("done")
        ending = bench.end()
        bench.expect(np.allclose(forces, expected(STEPS), rtol=1e-12), "a command was taken for a force")
        bench.expect(ending.well and ending.steps == STEPS, f"{ending}")
    return bench.problems


def _flipped(first: int, last: int) -> list[str]:
    """A bit of some bytes is wrong, in every third datagram: whatever the test does, no limit is exceeded."""

    def harm(data: bytes, number: int) -> list[bytes]:
        if number % 3 or len(data) < last:
            return [data]
        spoilt = bytearray(data)
        spoilt[first + (number * 7) % (last - first)] ^= 1 << (number % 8)
        return [bytes(spoilt)]

    with rig("udp", idle=3.0) as bench, HarmedRelay(bench.served.port, harm) as relay:
        relay.good = True
        client = RemoteSubstructure("127.0.0.1", relay.port, 1, "udp", timeout=3.0)
        relay.good = False
        with contextlib.suppress(WireProblem):
            drive(client, STEPS)
        relay.good = True
        client.stop("done")
        bench.end()
    return bench.problems


def _from_client(send: Callable[[socket.socket, int], None], protocol: str = "udp") -> list[str]:
    """Something else is sent to the port during a test: it is ignored or refused, and the test is not disturbed."""
    with rig(protocol) as bench:
        client = remote(bench.served, protocol)
        forces = []
        for k in range(6):
            send(client._link.socket, bench.served.port)
            forces.append(drive(client, 10, first=10 * k))
        client.stop("done")
        ending = bench.end()
        bench.expect(np.allclose(np.concatenate(forces), expected(60), rtol=1e-12), "forces of other steps")
        bench.expect(ending.well and ending.steps == 60, f"{ending}")
    return bench.problems


def _stray(content: bytes, count: int = 60) -> Callable[[socket.socket, int], None]:
    def send(_: socket.socket, port: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(count):
                stranger.sendto(content, ("127.0.0.1", port))

    return send


def _second_tcp(_: socket.socket, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.settimeout(5.0)
        other.connect(("127.0.0.1", port))
        other.sendall(struct.pack("=11i", 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256))


def _forged(connection: socket.socket, _: int) -> None:
    """A command to 50 mm with the key of another session, from the client's own address."""
    connection.send(HEADER.pack(bytes(8), 10**6) + struct.pack("=5d", 3, 0.05, 0, 0, 1) + bytes(2008))


def _refused(code: int, *motion: float, protocol: str = "tcp", device: WatchedSpring | None = None) -> list[str]:
    """A command that must not be obeyed after ten good steps: answered with NaN and its number, and latched."""
    with rig(protocol, device) as bench:
        client = PlainClient(protocol, bench.served.port)
        for k in range(1, 11):
            step(client, 1e-3 * k, 0.01 * k)
        before = bench.device.trials
        x, v, a, t = motion
        client.tell(3, x, v, a, t)
        force, number = client.ask(10, x, v, a, t)[:2]
        client.tell(5, x, v, a, t)
        again = step(client, 0.0105, 0.12)[0]
        client.close()
        ending = bench.end()
        reached = bench.device.trials - before
        bench.expect(math.isnan(force) and number == code, f"answered {force:g} with number {number:g}, not {code}")
        bench.expect(math.isnan(again), "the device was moved again after a stop")
        bench.expect(ending.stopped and bench.served.server.latch.standing is not None, f"not latched: {ending}")
        bench.expect(reached == (code in (3, 12)), f"{reached} commands reached the device")
    return bench.problems


def _silent(when_silent: str, leaves: bool, protocol: str = "tcp") -> list[str]:
    """A client that says nothing more, or whose connection ends."""
    with rig(protocol, watchdog=Watchdog(0.5, when_silent, ramp_velocity=0.1), step=0.01) as bench:
        client = PlainClient(protocol, bench.served.port)
        for k in range(1, 4):
            step(client, 0.005 * k, 0.1 * k)
        if leaves:
            client.close(end=False)
        ending = bench.end()
        client.socket.close()
        last = bench.device.moved[-1][0]
        bench.expect(not ending.well and bench.device.stopped, f"{ending}")
        bench.expect(abs(last - (0.015 if when_silent == "hold" else 0.0)) < 1e-9, f"the device is at {last:g} m")
    return bench.problems


def _slow_writer(first: bool) -> list[str]:
    """A client that sends a byte now and then; in its first message, or in the middle of a test."""
    with rig(idle=0.5, greeting=0.5) as bench:
        if first:
            with socket.create_connection(("127.0.0.1", bench.served.port)) as slow:
                for _ in range(10):
                    try:
                        slow.send(b"x")
                    except OSError:
                        break
                    time.sleep(0.1)
            client = remote(bench.served)
            drive(client, 10)
            client.stop("done")
            bench.expect(bench.end().steps == 10, "the next client was not served")
        else:
            client = PlainClient("tcp", bench.served.port)
            step(client, 0.001, 0.1)
            for _ in range(100):
                if bench.served.ending is None:
                    try:
                        client.socket.send(b"x")
                    except OSError:
                        break
                    time.sleep(0.05)
            bench.expect(not bench.end().well, "half a message counts as a sign of life")
    return bench.problems


def _reconnect() -> list[str]:
    """After a stop the next client moves nothing, until a person clears the stop."""
    with rig() as bench:
        client = PlainClient("tcp", bench.served.port)
        step(client, 0.001, 0.1)
        step(client, 0.061, 100.0)
        client.close()
        bench.end()
        moved = bench.device.trials
        bench.served.again()
        try:
            remote(bench.served)
            bench.problems.append("a stopped device was offered again")
        except WireProblem:
            pass
        bench.expect(bench.device.trials == moved, "a stopped device was moved")
        bench.served.server.clear(by="Jane Doe")
        client = _patiently(bench)
        client.trial(np.array([0.002]), np.zeros(1), np.zeros(1), 200.0)
        client.commit()
        client.stop("done")
        bench.expect(bench.end().well, "not served after the stop was cleared")
    return bench.problems


def _patiently(bench):
    until = time.monotonic() + 60.0
    while True:
        try:
            return remote(bench.served)
        except WireProblem:
            if time.monotonic() > until:
                raise


def _restarted() -> list[str]:
    """The server ends in a test and is started again: the stop of the first test still holds."""
    with rig() as first:
        path = first.folder / "stops.json"
        first.served.server.latch = StopLatch(path)
        client = PlainClient("tcp", first.served.port)
        step(client, 0.001, 0.1)
        step(client, 0.061, 100.0)
        client.socket.close()
        first.end()
        with rig(latch=StopLatch(path)) as second:
            try:
                remote(second.served)
                second.problems.append("a stopped device was offered after a restart")
            except WireProblem:
                pass
            second.expect(second.device.trials == 0, "a stopped device was moved after a restart")
    return first.problems + second.problems


def _server_gone(protocol: str) -> list[str]:
    """The server ends in a test: the client reports it and does not wait."""
    with rig(protocol, device=WatchedSpring(stall_at=20, stall=5.0)) as bench:
        client = remote(bench.served, protocol, timeout=2.0)
        try:
            drive(client, STEPS)
            bench.problems.append("the client did not notice")
        except WireProblem:
            pass
        bench.device.released.set()
        bench.end()
    return bench.problems


def _answers(nan_at: int) -> list[str]:
    """The device measures a force that is not a number."""
    with rig(device=WatchedSpring(nan_at=nan_at)) as bench:
        try:
            drive(remote(bench.served), STEPS)
            bench.problems.append("the test went on")
        except WireProblem:
            pass
        bench.expect(bench.end().stopped, "not stopped")
    return bench.problems


def _jump() -> list[str]:
    """A client that connects again begins elsewhere than where the device was left."""
    device = WatchedSpring()
    device.keeps_position = True
    with rig(device=device) as bench:
        client = PlainClient("tcp", bench.served.port)
        for k in range(1, 5):
            step(client, 0.007 * k, 0.1 * k)
        client.close(end=False)
        bench.end()
        bench.served.again()
        client = PlainClient("tcp", bench.served.port)
        bench.expect(step(client, -0.005, 0.5)[1] == 11, "the device jumped")
        client.close()
        bench.end()
    return bench.problems


FAULTS: dict[str, Callable[[], list[str]]] = {
    "none": lambda: _harmed(lambda data, number: [data]),
    "every seventh datagram lost": lambda: _harmed(lambda data, number: [data] if number % 7 else []),
    "all datagrams twice": lambda: _harmed(lambda data, number: [data, data]),
    "late duplicates": lambda: _harmed(_late(9)),
    "datagrams exchanged": lambda: _harmed(_exchanged()),
    "truncated datagrams": lambda: _harmed(lambda data, number: [data[:999]] if number % 7 == 0 else [data]),
    "datagrams too long": lambda: _harmed(lambda data, number: [data + b"x"] if number % 7 == 0 else [data]),
    "datagrams sent back to the client": lambda: _sent_back(True),
    "plain datagrams sent back to the client": lambda: _sent_back(False),
    "bit errors in key and number": lambda: _flipped(0, HEADER.size),
    "bit errors in action and command": lambda: _flipped(HEADER.size, HEADER.size + 40),
    "stray datagrams of a wrong size": lambda: _from_client(_stray(b"x" * 44)),
    "stray datagrams of the right size": lambda: _from_client(_stray(bytes(2048))),
    "a flood of large datagrams": lambda: _from_client(_stray(b"x" * 9000, 300)),
    "a first message of another peer": lambda: _from_client(_stray(b"a", 20)),
    "another client over TCP": lambda: _from_client(_second_tcp, "tcp"),
    "a command with a wrong key": lambda: _from_client(_forged),
    "a displacement that is NaN": lambda: _refused(5, math.nan, 0.0, 0.0, 0.11),
    "a velocity that is infinite": lambda: _refused(5, 0.0105, math.inf, 0.0, 0.11),
    "a time that is NaN": lambda: _refused(5, 0.0105, 0.0, 0.0, math.nan),
    "a displacement beyond its limit": lambda: _refused(1, 0.061, 0.0, 0.0, 100.0),
    "a stated velocity beyond its limit": lambda: _refused(2, 0.0105, 1.1, 0.0, 0.11),
    "a velocity by differences beyond its limit": lambda: _refused(2, 0.0255, 0.0, 0.0, 0.1101),
    "an acceleration beyond its limit": lambda: _refused(10, 0.0105, 0.0, 301.0, 0.11),
    "an acceleration by differences beyond its limit": lambda: _refused(10, 0.0109, 0.0, 0.0, 0.101),
    "a step beyond its limit": lambda: _refused(11, 0.031, 0.0, 0.0, 100.0),
    "a force beyond its limit": lambda: _refused(3, 0.0105, 0.0, 0.0, 0.11, device=StrongSpring()),
    "an energy beyond its limit": lambda: _refused(12, 0.029, 0.0, 0.0, 100.0, device=WorkingSpring()),
    "a time that runs backwards": lambda: _refused(9, 0.0105, 0.0, 0.0, 0.05),
    "a displacement beyond its limit, over UDP": lambda: _refused(1, 0.061, 0.0, 0.0, 100.0, protocol="udp"),
    "a silent client, hold": lambda: _silent("hold", False),
    "a silent client, ramp": lambda: _silent("ramp", False),
    "a silent client over UDP, ramp": lambda: _silent("ramp", False, "udp"),
    "a client that is killed, hold": lambda: _silent("hold", True),
    "a client that is killed, ramp": lambda: _silent("ramp", True),
    "half a message, then nothing": lambda: _slow_writer(False),
    "a slow first message": lambda: _slow_writer(True),
    "a stop, and a client that connects again": _reconnect,
    "a stop, and a server that is started again": _restarted,
    "a client that begins elsewhere": _jump,
    "a server that does not answer, TCP": lambda: _server_gone("tcp"),
    "a server that does not answer, UDP": lambda: _server_gone("udp"),
    "a measured force that is NaN": lambda: _answers(30),
}  # fmt: skip


class StrongSpring(WatchedSpring):
    """Whose force is five times as large beyond 10 mm."""

    def trial(self, *motion):
        return super().trial(*motion) * (5.0 if motion[0][0] > 0.0101 else 1.0)


class WorkingSpring(WatchedSpring):
    """Which does much work beyond 20 mm."""

    def trial(self, *motion):
        force = super().trial(*motion)
        return np.full(1, 3.9e4) if motion[0][0] > 0.02 else force


def run() -> dict:
    """All faults; each with what was wrong, or nothing."""
    failures, begun, beyond = {}, time.process_time(), 0
    for name, inject in FAULTS.items():
        try:
            problems = inject()
        except Exception:  # a raw error; a hang is an AssertionError
            problems = [traceback.format_exc()[-600:]]
        beyond += sum("beyond a limit" in problem for problem in problems)
        if problems:
            failures[name] = problems
            print(name, problems, flush=True)
    return {
        "faults": len(FAULTS),
        "failed": len(failures),
        "commands_beyond_a_limit": beyond,
        "limits": {name: value for name, value in vars(RIG_LIMITS).items()},
        "processor_seconds": round(time.process_time() - begun, 1),
        "failures": failures,
    }
