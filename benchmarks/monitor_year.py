"""A watched tower: 500 hours through the whole chain, then years of hourly windows drawn from what those showed.

    python benchmarks/monitor_year.py --kept year-state           # all parts; goes on where it was stopped
    python benchmarks/monitor_year.py --windows 40 --years 20     # a quick look

Five storeys under ambient vibration, an accelerometer on every floor and a thermometer. Temperature swings over the day
and the year and moves frequencies by 5 %. Every 17th hour of a year is simulated, written to a file and followed as
`vibrid track` does: file, window, modes (SSI), stiffnesses of the storeys with standard deviations. In the second half
of these hours one accelerometer has failed, in the last quarter two.

The years are drawn: the stiffnesses of every hour from the temperature, with the bias, scatter and stated deviations
that the 500 hours showed for the sensors that work. Half a year is the training. Accelerometers fail in months seven
and eight; in month nine the third storey loses 3 %.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
from monitor_parts import event_rows, size_rows
from table import save
from threadpoolctl import threadpool_limits

import vibrid as vb
from vibrid.monitor import Chart, FollowedParameters, MonitorState, Series, Tracker, WatchSettings, watch
from vibrid.records import UtcClock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from ambient_vibration import accelerations, chain

MASSES, STIFFNESSES, RATIO = [20e3] * 5, 1e6 * np.array([4.8, 4.5, 4.2, 3.9, 3.6]), 0.015
SOFTER = 2.5e-3 * np.array([1.2, 1.1, 1.0, 0.9, 0.8])
"""Share of stiffness lost for every degree, of each storey."""
RATE, HOUR, YEAR, EVERY = 12.5, 3600.0, 8766, 17
START = np.datetime64("2025-01-01T00:00:00", "ns")
TRAINING, DAMAGED, STOREY, LOSS = YEAR // 2, round(YEAR * 8.5 / 12), 2, 0.03
FAILURES = ((round(YEAR * 6.5 / 12), 1), (round(YEAR * 7.5 / 12), 3))
"""Window from which an accelerometer fails, and its floor."""
NAMES = tuple(f"storeys[{i}].stiffness" for i in range(5))
UNKNOWN = ["storeys[*].stiffness"]
CHART = Chart(false_alarms=0.1, horizon=YEAR)
SETTINGS = WatchSettings(HOUR, TRAINING, environment=("temperature",), modal={"lags": 15, "order": 20}, degree=2,
                         chart=CHART)  # fmt: skip


def temperatures(key: int) -> np.ndarray:
    """(hours of a year,) °C: the year, the day, and weather that lasts three days."""
    rng, hours = np.random.default_rng([1, key]), np.arange(YEAR)
    weather, now = np.empty(YEAR), 0.0
    for i, shock in enumerate(rng.standard_normal(YEAR)):
        now = weather[i] = np.exp(-1 / 72) * now + 3.0 * np.sqrt(1 - np.exp(-2 / 72)) * shock
    return 10 - 11 * np.cos(2 * np.pi * hours / YEAR) - 4 * np.cos(2 * np.pi * hours / 24) + weather


def stiffnesses(temperature) -> np.ndarray:
    """(…, 5) N/m."""
    return STIFFNESSES * (1 - SOFTER * (np.asarray(temperature)[..., None] - 10.0))


def failed(number: int, windows: int) -> tuple[int, ...]:
    """Floors without an accelerometer in a window of the chain."""
    return tuple(floor for _, floor in FAILURES[: (number >= windows // 2) + (number >= 3 * windows // 4)])


# -- the chain -----------------------------------------------------------------------------------------------------


def hour(number: int, windows: int) -> vb.Record:
    """One hour of the tower."""
    at = number * EVERY % YEAR
    warm = temperatures(0)[at]
    y = accelerations(*chain(MASSES, stiffnesses(warm), RATIO), seed=number, seconds=HOUR, rate=RATE, finer=1)
    for floor in failed(number, windows):
        y[:, floor] = 0.0
    rng = np.random.default_rng([2, number])
    read = 273.15 + warm + 0.1 * rng.standard_normal(len(y))
    channels = [vb.Channel(f"a{i}", "absolute_acceleration", location=i) for i in range(5)]
    channels.append(vb.Channel("temperature", "other", "K"))
    clock = UtcClock(START + np.timedelta64(at * 3600, "s"), "GPS", 1e-3)
    return vb.Record(np.column_stack([0.01 * y, read]), channels, step=1 / RATE, name="hour", clock=clock)


def followed_hours(state: MonitorState, windows: int) -> Series:
    """Files in, estimates out: those that the state has are not made again."""
    tower = vb.ShearBuilding(MASSES, [vb.Linear(float(k)) for k in STIFFNESSES], damping=vb.Modal(RATIO))
    with tempfile.TemporaryDirectory() as folder:
        tracker = Tracker(state, Path(folder), vb.read_record, SETTINGS, FollowedParameters(tower, UNKNOWN))
        for number in range(windows):
            start = START + np.timedelta64(number * EVERY % YEAR * 3600, "s")
            if int(start.astype(np.int64)) in state.starts():
                continue
            path = Path(folder) / f"{number:05d}.h5"
            hour(number, windows).write_hdf5(path)
            tracker.look(final=True)
            path.unlink()
            if number % 50 == 49:
                print(f"{number + 1} of {windows} hours", flush=True)
    return state.series()


def shown(series: Series, windows: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of all sensors, one and two failed: mean and covariance of ln(estimate/truth), and the stated shares."""
    at = ((series.starts - START) / np.timedelta64(3600, "s")).astype(int)
    number = {n * EVERY % YEAR: n for n in range(windows)}
    right = stiffnesses(temperatures(0)[at])
    away = series.logarithms - np.log(right)
    lacking = np.array([len(failed(number[i], windows)) for i in at])
    parts = []
    for count in range(3):
        rows = (lacking == count) & np.isfinite(away).all(axis=1)
        parts.append((away[rows].mean(axis=0), np.cov(away[rows].T), series.shares[rows].mean(axis=0)))
    return parts


