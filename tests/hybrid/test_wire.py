"""The wire: messages as the protocol says, and a device behind it that is the same as one without it."""

import struct

import numpy as np
import opensees_wire as model
import plain_client
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from plain_client import PlainClient
from wire_helpers import STIFFNESS, Spring, drive, expected, serving

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid import (
    DeviceServer,
    DeviceSubstructure,
    LawDevice,
    Listener,
    RemoteSubstructure,
    SafetyLimits,
    WireProblem,
)
from vibrid.hybrid.wire.protocol import MessageLayout, decode_hello, encode_hello

LUGRE = vb.LuGre(2e3, 1.0, 1.0, 1.0, 1.3, 1.3, 0.02, viscous=0.5)


def held(law, **settings):
    return DeviceSubstructure(LawDevice(law), 1e-3, **settings)


# -- messages ---------------------------------------------------------------------------------------------------------


def test_the_first_message_is_that_of_opensees():
    """Eleven 32-bit integers, as `genericClient` sends them for two degrees of freedom; either byte order is heard."""
    sizes = (2, 2, 2, 0, 1, 0, 0, 0, 2, 0, 256)
    for order in "<>":
        sent = struct.pack(f"{order}11i", *sizes)
        assert decode_hello(sent) == MessageLayout(2, 256, order)
        assert encode_hello(MessageLayout(2, 256, order)) == sent


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 4), "messages of 4 numbers"),
        ((1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 10**6), "messages of 1000000 numbers"),
        ((1, 1, 1, 0, 1, 0, 0, 0, 1, 0, -1), "messages of -1 numbers"),
        ((65, 65, 65, 0, 1, 0, 0, 0, 65, 0, 8192), "65 degrees of freedom"),
        ((0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 256), "0 degrees of freedom"),
        ((1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 256), "are not"),
    ],
)
def test_first_messages_of_wrong_sizes_are_refused(sizes, said):
    with pytest.raises(WireProblem, match=said):
        decode_hello(struct.pack("<11i", *sizes))


