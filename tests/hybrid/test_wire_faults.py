"""Faults: the test ends or goes on as configured, what was recorded is readable, and nothing hangs."""

import logging
import math
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from plain_client import PlainClient
from wire_helpers import Spring, drive, expected, remote, serving

import vibrid as vb
from vibrid.hybrid import Experimental, HybridTest, Recorder, RemoteSubstructure, SafetyLimits, WallClock, WireProblem
from vibrid.records.journal import RING_ROWS

PROTOCOLS = ["tcp", "udp"]
HERE = Path(__file__).resolve().parent
BUILDING = vb.ShearBuilding(masses=[2e3], storeys=[vb.Linear(2e6, 4e3)])
GROUND = vb.Record(3 * np.sin(np.arange(300) / 40), [vb.Channel("ground", "ground_acceleration")], step=1 / 1024)


def patiently(served, protocol):
    """A client that tries again while the server is still busy with the one before."""
    until = time.monotonic() + 60.0
    while True:
        try:
            return remote(served, protocol)
        except WireProblem:
            if time.monotonic() > until:
                raise


def hybrid_test(device):
    """A small hybrid test with one device outside."""
    return HybridTest(BUILDING, [Experimental(device=device, at="0", name="damper")])


# -- somebody dies ----------------------------------------------------------------------------------------------------


def test_the_server_is_killed_in_mid_test(tmp_path):
    """By SIGKILL: the coordinator ends with a sentence, and both sides' records are readable."""
    file = tmp_path / "damper.toml"
    file.write_text('[device]\nkind = "law"\nlaw = {law = "linear", stiffness = 1e6}\n')
    command = [sys.executable, "-m", "vibrid.cli", "hybrid", "serve", str(file), "--port", "0"]
    command += ["--unlimited", "--record", str(tmp_path / "server.h5"), "--log", str(tmp_path / "server.log")]
    source = str(Path(vb.__file__).resolve().parents[1])
    places = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": places, "JAX_PLATFORMS": "cpu"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        device = Fatal("127.0.0.1", port, timeout=120.0)
        device.fatal = server.kill
        result = hybrid_test(device).run(GROUND, record=partial(Recorder, tmp_path / "devices.h5"))
        assert device.noticed < 60.0, "a dead server is noticed, not waited for"
    finally:
        server.kill()
        server.communicate(timeout=60)
    assert "has gone" in result.stopped
    ours = vb.read_record(tmp_path / "devices.h5")
    assert 195 <= len(ours) <= 200 and "the test ended early" in " ".join(ours.history)
    theirs = vb.read_record(tmp_path / "server.h5.journal")
    assert len(theirs) == 199, "a quarter of a second later all is on the disk"
    np.testing.assert_allclose(theirs["force_1"], 1e6 * theirs["displacement_1"], rtol=1e-12)
    assert "a test begins" in (tmp_path / "server.log").read_text()


class Fatal(RemoteSubstructure):
    """At whose trial number 200 something happens."""

    trials = 0

    def trial(self, *motion):
        self.trials += 1
        if self.trials == 200:
            time.sleep(1.0)  # the server has had time to write
            self.fatal()
        began = time.monotonic()
        try:
            return super().trial(*motion)
        finally:
            self.noticed = time.monotonic() - began


def test_a_server_that_dies_is_noticed_over_udp_too():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        answers = threading.Thread(target=lambda: _answer_twice(server))
        answers.start()
        client = RemoteSubstructure("127.0.0.1", server.getsockname()[1], 1, "udp", timeout=120.0)
        answers.join()
    began = time.monotonic()
    with pytest.raises(WireProblem, match="has gone"):
        drive(client, 5)
    assert time.monotonic() - began < 60.0, "noticed, not waited for"