def chain_rows(series: Series, parts, windows: int) -> list[dict]:
    whole = int(np.isfinite(series.values).all(axis=1).sum())
    told = "; ".join(
        f"{words}: {100 * np.sqrt(np.diag(covariance)).mean():.2f} % (stated {100 * shares.mean():.2f} %), "
        f"bias at most {100 * np.abs(mean).max():.2f} %"
        for words, (mean, covariance, shares) in zip(
            ("five accelerometers", "four", "three"), parts, strict=True
        )
    )  # fmt: skip
    return [{
        "what": f"{windows} hours through the whole chain: all five stiffnesses found", "measured": f"{whole} windows",
        "target": "", "met": None, "note": f"scatter of a stiffness, {told}",
    }]  # fmt: skip


# -- years ---------------------------------------------------------------------------------------------------------


def year(parts, key: int, loss: float) -> Series:
    """A year of hourly windows; the third storey loses `loss` in month nine."""
    rng, warm = np.random.default_rng([3, key]), temperatures(key + 1)
    right = np.log(stiffnesses(warm))
    right[DAMAGED:, STOREY] += np.log1p(-loss)
    lacking = sum((np.arange(YEAR) >= first).astype(int) for first, _ in FAILURES)
    logs, shares = np.empty((2, YEAR, 5))
    for count, (mean, covariance, stated) in enumerate(parts):
        rows = lacking == count
        noise = rng.standard_normal((int(rows.sum()), 5)) @ np.linalg.cholesky(covariance).T
        logs[rows], shares[rows] = right[rows] + mean + noise, stated
    read = 273.15 + warm + 0.1 * rng.standard_normal(YEAR) / np.sqrt(HOUR * RATE)  # the mean over the hour
    starts = START + np.arange(YEAR) * np.timedelta64(3600, "s")
    return Series(starts, NAMES, np.exp(logs), np.exp(logs) * shares, read[:, None], ("temperature",))


def judged(parts, key: int, loss: float) -> tuple[int | None, object]:
    """Windows from the damage to the first alarm (negative: a false one; None: none at all), and the place."""
    found = watch(year(parts, key, loss), SETTINGS, np.eye(5), NAMES)
    assert found.reading is not None
    first = found.reading.first
    return None if first is None else TRAINING + first - DAMAGED, found.location


def year_rows(parts, years: int) -> list[dict]:
    sound = [judged(parts, key, 0.0)[0] for key in range(years)]
    hurt = [judged(parts, key, LOSS) for key in range(years)]
    false = sum(first is not None for first in sound)
    delay, place = hurt[0]
    right = [where is not None and where.chosen == (STOREY,) for _, where in hurt]
    soon = [first is not None and 0 <= first < 72 for first, _ in hurt]
    delays = [first for first, _ in hurt if first is not None and first >= 0]
    late = np.percentile(delays, 90) if delays else np.nan
    early = sum(first is not None and first < 0 for first, _ in hurt)
    words = "no alarm" if delay is None else f"alarm {delay} windows after it; {str(place).splitlines()[0]}"
    return [
        {
            "what": "the year of seed 0: a storey loses 3 % in month nine", "measured": words,
            "target": "within 72 windows, located, no false alarm before", "met": bool(soon[0] and right[0]),
        },
        {
            "what": f"{years} such years: found within 72 windows, no false alarm before, in the right storey",
            "measured": f"{sum(s and r for s, r in zip(soon, right, strict=True))} of {years}", "target": "",
            "met": None, "note": f"{early} with a false alarm before; 90 % of the others within {late:.0f} windows",
        },
        {
            "what": f"{years} sound years, sensors failing: years with a false alarm",
            "measured": f"{false} of {years}",
            "target": "10 %, as stated", "met": bool(false <= 0.1 * years + 2 * np.sqrt(0.09 * years)),
        },
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--years", type=int, default=200)
    parser.add_argument("--kept", type=Path, help="a folder of hours that were followed before, which grows")
    parser.add_argument("--save", action="store_true", help="write the table into benchmarks/README.md")
    given = parser.parse_args()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        with MonitorState(given.kept or folder) as state:
            series = followed_hours(state, given.windows)
        parts = shown(series, given.windows)
        rows = chain_rows(series, parts, given.windows) + year_rows(parts, given.years)
        rows += size_rows() + event_rows()
    print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    for row in rows:
        print(row["what"], "|", row["measured"], "|", row["target"], "|", row["met"], "|", row.get("note", ""))
    if given.save:
        command = f"python benchmarks/monitor_year.py --windows {given.windows} --years {given.years} --save"
        save("monitor_year", "A watched tower: a simulated year", command, f"{platform.machine()}, shared", rows)


if __name__ == "__main__":
    main()