@given(some.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_layout_or_a_refusal(data):
    try:
        layout = decode_hello(data)
    except WireProblem:
        return
    assert 2 + 3 * layout.count <= layout.size and layout.bytes <= 65536


# -- a device behind the wire -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_remote_device_is_the_device(protocol):
    """Forces to the last bit, trials repeatable until commit, matrices told, a clean end."""
    local = DeviceSubstructure(LawDevice(LUGRE), 1e-3)
    with serving(held(LUGRE), protocol, damping="apart") as served:
        remote = RemoteSubstructure("127.0.0.1", served.port, 1, protocol)
        assert remote.stiffness() == local.stiffness() and remote.damping() == local.damping()
        assert remote.mass() == 0.0
        one = np.array([0.003]), np.array([0.4]), np.zeros(1)
        other = np.array([-0.002]), np.array([-0.1]), np.zeros(1)
        first = remote.trial(*one, 1e-3)
        assert remote.trial(*other, 1e-3) != first
        assert remote.trial(*one, 1e-3) == first, "a trial must not be remembered"
        np.testing.assert_allclose(drive(remote, 200), drive(local, 200), rtol=1e-12, atol=1e-12)
        remote.stop("done")
        ending = served.end()
    assert ending.well and ending.steps == 200


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("device", ["lugre", "spring"])
def test_a_frame_with_a_device_across_loopback_equals_one_process(device, protocol, one_process):
    """The plain client makes the moves of OpenSees' KRAlphaExplicit: to 1e-9 of `simulate`."""
    structure, truth, (m, c, k) = one_process(device)
    at = int(np.flatnonzero(structure.row("2.x"))[0])
    inertia = m @ np.sum([structure.row(f"{i}.x") for i in range(2, 6)], axis=0)
    steps = 300
    ground = model.motion()[: steps + 1]
    with serving(held(structure.attachments[0].law), protocol, damping="apart") as served:
        client = PlainClient(protocol, served.port)
        x, _ = plain_client.run(client, m, c, k, inertia, ground, at, model.STEP, model.DISSIPATION)
        client.close()
        ending = served.end()
    assert ending.well and ending.steps == steps and ending.trials == steps, "three trials a step are one"
    np.testing.assert_allclose(x, truth[: steps + 1], rtol=0, atol=1e-9 * np.abs(truth[: steps + 1]).max())


def test_a_client_with_the_other_byte_order():
    with serving() as served:
        client = PlainClient("tcp", served.port, order=">")
        client.tell(3, 0.002, 0.0, 0.0, 0.1)
        assert client.ask(10, 0.002, 0.0, 0.0, 0.1)[0] == 0.002 * STIFFNESS
        assert client.ask(12)[0] == STIFFNESS
        client.close()
        assert served.end().well


def test_a_device_between_two_nodes():
    law = vb.Linear(1e5, 300.0)
    device = held(law, direction=(-1.0, 1.0))
    with serving(device) as served:
        remote = RemoteSubstructure("127.0.0.1", served.port, 2)
        np.testing.assert_array_equal(remote.stiffness(), 1e5 * np.array([[1, -1], [-1, 1]]))
        force = remote.trial(np.array([0.01, 0.03]), np.array([0.1, 0.0]), np.zeros(2), 1e-3)
        np.testing.assert_allclose(force, [-1970.0, 1970.0])
        remote.stop("done")


def test_opensees_sends_the_end_velocity_for_which_no_force_is_asked():
    """A trial with the displacement and time of the one before moves nothing, as in OpenFresco."""
    with serving() as served:
        client = PlainClient("tcp", served.port)
        client.tell(3, 0.001, 5.0, 0.0, 0.1)
        client.ask(10, 0.001, 5.0, 0.0, 0.1)
        client.tell(3, 0.001, 7.0, 0.0, 0.1)
        client.tell(5, 0.001, 7.0, 0.0, 0.1)
        client.tell(5, 0.001, 7.0, 0.0, 0.1)
        client.close()
        ending = served.end()
    assert served.device.moved == [(0.001, 5.0, 0.1)]
    assert served.device.commits == ending.steps == 1, "a commit said twice is one"


def test_a_lost_commit_is_told(caplog):
    """The next step then covers two: the time since the last commit."""
    with serving(None, "udp") as served:
        client = PlainClient("udp", served.port)
        for k, commits in ((0, False), (1, True), (2, False), (3, True)):
            client.tell(3, 0.001 * k, 0.0, 0.0, 0.1 * k)
            client.ask(10, 0.001 * k, 0.0, 0.0, 0.1 * k)
            if commits:
                client.tell(5, 0.001 * k, 0.0, 0.0, 0.1 * k)
        client.close()
        assert served.end().steps == 2
    assert "without a commit of the step before: 1" in caplog.text, "the first trial of OpenSees is never committed"


# -- who may listen and come in ---------------------------------------------------------------------------------------


def test_other_machines_are_let_in_by_a_list_only():
    with pytest.raises(InputError, match="name the allowed clients"):
        Listener(host="0.0.0.0")
    with pytest.raises(InputError, match="an entry that is no address"):
        Listener(host="0.0.0.0", allow=("lab computer",))
    listener = Listener(host="0.0.0.0", allow=("192.168.1.20", "10.1.0.0/16", "::1"))
    assert (
        listener.allows(("192.168.1.20", 5)) and listener.allows(("10.1.9.9", 5)) and listener.allows(("::1", 5, 0, 0))
    )
    assert not listener.allows(("192.168.1.21", 5)) and not listener.allows(("127.0.0.1", 5))
    assert listener.allows(("::ffff:10.1.2.3", 5, 0, 0))
    assert Listener().allows(("127.0.0.1", 5)) and not Listener().allows(("192.168.1.20", 5))


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_client_that_is_not_on_the_list_is_turned_away(protocol):
    with serving(None, protocol, allow=("192.0.2.1",)) as served:
        with pytest.raises(WireProblem, match=r"gone|did not answer"):
            RemoteSubstructure("127.0.0.1", served.port, 1, protocol, timeout=0.3)
        assert served.refused(1) >= 1 and served.device.trials == 0


def test_a_port_that_is_taken_and_a_server_that_is_not_there():
    with serving() as served, pytest.raises(InputError, match="Cannot listen"):
        DeviceServer(Spring, Listener(port=served.port), unlimited=True)
    with pytest.raises(WireProblem, match="cannot be reached"):
        RemoteSubstructure("127.0.0.1", served.port, 1, timeout=0.5)


def test_limits_say_what_was_crossed():
    limits = SafetyLimits(displacement=0.05, velocity=0.5, force=1e5)
    assert limits.motion_beyond([0.05, -0.05], [0.5, 0.0]) is None
    assert limits.motion_beyond([0.0, -0.061], [0.0, 0.0]) == "displacement 2 is -0.061 m, beyond the limit of 0.05 m"
    assert limits.motion_beyond([0.0], [0.7]) == "velocity is 0.7 m/s, beyond the limit of 0.5 m/s"
    assert "not a finite number" in SafetyLimits().motion_beyond([float("nan")], [0.0])
    assert "not a finite number" in SafetyLimits().force_beyond([float("inf")])
    with pytest.raises(InputError, match="positive"):
        SafetyLimits(force=0.0)


def test_an_undisturbed_drive():
    with serving() as served:
        remote = RemoteSubstructure("127.0.0.1", served.port)
        np.testing.assert_allclose(drive(remote, 50), expected(50), rtol=1e-14)
        remote.stop("done")
        remote.stop("again")
        with pytest.raises(WireProblem, match="closed: done"):
            remote.commit()
        assert "50 steps" in str(served.end())
