"""Streams: samples in order for any behaviour of the network, and nothing but samples accepted."""

import contextlib
import io
import json
import math
import socket
import threading
import time

import numpy as np
import pytest

from vibrid.core.errors import FileProblem, InputError
from vibrid.records.streams import (
    Arrival,
    ArrivalFile,
    ExpectedUnit,
    Sequencer,
    Silence,
    in_background,
    lines,
    pack,
    read_arrivals,
    replay,
    udp,
    unpack,
)


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


def test_a_wild_number_is_not_believed():
    made, out = order([0, 1, 4_000_000_000, 2, 3], longest_gap=50)
    assert [a.number for a in out] == [0, 1, 2, 3] and (made.restarts, made.wild, made.lost) == (0, 1, 0)
    made, out = order([0, 1, 900, 5000, 901, 2], longest_gap=50, believe=2)
    assert [a.number for a in out] == [0, 1, 2] and made.wild == 3


def test_a_long_loss_is_counted_and_passed_on_as_a_gap():
    made, out = order([*range(100, 110), *range(1000, 1040)], longest_gap=50, believe=5)
    assert made.lost == 890 and made.restarts == 0
    assert [a.number for a in out if not math.isnan(a.values[0])] == [*range(100, 110), *range(1000, 1040)]
    assert sum(math.isnan(a.values[0]) for a in out) == 50


def test_a_sender_that_begins_anew_is_noticed():
    made, out = order([*range(1000, 1010), *range(40)], longest_gap=50, believe=5)
    assert made.restarts == 1 and made.lost == 0
    assert [a.number for a in out if not math.isnan(a.values[0])] == [*range(1000, 1010), *range(40)]
    assert sum(math.isnan(a.values[0]) for a in out) == 1


def test_numbers_begin_again_after_the_largest():
    made, out = order([2**32 - 2, 2**32 - 1, 0, 1, 3, 2])
    assert [a.values[0] for a in out] == [2**32 - 2, 2**32 - 1, 0, 1, 2, 3] and not (made.lost or made.restarts)


def test_an_order_goes_on_in_another_process_as_if_nothing_had_happened():
    """Losses, late and repeated samples, jumps: cut anywhere, stored as JSON and restored, nothing differs."""
    generator = np.random.default_rng(3)
    numbers = [n for n in range(400) if generator.random() > 0.1] + [*range(2000, 2060)]
    for i in range(len(numbers) - 6):
        if generator.random() < 0.1:
            numbers[i], numbers[i + 5] = numbers[i + 5], numbers[i]
    arrivals = [Arrival(n, 0.1 * n, (float(n),)) for n in numbers]
    whole = Sequencer(0.1, longest_gap=100, believe=5)
    expected = [a for arrival in arrivals for a in whole.feed(arrival)]
    for cut in generator.integers(1, len(arrivals), 30):
        first, second = (Sequencer(0.1, longest_gap=100, believe=5) for _ in range(2))
        out = [a for arrival in arrivals[:cut] for a in first.feed(arrival)]
        second.restore(json.loads(json.dumps(first.state())))
        if cut % 2:
            second.resumed()
        out += [a for arrival in arrivals[cut:] for a in second.feed(arrival)]
        assert repr(out) == repr(expected)
        assert second.late + second.known == whole.late and second.lost == whole.lost


def test_a_source_that_repeats_itself_after_a_stop_is_passed_over():
    made, again = Sequencer(0.1), Sequencer(0.1)
    for n in range(5000):
        made.feed(Arrival(n, 0.1 * n, (1.0,)))
    again.restore(made.state())
    again.resumed()
    out = [a.number for n in range(5003) for a in again.feed(Arrival(n, 0.1 * n, (1.0,)))]
    assert out == [5000, 5001, 5002] and (again.known, again.late, again.lost, again.restarts) == (5000, 0, 0, 0)


# -- arrivals in a file --------------------------------------------------------------------------------------------


def arrivals(first: int, count: int) -> list[Arrival]:
    return [Arrival(n, 0.1 * n, (float(n), math.nan if n % 3 else 1.0)) for n in range(first, first + count)]


