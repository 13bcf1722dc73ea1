"""Streams of SeedLink and MQTT as files: whole spans, gaps, connections that are lost, kills."""

import json
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.core.errors import InputError
from vibrid.records import Channel, Record, UtcClock, join, read_record
from vibrid.records.streams import seedlink
from vibrid.records.streams.received import Message, Received

NOON = np.datetime64("2024-05-01T12:00:00", "ns")
RATE = 100.0


def counts(seconds):
    return (1000 * np.sin(0.05 * np.arange(round(seconds * RATE)))).astype(np.int32)


def mseed(channel, first, values, station="BRDG"):
    """Records of 512 bytes, version 2."""
    pymseed = pytest.importorskip("pymseed")
    start = int(NOON.astype(np.int64)) + round(first * 1e9)
    made = pymseed.MS3TraceList()
    identifier = pymseed.nslc2sourceid("XX", station, "00", channel)
    made.add_data(sourceid=identifier, data_samples=values, sample_type="i", sample_rate=RATE, starttime=start)
    content = b"".join(bytes(r) for r in made.generate(max_record_length=512, format_version=2, flush_data=True))
    assert len(content) % 512 == 0
    return [content[i : i + 512] for i in range(0, len(content), 512)]


def table(first, values):
    """A message of MQTT: a table with dates."""
    stamps = NOON + (np.round(1e9 * (first + np.arange(len(values)) / RATE))).astype("m8[ns]")
    rows = [f"{stamp}Z,{value}" for stamp, value in zip(stamps.astype("M8[ms]"), values, strict=True)]
    return ("time,roof [mg]\n" + "\n".join(rows) + "\n").encode()


def test_records_that_follow_each_other_are_joined():
    def part(first, values, name="roof"):
        clock = UtcClock(NOON + np.timedelta64(round(1e9 * first), "ns"), "GPS")
        return Record(np.asarray(values, float)[:, None], [Channel(name, "acceleration")], step=0.01, clock=clock)

    (one,) = join([part(0.05, [6, 7]), part(0.0, [1, 2, 3]), part(0.01, [8, 9], "pier")])
    np.testing.assert_array_equal(one["roof"], [1, 2, 3, np.nan, np.nan, 6, 7])
    np.testing.assert_array_equal(one["pier"], [np.nan, 8, 9, np.nan, np.nan, np.nan, np.nan])
    assert one.utc == NOON and one.clock.source == "GPS"
    assert len(join([part(0.0, [1, 2]), part(0.0051, [3, 4], "pier")])) == 2
    with pytest.raises(InputError, match="described in two ways"):
        join([part(0.0, [1.0]), part(0.01, [2.0]).relabel({"roof": {"location": "1"}})])
    with pytest.raises(InputError, match="1000001 numbers, more than the 1000"):
        join([part(0.0, [1.0]), part(1e4, [2.0])], most=1000)


def test_files_of_whole_spans_and_a_kill(tmp_path):
    values, told = counts(25.0), []
    received = Received(tmp_path, span=10.0, patience=5.0, tell=told.append)
    for second in range(17):
        received.add(Message(table(float(second), values[100 * second : 100 * second + 100])))
    received._journal.append(b'{"size": 99, "station": "", "seq')  # what a kill leaves
    received.close()
    received = Received(tmp_path, span=10.0, patience=5.0, tell=told.append)
    for second in (3, *range(17, 25)):  # the broker sends an old message again
        received.add(Message(table(float(second), values[100 * second : 100 * second + 100])))
    received.settle(final=True)
    received.close()
    names = [f"20240501T1200{s}Z.h5" for s in ("00", "10", "20")]
    assert sorted(p.name for p in tmp_path.glob("*.h5")) == names
    whole = np.concatenate([read_record(tmp_path / name)["roof"] for name in names])
    np.testing.assert_allclose(whole, 9.80665e-3 * values, rtol=1e-12)
    starts = [NOON + np.timedelta64(s, "s") for s in (0, 10, 20)]
    assert [read_record(tmp_path / name).utc for name in names] == starts
    assert any("Goes on with 7 messages" in line for line in told) and any(
        "came when their file" in line for line in told
    )


def test_messages_that_cannot_be_read_are_left_out(tmp_path):
    told = []
    received = Received(tmp_path, span=10.0, tell=told.append)
    for payload in (b"\x00\x01rubbish", b"time [s],roof [g]\n0,1\n0.01,2\n", b"x" * (4 * 1024**2 + 1), b""):
        assert received.add(Message(payload)) == 0
    received.close()
    assert len(told) == 4 and "no clock" in told[1] and "more than" in told[2]
    assert not list(tmp_path.glob("*.h5"))
    with pytest.raises(InputError, match="at least 1 s"):
        Received(tmp_path, span=0.0)


