"""Synthetic motions against recorded ones: response spectra, intensities, durations.

For every recorded ground acceleration in a folder (PEER AT2 files), one synthetic motion is made with the same Arias
intensity, significant duration, middle and predominant frequency, the parameters of the model of Rezaeian and Der
Kiureghian. The numbers and the figure compare the two sets; they contain no recorded data.

    python examples/records/synthetic_against_real.py FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from vibrid.records import STANDARD_GRAVITY, read_record, synthetic_motion
from vibrid.records.intensity import arias_history, significant_window
from vibrid.report.record_plots import new_axes, save

PERIODS = np.geomspace(0.05, 3.0, 60)


def crossing_rate(a: np.ndarray, step: float) -> float:
    """Rate of upward zero crossings in Hz, the predominant frequency of the filter."""
    return float(np.sum((a[:-1] < 0) & (a[1:] >= 0)) / (step * len(a)))


def fitted(record):
    """Arguments of `synthetic_motion` that give a recorded motion's energy, duration, middle, frequency and slope."""
    a, step = record.data[:, 0], record.step
    arias = arias_history(a, step)
    start, end = significant_window(arias, step)
    middle = float(np.interp(0.45, arias / arias[-1], step * np.arange(len(arias))))
    begin = max(0.0, start - 0.1 * (end - start))
    strong = a[round(start / step) : round(end / step) + 1]
    half = len(strong) // 2
    first, second = crossing_rate(strong[:half], step), crossing_rate(strong[half:], step)
    slope = float(np.clip((second - first) / (0.5 * (end - start)), -0.5, 0.2))
    return {
        "duration": min(60.0, 2.5 * (end - begin)),
        "rate": record.rate if record.rate >= 100 else 100.0,
        "arias": float(arias[-1]),
        "significant_duration": end - start,
        "middle": max(middle - begin, 0.25 * (end - start)),
        "frequency": max(crossing_rate(strong, step), 0.6),
        "frequency_slope": slope,
        "bandwidth": 0.35,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "synthetic_against_real")
    arguments = parser.parse_args()
    real, synthetic = [], []
    for number, path in enumerate(sorted(arguments.folder.glob("*.AT2"))):
        record = read_record(path)
        real.append(record)
        synthetic.append(synthetic_motion(key=number, **fitted(record)))
    sets = (real, synthetic)
    logs = [np.log([m.spectrum(PERIODS).pseudo_acceleration / STANDARD_GRAVITY for m in motions]) for motions in sets]
    measures = ("pga", "pgv", "arias", "significant_duration", "cumulative_velocity")
    table = {}
    for measure in measures:
        ratio = np.log(
            [getattr(m.intensity(), measure) / getattr(r.intensity(), measure) for r, m in zip(*sets, strict=True)]
        )
        table[measure] = {
            "median synthetic / recorded": float(np.exp(np.median(ratio))),
            "deviation of ln ratio": float(ratio.std(ddof=1)),
        }
    difference = logs[1].mean(axis=0) - logs[0].mean(axis=0)
    table["spectrum"] = {
        "records": len(real),
        "periods": [round(float(t), 4) for t in PERIODS[::6]],
        "geometric mean synthetic / recorded": [round(float(np.exp(d)), 3) for d in difference[::6]],
        "deviation of ln Sa, recorded": [round(float(s), 3) for s in logs[0].std(axis=0, ddof=1)[::6]],
        "deviation of ln Sa, synthetic": [round(float(s), 3) for s in logs[1].std(axis=0, ddof=1)[::6]],
    }
    arguments.output.with_suffix(".json").write_text(json.dumps(table, indent=1) + "\n")
    print(json.dumps(table, indent=1))

    ax = new_axes(1, 6.5, 4.2)
    for values, colour, name in ((logs[0], "#1f3b57", "recorded"), (logs[1], "#c8102e", "synthetic")):
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
        ax.loglog(PERIODS, np.exp(mean), color=colour, linewidth=2, label=f"{name}, geometric mean of {len(values)}")
        ax.fill_between(
            PERIODS,
            np.exp(mean - deviation),
            np.exp(mean + deviation),
            color=colour,
            alpha=0.15,
            label=f"{name}, ± one deviation",
        )
    ax.set_xlabel("period [s]")
    ax.set_ylabel("pseudo-acceleration [g]")
    ax.legend(frameon=False, fontsize=8)
    save(ax, arguments.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
