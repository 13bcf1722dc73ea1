"""`vibrid online` killed at any moment and resumed: state and estimates are those of the undisturbed run, bit for bit.

What a kill leaves is a copy of the folder between two operations on files, or inside one. (Processes that are really
killed: `python benchmarks/faults.py --part kill`.)
"""

import io
import os
import shutil
import sys

import jax
import numpy as np
import pytest
from commands.test_online_command import folder as whole_folder  # noqa: F401  (a fixture)
from commands.test_online_command import online

from vibrid.commands import online_run, online_sources
from vibrid.identification.online import live
from vibrid.records.streams import Arrival, Silence

STEP = 1 / 25.0
COUNT = 130


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """One compiled step for every run of the same problem."""
    known, compiled = {}, live._compiled

    def once(method, problem, unpack):
        leaves = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(problem)]
        key = (repr(method), *leaves)
        if key not in known:
            known[key] = compiled(method, problem, unpack)
        return known[key]

    live._compiled = once
    yield
    live._compiled = compiled


@pytest.fixture(autouse=True)
def saved_often(monkeypatch):
    monkeypatch.setattr(online_run, "KEEP_EVERY", 0.05)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # matters for a loss of power only


@pytest.fixture(scope="module")
def folder(tmp_path_factory, whole_folder):  # noqa: F811
    """The project and the first 130 samples: enough for the method to learn."""
    place = tmp_path_factory.mktemp("resume")
    shutil.copy(whole_folder / "p.toml", place)
    lines = (whole_folder / "test.csv").read_text().splitlines(keepends=True)
    (place / "test.csv").write_text("".join(lines[: 1 + COUNT]))
    return place


class Sender:
    """A sender of packets in place of the network: those with the numbers that are given."""

    def __init__(self, rows, numbers):
        self.rows, self.numbers = rows, numbers

    def __call__(self, host, port, channels, timeout, refuse, opened, wait, waiting):
        for n in self.numbers:
            yield Arrival(1000 + n, STEP * n, self.rows[n])
        raise Silence


@pytest.fixture
def rows(folder):
    lines = (folder / "test.csv").read_text().splitlines()[1:]
    return [tuple(map(float, line.split(",")))[1:] for line in lines]


def run(folder, place, source, monkeypatch, rows, *more, numbers=None):
    """One run of the command, in the folder `place`."""
    given, words = None, ["udp://127.0.0.1:5005", "--rate", 25]
    if source == "file":
        words = [folder / "test.csv"]
    elif source == "pipe":
        given, words = "\n".join((folder / "test.csv").read_text().splitlines()[1:]), ["-", "--rate", 25]
    else:
        monkeypatch.setattr(online_sources.streams, "udp", Sender(rows, numbers or range(len(rows))))
    files = ["--out", place / "run.csv", "--state", place / "run.npz", "--every", 3]
    done = online(folder / "p.toml", "--from", *words, *files, *more, given=given)
    assert done.exit_code == 0, done.output
    return done.output


def contents(place) -> dict:
    """The estimates, and the state without the name of its run."""
    state = live.read_state(place / "run.npz")
    note = {key: value for key, value in state.note.items() if key not in ("run", "taken")}
    arrays = {name: (a.dtype.str, a.tobytes()) for name, a in state.arrays.items() if name != "note"}
    return {"csv": (place / "run.csv").read_bytes(), "note": note, "arrays": arrays}


