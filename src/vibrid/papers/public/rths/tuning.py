"""Tuning of the compensators beside ours: the same search and budget for each, on a synthetic motion.

`python -m vibrid.papers.public.rths.tuning` prints the numbers that stand in `settings/rths.toml`.
"""

from __future__ import annotations

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


if __name__ == "__main__":
    text = (files("vibrid.papers.public") / "settings" / "rths.toml").read_text(encoding="utf-8")
    for compensator in [name for name in MAKERS if not name.endswith("(ours)")]:
        values, j2 = tuned(compensator, tomllib.loads(text)["tuning"])
        print(f'"{compensator}" = {values}  # J2 {j2:.3f} % after tuning', flush=True)
