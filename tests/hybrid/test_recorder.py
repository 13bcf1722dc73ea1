"""The recorder: what was recorded is readable whatever ends the test, and no file is half-written."""

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import FileProblem, InputError
from vibrid.hybrid import Recorder
from vibrid.hybrid.recorder import RecordingProblem
from vibrid.records.journal import BLOCK, MAGIC, Journal

CHANNELS = [vb.Channel("x", "displacement", location="roof"), vb.Channel("f", "element_force")]


def fill(recorder, rows, first=0):
    for k in range(first, first + rows):
        recorder.add(k / 1024, (0.5 * k, -k))


def check(record, rows):
    assert len(record) == rows and record.step == 1 / 1024
    np.testing.assert_array_equal(record["x"], 0.5 * np.arange(rows))
    np.testing.assert_array_equal(record["f"], -np.arange(rows))


def test_a_record_appears_whole_and_says_why_the_test_ended(tmp_path):
    with Recorder(tmp_path / "test.h5", CHANNELS, 1 / 1024) as recorder:
        fill(recorder, 1000)
    check(vb.read_record(tmp_path / "test.h5"), 1000)
    with pytest.raises(RuntimeError), Recorder(tmp_path / "test.h5", CHANNELS, 1 / 1024) as recorder:
        fill(recorder, 300)
        raise RuntimeError("a fuse blew")
    kept = vb.read_record(tmp_path / "test-2.h5")
    check(kept, 300)
    assert "the test ended early: a fuse blew" in kept.history
    assert sorted(p.name for p in tmp_path.iterdir()) == ["test-2.h5", "test.h5"], "nothing overwritten or left"
    assert kept.channels[0].location == "roof"


def test_a_killed_program_leaves_a_journal_that_can_be_read(tmp_path):
    code = (
        "import sys, time; from vibrid.records.journal import Journal; from vibrid.records.record import Channel\n"
        "import numpy as np\n"
        "channels = [Channel('x', 'displacement'), Channel('f', 'element_force')]\n"
        "journal = Journal(sys.argv[1], channels, 'test', 1 / 1024)\n"
        "k = np.arange(500.0); journal.write(np.column_stack([k / 1024, 0.5 * k, -k])); print('go', flush=True)\n"
        "time.sleep(60)\n"
    )
    path = tmp_path / "test.h5.journal"
    environment = os.environ | {"PYTHONPATH": str(Path(vb.__file__).resolve().parents[1])}
    program = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment)
    program.stdout.readline()
    program.send_signal(signal.SIGKILL)
    program.communicate()
    check(vb.read_record(path), 500)
    assert Recorder(tmp_path / "test.h5", CHANNELS).path.name == "test-2.h5", "an orphan is not touched"


def test_a_kill_costs_no_row(tmp_path, monkeypatch):
    """A row is in the journal before its block is written (killed processes: `benchmarks/faults.py --part kill`)."""
    write, may_write = Journal.write, threading.Event()

    def write_later(journal, rows):
        assert may_write.wait(60)
        write(journal, rows)

    monkeypatch.setattr(Journal, "write", write_later)
    recorder = Recorder(tmp_path / "test.h5", CHANNELS, 1 / 1024)
    for first, rows in ((0, 1), (1, 300), (301, 211)):
        fill(recorder, rows, first)
        record = vb.read_record(recorder.journal)
        check(record, first + rows)
        assert "rows are missing, or its end is damaged" not in record.history
    fill(recorder, 1, 512)  # one more than the ring has
    late = vb.read_record(recorder.journal)
    assert "rows are missing, or its end is damaged" in late.history and len(late) == 512 and late["f"][-1] == -512
    may_write.set()
    recorder.close()
    check(vb.read_record(tmp_path / "test.h5"), 513)


def test_a_journal_of_the_first_format_is_read(tmp_path):
    rows = np.column_stack([np.arange(3.0), np.ones(3)])
    header = b'{"vibrid_journal": 1, "name": "a", "step": 1.0, "channels": [["x", "displacement", "m", "", ""]]}'
    block = BLOCK.pack(MAGIC, 3, zlib.crc32(rows.tobytes())) + rows.tobytes()
    (tmp_path / "a.journal").write_bytes(header + b"\n" + block)
    assert len(vb.read_record(tmp_path / "a.journal")) == 3


