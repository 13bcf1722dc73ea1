"""What a test says of each parameter alone: the misfit with that parameter held elsewhere and all others fitted again
(the profile likelihood).

The slopes at an estimate speak of its neighbourhood. Where a corner of the loops lies beyond what the test reached, or
on a straight part of an envelope, the misfit stays level as the parameter moves on, and the slopes do not tell. The
other parameters follow by derivatives that are differences: they cost no further program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vibrid.identification.levenberg import descend
from vibrid.identification.problem import Problem

SURE = 3.0
"""Standard deviations at which a parameter is held first, on either side."""
FAR = 0.3
"""Difference of ln θ at which it is held as well: out of a false dip."""
UNSEEN = 1.0
"""Difference of ln θ up to which the misfit stays level where a test does not show a parameter."""
UNKNOWN = 1e3
"""Standard deviation of ln θ of such a parameter."""
_SCAN = (
    0.1,
    0.2,
    0.3,
    0.45,
    0.6,
    0.9,
)  # differences of ln θ at which unknowns are tried of which the slopes say nothing
_NEAR = 4.0  # standard deviations: what a place farther away loses says nothing of the interval
_VANISHED = 7.0  # difference of ln θ, a factor of a thousand
_LEVEL = 2.0  # loss of ln L up to which a place is as good as the estimate
_ITERATIONS = 10
_DIFFERENCE = 1e-6


@dataclass(frozen=True)
class Elsewhere:
    """What was found: the least standard deviation of each unknown that its profile allows, which of them the test does
    not show, the place with the least misfit and how much more likely it is than the estimate (difference of ln L)."""

    deviation: np.ndarray
    unseen: np.ndarray
    best: np.ndarray
    gain: float

    def widened(self, covariance: np.ndarray) -> np.ndarray:
        """A covariance whose variances are no smaller than the profiles allow."""
        return covariance + np.diag(np.maximum(self.deviation**2 - np.diag(covariance), 0.0))


def elsewhere(
    residuals: Callable[[np.ndarray], np.ndarray],
    problem: Problem,
    estimate: np.ndarray,
    covariance: np.ndarray,
    guess: np.ndarray,
) -> Elsewhere:
    """The profiles about an estimate, of noise that is white and of unknown size.

    A parameter is held 3 standard deviations away, and at 0.7 and 1.35 times its estimate; where the misfit stays
    level, twice as far and farther. In a linear model the misfit grows by z²/(n − p) at z standard deviations: where it
    grows by less at a distance, the deviation is larger.

    Arguments
        residuals: (rows, samples), of every row of unknowns.
        covariance: about the estimate, by the slopes; unknowns that it does not know are tried elsewhere all the same.
        guess: from which unknowns begin again that have vanished, as a force that fell towards zero.
    """
    p, sigma = estimate.size, np.sqrt(np.diag(covariance))
    first = residuals(estimate[None])[0]
    least, freedom = float(first @ first), np.isfinite(first).sum() - p
    deviation, unseen, best, gain = np.zeros(p), ~(sigma < UNSEEN), estimate, 0.0
    sizes = {i: _SCAN if unseen[i] else (SURE * sigma[i], max(FAR, sigma[i])) for i in np.flatnonzero(sigma != 0.0)}
    if not sizes or not least > 0.0:
        return Elsewhere(deviation, unseen, best, gain)
    tried = [(i, way * size) for i, own in sizes.items() for way in (-1.0, 1.0) for size in own]
    held, offset, box = np.array([i for i, _ in tried]), np.array([size for _, size in tried]), problem.unknowns.box()
    reach = np.where(unseen[held], 0.0, np.minimum(np.abs(offset), 1.0))[:, None]
    with np.errstate(all="ignore"):  # of unknowns without a finite variance the others do not follow
        along = np.nan_to_num(offset[:, None] * covariance[held] / covariance[held, held][:, None])
    starts = np.where(unseen & (estimate < guess - _VANISHED), guess, estimate + np.clip(along, -reach, reach))
    while held.size and gain < _LEVEL:
        rows = np.arange(held.size)
        starts[rows, held] = estimate[held] + offset
        starts = box.clip(starts)
        inside = np.abs(starts[rows, held] - estimate[held] - offset) < 1e-9
        ends = descend(
            problem, starts, None, box=box, iterations=_ITERATIONS, tolerance=1e-4,
            evaluate=lambda free, held=held: _held(residuals, free, held),
        )  # fmt: skip
        loss = np.where(np.isfinite(ends.cost) & inside, 0.5 * freedom * np.log(2.0 * ends.cost / least), np.inf)
        i = int(np.argmin(loss))
        if -loss[i] > gain:
            gain, best = float(-loss[i]), ends.free[i]
        with np.errstate(all="ignore"):  # in deviations of a linear model with noise of unknown size
            distance = np.sqrt(np.maximum(freedom * (2.0 * ends.cost / least - 1.0), 2.0 * _LEVEL))
        near = inside & (distance < _NEAR)
        np.maximum.at(deviation, held[near], np.abs(offset[near]) / distance[near])
        level = loss < _LEVEL
        unseen[held[level & (np.abs(offset) >= UNSEEN)]] = True
        on = level & ~unseen[held]
        held, offset, starts = held[on], 2.0 * offset[on], 2.0 * ends.free[on] - estimate  # as far again, the same way
    return Elsewhere(np.where(unseen, UNKNOWN, deviation), unseen, best, gain)


def _held(residuals: Callable[[np.ndarray], np.ndarray], free: np.ndarray, held: np.ndarray):
    """Cost, gradient and Gauss–Newton matrix of every row, one of whose unknowns does not move."""
    count, p = free.shape
    rows = free[:, None, :] + np.vstack([np.zeros(p), _DIFFERENCE * np.eye(p)])
    with np.errstate(all="ignore"):  # a law may refuse values on the way: a shorter step is tried then
        made = residuals(rows.reshape(-1, p)).reshape(count, p + 1, -1)
        here, slopes = made[:, 0], (made[:, 1:] - made[:, :1]) / _DIFFERENCE
        slopes[np.arange(count), held] = 0.0
        cost = 0.5 * np.square(here).sum(axis=1)
        gradient = (slopes @ here[:, :, None])[:, :, 0]
        normal = slopes @ slopes.transpose(0, 2, 1)
        normal[np.arange(count), held, held] = np.trace(normal, axis1=1, axis2=2)
    return cost, gradient, normal
