"""A folder that grows becomes windows, a series, an alarm and a place; gaps, restarts and kills are survived."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError, VibridError
from vibrid.modal import measured_modes
from vibrid.monitor import (
    Chart,
    FollowedModes,
    FollowedParameters,
    MonitorState,
    Tracker,
    WatchSettings,
    WindowEstimate,
    frequency_sensitivity,
    window_of,
)
from vibrid.monitor.state import FILE
from vibrid.records import UtcClock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from ambient_vibration import accelerations, chain

MASSES, STIFFNESSES, RATE, LENGTH = [20e3] * 4, np.array([30e6, 28e6, 26e6, 24e6]), 25.0, 200.0
START = np.datetime64("2025-01-01T00:00:00", "ns")
TOWER = vb.ShearBuilding(MASSES, [vb.Linear(k) for k in STIFFNESSES], damping=vb.Modal(0.02))
UNKNOWN = ["storeys[*].stiffness"]
MODAL = {"lags": 12, "order": 16}
SETTINGS = WatchSettings(window=LENGTH, training=30, environment=("temperature",), modal=MODAL, chart=Chart(0.1, 1000))


def measured(number, losses=None, seed=None):
    """One window: softer by 0.1 % for every degree; the temperature swings by 10 degrees."""
    warm = 10 * np.sin(0.7 * number)
    k = STIFFNESSES * (1 - 1e-3 * warm) * (1 - np.asarray(losses if losses is not None else np.zeros(4)))
    y = accelerations(
        *chain(MASSES, k, 0.02), seed=number if seed is None else seed, seconds=LENGTH, rate=RATE, finer=1
    )
    data = np.column_stack([0.01 * y / y.std(), np.full(len(y), 283.15 + warm)])
    channels = [vb.Channel(f"a{i}", "absolute_acceleration", location=i) for i in range(4)]
    channels.append(vb.Channel("temperature", "other", "K"))
    clock = UtcClock(START + np.timedelta64(round(number * LENGTH), "s"), "GPS")
    return vb.Record(data, channels, step=1 / RATE, name=f"w{number:04d}", clock=clock)


def tracker(folder, state, followed=None, told=None, **more):
    return Tracker(
        state, folder, vb.read_record, SETTINGS, followed, tell=(told if told is not None else []).append, **more
    )


# -- windows -------------------------------------------------------------------------------------------------------


def test_a_window_is_put_together_from_files():
    first, second = measured(0), measured(1)
    got = window_of([first, second], START + np.timedelta64(100, "s"), LENGTH, environment=["temperature"])
    assert [round(p.duration) for p in got.pieces] == [100, 100] and not got.notes
    assert got.pieces[0].names == ("a0", "a1", "a2", "a3") and "temperature" not in got.pieces[0].names
    assert got.environment[0] == pytest.approx(283.15 + 5 * np.sin(0.7), abs=0.05)
    assert sum(len(p) for p in got.pieces) == round(LENGTH * RATE)


def test_gaps_failed_channels_and_clocks_that_jump_are_told():
    record = measured(0)
    data = record.data.copy()
    data[2000:2100, 0] = np.nan  # a gap of 4 s
    data[:, 1] = 0.5  # a dead channel
    got = window_of([record.replace(data=data)], START, LENGTH, environment=["wind"])
    assert len(got.pieces) == 2 and got.pieces[0].names == ("a0", "a2", "a3")
    told = " ".join(got.notes)
    assert "failed or were not recorded: a1" in told and "in 2 pieces" in told and "'wind' was not measured" in told
    double = window_of([record, record], START, LENGTH)
    assert "the clock jumped" in double.notes[0] and sum(len(p) for p in double.pieces) == len(record)
    short = window_of([record.cut(0, 80)], START, LENGTH)
    assert not short.pieces and "too few" in short.notes[0]
    with pytest.raises(InputError, match="no clock"):
        window_of([record.replace(clock=None)], START, LENGTH)


# -- what is followed ----------------------------------------------------------------------------------------------


def test_sensitivities_are_derivatives():
    g, names = frequency_sensitivity(TOWER, UNKNOWN, 4)
    before, h = vb.modes(TOWER).frequencies, 1e-4
    for i, name in enumerate(names):
        after = [vb.modes(TOWER.replace({name: STIFFNESSES[i] * np.exp(s * h)})).frequencies for s in (1, -1)]
        assert g[:, i] == pytest.approx(np.log(after[0] / after[1]) / (2 * h), abs=1e-6)
    assert g.sum(axis=1) == pytest.approx(0.5) and before.shape == (4,)


def test_modes_and_parameters_of_a_window():
    found = vb.ssi(measured(0).select(["a0", "a1", "a2", "a3"]), **MODAL)
    values, deviations = FollowedParameters(TOWER, UNKNOWN).estimate(found)
    assert np.all(np.abs(values / STIFFNESSES - 1) < 0.03) and np.all(deviations < 0.05 * STIFFNESSES)
    fit = vb.identify(TOWER, found, UNKNOWN, vb.ModalFit(frequency_error=0.002, shape_error=0.02))
    assert values == pytest.approx(fit.estimate, rel=1e-4)  # the fit with five first guesses
    reference = FollowedModes.of(found)
    fewer = vb.ssi(measured(5).select(["a0", "a1", "a3"]), **MODAL)
    followed, _ = reference.estimate(fewer)
    assert np.isfinite(followed).sum() >= 3 and np.nanmax(np.abs(followed / found.frequencies - 1)) < 0.02
    with pytest.raises(InputError, match="0 or more"):
        FollowedParameters(TOWER, UNKNOWN, model_error=-1.0)


@pytest.mark.parametrize("told", [2, 1])
def test_modes_closer_than_their_peaks_do_not_mislead(told):
    """Two masses of nearly one frequency: a record turns their shapes within one plane, or shows one mode of both."""
    springs = [vb.structures.Attachment(vb.Linear(k), at) for k, at in ((4.00e6, "a"), (4.02e6, "b"), (9e6, "c"))]
    both = vb.Matrices([1e3] * 3, np.zeros((3, 3)), attachments=springs, names=("a", "b", "c"))
    true = vb.modes(both)
    turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    shapes = true.shapes.copy()
    shapes[:, :2] = true.shapes[:, :2] @ turn
    kept = [0, 1, 2][2 - told :]
    found = measured_modes(
        true.frequencies[kept], shapes[:, kept], ("a", "b", "c"), ratios=[0.01] * len(kept),
        frequency_deviations=0.01, shape_deviations=0.005,
    )  # fmt: skip
    unknown = [f"attachments[{i}].law.stiffness" for i in range(3)]
    values, deviations = FollowedParameters(both, unknown).estimate(found)
    stiffnesses = np.array([4.00e6, 4.02e6, 9e6])
    if told == 2:
        assert values == pytest.approx(stiffnesses, rel=5e-3)
    assert values[2] == pytest.approx(9e6, rel=1e-3)
    known = np.isfinite(values)
    assert np.all(np.abs(values - stiffnesses)[known] < 3 * deviations[known])


# -- the whole chain -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """45 sound windows, then 12 in which the third storey lost 15 %."""
    made = tmp_path_factory.mktemp("records")
    for n in range(57):
        measured(n, [0, 0, 0.15, 0] if n >= 45 else None).write_hdf5(made / f"w{n:04d}.h5")
    return made


@pytest.fixture(scope="module")
def tracked(folder, tmp_path_factory):
    told = []
    state = MonitorState(tmp_path_factory.mktemp("state"))
    made = tracker(folder, state, FollowedParameters(TOWER, UNKNOWN), told)
    assert made.look(final=True) == 57
    return made, made.watch(), told


def test_a_folder_becomes_an_alarm_and_a_place(tracked):
    made, found, told = tracked
    first = found.reading.first
    # 30 windows say too little of rare ones for an alarm by one alone: the first eight with the damage raise it
    assert first is not None and 15 <= first <= 23 and "ALARM" in told[-1]
    assert "times as far" in found.notes[-1]
    assert found.location.chosen == (2,) and found.location.changes[0] == pytest.approx(-0.15, abs=0.02)
    assert "storeys[2].stiffness lost 1" in made.state.alarms()[0]["location"][0]
    assert made.state.series().names == tuple(f"storeys[{i}].stiffness" for i in range(4))


def test_it_goes_on_where_it_was(tracked, folder):
    made, found, _ = tracked
    again = tracker(folder, made.state, FollowedParameters(TOWER, UNKNOWN))
    assert again.look(final=True) == 0
    np.testing.assert_array_equal(again.watch().series.values, found.series.values)
    with pytest.raises(InputError, match="was begun with window = 200"):
        Tracker(made.state, folder, vb.read_record, WatchSettings(window=100.0))


def test_another_process_reads_meanwhile(tracked):
    made, *_ = tracked
    with MonitorState(made.state.path.parent, readonly=True) as other:
        assert len(other.series()) == 57 and other.about("training") == 30
        with pytest.raises(VibridError):
            other.describe({"new": 1})


def test_windows_are_done_when_later_files_are_there(tmp_path):
    told = []
    with MonitorState(tmp_path / "s") as state:
        folder = tmp_path / "f"
        folder.mkdir()
        made = tracker(folder, state, told=told)
        measured(0).write_hdf5(folder / "a.h5")
        assert made.look() == 0  # its window may not be complete
        measured(2).write_hdf5(folder / "c.h5")
        assert made.look() == 1 and state.series().names[0] == "mode 1"
        measured(1).write_hdf5(folder / "b.h5")  # between the two, late but in time
        (folder / "d.csv").write_text("no record")
        assert made.look(final=True) == 2 and any("'d.csv' was left out" in words for words in told)
        measured(1).cut(0, 50).write_hdf5(folder / "e.h5")
        assert made.look(final=True) == 0 and "came late" in told[-1]
        np.testing.assert_array_equal(np.diff(state.series().starts), np.timedelta64(200, "s"))


def test_files_without_a_clock_follow_each_other(tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    for n in range(3):
        measured(n).replace(clock=None).write_hdf5(folder / f"{n}.h5")
    told = []
    with MonitorState(tmp_path / "s") as state:
        assert tracker(folder, state, told=told).look(final=True) == 0 and "has no clock" in told[0]
    with MonitorState(tmp_path / "s") as state:  # the same state: what was left out is looked at again
        made = tracker(folder, state, told=told)
        assert made.look(final=True) == 0 and len(told) == 6 and made.look(final=True) == 0 and len(told) == 6
        assert tracker(folder, state, begin=START).look(final=True) == 3
        assert state.series().starts[0] == START


# -- the state -----------------------------------------------------------------------------------------------------

WRITER = """
import os, signal, sys, time
import numpy as np
from vibrid.monitor import MonitorState, WindowEstimate

