"""Events in files that follow each other: found once, identified, kept; drifts and the chance of too large ones."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.core.errors import InputError
from vibrid.monitor import (
    DriftEstimate,
    EventEstimate,
    EventWatch,
    MonitorState,
    Tracker,
    WatchSettings,
    event_series,
    window_of,
)
from vibrid.monitor.event_fits import chance_beyond, drifts_of
from vibrid.monitor.event_stream import look_for_events
from vibrid.records import Channel, Record, UtcClock, join
from vibrid.records.events import Trigger

RATE, SPAN = 50.0, 40.0
START = np.datetime64("2025-03-01T00:00:00", "ns")
SETTINGS = WatchSettings(window=4000.0)  # longer than the streams: no modes


def stream(folder, bursts, files=8, key=0):
    """Files of 40 s: noise of 1e-3 m/s², bursts of 0.2 m/s² that last 10 s."""
    rng = np.random.default_rng(key)
    data = 1e-3 * rng.standard_normal((round(files * SPAN * RATE), 3))
    for at in bursts:
        first = round(at * RATE)
        part = data[first : first + round(10 * RATE)]
        part += 0.2 * rng.standard_normal(part.shape)
    whole = Record(data, [Channel(f"a{i}", "absolute_acceleration", location=str(i)) for i in range(3)],
                   step=1 / RATE, name="s", clock=UtcClock(START, "GPS", 1e-3))  # fmt: skip
    folder.mkdir(exist_ok=True)
    parts = {}
    for n in range(files):
        (folder / f"{n:03d}").touch()  # the records stay in memory
        parts[f"{n:03d}"] = whole.cut(n * SPAN, (n + 1) * SPAN - 0.5 / RATE)
    return whole, lambda path: parts[path.name]


def fit(value=2e6, drift=0.01, fits=True):
    """What is used of a result."""
    row = {"name": "storeys[0].stiffness", "estimate": value, "standard_deviation": 0.01 * value}
    quantities = [SimpleNamespace(name="period of mode 1", value=1.0, deviation=0.1),
                  SimpleNamespace(name="largest drift of storey 1", value=drift, deviation=0.001)]  # fmt: skip
    channels = [SimpleNamespace(relative=0.3), SimpleNamespace(relative=0.1)]
    return SimpleNamespace(table=lambda: [row], quantities=lambda: quantities, model_fits=fits, fits=channels,
                           verdict="it misses")  # fmt: skip


def test_an_event_over_two_files_is_found_once_as_soon_as_it_is_over(tmp_path):
    (whole, read), told, asked = stream(tmp_path / "in", [115.0, 230.0]), [], []

    def identify(path):
        asked.append(vb.read_record(path))
        return fit()

    with MonitorState(tmp_path / "state") as state:
        later = sorted((tmp_path / "in").iterdir())
        for path in later[3:]:
            path.rename(tmp_path / path.name)
        made = Tracker(state, tmp_path / "in", read, SETTINGS, tell=told.append,
                       events=EventWatch(identify, limit=0.012))  # fmt: skip
        made.look()  # up to 120 s: the event goes on
        assert not state.events()
        for path in later[3:5]:
            (tmp_path / path.name).rename(path)
        made.look()
        (event,) = state.events()
        assert whole.clock.seconds(event.at) == pytest.approx(115.0, abs=1.0)
        part = asked[0]
        begin, end = (whole.clock.seconds(instant) for instant in (event.begin, event.end))
        np.testing.assert_array_equal(part["a1"], whole.cut(begin, end)["a1"])
        assert part.clock.uncertainty == 1e-3 and (state.path.parent / event.file).exists()
        for path in later[5:]:
            (tmp_path / path.name).rename(path)
        again = Tracker(state, tmp_path / "in", read, SETTINGS, tell=told.append,
                        events=EventWatch(identify, limit=0.012))  # fmt: skip
        again.look(final=True)  # another process goes on
        assert len(state.events()) == 2 and len(asked) == 2
        series = event_series(state.events())
        assert series.names == ("storeys[0].stiffness",) and series.values[:, 0] == pytest.approx([2e6, 2e6])
    assert any("EVENT of 2025-03-01T00:01:5" in line and "passed 12 mm with a probability of 2.28 %" in line
               for line in told)  # fmt: skip


def test_a_clock_that_jumps_is_told_and_survived(tmp_path):
    whole, read = stream(tmp_path / "in", [100.0], files=3)
    late = [UtcClock(START + np.timedelta64(7, "ms"), "GPS"), whole.clock]
    told = []

    def jumped(path):  # the last file is 7 ms, a third of a sample, off
        return read(path).replace(clock=late[0] if path.name == "002" else late[1])

    with MonitorState(tmp_path / "state") as state:
        made = Tracker(state, tmp_path / "in", jumped, SETTINGS, tell=told.append,
                       events=EventWatch(trigger=Trigger(long=10.0)))  # fmt: skip
        made.look(final=True)
        assert len(state.events()) == 1 and any("another grid of times" in line for line in told)


def test_an_event_at_the_end_ends_with_the_last_file_only(tmp_path):
    _, read = stream(tmp_path / "in", [112.0], files=3)
    with MonitorState(tmp_path / "state") as state:
        made = Tracker(state, tmp_path / "in", read, SETTINGS, events=EventWatch())
        made.look()
        assert not state.events()
    with MonitorState(tmp_path / "other") as state:
        made = Tracker(state, tmp_path / "in", read, SETTINGS, events=EventWatch())
        made.look(final=True)
        (event,) = state.events()
        assert event.fits is None and not event.parameters and 0.3 < event.peaks["a0"] < 1.5
        assert "Largest value" in str(event)


def test_a_window_leaves_its_events_out(tmp_path):
    whole, _ = stream(tmp_path / "in", [115.0], files=4)
    span = START + np.array([100, 140]) * np.timedelta64(1_000_000_000, "ns")
    cut = window_of([whole], START, 160.0, without=[tuple(span)])
    assert sum(len(piece) for piece in cut.pieces) == pytest.approx(120 * RATE, abs=3)
    assert all(np.abs(piece.data).max() < 0.01 for piece in cut.pieces) and "40.02 s of events" in " ".join(cut.notes)


def test_the_chance_that_a_limit_was_passed():
    assert chance_beyond(0.010, 0.001, 0.012) == pytest.approx(scipy.stats.norm.cdf(-2.0))
    assert chance_beyond(0.013, 0.0, 0.012) == 1.0 and chance_beyond(0.01, np.nan, 0.012) is None
    (right,) = drifts_of(fit(), 0.012)
    (wrong,) = drifts_of(fit(fits=False), 0.012)  # the worst channel is missed by 30 %
    assert wrong.deviation == pytest.approx(np.hypot(0.001, 0.003)) and wrong.chance > right.chance
    assert drifts_of(fit())[0].chance is None
    with pytest.raises(InputError, match="above zero"):
        EventWatch(limit=0.0)


def test_what_goes_wrong_is_a_note(tmp_path):
    _, read = stream(tmp_path / "in", [115.0], files=5)

    def refuses(path):
        raise InputError("there is no excitation.")

    with MonitorState(tmp_path / "state") as state:
        Tracker(state, tmp_path / "in", read, SETTINGS, events=EventWatch(refuses)).look()
        (event,) = state.events()
    assert event.notes == ("It was not identified: there is no excitation.",)
    assert EventEstimate.from_dict(json.loads(json.dumps(event.as_dict()))) == event
    unknown = replace(event, parameters={"k": (1.0, np.nan)}, drifts=(DriftEstimate("storey 1", 0.01, np.nan, None),))
    again = EventEstimate.from_dict(json.loads(json.dumps(unknown.as_dict(), allow_nan=False)))
    assert np.isnan([again.parameters["k"][1], again.drifts[0].deviation]).all()
    assert "Largest drift 10 mm in storey 1" in str(again) and again.chance is None
    with MonitorState(tmp_path / "other") as state:
        told = []
        files = SimpleNamespace(name="x", start=START, finish=START + np.timedelta64(100, "s"))
        mixed = Record(np.zeros((6000, 1)), [Channel("t", "other")], step=0.02, clock=UtcClock(START))
        assert look_for_events(state, EventWatch(), [files], lambda f: mixed, tell=told.append) == 0
        assert "No events were looked for in 'x'" in told[0] and "no acceleration" in told[0]


def test_joined_records_keep_how_well_their_clocks_are_known():
    def part(first, uncertainty):
        clock = UtcClock(START + np.timedelta64(first, "s"), "GPS", uncertainty)
        return Record(np.zeros((50, 1)), [Channel("a", "acceleration")], step=0.02, clock=clock)

    assert join([part(0, 1e-3), part(1, 2e-3)])[0].clock.uncertainty == 2e-3
    assert join([part(0, 1e-3), part(1, None)])[0].clock.uncertainty is None


PROJECT = """
title = "two storeys"

