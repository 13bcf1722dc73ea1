"""Interlocks of a served device, each with a fault on a real socket of this computer."""

import math
import time

import numpy as np
import pytest
from plain_client import PlainClient
from wire_helpers import LIMITS, STIFFNESS, Spring, drive, remote, serving, step

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid import (
    DeviceServer,
    DeviceSubstructure,
    LawDevice,
    Listener,
    RemoteSubstructure,
    SafetyLimits,
    StopLatch,
    Watchdog,
    WireProblem,
)

PROTOCOLS = ["tcp", "udp"]


# -- limits on the device --------------------------------------------------------------------------------------------


def test_the_limit_is_on_the_deformation_of_the_device_and_not_on_its_nodes():
    """Nodes at ± 40 mm are 80 mm of a device between them; nodes at 500 mm and 510 mm are 10 mm."""
    limits = SafetyLimits(displacement=0.06, velocity=1.0, force=1e5, step=0.05)
    for second, stops in (((0.5, 0.51), False), ((-0.04, 0.04), True)):
        device = DeviceSubstructure(LawDevice(vb.Linear(1e5)), 1e-3, direction=(-1.0, 1.0))
        with serving(device, limits=limits) as served:
            client = RemoteSubstructure("127.0.0.1", served.port, 2, timeout=60.0)
            nodes = np.array([(0.0, 0.04), second])
            client.trial(nodes[0], np.zeros(2), np.zeros(2), 0.1)
            client.commit()
            if stops:
                with pytest.raises(WireProblem, match="a displacement beyond its limit"):
                    client.trial(nodes[1], np.zeros(2), np.zeros(2), 0.2)
            else:
                np.testing.assert_allclose(client.trial(nodes[1], np.zeros(2), np.zeros(2), 0.2), [-1e3, 1e3])
                client.stop("done")
            assert served.end().stopped == stops


