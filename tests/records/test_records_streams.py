"""Streams: samples in order for any behaviour of the network, and nothing but samples accepted."""

import contextlib
import io
import math
import socket
import threading
import time

import numpy as np
import pytest

from vibrid.core.errors import InputError
from vibrid.records.streams import Arrival, Sequencer, Silence, in_background, lines, pack, replay, udp, unpack


def order(numbers, **settings):
    made, out = Sequencer(0.1, **settings), []
    for n in numbers:
        out += made.feed(Arrival(n, 0.1 * n, (float(n),)))
    return made, out + made.finish()


def test_what_comes_in_order_goes_on_at_once():
    made = Sequencer(0.1)
    assert [made.feed(Arrival(n, 0.1 * n, (1.0,)))[0].number for n in (7, 8, 9)] == [7, 8, 9]


def test_late_and_repeated_samples_are_put_in_their_place_or_dropped():
    made, out = order([0, 2, 1, 3, 3, 1, 4])
    assert [a.number for a in out] == [0, 1, 2, 3, 4]
    assert (made.lost, made.late + made.repeated) == (0, 2)


def test_what_never_comes_is_a_gap():
    made, out = order([0, 1, *range(4, 20)], patience=5)
    assert [a.number for a in out] == list(range(20)) and made.lost == 2
    assert math.isnan(out[2].values[0]) and out[3].time == pytest.approx(0.3)


def test_a_wild_number_is_not_believed_but_a_sender_that_starts_anew_is():
    made, out = order([0, 1, 4_000_000_000, 2, 3], longest_gap=50)
    assert [a.number for a in out] == [0, 1, 2, 3] and made.restarts == 0
    made, out = order([*range(100, 110), *range(1000, 1040)], longest_gap=50, believe=5)
    assert made.restarts == 1 and out[-1].number == 1039 and len(out) < 60


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"VBR1",
        pack(1, 0.0, [1.0]),
        pack(1, 0.0, [1.0, 2.0])[:-1],
        pack(1, 0.0, [1.0, 2.0]) + b"x",
        b"EVIL" + pack(1, 0.0, [1.0, 2.0])[4:],
        pack(1, math.inf, [1.0, 2.0]),
        pack(1, 0.0, [1.0, -math.inf]),
        b"\x80\x04cos\nsystem\n.",
    ],
)
def test_malformed_packets_are_refused(packet):
    with pytest.raises(InputError, match="packet"):
        unpack(packet, 2)


def test_random_bytes_never_do_more_than_be_refused():
    rng = np.random.default_rng(0)
    good = pack(5, 1.0, [1.0, 2.0])
    for _ in range(3000):
        changed = bytearray(good)
        changed[rng.integers(len(good))] = rng.integers(256)
        with contextlib.suppress(InputError):
            assert len(unpack(bytes(changed), 2).values) == 2


def test_lines_may_name_their_columns_and_bad_ones_are_passed_over():
    text = io.StringIO("time,f,x\n0.0,1,2\n0.1,oops,3\n0.2,,4\n0.3,1,inf\n\n0.4,5,6\n")
    refused = []
    got = list(lines(text, ("x", "f"), 0.1, refused.append))
    assert [a.number for a in got] == [0, 2, 4] and got[0].values == (2.0, 1.0) and math.isnan(got[1].values[1])
    assert len(refused) == 2
    assert [a.values for a in lines(io.StringIO("0,1,2\n"), ("x", "f"), 0.1, refused.append)] == [(1.0, 2.0)]


def test_replay_keeps_time_when_asked():
    data = np.arange(6.0)[:, None]
    started = time.monotonic()
    assert [a.values[0] for a in replay(data, 0.02, 1.0)] == list(data[:, 0])
    assert time.monotonic() - started >= 0.1
    assert len(list(replay(data, 100.0))) == 6


def test_udp_listens_to_one_sender_refuses_others_and_notices_silence():
    refused, got, port, ready = [], [], [], threading.Event()

    def opened(number):
        port.append(number)
        ready.set()

    def listen():
        try:
            for arrival in udp("127.0.0.1", 0, 2, 0.4, refused.append, opened):
                got.append(arrival)
        except Silence:
            got.append("silence")

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert ready.wait(5)
    first, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with first, other:
        for n in range(3):
            first.sendto(pack(n, 0.1 * n, [1.0, 2.0]), ("127.0.0.1", port[0]))
        time.sleep(0.1)
        first.sendto(b"junk", ("127.0.0.1", port[0]))
        other.sendto(pack(3, 0.3, [1.0, 2.0]), ("127.0.0.1", port[0]))
        thread.join(timeout=60)
    assert [a.number for a in got[:3]] == [0, 1, 2] and got[3] == "silence" and len(refused) == 2


def test_nothing_is_lost_while_the_reader_is_slow():
    def source():
        yield from (Arrival(n, 0.1 * n, (1.0,)) for n in range(50))
        raise Silence

    got = []
    with pytest.raises(Silence):
        for arrival in in_background(source()):
            got.append(arrival.number)
            time.sleep(0.001)
    assert got == list(range(50))
    assert [a.number for a in in_background(iter([Arrival(3, 0.0, ())]))] == [3]


def test_a_port_in_use_is_reported():
    with pytest.raises(InputError, match="Cannot listen"):
        next(udp("203.0.113.1", 9, 1, 0.1, print))
