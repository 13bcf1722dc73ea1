"""Events cut out of long records."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.core.errors import InputError
from vibrid.records import Channel, Record, UtcClock, read_record
from vibrid.records.events import Trigger, find_events

RATE = 100.0
NOON = "2024-05-01T12:00:00Z"


def hour(events, seconds=1200.0, channels=3, key=0, gap=None):
    """Noise of 1e-3 m/s², with bursts of 0.1 m/s² for 8 s."""
    rng = np.random.default_rng(key)
    data = 1e-3 * rng.standard_normal((round(seconds * RATE), channels)) + 0.5
    for at, where in events:
        first = round(at * RATE)
        data[first : first + 800, where] += 0.1 * rng.standard_normal((800, len(where)))
    if gap is not None:
        data[round(gap[0] * RATE) : round(gap[1] * RATE)] = np.nan
    names = [Channel(f"a{i}", "acceleration") for i in range(channels)]
    return Record(data, names, step=1 / RATE, name="hour", clock=UtcClock(NOON, "GPS"))


def test_events_are_found_and_nothing_else():
    record = hour([(300.0, [0, 1, 2]), (700.0, [0, 1]), (712.0, [0, 1, 2]), (900.0, [2])], gap=(400.0, 450.0))
    first, second = find_events(record)
    assert first.at == pytest.approx(300.0, abs=0.2) and second.at == pytest.approx(700.0, abs=0.2)
    assert first.begin == pytest.approx(first.at - 10.0) and 28.0 < first.end - first.at < 31.0
    assert second.end - second.at > 38.0  # two bursts are one event
    assert 0.2 < first.peaks["a0"] < 0.6 and first.ratio > 1000
    assert len(find_events(record, Trigger(together=0.1))) == 3
    assert not find_events(hour([], key=1))


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(InputError, match="spans 50 s, less than the 60 s"):
        find_events(hour([], seconds=50.0))
    with pytest.raises(InputError, match="no acceleration or velocity"):
        find_events(hour([]).relabel({f"a{i}": {"quantity": "other"} for i in range(3)}))
    with pytest.raises(InputError, match="0 < short < long"):
        Trigger(short=70.0)


def test_an_event_over_two_files(tmp_path):
    record = hour([(598.0, [0, 1, 2])])
    record.cut(0.0, 599.995).write_hdf5(tmp_path / "a.h5")
    record.cut(600.0, 1199.99).write_hdf5(tmp_path / "b.h5")
    files = [str(tmp_path / name) for name in ("a.h5", "b.h5")]
    answer = CliRunner().invoke(app, ["record", "events", *files, "--to", str(tmp_path / "out"), "--json"])
    assert answer.exit_code == 0, answer.output
    (row,) = json.loads(answer.stdout)["events"]
    cut = read_record(row["file"])
    assert row["utc"].startswith("2024-05-01T12:09:58")
    np.testing.assert_array_equal(cut["a1"], record.cut(row["begin"], row["end"])["a1"])
    assert (
        CliRunner().invoke(app, ["record", "events", *files[:1], "--on", "1e9"]).stdout.startswith("no event in 600 s")
    )
