"""Parts of `benchmarks/monitor_year.py`: the size of a state of three years, and how soon an event is understood."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import vibrid as vb
from vibrid.monitor import EventWatch, MonitorState, Tracker, WatchSettings, WindowEstimate
from vibrid.records import UtcClock

HOURS = 3 * 8766
START = np.datetime64("2025-01-01T00:00:00", "ns")

READER = """
import resource, sys
import numpy as np
from vibrid.monitor import MonitorState, WatchSettings, watch
with MonitorState(sys.argv[1], readonly=True) as state:
    settings = WatchSettings(training=4000, environment=("t",))
    found = watch(state.series(), settings, np.eye(8), state.about("quantities"))
print(len(found.series), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def size_rows() -> list[dict]:
    """A state of three years of hours with eight quantities and eight modes at sixteen places; read and judged."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        with MonitorState(folder) as state:
            state.describe({"quantities": [f"q{i}" for i in range(8)], "environment": ["t"]})
            state._base.execute("PRAGMA synchronous=OFF")
            for n in range(HOURS):
                modes = {"frequencies": [1.234567] * 8, "ratios": [0.01234567] * 8,
                         "frequency_deviations": [1.234567e-3] * 8, "shapes": [[0.1234567] * 8] * 16}  # fmt: skip
                start = START + np.timedelta64(n * 3600, "s")
                values = np.exp(1e-3 * rng.standard_normal(8))
                state.append(WindowEstimate(start, values, 1e-3 * values, rng.standard_normal(1), modes))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        done = subprocess.run([sys.executable, "-c", READER, folder], capture_output=True, text=True, check=True)
    count, memory = map(int, done.stdout.split())
    return [
        {
            "what": f"three years of hourly windows ({count}), eight modes at sixteen places: the state on disk",
            "measured": f"{size / 2**30:.3f} GiB", "target": "1 GiB", "met": bool(size <= 2**30),
        },
        {
            "what": "largest memory of a process that reads and judges them", "measured": f"{memory / 2**20:.2f} GiB",
            "target": "1 GiB", "met": bool(memory <= 2**20),
        },
    ]  # fmt: skip


def event_rows() -> list[dict]:
    """An earthquake of 20 s in a stream of a hysteretic building; from the file that ends it to the answer.

    The same building twice, so that the second time shows what a process takes that has met an event before.
    """
    rate, limit = 100.0, 0.02
    storeys = [vb.BoucWen(k, 80.0, 60.0, post_yield_ratio=0.05) for k in (24e6, 20e6, 18e6)]
    guess = vb.ShearBuilding([20e3] * 3, [vb.BoucWen(20e6, 60.0, 60.0, post_yield_ratio=0.05)] * 3, vb.Viscous(80e3))
    true = vb.ShearBuilding([20e3] * 3, storeys, vb.Viscous(80e3))

    def identify(file: Path):
        record = vb.read_record(file)
        return vb.identify(guess, record, ["storeys[*].stiffness", "storeys[*].beta"])

    seconds, told, right = [], [], []
    with tempfile.TemporaryDirectory() as folder, MonitorState(Path(folder) / "state") as state:
        source = Path(folder) / "in"
        source.mkdir()
        tracker = Tracker(state, source, vb.read_record, WatchSettings(), begin=None,
                          events=EventWatch(identify, limit=limit))  # fmt: skip
        for number in range(2):
            quake = vb.synthetic_motion(key=10 + number, duration=20.0, rate=rate, pga=4.0)
            response = vb.simulate(true, quake, substeps=4)
            right.append(float(np.abs(np.diff(np.asarray(response.displacement), axis=1, prepend=0.0)).max()))
            shaken = response.measure(vb.Sensors(absolute_acceleration=[0, 1, 2]), noise=0.02, key=number)
            data = 1e-3 * np.random.default_rng(number).standard_normal((round(140 * rate), 4))
            data[round(90 * rate) : round(90 * rate) + len(shaken)] += shaken.data
            clock = UtcClock(START + np.timedelta64(number, "h"), "GPS", 1e-3)
            vb.Record(data, shaken.channels, step=1 / rate, clock=clock).write_hdf5(source / f"{number}.h5")
            began = time.process_time()
            tracker.look()
            seconds.append(time.process_time() - began)
        for event in state.events():
            worst = max(event.drifts, key=lambda drift: drift.value)
            told.append(f"{1e3 * worst.value:.2f} ± {2e3 * worst.deviation:.2f} mm, chance of more than "
                        f"{1e3 * limit:g} mm {100 * (event.chance or 0):.3g} %")  # fmt: skip
    truth = ", ".join(f"{1e3 * value:.2f} mm" for value in right)
    return [{
        "what": "an earthquake in a stream, three Bouc–Wen storeys, six unknowns: from its file to drift and chance",
        "measured": f"{seconds[0]:.0f} s, a second one {seconds[1]:.0f} s", "target": "a minute",
        "met": bool(max(seconds) <= 60),
        "note": f"of the processor; found {'; '.join(told)}; true largest drifts {truth}",
    }]  # fmt: skip
