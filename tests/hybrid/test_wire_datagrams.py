"""UDP: datagrams that come twice, late, not at all, or from others, on real sockets of this computer."""

import math
import socket
import struct
import threading

import numpy as np
import pytest
from plain_client import PlainClient
from wire_helpers import LIMITS, STIFFNESS, Mirror, Relay, Spring, drive, expected, remote, serving, step

import vibrid as vb
from vibrid.hybrid import RemoteSubstructure
from vibrid.hybrid.wire.datagrams import NumberedClientLink
from vibrid.hybrid.wire.protocol import HEADER

PROTOCOLS = ["tcp", "udp"]


def test_late_and_repeated_datagrams_of_opensees_move_nothing(tmp_path):
    """The trial and the commit of an old step come again: before, they moved the device back and committed it."""
    with serving(None, "udp", limits=LIMITS, record=tmp_path / "test.h5") as served:
        client = PlainClient("udp", served.port)
        for k in range(1, 16):
            step(client, 0.001 * k, 0.01 * k)
        client.tell(3, 0.001, 0.0, 0.0, 0.01)  # as in the first step
        client.tell(5, 0.001, 0.0, 0.0, 0.01)
        client.tell(5, 0.015, 0.0, 0.0, 0.15)  # the last commit again
        assert step(client, 0.016, 0.16) == (0.016 * STIFFNESS, 0.0)
        client.close()
        ending = served.end()
    assert ending.well and ending.steps == 16 and ending.ignored == 2
    np.testing.assert_allclose([x for x, _, _ in served.device.moved], 0.001 * np.arange(1, 17))
    assert len(vb.read_record(tmp_path / "test.h5")) == 16


def test_a_lost_trial_of_opensees_is_noticed_by_its_request_of_the_force():
    with serving(None, "udp", limits=LIMITS) as served:
        client = PlainClient("udp", served.port)
        step(client, 0.001, 0.01)
        answer = client.ask(10, 0.002, 0.0, 0.0, 0.02)  # its trial never arrives
        client.close()
        ending = served.end()
    assert math.isnan(answer[0]) and answer[1] == 13 and "that trial did not arrive" in ending.reason


def test_a_trial_that_may_be_a_repeated_one_is_refused_over_udp_and_taken_over_tcp():
    for protocol in PROTOCOLS:
        with serving(None, protocol, limits=LIMITS) as served:
            client = PlainClient(protocol, served.port)
            for x in (0.001, 0.002, 0.001):
                client.tell(3, x, 0.0, 0.0, 0.01)
                answer = client.ask(10, x, 0.0, 0.0, 0.01)
            client.close()
            served.end()
        if protocol == "tcp":
            assert answer[0] == 1e3 and len(served.device.moved) == 3
        else:
            assert math.isnan(answer[0]) and answer[1] == 13 and len(served.device.moved) == 2


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("size", [1, 44, 2048, 9000])
def test_strays_are_counted_and_disturb_nothing(size, numbered):
    """Sixty datagrams of someone else, in one burst, ended a test: they filled the receive buffer."""
    with serving(None, "udp", limits=LIMITS) as served, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        client = remote(served, "udp", numbered=numbered)
        assert isinstance(client._link, NumberedClientLink) == numbered
        forces = []
        for k in range(10):
            for _ in range(60):
                stranger.sendto(b"x" * size, ("127.0.0.1", served.port))
            forces.append(drive(client, 5, first=5 * k))
        assert served.refused(60) >= 60
        client.stop("done")
        assert served.end().steps == 50
    np.testing.assert_allclose(np.concatenate(forces), expected(50), rtol=1e-12)


def test_requests_of_others_do_not_push_out_a_client_that_is_about_to_begin():
    with serving(None, "udp", limits=LIMITS) as served:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(60.0)
            client.connect(("127.0.0.1", served.port))
            client.send(b"a")
            assert client.recv(16) == b"b"
            for _ in range(100):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                    other.sendto(b"a", ("127.0.0.1", served.port))
            client.send(struct.pack("=11i", 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256))
            client.send(struct.pack("=5d", 12, 0, 0, 0, 0) + bytes(8 * 251))
            assert struct.unpack_from("=d", client.recv(4096))[0] == STIFFNESS
            client.send(struct.pack("=5d", 99, 0, 0, 0, 0) + bytes(8 * 251))
        served.end()


