"""The paper, its printed numbers, and functions of its tables and figures: responses, data, fits over noise seeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.errors import InputError
from vibrid.identification import Identification, TrajectoryFit, UnscentedKalman, WeakCollocation, identify
from vibrid.papers.jobs import all_on_threads
from vibrid.papers.paper import Paper, Run
from vibrid.papers.pidynnet.systems import (
    PRINTED_PERIOD,
    SYSTEMS,
    TRUE_PERIOD,
    System,
    bound,
    kobe,
    measured,
    respond,
    synthetic,
)

PAPER = Paper(
    "pidynnet",
    "T. Liu, H. Meidani: Physics-informed neural networks for system identification of structural systems with a "
    "multiphysics damping model (2023).",
)

PRINTED = {  # mean error in per cent as printed in the text and the tables: (UKF, PIDynNet)
    ("cubic", 0.0): (2.94, 0.94), ("cubic", 0.025): (1.97, 1.58), ("cubic", 0.05): (3.07, 1.42),
    ("bouc-wen", 0.0): (4.53, 1.58), ("bouc-wen", 0.025): (4.36, 1.41), ("bouc-wen", 0.05): (4.53, 1.26),
}  # fmt: skip

PRINTED_VALUES = {  # (UKF, PIDynNet) of Tables 1, 3, 4 and 5
    ("cubic", 0.0): (
        (36.06, 35.42, 35.56, 30.41, 30.42, 30.46, 25.40, 25.55, 25.87, 27.11, 140.11),
        (34.33, 34.88, 34.74, 29.67, 29.59, 29.67, 24.80, 24.88, 24.87, 24.90, 147.55),
    ),
    ("cubic", 0.025): (
        (35.52, 35.44, 35.66, 30.16, 30.71, 29.66, 25.34, 25.53, 25.14, 26.04, 142.68),
        (34.24, 34.52, 34.48, 29.43, 29.36, 29.56, 24.72, 24.69, 24.71, 24.84, 145.98),
    ),
    ("cubic", 0.05): (
        (36.52, 35.57, 35.37, 30.53, 30.70, 29.95, 25.43, 26.13, 25.34, 26.71, 137.97),
        (34.56, 34.69, 34.56, 29.42, 29.45, 29.55, 24.70, 24.74, 24.72, 24.94, 145.06),
    ),
    ("bouc-wen", 0.0): ((51.77, 46.71, 46.83, 2.26, 2.04, 1.01), (49.21, 44.64, 45.08, 1.97, 1.98, 0.99)),
    ("bouc-wen", 0.025): (
        (51.965, 46.980, 46.814, 2.261, 2.011, 0.998),
        (51.158, 45.961, 44.198, 2.023, 2.008, 0.993),
    ),
    ("bouc-wen", 0.05): (
        (51.768, 46.711, 46.835, 2.257, 2.043, 1.007),
        (50.812, 45.679, 43.801, 2.019, 2.011, 0.997),
    ),
}  # fmt: skip

NETWORKS: dict[str, Callable] = {}
"""Columns of trained networks, by name: (run, system, record) → estimates (initialisations, unknowns), seconds of one.