def test_rows_reach_the_disk_while_the_test_runs(tmp_path):
    recorder = Recorder(tmp_path / "test.h5", CHANNELS, 1 / 1024)
    for rows, first in ((256, 0), (30, 256)):  # a whole block goes at once, part of one a little later
        fill(recorder, rows, first)
        until = time.monotonic() + 60.0
        while recorder._journal.rows < first + rows and time.monotonic() < until:
            time.sleep(0.01)
        check(vb.read_record(recorder.journal), first + rows)
    recorder.close()


@pytest.mark.parametrize("cut", [1, 7, 13, 100, 3000])
def test_a_journal_that_was_cut_or_damaged_is_read_up_to_there(cut, tmp_path):
    journal = Journal(tmp_path / "a.journal", CHANNELS, "test", 1 / 1024)
    k = np.arange(200.0)
    for part in np.array_split(np.column_stack([k / 1024, 0.5 * k, -k]), 4):
        journal.write(part)
    journal.close()
    content = journal.path.read_bytes()
    (tmp_path / "cut").write_bytes(content[:-cut])
    record = vb.read_record(tmp_path / "cut")
    check(record, 150 if cut < 1212 else 50)
    assert "rows are missing, or its end is damaged" in record.history
    spoilt = bytearray(content)
    spoilt[-cut] ^= 1
    (tmp_path / "spoilt").write_bytes(spoilt)
    check(vb.read_record(tmp_path / "spoilt"), 150 if cut < 1212 else 50)


def test_a_disk_that_has_room_again(tmp_path, monkeypatch):
    """Rows wait in memory while the disk refuses them, and are written when it takes them."""
    real, refuse = os.write, [True]

    def write(file, data):
        if refuse[0] and len(data) > 20:
            real(file, data[: len(data) // 2])  # half of it gets through, as on a real disk
            raise OSError(28, "No space left on device")
        return real(file, data)

    recorder = Recorder(tmp_path / "test.h5", CHANNELS, 1 / 1024)
    monkeypatch.setattr(os, "write", write)
    fill(recorder, 600)
    until = time.monotonic() + 60.0
    while not recorder.problem and time.monotonic() < until:
        time.sleep(0.005)
    assert "No space left on device" in recorder.problem
    refuse[0] = False
    fill(recorder, 400, first=600)
    recorder.close()
    check(vb.read_record(tmp_path / "test.h5"), 1000)
    assert "1000 of 1000 rows" in recorder.problem


def test_a_test_that_should_end_when_the_disk_is_full(tmp_path, monkeypatch):
    def write(file, data):
        raise OSError(28, "No space left on device")

    recorder = Recorder(tmp_path / "test.h5", CHANNELS, when_full="end")
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(RecordingProblem, match=r"No space left on device.*as set by when_full"):
        for k in range(100_000):
            fill(recorder, 1, first=k)
            time.sleep(1e-5)
    recorder.close()
    assert recorder.problem


def test_times_that_are_not_even_and_what_is_not_finite(tmp_path):
    with Recorder(tmp_path / "test.h5", CHANNELS, 0.1) as recorder:
        for moment, value in ((0.0, 1.0), (0.1, np.inf), (0.1, 3.0), (0.35, np.nan), (0.3, 9.0), (0.4, 5.0)):
            recorder.add(moment, (value, 0.0))
    record = vb.read_record(tmp_path / "test.h5")
    np.testing.assert_allclose(record.time, [0.0, 0.1, 0.35, 0.4])
    np.testing.assert_array_equal(record["x"], [1.0, np.nan, np.nan, 5.0])
    assert "2 rows whose time did not increase were left out" in record.history


def test_wishes_that_make_no_sense(tmp_path):
    with pytest.raises(InputError, match="continue or end"):
        Recorder(tmp_path / "a.h5", CHANNELS, when_full="panic")
    with pytest.raises(FileProblem, match="cannot be written"):
        Recorder(tmp_path / "nowhere" / "a.h5", CHANNELS)
    empty = Recorder(tmp_path / "empty.h5", CHANNELS)
    empty.close()
    assert not list(tmp_path.iterdir()) and empty.problem == "Nothing was recorded."
    with pytest.raises(FileProblem, match="does not describe its columns"):
        (tmp_path / "b").write_bytes(b'{"vibrid_journal": 1, "name": 3}\n')
        vb.read_record(tmp_path / "b")
