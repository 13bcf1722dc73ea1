"""A result moved to the estimate of a better problem: a finer time step, another hold, noise as it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.identification.checks.covariance import normal_equations, robust_covariance
from vibrid.identification.checks.noise import NoiseModel
from vibrid.identification.checks.work import keep_around
from vibrid.identification.conclude import covariance_of, residual_deviations
from vibrid.identification.diagnostics import channel_fits
from vibrid.identification.identifiability import identifiability
from vibrid.identification.levenberg import Descent, LinearReadings, descend, linearised
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

TOLERANCE, ITERATIONS, ROUNDS = 1e-7, 20, 3

SETTLED = 0.1
"""Largest step to the minimum of the misfit, in standard deviations, from an estimate that is one."""


def movable(fit: Identification) -> np.ndarray:
    """Unknowns that a descent moves: not at a bound, and not the noise of a sensor."""
    noise = np.isin(np.arange(len(fit.names)), list(fit.problem.unknowns.noise()))
    return ~(noise | (fit.problem.unknowns.box().side(fit.free) != 0))


def is_minimum(fit: Identification, here: LinearReadings) -> bool:
    """Whether the estimate is that of least squares of the readings, whatever method found it."""
    return distance_to_minimum(fit, here) <= SETTLED


def distance_to_minimum(fit: Identification, here: LinearReadings) -> float:
    """Standard deviations of the step to the least squares of the readings; infinite where nothing can move."""
    _, gradient, normal = here.normal_equations(fit.noise)
    keep = movable(fit)
    if not keep.any():
        return np.inf
    inverse = covariance_of(normal[np.ix_(keep, keep)])
    return float(np.max(np.abs(inverse @ gradient[keep]) / np.sqrt(np.diag(inverse))))


def fitted_again(fit: Identification, problem: Problem) -> Identification:
    """The least squares of the readings in another problem with the same unknowns, from the estimate of a result; the
    readings around it are kept (`around`)."""
    given, noise, free, keep = problem.given_deviations(), fit.noise, fit.free, movable(fit)
    rounds, points = 0, _Points(problem)
    while True:
        descent = _descended(points, free, keep, partial(LinearReadings.normal_equations, deviations=noise), noise)
        free = descent.free[descent.best]
        here = points.at(free)
        left = residual_deviations(problem, here.predictions)
        updated = np.where(np.isfinite(given), given, left)
        change, noise, rounds = np.max(np.abs(np.log(updated / noise))), updated, rounds + 1
        if change < 0.02 or rounds == ROUNDS:
            break
    _, _, normal = here.normal_equations(noise)
    certificate = descent.certificate(problem.unknowns.names)
    keep_around(here)
    return _moved(fit, here, noise, _joined(fit, covariance_of(normal, ~keep), keep), normal, certificate)


class _Points:
    """The readings around the points of a descent; the last two are kept, one of which is nearly always its end."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self._last: deque[LinearReadings] = deque(maxlen=2)

    def at(self, free: np.ndarray) -> LinearReadings:
        for known in self._last:
            if np.array_equal(known.free, free):
                return known
        self._last.append(linearised(self.problem, free))
        return self._last[-1]


def _descended(
    points: _Points,
    free: np.ndarray,
    keep: np.ndarray,
    equations: Callable[[LinearReadings], tuple[Any, np.ndarray, np.ndarray]],
    deviations: np.ndarray | None = None,
) -> Descent:
    """The descent of a misfit from φ: its cost, gradient and matrix are those of `equations`."""

    def evaluate(starts):
        # a copy: a descent moves its points in place
        return tuple(np.asarray(part)[None] for part in equations(points.at(np.array(starts[0]))))

    return descend(
        points.problem,
        free[None],
        deviations,
        active=keep,
        iterations=ITERATIONS,
        tolerance=TOLERANCE,
        evaluate=evaluate,
    )


def with_noise(fit: Identification, here: LinearReadings, noise: NoiseModel) -> tuple[Identification, LinearReadings]:
    """The least squares of the whitened readings, from the estimate of a result; and the readings around it."""
    keep, points = movable(fit), _Points(fit.problem)
    descent = _descended(points, fit.free, keep, partial(normal_equations, noise=noise))
    here = points.at(descent.free[descent.best])
    covariance = _joined(fit, robust_covariance(here, noise, keep), keep)
    _, _, normal = normal_equations(here, noise)
    certificate = descent.certificate(fit.problem.unknowns.names)
    return _moved(fit, here, fit.noise, covariance, noise.efficiency * normal, certificate), here


def _joined(fit: Identification, covariance: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """The covariance of the unknowns that were moved, and that of the result for the others."""
    if fit.free_covariance is None:
        return covariance
    made = np.array(fit.free_covariance)
    made[np.ix_(keep, keep)] = covariance[np.ix_(keep, keep)]
    return made


def _moved(fit: Identification, here: LinearReadings, noise, covariance, normal, certificate) -> Identification:
    _, slope = here.prior()
    limits = identifiability(here.problem, here.free, noise, normal - slope.T @ slope)
    return fit.replace(
        problem=here.problem,
        free=here.free,
        free_covariance=covariance,
        noise=noise,
        predictions=here.predictions,
        fits=channel_fits(here.problem, here.predictions),
        limits=limits,
        convergence=fit.convergence | certificate,
    )
