"""Faults of instruments: is the right one named first, and do intervals hold after the repair?

    python benchmarks/instruments.py                      # twenty fits of every fault
    python benchmarks/instruments.py --count 5 --kind delay

Linear chains of two to four storeys with 5 % white noise, one fault in one channel, drawn by `--seed`; data from the
simulator of benchmarks/trust.py, which no method uses. Noise is there before a recorder clips, sticks or rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
import scipy.interpolate
import scipy.signal
from trust import STEP, Case, identified, linear_case, white
from trust_lines import each

import vibrid as vb

RESULTS = Path(__file__).resolve().parent / "results" / "instruments.json"
KINDS = ("delay", "gain", "offset", "drift", "clock", "sign", "exchanged")
RECORDED = ("clipped", "stuck", "resolution")


def faulty(kind: str, case: Case, rng) -> tuple[np.ndarray, tuple[int, ...]]:
    """Readings without noise, with a fault of random size; and the channels that have it."""
    readings, c, sign = case.clean.copy(), int(rng.integers(case.clean.shape[1])), rng.choice([-1, 1])
    time, size = np.arange(len(readings)) * STEP, readings[:, c].std()
    fine = scipy.signal.resample(np.concatenate([readings[:, c], np.zeros(len(time))]), 8 * len(time))
    at = scipy.interpolate.CubicSpline(np.arange(len(fine)) * STEP / 4, fine)
    if kind == "delay":
        readings[:, c] = np.where(time > 0.02, at(time - sign * rng.uniform(1.5e-3, 15e-3)), 0.0)
    elif kind == "gain":
        readings[:, c] *= 1 + sign * rng.uniform(0.05, 0.3)
    elif kind == "offset":
        readings[:, c] += sign * size * rng.uniform(0.05, 0.5)
    elif kind == "drift":
        readings[:, c] += sign * size * rng.uniform(0.1, 0.8) * time / time[-1]
    elif kind == "clock":
        readings[:, c] = at(time * (1 - rng.uniform(0.5e-3, 3e-3)))
    elif kind == "sign":
        readings[:, c] *= -1
    else:
        other = (c + 1) % readings.shape[1]
        readings[:, [c, other]] = readings[:, [other, c]]
        return readings, tuple(sorted((c, other)))
    return readings, (c,)


def recorded(kind: str, case: Case, rng) -> tuple[np.ndarray, tuple[int, ...]]:
    """Readings with noise, damaged by the recorder; and the channel that is."""
    readings, c = case.clean + white(case, rng), int(rng.integers(case.clean.shape[1]))
    y = readings[:, c]
    if kind == "clipped":
        limit = rng.uniform(0.5, 0.8) * np.abs(y).max()
        readings[:, c] = np.clip(y, -limit, limit)
    elif kind == "stuck":
        first, length = int(rng.uniform(0.1, 0.6) * len(y)), int(rng.uniform(0.1, 0.2) * len(y))
        readings[first : first + length, c] = y[first]
    else:
        quantum = rng.uniform(0.2, 0.6) * y.std()
        readings[:, c] = np.round(y / quantum) * quantum
    return readings, (c,)


def noisy(kind: str, case: Case, rng) -> tuple[np.ndarray, tuple[int, ...]]:
    """Readings with noise and a fault; and the channels that have it."""
    if kind in RECORDED:
        return recorded(kind, case, rng)
    readings, channels = faulty(kind, case, rng)
    return readings + white(case, rng), channels


def one(kind: str, number: int) -> dict:
    """Whether a fault is named first; how many intervals hold before the repair and after it."""
    case, rng = linear_case(number), np.random.default_rng([7, number])
    readings, channels = noisy(kind, case, rng)
    fit = identified(case, readings)
    wrong = [f for f in fit.checks if f.verdict == "wrong"]
    told = [f for f in fit.checks if f.name == kind] if kind == "resolution" else wrong[:1]
    labels = ", ".join(fit.problem.sensors[c].label for c in channels)
    again = fit.repair() if any(f.name in (*KINDS, *RECORDED) for f in wrong) else None
    return {
        "seed": number,
        "named": (kind, labels) in [(f.name, f.where) for f in told],
        "said": [f"{f.name} {f.where}" for f in wrong],
        "before": _inside(fit, case.true),
        "inside": [] if again is None else _inside(again, case.true),
        "fits": again is not None and again.model_fits,
    }


def row(kind: str, lines: list[dict]) -> dict:
    before, inside = (np.concatenate([line[name] for line in lines]) for name in ("before", "inside"))
    return {
        "fault": kind,
        "fits": len(lines),
        "named first": sum(line["named"] for line in lines),
        "intervals that hold before": round(float(np.mean(before)), 3),
        "intervals that hold after repair": round(float(np.mean(inside)), 3) if len(inside) else None,
        "repaired results that fit": sum(line["fits"] for line in lines),
        "missed": [{"seed": line["seed"], "said": line["said"]} for line in lines if not line["named"]],
    }


def _inside(fit: vb.Identification, true: np.ndarray) -> list[bool]:
    low, high = fit.interval(0.95)[: len(true)].T
    return ((low <= true) & (true <= high)).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3000, help="first problem")
    parser.add_argument("--kind", action="append", choices=(*KINDS, *RECORDED))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--machine", default="2 shared cores, no GPU")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    kinds, rows = given.kind or (*KINDS, *RECORDED), []
    problems = [(kind, given.seed + number) for kind in kinds for number in range(given.count)]
    lines = each(one, problems, given.jobs)
    for kind in kinds:
        rows.append(row(kind, list(itertools.islice(lines, given.count))))
        print(json.dumps(rows[-1]), flush=True)
    whole = {"machine": given.machine, "seed": given.seed, "rows": rows}
    given.output.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