`networks.py` fills it; a table leaves the column out while it is empty.
"""

CLASSICAL = {
    "WeakCollocation": WeakCollocation(),
    "UKF": UnscentedKalman(),
    "TrajectoryFit": TrajectoryFit(stages=["storeys"]),  # all unknowns at once end in another minimum: c(0) runs away
}


def motion_of(run: Run, name: str):
    """ "synthetic", "Kobe" scaled with the printed period, or "Kobe 7.475 s" scaled with the true one."""
    if name == "synthetic":
        return synthetic()
    return kobe(run, TRUE_PERIOD if "7.475" in name else PRINTED_PERIOD)


def response_of(run: Run, system: str, motion: str, rate: float):
    """The true response of a system."""
    run.progress.stage(f"true response of {system} under {motion} at {rate:g} Hz")
    return respond(SYSTEMS[system]().building, run.once(motion_of, motion), rate)


def data_of(run: Run, system: str, motion: str, rate: float, noise: float, key: int):
    return measured(SYSTEMS[system](), run.once(response_of, system, motion, rate), noise, key)


def fit_of(run: Run, system: str, motion: str, rate: float, noise: float, key: int, method: str) -> Identification:
    """One classical fit, every unknown (c(0) too) from one first guess; `seconds`: processor or clock, the fewer."""
    case, data = SYSTEMS[system](), data_of(run, system, motion, rate, noise, key)
    run.progress.stage(f"{method} on {system}, {motion}, {rate:g} Hz, {100 * noise:g} % noise, seed {key}")
    substeps = 3 if noise == 0.0 and rate <= 100 and method == "TrajectoryFit" else 1
    busy, began = time.process_time(), time.perf_counter()
    with on_processor():
        fit = identify(case.guess, data, case.unknown, CLASSICAL[method], substeps=substeps)
    return fit.replace(seconds=min(time.process_time() - busy, time.perf_counter() - began))


def fits_side_by_side(run: Run, system: str, motion: str, rate: float, jobs) -> None:
    """Fits of (noise, key, method) on all cores, stored for the tables that use them."""
    run.once(response_of, system, motion, rate)
    all_on_threads(lambda *job: run.once(fit_of, system, motion, rate, *job), jobs)


_TIMED = 2  # fits that run alone, for their seconds


@dataclass(frozen=True, eq=False)
class Score:
    """A method over noise seeds: estimates, errors in per cent, error over bound, coverage and seconds."""

    system: System
    estimates: np.ndarray  # (seeds, unknowns)
    seconds: np.ndarray  # of the processor, for the seeds that ran alone
    bound: np.ndarray | None = None  # per cent, each unknown
    held: np.ndarray | None = None  # (seeds, unknowns) whether the 95 % interval holds the true value

    @property
    def error(self) -> float:
        """Mean relative error of the unknowns of the table over all seeds, in per cent."""
        return float(np.mean([self.system.mean_error(e) for e in self.estimates]))

    @property
    def worst(self) -> float:
        return float(np.max([self.system.mean_error(e) for e in self.estimates]))

    @property
    def ratio(self) -> float:
        """rms error over Cramér–Rao bound, unknowns of the table."""
        t = self.system.table
        relative = 100.0 * (self.estimates[:, :t] / self.system.truth[:t] - 1.0) / _computed(self.bound)[:t]
        return float(np.sqrt(np.mean(relative**2)))

    @property
    def coverage(self) -> float:
        """Share of 95 % intervals that hold the true value, unknowns of the table."""
        return float(np.mean(_computed(self.held)[:, : self.system.table]))

    @property
    def expected(self) -> float:
        """Mean error in per cent of an unbiased estimate at the Cramér–Rao bound."""
        return float(np.sqrt(2.0 / np.pi) * np.mean(_computed(self.bound)[: self.system.table]))


def _computed(values: np.ndarray | None) -> np.ndarray:
    """Values of a score that only scores with a Cramér–Rao bound have."""
    if values is None:
        raise InputError("This score has no Cramér–Rao bound and no intervals.")
    return values


def score_of(run: Run, system: str, motion: str, rate: float, noise: float, method: str, seeds: int) -> Score:
    """A classical method over noise seeds, on all cores after the first two, whose seconds are reported.

    A fit is not repeated for another table of the same call.
    """
    case = SYSTEMS[system]()
    fits = [run.once(fit_of, system, motion, rate, noise, key, method) for key in range(min(seeds, _TIMED))]
    fits_side_by_side(run, system, motion, rate, [(noise, key, method) for key in range(_TIMED, seeds)])
    fits += [run.once(fit_of, system, motion, rate, noise, key, method) for key in range(_TIMED, seeds)]
    held = [(low <= case.truth) & (case.truth <= high) for low, high in (f.interval().T for f in fits)]
    return Score(
        case,
        np.array([f.estimate for f in fits]),
        np.array([f.seconds for f in fits[:_TIMED]]),
        run.once(bound_of, system, motion, rate, noise) if noise else None,
        np.array(held),
    )


def bound_of(run: Run, system: str, motion: str, rate: float, noise: float) -> np.ndarray:
    with on_processor():
        return bound(SYSTEMS[system](), run.once(response_of, system, motion, rate), noise)


def network_of(run: Run, name: str, system: str, motion: str, rate: float, noise: float) -> Score:
    """A trained network over its initialisations."""
    case = SYSTEMS[system]()
    estimates, seconds = NETWORKS[name](run, case, data_of(run, system, motion, rate, noise, 0))
    return Score(case, np.asarray(estimates), np.atleast_1d(seconds))