def _answer_twice(server):
    """Welcome a client and tell it a damping of zero."""
    _, client = server.recvfrom(16)
    server.sendto(b"b", client)
    server.recv(100)
    server.recv(4096)
    server.sendto(bytes(2048), client)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_client_is_killed(protocol, tmp_path):
    """A client process killed between two steps; over UDP only its silence tells."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from plain_client import PlainClient\n"
        "client = PlainClient(sys.argv[2], int(sys.argv[3]))\n"
        "for k in range(1, 10**9):\n"
        "    client.tell(3, 1e-5 * k, 0.0, 0.0, 1e-3 * k); client.ask(10, 1e-5 * k, 0.0, 0.0, 1e-3 * k)\n"
        "    client.tell(5, 1e-5 * k, 0.0, 0.0, 1e-3 * k)\n"
        "    if k == 100: print('going', flush=True)\n"
    )
    with serving(None, protocol, record=tmp_path / "test.h5", idle=1.5) as served:
        arguments = [sys.executable, "-c", code, str(HERE), protocol, str(served.port)]
        client = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        assert client.stdout.readline() == "going\n"
        client.kill()
        client.communicate()
        ending = served.end()
    assert not ending.well and ending.steps >= 100
    assert ("gone" if protocol == "tcp" else "nothing for 1.5 s") in ending.reason
    assert served.device.stopped == ending.reason
    assert len(vb.read_record(tmp_path / "test.h5")) == ending.steps


# -- somebody stalls --------------------------------------------------------------------------------------------------


def test_a_stall_of_50_ms_is_marked_and_the_test_goes_on(tmp_path):
    device = Spring(stall_at=100, stall=0.05)
    clock = WallClock(1 / 1024)
    with serving(device, idle=60.0) as served:  # the client compiles between its first words and its first trial
        record = partial(Recorder, tmp_path / "a.h5", clock=clock)
        result = hybrid_test(remote(served)).run(GROUND, clock=clock, record=record)
        assert served.end().well
    assert not result.stopped and clock.misses >= 1
    kept = vb.read_record(tmp_path / "a.h5")
    late = kept["late"]
    assert len(late) == len(GROUND) - 1 and late[100] >= 50, "50 ms are 51 steps of 1/1024 s"
    assert late.sum() == clock.slipped
    assert "did not hold 1024 Hz" in str(clock.report())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_that_stalls_ends_the_test_when_patience_does(protocol, tmp_path):
    device = Spring(stall_at=50, stall=600.0)
    with serving(device, protocol) as served:
        began = time.monotonic()
        with pytest.raises(WireProblem, match=r"did not answer within 2 s"):
            drive(remote(served, protocol, timeout=2.0), 100)
        assert time.monotonic() - began < 60.0
        device.released.set()
        assert served.end().steps == 49


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_that_stalls_is_given_up_when_it_is_idle_too_long(protocol, tmp_path):
    with serving(None, protocol, idle=1.0, record=tmp_path / "test.h5") as served:
        client = remote(served, protocol)
        drive(client, 20)
        ending = served.end()  # the client says nothing from here on
        client.stop("late")
    assert "sent nothing for 1 s" in ending.reason and not ending.well
    assert served.device.stopped and len(vb.read_record(tmp_path / "test.h5")) == 20


def test_half_a_message_is_no_sign_of_life():
    with serving(None, idle=0.5) as served:
        client = PlainClient("tcp", served.port)
        client.tell(3, 0.001)
        for _ in range(200):
            if served.ending is None:
                client.socket.send(b"x")
                time.sleep(0.05)
        assert "sent nothing" in served.end().reason


# -- something impossible ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nan_from_the_device_stops_the_test(protocol, tmp_path, caplog):
    with serving(Spring(nan_at=30), protocol, record=tmp_path / "test.h5") as served, caplog.at_level(logging.WARNING):
        with pytest.raises(WireProblem, match="the force of the device is not a finite number"):
            drive(remote(served, protocol), 100)
        ending = served.end()
    assert not ending.well and "force is nan" in ending.reason
    assert "the test is stopped: the measured force is nan" in caplog.text
    kept = vb.read_record(tmp_path / "test.h5")
    np.testing.assert_allclose(kept["force_1"][:29], expected(29), rtol=1e-14)
    assert len(kept) == 30 and np.isnan(kept["force_1"][29]) and kept["stop"][29] == 4


@pytest.mark.parametrize(
    ("limits", "said", "code"),
    [
        (SafetyLimits(displacement=0.005), "displacement is 0.00", 1),
        (SafetyLimits(velocity=0.1), "velocity is 0.", 2),
        (SafetyLimits(force=5e3), "force is ", 3),
    ],
)
def test_a_limit_stops_the_test_and_the_client_is_not_left_waiting(limits, said, code):
    """OpenSees would wait for ever: it is answered NaN until it ends, and the device is not moved again."""
    with serving(None, limits=limits) as served:
        client = PlainClient("tcp", served.port)
        answers = []
        for k in range(1, 60):
            t = 1e-3 * k
            motion = 0.01 * math.sin(20 * t), 0.2 * math.cos(20 * t) if code == 2 else 0.0, 0.0, t
            client.tell(3, *motion)
            answers.append(client.ask(10, *motion)[:2])
            client.tell(5, *motion)
        moved = len(served.device.moved)
        assert math.isnan(client.ask(12)[0])
        client.close()
        ending = served.end()
    assert not ending.well and said in ending.reason and "beyond the limit" in ending.reason
    assert math.isnan(answers[-1][0]) and answers[-1][1] == code
    crossed = next(i for i, (f, _) in enumerate(answers) if math.isnan(f))
    assert ending.steps == crossed and moved == crossed + (code == 3)
    assert served.device.stopped is not None


def test_a_limit_can_close_the_connection_instead():
    with serving(None, limits=SafetyLimits(displacement=0.005), after_stop="close") as served:
        with pytest.raises(WireProblem, match="has gone"):
            drive(remote(served), 100)
        assert "beyond the limit" in served.end().reason


@pytest.mark.parametrize("bad", [(math.nan, 0.0, 0.0, 0.1), (0.0, math.inf, 0.0, 0.1), (0.0, 0.0, 0.0, math.nan)])
def test_a_client_that_asks_for_nan_moves_nothing(bad):
    with serving() as served:
        client = PlainClient("tcp", served.port)
        client.tell(3, *bad)
        answer = client.ask(10, *bad)
        client.close()
        served.end()
    assert math.isnan(answer[0]) and answer[1] == 5 and served.device.trials == 0


# -- no room ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk():
    """No file may grow beyond 85 kB: a write fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (85_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("when_full", ["continue", "end"])
def test_the_disk_is_full(when_full, tmp_path, small_disk):
    with serving(None, record=tmp_path / "test.h5", when_full=when_full) as served:
        client = remote(served)
        try:
            drive(client, 3000)
            assert when_full == "continue"
            client.stop("done")
        except WireProblem as ended:
            assert when_full == "end" and "could not be recorded" in str(ended)
        ending = served.end()
    assert ending.well == (when_full == "continue")
    assert (ending.steps == 3000) == (when_full == "continue")
    kept, problem = vb.read_record(served.record.path), served.record.problem
    if when_full == "end":  # the rows since the disk was full are still in memory
        np.testing.assert_allclose(kept["force_1"], expected(len(kept)), atol=1e-9)
        assert len(kept) >= ending.steps - 1 > 1000 and f"{len(kept)} of {len(kept)} rows are in" in problem
        assert [p.name for p in tmp_path.iterdir()] == ["test.h5"]
        return
    first = len(kept) - RING_ROWS  # every row that fits, and the last ones
    assert 85_000 - served.record.path.stat().st_size < 100 and first > 1000
    np.testing.assert_allclose(kept["force_1"][:first], expected(first), atol=1e-9)
    np.testing.assert_allclose(kept["force_1"][first:], expected(3000)[-RING_ROWS:], atol=1e-9)
    np.testing.assert_allclose(np.diff(kept.time)[first - 1], 1e-3 * (3001 - len(kept)))
    assert f"{len(kept)} of 3000 rows; read_record reads it" in problem
    assert [p.name for p in tmp_path.iterdir()] == ["test.h5.journal"], "no half-written files"


# -- uninvited guests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_second_client_is_refused_and_the_first_goes_on(protocol):
    with serving(None, protocol) as served:
        first = remote(served, protocol)
        forces = drive(first, 50)
        with pytest.raises(WireProblem):
            drive(remote(served, protocol, timeout=0.3), 5)
        forces = np.concatenate([forces, drive(first, 50, first=50)])
        assert served.refused(1) >= 1
        first.stop("done")
        assert served.end().steps == 100
    np.testing.assert_allclose(forces, expected(100), atol=1e-9)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_fuzzer_on_the_port_before_and_during_a_test(protocol):
    """Random bytes, cut and oversized first messages, floods: refused, counted, and the test is not disturbed."""
    random = np.random.default_rng(5)
    hello = struct.pack("<11i", 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256)

    def noise():
        kind = random.integers(4)
        if kind == 0:
            return random.bytes(int(random.integers(1, 3000)))
        if kind == 1:
            return hello[: int(random.integers(1, 44))]
        spoilt = bytearray(hello)
        spoilt[int(random.integers(40))] ^= 1 << int(random.integers(8))
        return bytes(spoilt) if kind == 2 else struct.pack("<11i", *random.integers(-(2**31), 2**31, 11))

    def pester(times):
        for _ in range(times):
            kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
            with socket.socket(socket.AF_INET, kind) as guest:
                guest.settimeout(2.0)
                try:
                    guest.connect(("127.0.0.1", served.port))
                    if protocol == "udp" and random.random() < 0.2:
                        guest.send(b"a")
                    guest.send(noise())
                except OSError:
                    pass

    with serving(None, protocol, greeting=0.05, idle=3.0) as served:
        pester(60)
        assert served.refused(30) >= 30
        PlainClient(protocol, served.port).close(end=False)  # says all the right words, and leaves
        client = patiently(served, protocol)
        forces = [drive(client, 20)]
        for k in range(1, 6):
            pester(10)
            forces.append(drive(client, 20, first=20 * k))
        client.stop("done")
        assert served.end().steps == 120
    np.testing.assert_allclose(np.concatenate(forces), expected(120), atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_client_that_turns_to_nonsense_in_mid_test(seed):
    """Random messages of the right size: the test ends with a reason, whatever they hold."""
    random = np.random.default_rng(seed)
    with serving(None, limits=SafetyLimits(1.0, 10.0, 1e9), idle=5.0) as served:
        client = PlainClient("tcp", served.port)
        client.tell(3, 0.001, 0.0, 0.0, 0.1)
        client.ask(10, 0.001, 0.0, 0.0, 0.1)
        client.socket.settimeout(0.05)  # nobody reads the server's replies from here on
        try:
            for _ in range(20):
                if random.random() < 0.5:
                    action = random.choice([3.0, 5.0, 10.0, 12.0, 3.5, -1.0, 1e300, math.nan])
                    client.tell(action, *random.normal(size=4))
                else:
                    client.socket.sendall(random.bytes(2048))
        except OSError:
            pass
        client.close(end=False)
        ending = served.end()
    assert not ending.well and served.device.stopped
    assert all(abs(x) <= 1.0 and abs(v) <= 10.0 for x, v, _ in served.device.moved)


def test_datagrams_of_a_wrong_size_from_the_client_are_passed_over():
    with serving(None, "udp") as served:
        client = remote(served, "udp")
        before = drive(client, 10)
        client._link.socket.send(b"x" * 100)
        client._link.socket.send(b"x" * 9000)
        after = drive(client, 10, first=10)
        client.stop("done")
        assert served.end().steps == 20 and served.server.refused == 2
    np.testing.assert_allclose(np.concatenate([before, after]), expected(20), atol=1e-9)
