"""What a page is shown of a running test: no peak is lost, its work is bounded, limits and deviations are there."""

import itertools
import json
import time
from pathlib import Path

import numpy as np
import pytest

from vibrid.hybrid import Recorder
from vibrid.records.journal import Journal
from vibrid.records.record import Channel
from vibrid.studio import tails
from vibrid.studio.jobs import Jobs
from vibrid.studio.tails import EstimatesTail, JournalTail
from vibrid.studio.thin import least_and_greatest
from vibrid.studio.watching import ACROSS, SECONDS, JobView
from vibrid.studio.workspace import Workspace

CHANNELS = [Channel(f"d.{what}", "displacement") for what in ("target", "command", "displacement")]
CHANNELS.append(Channel("d.force", "element_force"))
LIMITS = {"d.displacement": 0.05, "d.force": 2e4}


@pytest.fixture
def tested(tmp_path):
    """A running test: its recorder, and what a page sees of it."""
    jobs, out = Jobs(Workspace(tmp_path / "work")), tmp_path / "work" / "test"
    out.mkdir()
    with jobs.adopted("hybrid", Path("test.toml"), out) as number:
        recorder = Recorder(out / "devices.h5", CHANNELS, step=1 / 1024, limits=LIMITS)
        yield recorder, JobView(jobs, number)
        recorder.close()
    jobs.close()


def wait_until_written(recorder, rows):
    """What has left the ring is in a block once the writer has had its turn."""
    until = time.monotonic() + 60
    while recorder._journal.rows < rows and time.monotonic() < until:
        time.sleep(0.01)


def rows_of(count, rate, seed=0):
    """Times, and the four columns, of a motion with noise."""
    times, noise = np.arange(count) / rate, np.random.default_rng(seed).standard_normal((count, 2))
    target = 0.02 * np.sin(9 * times)
    measured = target - 0.001 * noise[:, 0]
    return times, np.column_stack([target, target, measured, 1e6 * measured + noise[:, 1]])


def test_a_look_is_as_much_as_the_picture_can_show_and_no_peak_is_lost(tested):
    """At 1024 Hz a page gets less than a seventh of the samples; extremes of the error are those of all rows."""
    recorder, view = tested
    times, columns = rows_of(4000, 1024.0)
    shown, first = 0, None
    lows, highs, begun = [], [], 0
    for end in (7, 60, 110, 400, 1100, 2400, 2450, 4000):  # looks at any moments
        for t, row in zip(times[begun:end], columns[begun:end], strict=True):
            recorder.add(t, row)
        wait_until_written(recorder, end - 512)
        said, begun = view.news(), end
        json.dumps(said, allow_nan=False)
        first = first or said
        shown += len(said["times"])
        error = said["traces"][2]
        lows.append(min(error))
        highs.append(max(error))
        assert said["rows"] == end and said["times"] == sorted(said["times"]) and not said["ended"]
        assert len({len(said["times"]), *map(len, said["traces"])}) == 1
    assert [p["title"].partition(": ")[2] for p in first["pictures"]] == [
        "target and measured displacement", "tracking error", "force",
    ]  # fmt: skip
    assert [p["limit"] for p in first["pictures"]] == [50.0, None, 20.0] and first["kind"] == "hybrid"
    columns = columns * [1e3, 1e3, 1e3, 1e-3]  # mm and kN, as a laboratory reads them
    error = columns[:, 0] - columns[:, 2]
    assert min(lows) == pytest.approx(error.min(), rel=1e-5) and max(highs) == pytest.approx(error.max(), rel=1e-5)
    assert shown < 4000 / 7
    expected = np.abs(np.column_stack([columns[:, [0, 2]], error, columns[:, 3]])).max(axis=0)
    np.testing.assert_allclose(said["greatest"], expected, rtol=1e-5)
    assert said["now"] == pytest.approx([*columns[-1, [0, 2]], error[-1], columns[-1, 3]], rel=1e-5)


def test_a_loop_is_drawn_of_pairs_that_were_measured(tested):
    recorder, view = tested
    times, columns = rows_of(1200, 1024.0)
    for t, row in zip(times, columns, strict=True):
        recorder.add(t, row)
    wait_until_written(recorder, 1200 - 512)
    ((x, f),) = view.news()["trails"]
    columns = columns * [1e3, 1e3, 1e3, 1e-3]
    pairs = {(float(f"{a:.6g}"), float(f"{b:.6g}")) for a, b in columns[:, 2:]}
    assert set(zip(x, f, strict=True)) <= pairs and len(x) < 300
    assert max(f) >= columns[-512:, 3].max() * (1 - 1e-5)