def test_an_answer_that_comes_twice_is_not_taken_for_the_next_one():
    """A server of another make, whose answers carry no number."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(60.0)

        answered = threading.Event()

        def answer():
            force = 0.0
            while True:
                data, client = server.recvfrom(4096)
                if data[:1] == b"a" and len(data) < 44:
                    server.sendto(b"b", client)
                elif len(data) == 2048:
                    action, x = struct.unpack_from("=2d", data)
                    force = STIFFNESS * x if action == 3 else force
                    for _ in range(2 if action in (10, 14) else 0):
                        server.sendto(struct.pack("=d", force) + bytes(2040), client)
                    if action in (10, 14):
                        answered.set()
                    if action == 99:
                        return

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        client = RemoteSubstructure("127.0.0.1", server.getsockname()[1], 1, "udp", timeout=60.0)
        assert answered.wait(60.0)
        answered.clear()
        for k in range(1, 6):
            force = client.trial(np.array([0.001 * k]), np.zeros(1), np.zeros(1), 0.1 * k)
            assert force[0] == pytest.approx(1e3 * k)
            assert answered.wait(60.0), "the second answer has come"
            answered.clear()
            client.commit()
        client.stop("done")
        thread.join(60.0)


def test_invalid_datagrams_from_the_address_of_the_client_are_ignored():
    with serving(None, "udp", limits=LIMITS) as served:
        client = PlainClient("udp", served.port)
        step(client, 0.001, 0.01)
        for _ in range(60):
            client.socket.send(b"x" * 2048)
        assert step(client, 0.002, 0.02)[0] == 2e3
        client.close()
        assert served.end().ignored == 60


@pytest.mark.parametrize("seed", [1, 2])
def test_numbered_datagrams_survive_a_bad_network(seed, tmp_path):
    """Each trial is made once and in order, each force belongs to its trial, each commit is recorded."""
    settings = {"limits": LIMITS, "record": tmp_path / "test.h5"}
    with serving(None, "udp", **settings) as served, Relay(served.port, seed) as relay:
        client = RemoteSubstructure("127.0.0.1", relay.port, 1, "udp", timeout=60.0)
        assert isinstance(client._link, NumberedClientLink)
        forces = drive(client, 150)
        assert client.stiffness()[0, 0] == STIFFNESS  # so that the last commit has arrived
        assert relay.harmed > 40
        relay.good = True
        client.stop("done")
        ending = served.end()
    np.testing.assert_allclose(forces, expected(150), rtol=1e-12)
    assert ending.steps == ending.trials == 150 == len(served.device.moved) and ending.ignored > 0
    assert len(vb.read_record(tmp_path / "test.h5")) == 150


@pytest.mark.parametrize("numbered", [True, False])
def test_a_client_does_not_take_its_own_datagram_for_an_answer(numbered):
    """A network that sends datagrams back gave the number of the request, 10, or the displacement as a force."""
    with serving(None, "udp", limits=LIMITS) as served, Mirror(served.port) as mirror:
        client = RemoteSubstructure("127.0.0.1", mirror.port, 1, "udp", timeout=60.0, numbered=numbered)
        mirror.on = True
        forces = drive(client, 30)
        mirror.on = False
        client.stop("done")
        ending = served.end()
    np.testing.assert_allclose(forces, expected(30), rtol=1e-12)
    assert ending.steps == 30 and client._link.ignored >= 30


def test_an_answer_that_equals_a_request_without_motion_is_taken():
    """Stiffness is asked for with the number 12, before the device has moved."""

    class Soft(Spring):
        def stiffness(self):
            return 12.0 * np.eye(1)

    with serving(Soft(), "udp", limits=LIMITS) as served:
        client = remote(served, "udp", numbered=False)
        assert client.stiffness()[0, 0] == 12.0
        client.stop("done")
        served.end()


def test_a_numbered_datagram_with_another_key_is_ignored():
    with serving(None, "udp", limits=LIMITS) as served:
        client = remote(served, "udp")
        drive(client, 5)
        forged = HEADER.pack(b"\0" * 8, client._link._number + 1) + struct.pack("=5d", 3, 0.05, 0, 0, 1) + bytes(2008)
        client._link.socket.send(forged)
        np.testing.assert_allclose(drive(client, 5, first=5), expected(10)[5:], rtol=1e-12)
        client.stop("done")
        ending = served.end()
    assert ending.steps == 10 and ending.ignored == 1 and max(x for x, _, _ in served.device.moved) < 0.01