[structure]
kind = "shear-building"
masses = {value = "20 t", count = 2}
storeys = {law = "bouc-wen", count = 2, stiffness = "20 MN/m", beta = 60.0, gamma = 60.0, post_yield_ratio = 0.05}
damping = {law = "viscous", damping = "80 kN s/m"}

[simulation]
substeps = 2

[[unknown]]
path = "storeys[*].stiffness"

[[unknown]]
path = "storeys[*].beta"
tied = true

[[sensors]]
quantity = "absolute_acceleration"
place = 0
channel = "a0"

[[sensors]]
quantity = "absolute_acceleration"
place = 1
channel = "a1"
"""


@pytest.mark.long
def test_an_earthquake_is_identified_by_the_command(tmp_path, monkeypatch):
    """Two Bouc–Wen storeys: stiffnesses, β, the largest drift and whether it passed 10 mm, from the stream alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tower.toml").write_text(PROJECT, encoding="utf-8")
    storeys = [vb.BoucWen(k, 80.0, 60.0, post_yield_ratio=0.05) for k in (24e6, 18e6)]
    building = vb.ShearBuilding([20e3] * 2, storeys, vb.Viscous(80e3))
    quake = vb.synthetic_motion(key=3, duration=12.0, rate=RATE, pga=4.0)
    response = vb.simulate(building, quake, substeps=4)
    shaken = response.measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.01, key=1)
    largest = np.abs(np.diff(np.asarray(response.displacement), axis=1, prepend=0.0)).max()
    rng, first = np.random.default_rng(0), round(90 * RATE)
    data = 1e-4 * rng.standard_normal((round(160 * RATE), 3))
    names = [c.name for c in shaken.channels]
    ground = next(c for c in shaken.channels if c.quantity == "ground_acceleration").name
    own = [name for name in names if name != ground]
    data[first : first + len(shaken)] += np.column_stack([shaken[ground], *(shaken[name] for name in own)])
    channels = [Channel("ground", "ground_acceleration")]
    channels += [Channel(f"a{i}", "absolute_acceleration", location=str(i)) for i in range(2)]
    whole = Record(data, channels, step=1 / RATE, clock=UtcClock(START))
    (tmp_path / "in").mkdir()
    for n in range(4):
        whole.cut(40.0 * n, 40.0 * (n + 1) - 0.5 / RATE).write_hdf5(tmp_path / "in" / f"{n}.h5")
    words = ["track", "in", "--state", "state", "--window", "160", "--events", "tower.toml", "--drift-limit", "10 mm",
             "--report", "page.html", "--json"]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    (event,) = json.loads(done.stdout)["events"]
    found = {name: value for name, (value, _) in event["parameters"].items()}
    assert found["storeys[0].stiffness"] == pytest.approx(24e6, rel=0.01)
    assert found["storeys[1].stiffness"] == pytest.approx(18e6, rel=0.01)
    worst = max(event["drifts"], key=lambda drift: drift["value"])
    assert worst["value"] == pytest.approx(largest, rel=0.02) and event["fits"]
    assert event["chance"] == pytest.approx(float(largest > 0.01), abs=0.01)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Parameters of events" in page and "chance that it passed the limit" in page
    refused = CliRunner().invoke(app, ["track", "in", "--state", "t", "--events", "tower.toml", "--drift-limit", "10"])
    assert refused.exit_code != 0 and "--drift-limit" in refused.stderr and "unit" in refused.stderr
