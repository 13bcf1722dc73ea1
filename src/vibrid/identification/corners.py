"""Intervals of laws whose loops have corners: from the misfit itself, where its slope at one place says too little.

A corner that passes a sample bends the misfit; between two samples it does not feel where the corner is. The curvature
at the minimum, from which intervals usually come, is then that of one facet. Here the likelihood is sampled about the
minimum, by laws drawn from a distribution that is adapted to it (population Monte Carlo, Cappé et al. 2004; Student's t
with tempered weights), and its second moment about the estimate is the covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

ROUNDS, DRAWS = 5, 384
_HEAVY = 5.0  # degrees of freedom of Student's t
MOST = 1.0
"""Standard deviation (of ln θ) by the slopes above which the data do not determine an unknown: it has no likelihood to
be sampled, and stays where it is."""
_LEAST = 12.0  # independent draws for each unknown, of which a moment is made


@dataclass(frozen=True)
class Sampled:
    """What was found about an estimate: the covariance (mean square from the estimate), the place with the least misfit
    and how much more likely it is than the estimate (difference of ln L)."""

    covariance: np.ndarray
    best: np.ndarray
    gain: float


def sampled(
    squares: Callable[[np.ndarray], np.ndarray],
    estimate: np.ndarray,
    covariance: np.ndarray,
    count: int,
    random: np.random.Generator,
) -> Sampled:
    """The likelihood about an estimate, of noise that is white and of unknown size.

    Arguments
        squares: sum of squares of the residuals of every row of unknowns.
        covariance: of the first draws; unknowns that it holds (zero) stay, and so do those that it does not know.
        count: of residuals.
    """
    moving = np.flatnonzero((np.diag(covariance) > 0.0) & (np.diag(covariance) < MOST**2))
    p = moving.size
    least = float(squares(estimate[None])[0])
    if p == 0 or not least > 0.0:
        return Sampled(covariance, estimate, 0.0)
    middle, spread = estimate[moving], 2.0 * covariance[np.ix_(moving, moving)]
    first, best, made = least, estimate, np.array(covariance)
    for _ in range(ROUNDS):
        normal = random.standard_normal((DRAWS, p)) / np.sqrt(random.chisquare(_HEAVY, (DRAWS, 1)) / _HEAVY)
        root = _root(spread)
        drawn = np.tile(estimate, (DRAWS, 1))
        drawn[:, moving] = middle + normal @ root.T
        found = np.asarray(squares(drawn))
        found = np.where(np.isfinite(found), found, np.inf)
        i = int(np.argmin(found))
        if found[i] < least:
            least, best = float(found[i]), drawn[i]
        likelihood = -0.5 * (count - p) * np.log(found / least)
        proposal = -0.5 * (_HEAVY + p) * np.log1p(np.sum(normal**2, axis=1) / _HEAVY)
        weight = _weights(likelihood - proposal, _LEAST * p)
        middle = weight @ drawn[:, moving]
        away = drawn[:, moving] - middle
        spread = 1.2 * (away.T * weight) @ away
        off = drawn[:, moving] - estimate[moving]
        made[np.ix_(moving, moving)] = (off.T * weight) @ off
    return Sampled(made, best, 0.5 * (count - p) * float(np.log(first / least)))


def widened(covariance: np.ndarray, slope: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """A covariance with what a sampled one has more than that of the slopes, in no direction less."""
    values, vectors = np.linalg.eigh(moment - slope)
    return covariance + (vectors * np.maximum(values, 0.0)) @ vectors.T


def _root(spread: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(spread)
    return vectors * np.sqrt(np.maximum(values, 1e-12 * values.max()))


def _weights(log_weight: np.ndarray, least: float) -> np.ndarray:
    """Weights that sum up to 1, tempered until no fewer than `least` draws count."""

    def weights(power: float) -> np.ndarray:
        return scipy.special.softmax(power * log_weight)

    low, high = 0.0, 1.0
    if 1.0 / np.sum(weights(1.0) ** 2) >= least:
        return weights(1.0)
    for _ in range(30):
        power = 0.5 * (low + high)
        low, high = (power, high) if 1.0 / np.sum(weights(power) ** 2) >= least else (low, power)
    return weights(low)
