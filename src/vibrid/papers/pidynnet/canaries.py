"""Numbers that are cheap to compute again: the Kalman filter on the synthetic motion, two noise seeds."""

from __future__ import annotations

import numpy as np

from vibrid.papers.paper import Run
from vibrid.papers.pidynnet.paper import PAPER, fit_of
from vibrid.papers.pidynnet.systems import SYSTEMS

OF_BOUC_WEN = {
    "table-4",
    "table-5",
    "figure-7",
    "figure-8",
    "figure-9",
    "figure-10",
    "figure-11",
    "study-network-hidden",
}
"""Items about the Bouc–Wen system whose names do not say so."""


def two_filters(run: Run, system: str) -> dict[str, tuple[float, float]]:
    """The mean error of the `UKF` at 2.5 % noise; the data come from an error-controlled integrator."""
    fits = [run.once(fit_of, system, "synthetic", 100.0, 0.025, key, "UKF") for key in range(2)]
    error = np.mean([SYSTEMS[system]().mean_error(fit.estimate) for fit in fits])
    return {f"study-methods-{system}|2.5 %|UKF": (float(error), 0.01)}


def cubic(run: Run) -> dict[str, tuple[float, float]]:
    return two_filters(run, "cubic")


def bouc_wen(run: Run) -> dict[str, tuple[float, float]]:
    return two_filters(run, "bouc-wen")


def register() -> None:
    """To be called when all items are there."""
    for item in PAPER.items:
        hysteretic = item.label.endswith("bouc-wen") or item.label in OF_BOUC_WEN
        PAPER.canary(item.label, of_rows=True)(bouc_wen if hysteretic else cubic)
