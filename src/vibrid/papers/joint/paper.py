"""The paper, and what its experiments share."""

from __future__ import annotations

import numpy as np

import vibrid as vb
from vibrid.papers.paper import Paper

PAPER = Paper(
    "joint",
    "Z. Bitro, A. Batou, H. J. Ouyang: Simultaneous identification of structural parameters and dynamic loads in "
    "time-domain using partial measurements and state-space approach.",
)


def measured(response, sensors, every: int, noise: float = 0.0, key: int = 0) -> vb.Record:
    """Readings of a finer simulation at every so many of its samples, with noise over their rms; loads left out."""
    y = response.readings(sensors)[::every]
    rms = np.sqrt(np.mean(y**2, axis=0))
    y = y + noise * rms * np.random.default_rng(key).standard_normal(y.shape)
    return vb.Record(y, sensors.channels(), step=every * response.excitation.step, name="measured")


def load_record(values, place: str, step: float) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("load", "load", "N", place)], step=step, name="load")


def percent(found, true) -> np.ndarray:
    """100 |found − true| / |true| (Eq. 30)."""
    return 100.0 * np.abs(np.asarray(found) / np.asarray(true) - 1.0)