@pytest.mark.parametrize(
    ("before", "refused", "code", "words"),
    [
        ((0.001, 0.1), (0.0155, 0.101), 2, "by differences over 0.001 s"),
        ((0.001, 0.1), (0.0011, 0.05), 9, "the time runs backwards, from 0.1 s to 0.05 s"),
        ((0.001, 0.1), (0.0011, 0.0), 9, "the time runs backwards"),
        ((0.001, 0.1), (0.0255, 100.0), 11, "the change from the last command is 0.0245 m"),
        ((0.001, 0.1), (0.061, 100.0), 1, "displacement is 0.061 m"),
        ((0.001, 0.1), (math.nan, 0.2), 5, "not a finite number"),
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_command_beyond_a_limit_does_not_leave_and_is_in_the_record(protocol, before, refused, code, words, tmp_path):
    with serving(None, protocol, limits=LIMITS, record=tmp_path / "test.h5") as served:
        client = PlainClient(protocol, served.port)
        assert step(client, *before) == (before[0] * STIFFNESS, 0.0)
        force, number = step(client, *refused)
        client.close()
        ending = served.end()
    assert math.isnan(force) and number == code and words in ending.reason and ending.stopped
    assert served.device.moved == [(before[0], 0.0, before[1])] and served.device.commits == 1
    kept = vb.read_record(tmp_path / "test.h5")
    assert list(kept["stop"]) == [0, code] and np.isnan(kept["force_1"][1])
    np.testing.assert_array_equal(kept["displacement_1"], [before[0], refused[0]])
    np.testing.assert_array_equal(kept["client_time"], [before[1], refused[1]])
    assert words in " ".join(kept.history)


def test_a_force_beyond_its_limit_is_in_the_record(tmp_path):
    with serving(None, limits=SafetyLimits(force=5e3), record=tmp_path / "test.h5") as served:
        client = PlainClient("tcp", served.port)
        step(client, 0.001, 0.1)
        assert math.isnan(step(client, 0.006, 0.2)[0])
        client.close()
        served.end()
    kept = vb.read_record(tmp_path / "test.h5")
    np.testing.assert_allclose(kept["force_1"], [1e3, 6e3])
    assert list(kept["stop"]) == [0, 3]


@pytest.mark.parametrize("method", ["trial", "commit"])
def test_a_library_that_raises_anything_stops_the_test_and_leaves_no_client_waiting(method, tmp_path):
    class Broken(Spring):
        def trial(self, *motion):
            if method == "trial" and self.trials == 3:
                raise ZeroDivisionError("the driver of the controller")
            return super().trial(*motion)

        def commit(self):
            if method == "commit" and self.commits == 2:
                raise RuntimeError("the driver of the controller")
            super().commit()

    with serving(Broken(), limits=LIMITS, record=tmp_path / "test.h5") as served:
        client = PlainClient("tcp", served.port)
        answers = [step(client, 0.001 * k, 0.01 * k) for k in range(1, 6)]
        client.close()
        ending = served.end()
    assert ending.stopped and "the device failed" in ending.reason and "the driver of the controller" in ending.reason
    assert math.isnan(answers[-1][0]) and answers[-1][1] == 7 and served.device.stopped


def test_a_client_that_sends_no_time_has_all_its_rows_in_the_record(tmp_path):
    with serving(None, record=tmp_path / "test.h5", step=0.01) as served:
        client = PlainClient("tcp", served.port)
        for k in range(1, 6):
            step(client, 0.001 * k, 0.0)
        client.close()
        assert served.end().steps == 5
    kept = vb.read_record(tmp_path / "test.h5")
    np.testing.assert_allclose(kept["displacement_1"], 0.001 * np.arange(1, 6))
    np.testing.assert_allclose(np.diff(kept.time), 0.01)


def test_a_device_is_not_served_without_limits():
    with pytest.raises(InputError, match="no limit of displacement, velocity, force, step"):
        DeviceServer(Spring, Listener(port=0))
    with pytest.raises(InputError, match="no limit of step"):
        DeviceServer(Spring, Listener(port=0), SafetyLimits(0.06, 1.0, 1e5))
    with pytest.raises(InputError, match="ramp is beyond the limit of velocity"):
        DeviceServer(Spring, Listener(port=0), LIMITS, watchdog=Watchdog(None, "ramp", 1.5))
    DeviceServer(Spring, Listener(port=0), LIMITS).close()


def test_the_old_name_of_the_listener_keeps_answering():
    with pytest.warns(DeprecationWarning, match="`door` is `listener` since 0.2"):
        server = DeviceServer(Spring, limits=LIMITS, door=Listener(port=0, idle=7.0))
    server.close()
    assert server.listener.idle == 7.0


# -- stops that hold --------------------------------------------------------------------------------------------------


def trip(served, protocol="tcp"):
    """A client whose command is refused."""
    client = PlainClient(protocol, served.port)
    step(client, 0.001, 0.1)
    assert math.isnan(step(client, 0.061, 100.0)[0])
    client.close()


def patiently(connect):
    """Try until the server has finished with the client before."""
    until = time.monotonic() + 60.0
    while True:
        try:
            return connect()
        except (WireProblem, OSError):
            if time.monotonic() > until:
                raise


def opensees(protocol, port):
    """A plain client and the answer to its first step."""
    client = PlainClient(protocol, port)
    return client, step(client, 0.001, 0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stop_holds_until_someone_clears_it_by_name(protocol, tmp_path):
    latch = StopLatch(tmp_path / "damper.stops.json")
    with serving(Spring(), protocol, limits=LIMITS, latch=latch, record=tmp_path / "test.h5") as served:
        trip(served, protocol)
        assert served.end().stopped
        moved = len(served.device.moved)
        served.again()
        with pytest.raises(WireProblem, match="stopped in an earlier test, and nobody has cleared the stop"):
            remote(served, protocol)
        client, (force, number) = patiently(lambda: opensees(protocol, served.port))  # not left waiting either
        client.close()
        assert math.isnan(force) and number == 14 and len(served.device.moved) == moved
        StopLatch(latch.path).clear("Jane Doe")  # by another program
        client = patiently(lambda: remote(served, protocol))
        drive(client, 5)
        client.stop("done")
        assert served.end().well
    assert len(served.device.moved) == moved + 5
    first, second = (vb.read_record(tmp_path / name) for name in ("test.h5", "test-2.h5"))
    assert "cleared" not in " ".join(first.history) and first["stop"][-1] == 1
    assert "cleared by Jane Doe" in " ".join(second.history) and len(second) == 5


def test_a_stop_by_the_operator_holds_too():
    class Interrupted(Spring):
        def trial(self, *motion):
            if self.trials == 3:
                raise KeyboardInterrupt  # Ctrl-C while the device moves
            return super().trial(*motion)

    with serving(Interrupted(), limits=LIMITS) as served:
        client = PlainClient("tcp", served.port)
        answers = [step(client, 0.001 * k, 0.01 * k) for k in range(1, 6)]
        client.close()
        assert served.end().stopped
    assert math.isnan(answers[-1][0]) and answers[-1][1] == 6 and len(served.device.moved) == 3
    assert served.server.latch.standing.reason == "the operator stopped the test"


def test_a_stop_is_cleared_in_python_too():
    with serving(Spring(), limits=LIMITS) as served:
        trip(served)
        served.end()
        with pytest.raises(InputError, match="a person"):
            served.server.clear(by="")
        assert "cleared by Jane Doe" in served.server.clear(by="Jane Doe")
        served.again()
        client = remote(served)
        drive(client, 5)
        client.stop("done")
        assert served.end().well


def test_a_client_that_connects_again_cannot_make_the_device_jump():
    """The device of a laboratory is where the last test left it; a computed one begins at zero."""
    for keeps, stops in ((True, True), (False, False)):
        device = Spring()
        device.keeps_position = keeps
        with serving(device, limits=LIMITS) as served:
            client = PlainClient("tcp", served.port)
            for k in range(1, 5):
                step(client, 0.01 * k, 0.1 * k)
            client.close(end=False)
            assert not served.end().stopped
            served.again()
            client = PlainClient("tcp", served.port)
            force, number = step(client, 0.005, 0.1)
            client.close()
            ending = served.end()
        assert ending.stopped == stops and (number == 11) == stops and math.isnan(force) == stops


def test_a_measured_position_is_where_a_test_begins():
    class Measured(Spring):
        position = 0.03

    with serving(Measured(), limits=LIMITS) as served:
        client = PlainClient("tcp", served.port)
        assert step(client, 0.005, 0.1)[1] == 11
        client.close()
        assert "the change from the last command is -0.025 m" in served.end().reason


# -- a client that is silent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("when_silent", ["hold", "ramp"])
def test_the_watchdog_holds_or_ramps_down(when_silent, leaves, tmp_path):
    watchdog = Watchdog(1.0, when_silent, ramp_velocity=0.1)
    settings = {"limits": LIMITS, "watchdog": watchdog, "step": 0.01, "record": tmp_path / "test.h5"}
    with serving(Spring(), **settings) as served:
        client = PlainClient("tcp", served.port)
        for k in range(1, 4):
            step(client, 0.005 * k, 0.1 * k)
        if leaves:
            client.close(end=False)
        ending = served.end()
        client.socket.close()
    assert not ending.well and not ending.stopped and served.device.stopped == ending.reason
    assert ("has gone" if leaves else "nothing for 1 s") in ending.reason
    path = np.array([x for x, _, _ in served.device.moved])
    if when_silent == "hold":
        np.testing.assert_allclose(path, [0.005, 0.01, 0.015])
    else:
        assert "moved back to zero in 0.15 s" in ending.reason
        np.testing.assert_allclose(path[3:], np.linspace(0.014, 0.0, 15), atol=1e-12)
    assert len(vb.read_record(tmp_path / "test.h5")) == len(path)


def test_a_ramp_ends_where_a_limit_is_exceeded():
    class Stuck(Spring):
        def trial(self, displacement, velocity, acceleration, time):
            force = super().trial(displacement, velocity, acceleration, time)
            return -1e6 * np.ones(1) if velocity[0] < 0 and displacement[0] < 0.0105 else force

    with serving(Stuck(), limits=LIMITS, watchdog=Watchdog(0.5, "ramp", 0.1), step=0.01) as served:
        client = PlainClient("tcp", served.port)
        step(client, 0.007, 0.1)
        step(client, 0.015, 0.2)
        ending = served.end()
        client.socket.close()
    assert ending.stopped and "force is -1e+06 N" in ending.reason
    assert served.device.moved[-1][0] == pytest.approx(0.01) and served.server.latch.standing is not None


def test_the_watchdog_waits_for_a_client_that_has_not_moved_the_device():
    """A model may take long to be made, after its element has connected."""
    with serving(None, limits=LIMITS, watchdog=Watchdog(0.3)) as served:
        client = PlainClient("tcp", served.port)
        assert client.ask(12)[0] == STIFFNESS
        served.thread.join(1.0)
        assert step(client, 0.001, 0.1)[0] == 1e3
        client.close()
        assert served.end().well