def write():
    with MonitorState(sys.argv[1]) as state:
        state.describe({"quantities": ["a", "b"], "environment": ["t"]})
        n = len(state.series())
        while True:
            start = np.datetime64(n * 3_600_000_000_000, "ns")
            state.append(WindowEstimate(start, np.array([1.0 + n, 2.0]), np.ones(2), np.zeros(1), {"n": n}))
            n += 1

for wait in np.linspace(0.02, 0.2, 12):
    child = os.fork()
    if child == 0:
        write()
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with MonitorState(sys.argv[1]) as state:
        values = state.series().values  # no columns where it was killed before it said what it keeps
        print(len(values), *values[:, :1].ravel().astype(int), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is killed that the system can copy")
def test_a_kill_at_any_moment_loses_nothing(tmp_path):
    """Killed twelve times while it writes as fast as it can: every row is whole, none is missing, none is double."""
    done = subprocess.run([sys.executable, "-c", WRITER, tmp_path], capture_output=True, text=True, check=True)
    counts = [0]
    for line in done.stdout.splitlines():
        count, *values = map(int, line.split())
        assert values == list(range(1, count + 1)) and count >= counts[-1]
        counts.append(count)
    assert len(counts) == 13 and counts[-1] > 5
    base = sqlite3.connect(tmp_path / FILE)
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    base.close()


def test_three_years_of_hours_are_small(tmp_path):
    """26 298 windows with eight modes at twelve places: well below 1 GiB, read in one go."""
    modes = {"frequencies": [1.234567] * 8, "shapes": [[0.1234567] * 8] * 12}
    with MonitorState(tmp_path) as state:
        state.describe({"quantities": [f"mode {i}" for i in range(8)], "environment": ["t"]})
        state._base.execute("PRAGMA synchronous=OFF")
        state._base.execute("BEGIN")
        for n in range(500):
            start = np.datetime64(n * 3_600_000_000_000, "ns")
            state.append(WindowEstimate(start, np.ones(8), np.ones(8), np.ones(1), modes))
        state._base.execute("COMMIT")
        assert len(state.series()) == 500
        size = state._base.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[
            0
        ]
    assert size / 500 * 26_298 < 0.2 * 2**30


def test_states_that_are_none_are_refused(tmp_path):
    with pytest.raises(VibridError, match="no state"):
        MonitorState(tmp_path / "nowhere", readonly=True)
    (tmp_path / FILE).write_bytes(b"this is no database at all" * 100)
    with pytest.raises(VibridError, match="cannot be used"):
        MonitorState(tmp_path)
    with MonitorState(tmp_path / "s") as state:
        window = WindowEstimate(START, np.ones(1), np.ones(1), np.zeros(0), {})
        state.append(window)
        with pytest.raises(InputError, match="already"):
            state.append(window)
        state._base.execute("UPDATE about SET value = '99' WHERE key = 'format'")
    with pytest.raises(VibridError, match="99"):
        MonitorState(tmp_path / "s")
