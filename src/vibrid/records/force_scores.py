"""Errors of a predicted force against the measured one."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

STRONG = (0.05, 0.95)
"""Shares of the squared velocity between which a test is in its strong part."""


@dataclass(frozen=True)
class ForceScores:
    """Of one test, or the mean of several."""

    nrmse: float  # rms error / range of the measured force
    strong: float  # the same over the strong part: from 5 to 95 % of the squared velocity
    mae: float  # N, mean absolute error
    r2: float  # share of the variance that is explained
    trac: float  # squared cosine of the angle between the two histories
    energy: float  # dissipated, predicted / measured
    peak: float  # largest force, predicted / measured

    @staticmethod
    def mean(scores) -> ForceScores:
        rows = [list(asdict(each).values()) for each in scores]
        return ForceScores(*np.mean(rows, axis=0).tolist())


def force_scores(found, force, v) -> ForceScores:
    """Scores of a predicted force against the measured one at a velocity, arrays of equal length."""
    found, force, v = (np.asarray(a, float) for a in (found, force, v))
    error = found - force
    strong = strong_part(v)
    strong = strong if strong.sum() > 1 else np.ones(len(v), bool)

    def relative(where) -> float:
        return float(np.sqrt(np.mean(error[where] ** 2)) / max(np.ptp(force[where]), 1e-300))

    both = np.dot(force, force) * np.dot(found, found)
    return ForceScores(
        relative(slice(None)),
        relative(strong),
        float(np.mean(np.abs(error))),
        float(1 - np.sum(error**2) / max(np.sum((force - force.mean()) ** 2), 1e-300)),
        float(np.dot(force, found) ** 2 / max(both, 1e-300)),
        float(np.sum(found * v) / np.sum(force * v)) if np.any(force * v) else 1.0,
        float(np.abs(found).max() / max(np.abs(force).max(), 1e-300)),
    )


def strong_part(v: np.ndarray) -> np.ndarray:
    """Mask of the samples in the strong part of a test with velocity v."""
    arrived = np.cumsum(v**2) / max(np.sum(v**2), 1e-300)
    return (arrived > STRONG[0]) & (arrived < STRONG[1])