class Server(threading.Thread):
    """A stand-in for a SeedLink server: packets from a number on, `most` of them in a connection."""

    def __init__(self, packets, most):
        super().__init__(daemon=True)
        self.packets, self.most, self.asked = packets, most, []
        self.ear = socket.create_server(("127.0.0.1", 0))
        self.port = self.ear.getsockname()[1]
        self.start()

    def run(self):
        while True:
            link, _ = self.ear.accept()
            with link, link.makefile("rb") as lines:
                first = 0
                while (line := lines.readline().decode().strip()) != "END":
                    self.asked.append(line)
                    if line == "HELLO":
                        link.sendall(b"SeedLink v3.1\r\nstand-in\r\n")
                    elif line.startswith("STATION NONE"):
                        link.sendall(b"ERROR\r\n")
                    elif line:
                        first = int(line.split()[1], 16) if line.startswith("DATA ") else first
                        link.sendall(b"OK\r\n")
                    else:
                        break
                part = self.packets[first : first + self.most]
                link.sendall(b"".join(b"SL%06X" % (first + i) + p for i, p in enumerate(part)))


def test_seedlink_goes_on_after_a_lost_connection(tmp_path, monkeypatch):
    monkeypatch.setattr(seedlink, "_WAITS", (0.01,))
    values, told = counts(25.0), []
    streams = [mseed(channel, 0.0, values) for channel in ("HNE", "HNZ")]
    packets = [packet for pair in zip(*streams, strict=True) for packet in pair]
    server = Server(packets, most=5)
    received = Received(tmp_path, span=10.0, tell=told.append)
    wanted = seedlink.wanted_of("XX_BRDG:00HN?")
    taken = 0
    for message in seedlink.packets("127.0.0.1", server.port, wanted, received.sequences, told.append):
        if message is not None:
            received.add(message)
            taken += 1
        if taken == len(packets):
            break
    received.settle(final=True)
    received.close()
    assert "SELECT 00HN?" in server.asked and "STATION BRDG XX" in server.asked and "DATA 000005" in server.asked
    parts = [read_record(path) for path in sorted(tmp_path.glob("*.h5"))]
    assert [len(p) for p in parts] == [1000, 1000, 500]
    for name in ("XX.BRDG.00.HNE", "XX.BRDG.00.HNZ"):
        np.testing.assert_array_equal(np.concatenate([p[name] for p in parts]), values)
    later = Received(tmp_path, span=10.0)
    assert later.sequences == {"XX_BRDG": f"{len(packets) - 1:06X}"}
    later.close()


def test_the_command_says_what_it_received(tmp_path, monkeypatch):
    packets = [Message(p, "XX_BRDG", f"{i:06X}") for i, p in enumerate(mseed("HNZ", 0.0, counts(25.0)))]
    monkeypatch.setattr(seedlink, "packets", lambda *_: iter(packets))
    words = ["record", "receive", "seedlink://server/XX_BRDG", "--to", str(tmp_path), "--span", "10", "--json"]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.stderr
    found = json.loads(made.stdout)
    assert [Path(file) for file in found["files"]] == sorted(tmp_path.glob("*.h5"))
    assert [len(read_record(file)) for file in found["files"]] == [1000, 1000]
    assert found["messages"] == len(packets) and found["unfinished"] > 0 and found["late"] == 0


def test_seedlink_refusals():
    server = Server([], most=1)
    with pytest.raises(InputError, match="refuses 'STATION NONE XX'"):
        next(seedlink.packets("127.0.0.1", server.port, seedlink.wanted_of("XX_NONE"), {}, print))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(InputError, match=rf"port {port}: .*refused"):
        next(seedlink.packets("127.0.0.1", port, seedlink.wanted_of("XX_BRDG"), {}, print, attempts=1))
    with pytest.raises(InputError, match="names no stations"):
        seedlink.wanted_of("BRDG")


@pytest.mark.skipif(shutil.which("mosquitto") is None, reason="mosquitto is not installed")
def test_mqtt_keeps_what_comes_while_the_program_is_away(tmp_path):
    pytest.importorskip("paho.mqtt.client")
    from paho.mqtt import publish

    from vibrid.records.streams import mqtt

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = tmp_path / "broker.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = subprocess.Popen(["mosquitto", "-c", str(settings)], stderr=subprocess.DEVNULL)
    try:
        values, told = counts(12.0), []

        def send(second):
            payload = table(float(second), values[100 * second : 100 * second + 100])
            publish.single("tower/roof", payload, qos=1, hostname="127.0.0.1", port=port)

        def take(folder, count):
            received = Received(folder, span=10.0, tell=told.append)
            stream, taken = mqtt.messages("127.0.0.1", port, "tower/#", told.append, "test"), 0
            while taken < count:
                message = next(stream)
                if taken == 0 and message is None and any("connected" in line for line in told):
                    told.clear()
                    for second in range(count):
                        send(second)
                if message is not None:
                    received.add(message)
                    taken += 1
            stream.close()
            return received

        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 1.0).close()
                break
            except OSError:
                time.sleep(0.1)
        take(tmp_path / "in", 5).close()
        for second in range(5, 12):
            send(second)
        received = Received(tmp_path / "in", span=10.0, tell=told.append)
        stream = mqtt.messages("127.0.0.1", port, "tower/#", told.append, "test")
        taken = 0
        while taken < 7:
            message = next(stream)
            if message is not None:
                received.add(message)
                taken += 1
        stream.close()
        received.settle(final=True)
        received.close()
    finally:
        broker.terminate()
        broker.wait()
    parts = [read_record(path) for path in sorted((tmp_path / "in").glob("*.h5"))]
    np.testing.assert_allclose(np.concatenate([p["roof"] for p in parts]), 9.80665e-3 * values, rtol=1e-12)
