"""Tuning of the compensators on a synthetic motion: the same search and budget for each beside ours, a grid for ours.

`python -m vibrid.papers.public.rths.tuning` prints the numbers that stand in `settings/rths.toml`, and the grid from
which those of ours were taken.
"""

from __future__ import annotations

import itertools
import tomllib
from importlib.resources import files
from typing import Any

import numpy as np
import scipy

from vibrid.hybrid.control_problem import RATE, control_run, criteria, reference_run
from vibrid.papers.public.rths.compensators import MAKERS, made
from vibrid.records.motions import synthetic_motion


def tuning_motion(tuning: dict[str, Any]) -> np.ndarray:
    """Ground acceleration at 4096 Hz, m/s²."""
    motion = synthetic_motion(
        key=tuning["motion_key"], duration=tuning["motion_duration"], rate=100.0, pga=tuning["motion_pga"]
    )
    time = np.arange(round((tuning["motion_duration"] + 3.0) * RATE)) / RATE
    return np.interp(time, np.arange(len(motion.data)) / 100.0, motion.data[:, 0], right=0.0)


def tuned(name: str, tuning: dict[str, Any]) -> tuple[list[float], float]:
    """The numbers of a compensator with the smallest J₂, and that J₂ (%)."""
    ground = tuning_motion(tuning)
    reference = reference_run(1, ground)
    first = np.log(MAKERS[name][1])

    def cost(logs):
        return min(criteria(control_run(1, ground, made(name, np.exp(logs))), reference)["J2"], 1e6)

    simplex = np.vstack([first, first + np.diag(np.full(len(first), 0.5))])
    found = scipy.optimize.minimize(
        cost, first, method="Nelder-Mead", options={"maxfev": tuning["evaluations"], "initial_simplex": simplex}
    )
    return [float(f"{v:.4g}") for v in np.exp(found.x)], float(found.fun)


def grid(name: str, tuning: dict[str, Any]) -> list[tuple[tuple[float, ...], float, float]]:
    """J₂ and J₄ (%) of ours for drifts and leads; the effort, on which hardly anything depends, is 10."""
    ground = tuning_motion(tuning)
    reference, found = reference_run(1, ground), []
    for values in itertools.product((10.0,), (1e-3, 3e-4, 1e-4), (1.0, 1.125, 1.25, 1.5)):
        one = criteria(control_run(1, ground, made(name, values)), reference)
        found.append((values, one["J2"], one["J4"]))
    return found


if __name__ == "__main__":
    text = (files("vibrid.papers.public") / "settings" / "rths.toml").read_text(encoding="utf-8")
    for values, j2, j4 in grid(list(MAKERS)[-1], tomllib.loads(text)["tuning"]):
        print(f"{list(values)}  # J2 {j2:.3f} %, J4 {j4:.3f} %", flush=True)
    for compensator in list(MAKERS)[:-1]:
        values, j2 = tuned(compensator, tomllib.loads(text)["tuning"])
        print(f'"{compensator}" = {values}  # J2 {j2:.3f} % after tuning', flush=True)