def test_arrivals_are_kept_dropped_and_read_again(tmp_path):
    path, run = tmp_path / "a.samples", bytes(range(16))
    kept = ArrivalFile(path, run, 2, pytest.fail)
    assert not path.exists()
    assert repr(list(kept.keep(iter(arrivals(0, 10))))) == repr(arrivals(0, 10))
    assert repr(read_arrivals(path, 2)) == repr((run, 0, arrivals(0, 10)))
    kept.drop_before(4)
    kept.append(arrivals(10, 1)[0])
    assert repr(read_arrivals(path, 2)) == repr((run, 4, arrivals(4, 7)))
    content = path.read_bytes()
    for size in range(30, len(content)):  # cut anywhere: the complete rows are read
        path.write_bytes(content[:size])
        assert repr(read_arrivals(path, 2)[2]) == repr(arrivals(4, (size - 30) // 36))
    path.write_bytes(content[:200] + b"?" + content[201:])
    assert repr(read_arrivals(path, 2)[2]) == repr(arrivals(4, 4))
    kept.close()
    again = ArrivalFile(path, run, 2, pytest.fail)
    again.continue_after(arrivals(4, 4), 4)
    again.append(arrivals(8, 1)[0])
    assert repr(read_arrivals(path, 2)) == repr((run, 4, arrivals(4, 5)))
    again.drop_before(9)
    again.close()
    assert not path.exists() and read_arrivals(path, 2) is None


@pytest.mark.parametrize("content", [b"", b"VBA1", b"EVIL" * 20, b"VBA1" + bytes(24) + b"\x09\x00"])
def test_another_file_is_not_taken_for_arrivals(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(FileProblem):
        read_arrivals(tmp_path / "a", 2)


def test_arrivals_that_cannot_be_written_are_reported_and_the_rest_goes_on(tmp_path):
    problems: list = []
    kept = ArrivalFile(tmp_path / "missing" / "a", bytes(16), 2, problems.append)
    assert len(list(kept.keep(arrivals(0, 5)))) == 5 and len(problems) == 1 and kept.broken
    (tmp_path / "missing").mkdir()
    kept.drop_before(5)
    kept.append(arrivals(5, 1)[0])
    assert repr(read_arrivals(kept.path, 2)) == repr((bytes(16), 5, arrivals(5, 1)))


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
    far = io.StringIO("1e308,1,2\n-1e308,1,2\n" + "9" * 5000 + ",1,2\n" + "1e308,3,4\n")
    assert [a.number for a in lines(far, ("x", "f"), 0.1, refused.append)] == [0, 0] and len(refused) == 4
    assert [a.number for a in lines(io.StringIO("7,1,2\n"), ("x", "f"), 0.1, refused.append, 6.0)] == [10]
    assert [a.values for a in lines(io.StringIO("0,1,2\n"), ("x", "f"), 0.1, refused.append)] == [(1.0, 2.0)]


UNITS = (ExpectedUnit("mm", "m"), ExpectedUnit("", "m/s^2"))


def test_units_of_a_header_line_are_converted():
    """As in a CSV file; the column x stays in the unit that the project states."""
    text = io.StringIO("t [ms], a1 [g], x [mm]\n0, 2, 3\n100, -1, 4\n")
    got = list(lines(text, ("x", "a1"), 0.1, pytest.fail, None, UNITS))
    assert [a.number for a in got] == [0, 1] and got[1].time == pytest.approx(0.1)
    np.testing.assert_allclose([a.values for a in got], [(3.0, 2 * 9.80665), (4.0, -9.80665)])
    got = list(lines(io.StringIO("t,a1,x\n0,2,3\n"), ("x", "a1"), 0.1, pytest.fail, None, UNITS))
    assert got[0].values == (3.0, 2.0), "without units those of the project"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("t [s],x [cm],a1 [g]", "in cm by the header line, and in mm by the project"),
        ("t [s],x [kN],a1 [g]", "column 'x'.*kN"),
        ("t [s],x,a1 [furlong]", "column 'a1'.*furlong"),
        ("t [m],x,a1", "no unit of time"),
        ("t,X,a1", "names no column x"),
        ("x,a1,t", "must be the time"),
    ],
)
def test_a_header_line_that_would_be_misread_is_refused(header, words):
    with pytest.raises(InputError, match=words):
        list(lines(io.StringIO(f"{header}\n0,1,2\n"), ("x", "a1"), 0.1, pytest.fail, None, UNITS))


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
