"""The paper, and functions that its items share."""

from __future__ import annotations

import os
from pathlib import Path

from vibrid.core.device import on_processor
from vibrid.core.progress import Progress
from vibrid.hybrid.actuator import Actuator, SecondOrder
from vibrid.hybrid.ats import AdaptiveTimeSeries
from vibrid.papers.jobs import on_threads
from vibrid.papers.paper import Paper
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.record import Record

PAPER = Paper(
    "ocpnn",
    "Malik, Cao, Ricles & Downey, Online Cyber-Physical Neural Network Model for Real-Time Hybrid Simulation, "
    "Earthquake Engineering & Structural Dynamics (2025).",
    whole_loops=True,
)

SUBSTEPS = 4
"""Number of commands, at 1024 Hz, in one step of the frame."""


def trained_folder() -> Path:
    """Folder of trained networks and their predictions: `VIBRID_TRAINED`, or the user's cache."""
    chosen = os.environ.get("VIBRID_TRAINED")
    return Path(chosen) if chosen else Path.home() / ".cache" / "vibrid" / "trained"


def side_by_side(function, jobs: list[tuple], progress: Progress) -> list:
    """`function(*job)` of every job, on as many threads as there are cores: each test is one compiled program."""

    def run_job(*job):
        with on_processor():
            return function(*job)

    results = {}
    for number, result in on_threads(run_job, jobs):
        results[number] = result
        progress.update(len(results))
    return [results[number] for number in range(len(jobs))]


def substitute(seconds: float = 28.0) -> Record:
    """A synthetic motion instead of the paper's, for items that need no real records."""
    return synthetic_motion(3, duration=seconds, rate=1024.0, pga=4.0)


def laboratory() -> dict:
    """The machine of the tested damper, which the paper does not describe beyond its 330 mm/s: second order with a lag
    of 18 ms, a displacement sensor with 0.02 mm of noise, and ATS."""
    machine = Actuator(SecondOrder.with_lag(0.018), velocity_limit=0.33, stroke=0.089, noise=2e-5)
    return {"actuator": machine, "compensator": AdaptiveTimeSeries(0.018)}