class Operations:
    """Counts operations that change files, and copies the folder at some of them."""

    def __init__(self, monkeypatch, place, at=()):
        self.count, self.place, self.at, self.copies = 0, place, set(at), []
        real_write, real_replace = os.write, os.replace

        def write(handle, data):
            self.count += 1
            if self.count in self.at and len(data) > 1:
                half = real_write(handle, bytes(data)[: len(data) // 2])  # killed inside it
                self.copy()
                return half
            return real_write(handle, data)

        def replace(*arguments):
            self.count += 1
            if self.count in self.at:
                self.copy()
            real_replace(*arguments)

        monkeypatch.setattr(os, "write", write)
        monkeypatch.setattr(os, "replace", replace)

    def copy(self) -> None:
        copy = self.place.with_name(f"{self.place.name}-{len(self.copies)}")
        shutil.copytree(self.place, copy)
        self.copies.append(copy)


@pytest.mark.parametrize(("source", "moments"), [("file", 4), ("pipe", 4), ("udp", 8)])
def test_killed_at_random_moments_and_resumed_it_is_the_undisturbed_run(
    folder,
    tmp_path,
    monkeypatch,
    rows,
    source,
    moments,
):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for place in (whole, cut):
        place.mkdir()
    with monkeypatch.context() as patch:
        counted = Operations(patch, whole)
        run(folder, whole, source, monkeypatch, rows)
    expected = contents(whole)
    at = np.random.default_rng(len(source)).choice(np.arange(3, int(0.9 * counted.count)), moments, replace=False)
    with monkeypatch.context() as patch:
        operations = Operations(patch, cut, at.tolist())
        run(folder, cut, source, monkeypatch, rows)
    assert contents(cut) == expected and len(operations.copies) >= moments - 1
    for copy in operations.copies:
        output = run(folder, copy, source, monkeypatch, rows, "--resume")
        assert contents(copy) == expected, copy.name
        assert f"{len(rows)} samples" in output and "0 lost, 0 late" in output
        assert not (copy / "run.npz.samples").exists()


def test_packets_that_never_come_after_a_kill_are_lost_as_in_a_run_that_was_not_killed(
    folder,
    tmp_path,
    monkeypatch,
    rows,
    capfd,
):
    """Killed after sample 59, resumed when the sender is at 90: the same as 30 packets lost on the way."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for place in (whole, cut):
        place.mkdir()
    output = run(folder, whole, "udp", monkeypatch, rows, numbers=[*range(60), *range(90, COUNT)])
    assert "30 lost" in output and "30 samples were lost (23 %)" in output and "30 samples had no motion" in output
    run(folder, cut, "udp", monkeypatch, rows, numbers=range(60))
    output = run(folder, cut, "udp", monkeypatch, rows, "--resume", numbers=range(90, COUNT))
    assert f"{COUNT} samples" in output and "30 lost" in output
    assert contents(cut) == contents(whole)
    times = [float(line.split(",")[0]) for line in (cut / "run.csv").read_text().splitlines()[1:]]
    assert np.all(np.diff(times) > 0), "the file never steps back in time"


def test_a_whole_block_lost_is_reported(folder, tmp_path, monkeypatch, rows):
    """More samples than the longest gap that is filled: counted, and reported with what it means."""
    many = rows * 12
    output = run(folder, tmp_path, "udp", monkeypatch, many, numbers=[*range(100), *range(1400, 1500)])
    assert "1300 lost" in output and "1300 samples were lost (87 %)" in output and "the estimates may be off" in output


def test_a_source_that_repeats_itself_is_reported(folder, tmp_path, monkeypatch, rows, capsys):
    run(folder, tmp_path, "udp", monkeypatch, rows, numbers=range(100))
    output = run(folder, tmp_path, "udp", monkeypatch, rows, "--resume")
    assert (
        f"{COUNT} samples" in output and "100 known already" in output and "start a new run without --resume" in output
    )


def resumed(folder, place, *words):
    done = online(folder / "p.toml", *words, "--state", place / "run.npz", "--resume")
    assert done.exit_code == 1 and "Traceback" not in done.output
    return done.output


def test_what_cannot_be_resumed_is_refused_before_anything_is_listened_to(
    folder,
    tmp_path,
    monkeypatch,
    rows,
):
    def deaf(*_):
        raise AssertionError("it listens")

    monkeypatch.setattr(online_sources.streams, "udp", deaf)
    udp = ("--from", "udp://127.0.0.1:5005", "--rate", 25)
    assert "nothing to resume from" in resumed(folder, tmp_path, *udp)
    run(folder, tmp_path, "file", monkeypatch, rows)
    assert "another kind of source" in resumed(folder, tmp_path, *udp)
    file = ("--from", folder / "test.csv")
    assert "other settings" in resumed(folder, tmp_path, *file, "--seed", 3)
    other = tmp_path / "other.csv"
    other.write_text((folder / "test.csv").read_text().replace("0.04,", "0.04,1"))
    assert f"does not begin with the {COUNT} samples" in resumed(folder, tmp_path, "--from", other)
    (tmp_path / "run.csv").write_text("time\n1\n")
    assert "not the file that the run wrote" in resumed(folder, tmp_path, *file, "--out", tmp_path / "run.csv")
    content = (tmp_path / "run.npz").read_bytes()
    for size in np.linspace(0, len(content) - 1, 8).astype(int):
        (tmp_path / "run.npz").write_bytes(content[:size])
        assert "not the state of a run" in resumed(folder, tmp_path, *file)


def test_a_file_that_has_grown_goes_on(folder, tmp_path, monkeypatch, rows):
    """The first half, then the whole file: the same as the whole file at once."""
    part, whole = tmp_path / "part", tmp_path / "whole"
    for place in (part, whole):
        place.mkdir()
        shutil.copy(folder / "p.toml", place)
    lines = (folder / "test.csv").read_text().splitlines(keepends=True)
    (part / "test.csv").write_text("".join(lines[:81]))
    run(part, part, "file", monkeypatch, rows)
    shutil.copy(folder / "test.csv", part)
    shutil.copy(folder / "test.csv", whole)
    assert f"{COUNT} samples" in run(part, part, "file", monkeypatch, rows, "--resume")
    run(whole, whole, "file", monkeypatch, rows)
    assert contents(part) == contents(whole)


def test_bytes_that_are_not_text_are_refused_line_by_line(folder, monkeypatch):
    text = b"\xff\xfe\x00rubbish\n" + b"\n".join(b"%.2f,1,2" % (i / 25) for i in range(30))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    done = online(folder / "p.toml", "--from", "-", "--rate", 25, given=text)
    assert done.exit_code == 0 and "30 samples" in done.output and "1 refused" in done.output, done.output