def test_two_rows_of_a_part_are_its_extremes():
    """Against a loop; a slow test is shown as it is."""
    times, columns = rows_of(1003, 100.0)
    at, kept = least_and_greatest(times, columns, 50)
    edges = np.linspace(0, 1003, 51).astype(int)
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        for column, two in zip(columns[a:b].T, kept[2 * i : 2 * i + 2].T, strict=True):
            assert sorted(two) == [column.min(), column.max()]
        assert times[a] <= at[2 * i] < at[2 * i + 1] < times[b - 1] + 0.01
    assert np.array_equal(least_and_greatest(times[:100], columns[:100], 50)[1], columns[:100])


def test_a_page_that_comes_late_reads_the_end_only(tmp_path, monkeypatch):
    """Of hours that have passed the heads of blocks are read, and what it is given is bounded."""
    monkeypatch.setattr(tails, "MOST_NEW", 700)
    recorder = Recorder(tmp_path / "test.h5", [Channel("a", "displacement")], step=0.001)
    for i in range(20_000):
        recorder.add(0.001 * i, [i])
    wait_until_written(recorder, 20_000 - 512)
    tail = JournalTail(recorder.journal)
    rows = tail.news()
    recorder.close()
    assert rows[:, 1].tolist() == list(range(19_300, 20_000)) and tail.seen == 20_000
    table = tmp_path / "estimates.csv"
    monkeypatch.setattr(tails, "MOST_TEXT", 4000)
    table.write_text("time,k,k deviation\n" + "".join(f"{i},1.5,0.1\n" for i in range(5000)))
    late = EstimatesTail(table)
    times = late.news()[:, 0]
    assert times[-1] == 4999 and 200 < len(times) < 400 and np.all(np.diff(times) == 1)
    with table.open("a") as stream:
        stream.write("5000,1.5,0.1\nnonsense\n")
    assert late.news()[0].tolist() == [5000.0, 1.5, 0.1]


def test_rows_whose_block_is_not_written_yet_are_waited_for(tmp_path):
    """A slow disk delays the picture, and costs no row; one that writes nothing more is not waited for for ever."""
    journal = Journal(tmp_path / "test.journal", [Channel("a", "displacement")])
    rows = np.arange(1000.0)[:, None] * [0.001, 1.0]
    for row in rows:
        journal.keep(row)
    tail, stalled = JournalTail(journal.path), JournalTail(journal.path)
    assert len(tail.news()) == 0 and tail.seen == 0
    looks = [len(stalled.news()) for _ in range(tails.PATIENCE + 1)]
    assert looks[:-1] == [0] * tails.PATIENCE and looks[-1] >= 500
    journal.write(rows[:900])
    assert tail.news()[:, 1].tolist() == list(range(1000))
    journal.close()


def test_a_page_of_a_day_gets_twenty_seconds(tested):
    """Rows older than the picture are not sent, also after a pause."""
    recorder, view = tested
    for i in range(3000):
        recorder.add(i / 100.0, [0.0, 0.0, 0.0, i])
    wait_until_written(recorder, 3000 - 512)
    said = view.news()
    assert said["times"][0] >= 29.99 - SECONDS - 1e-9 and len(said["times"]) <= 2 * ACROSS
    assert said["greatest"][3] == pytest.approx(2.999)


def test_estimates_are_shown_with_two_standard_deviations(tmp_path):
    jobs, table = Jobs(Workspace(tmp_path / "work")), tmp_path / "work" / "run.csv"
    table.write_text("time,k,c,k deviation,c deviation\n0,10,2,1,0.25\n1,11,2,nan,0.5\n")
    with jobs.adopted("online", Path("device.toml"), table) as number:
        said = JobView(jobs, number).news()
    jobs.close()
    assert said["kind"] == "online" and [p["title"] for p in said["pictures"]] == ["k ± 2σ", "c ± 2σ"]
    assert said["traces"] == [[10, 11], [8, None], [12, None], [2, 2], [1.5, 1], [2.5, 3]]
