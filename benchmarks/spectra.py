"""Response spectra: speed and agreement with eqsig and pyrotd for 200 periods of a motion of 40 s at 200 Hz.

python benchmarks/spectra.py
python benchmarks/spectra.py --part rotated     # RotD50 and RotD100 beside those of pyrotd that are kept with the tests
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np
from table import save

from vibrid.records import Channel, Record, response_spectrum, synthetic_motion
from vibrid.records.motions import rotated_spectrum

PERIODS = np.geomspace(0.01, 10.0, 200)
DAMPING = 0.05


def fastest(calls: dict, repeats: int) -> tuple[dict, dict]:
    """Shortest wall time and processor time of each call in s; the calls take turns, so that all meet the same load."""
    for call in calls.values():
        call()
    wall, processor = ({name: np.inf for name in calls} for _ in range(2))
    for _ in range(repeats):
        for name, call in calls.items():
            start, used = time.perf_counter(), time.process_time()
            call()
            wall[name] = min(wall[name], time.perf_counter() - start)
            processor[name] = min(processor[name], time.process_time() - used)
    return wall, processor


def all_directions() -> list[dict]:
    """The rows of RotD spectra: largest difference from pyrotd over the periods."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "records"))
    import pyrotd_references as kept

    other = json.loads(Path(kept.__file__).with_suffix(".json").read_text(encoding="utf-8"))
    channel = Channel("ground", "ground_acceleration")
    pair = [Record(values, [channel], step=kept.STEP, name="component") for values in kept.components().T]
    rows = []
    for percentile in (50, 100):
        began = time.process_time()
        found = rotated_spectrum(*pair, kept.PERIODS, percentile, kept.DAMPING)
        spent = time.process_time() - began
        away = float(np.abs(found / np.array(other["spectra"][str(percentile)]) - 1).max())
        rows.append({
            "what": f"RotD{percentile} at {len(kept.PERIODS)} periods from 0.1 to 4 s: largest difference from pyrotd",
            "measured": f"{100 * away:.3f} %", "target": "0.2 %", "met": away <= 0.002,
            "note": f"pyrotd, {other['pyrotd']}; 40 000 samples, {1e3 * spent / len(kept.PERIODS):.0f} ms a period",
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "spectra.json")
    parser.add_argument("--part", choices=("speed", "rotated"), default="speed")
    arguments = parser.parse_args()
    if arguments.part == "rotated":
        machine, command = f"{platform.machine()}, shared", "python benchmarks/spectra.py --part rotated"
        save("spectra_rotated", "Spectra over all directions", command, machine, all_directions())
        return
    import eqsig
    import pyrotd

    motion = synthetic_motion(key=0, duration=40.0, rate=200.0, pga=3.0)
    a, step = motion["ground"], motion.step
    calls = {
        "vibrid": lambda: response_spectrum(motion, PERIODS, DAMPING),
        "vibrid with true values": lambda: response_spectrum(motion, PERIODS, DAMPING, true_values=True),
        "eqsig": lambda: eqsig.sdof.pseudo_response_spectra(a, step, PERIODS, DAMPING),
        "pyrotd": lambda: pyrotd.calc_spec_accels(step, a, 1 / PERIODS, DAMPING),
    }
    seconds, processor = fastest(calls, arguments.repeats)
    ours = response_spectrum(motion, PERIODS, DAMPING)
    theirs = eqsig.sdof.pseudo_response_spectra(a, step, PERIODS, DAMPING)[0]
    by_fourier = pyrotd.calc_spec_accels(step, a, 1 / PERIODS, DAMPING).spec_accel
    rotated = np.abs(ours.pseudo_acceleration / by_fourier - 1)
    middle = (PERIODS >= 0.1) & (PERIODS <= 3.0)
    others, their_processor = (min(s["eqsig"], s["pyrotd"]) for s in (seconds, processor))
    result = {
        "case": "200 periods from 0.01 to 10 s, 40 s at 200 Hz, 5 % damping",
        "seconds": {name: round(value, 5) for name, value in seconds.items()},
        "processor seconds": {name: round(value, 5) for name, value in processor.items()},
        "time over the faster of eqsig and pyrotd": round(seconds["vibrid"] / others, 4),
        "processor time over the faster": round(processor["vibrid"] / their_processor, 4),
        "time with true values over the faster": round(seconds["vibrid with true values"] / others, 4),
        "largest relative difference from eqsig in displacement": float(np.abs(ours.displacement / theirs - 1).max()),
        "largest relative difference from pyrotd, 0.1 to 3 s": float(rotated[middle].max()),
        "largest relative difference from pyrotd, all periods": float(rotated.max()),
        "machine": platform.machine(),
    }
    arguments.output.parent.mkdir(exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
