"""Unknowns that a descent has left where the data say nothing of them, tried elsewhere.

A storey whose yield limit is guessed beyond its largest drift never yields: the misfit does not depend on the limit, no
derivative tells the way back, and the other unknowns take up part of what is missing, so that the residuals may even
look like noise. A scan does tell it: such unknowns are few, and a simulation is cheap beside a Jacobian.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.progress import Progress
from vibrid.identification.conclude import predictions_at, unlikelihood
from vibrid.identification.method import Method
from vibrid.identification.problem import Problem
from vibrid.identification.result import Identification

_IDLE = 0.05  # Cramér–Rao bound over the estimate, from which an unknown is tried elsewhere
_FACTORS = np.array([0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.93, 1.08, 1.2, 1.4, 2.0, 3.5])
_BETWEEN = 12  # factors that are tried between two of these, where an unknown begins to matter
_GAIN = 1.0  # ln of the likelihood that a better place gains, at least
_ROUNDS = 4


def tried_elsewhere(
    method: Method, problem: Problem, fit: Identification, key: int, progress: Progress
) -> Identification:
    """The fit, or that from a place where an unknown of which the data said little explains them better."""
    for _ in range(_ROUNDS):
        there = None if fit.cut_short else _better_place(problem, fit, progress)
        if there is None:
            break
        again = method.solve(at(problem, there), key, progress)
        if not unlikelihood(again) < unlikelihood(fit) - _GAIN:
            break
        fit = again
    return fit


def at(problem: Problem, values: np.ndarray) -> Problem:
    """The problem with another first guess θ."""
    return dataclasses.replace(problem, unknowns=dataclasses.replace(problem.unknowns, start=jnp.asarray(values)))


def misfits(problem: Problem, free: Array, deviations: Array) -> np.ndarray:
    """(rows,): sum of squared, weighted residuals at each row of free vectors, by the program of every result."""
    return np.array([_misfit(problem, row, np.asarray(deviations)) for row in np.asarray(free, float)])


def _misfit(problem: Problem, free: np.ndarray, deviations: np.ndarray) -> float:
    total = np.sum(np.asarray(problem.unknowns.prior_residual(jnp.asarray(free))) ** 2)
    with np.errstate(all="ignore"):  # a simulation may diverge
        for data, predicted in zip(problem.data, predictions_at(problem, free), strict=True):
            away = (np.asarray(data.readings) - predicted) * np.asarray(data.present) / deviations
            total += np.sum(away**2)
    return float(total)


def _better_place(problem: Problem, fit: Identification, progress: Progress) -> np.ndarray | None:
    """θ where unknowns that the data say little of are elsewhere and the misfit is smaller; None where none is."""
    problem = problem.boxed()
    here, u = fit.estimate, problem.unknowns
    idle = ~(fit.limits.relative_bound < _IDLE) & (here != 0.0)
    idle &= np.array([all(place.startswith("structure.") for place in places) for places in u.places])
    if not idle.any() or not np.isfinite(fit.noise).all():
        return None
    progress.stage("trying unknowns elsewhere (compiling)")

    def gains(index: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """(rows,): ln of the likelihood gained where the unknown of each row is multiplied by its factor."""
        values = np.tile(here, (1 + len(index), 1))
        values[1 + np.arange(len(index)), index] *= factors
        cost = 0.5 * misfits(problem, np.stack([u.to_free(row) for row in _inside(problem, values)]), fit.noise)
        return np.where(np.isfinite(cost), cost[0] - cost, -np.inf)[1:]

    every = np.flatnonzero(idle)
    index, factors = np.repeat(every, len(_FACTORS)), np.tile(_FACTORS, len(every))
    gain = gains(index, factors)
    edges = [(i, _edges(gain[index == i])) for i in every]
    finer = [(i, factor) for i, own in edges for factor in own]
    if finer:
        more, nearer = np.array([i for i, _ in finer]), np.array([factor for _, factor in finer])
        gain = np.concatenate([gain, gains(more, nearer)])
        index, factors = np.concatenate([index, more]), np.concatenate([factors, nearer])
    useful = [row for i in every if gain[row := int(np.where(index == i, gain, -np.inf).argmax())] > _GAIN]
    if not useful:
        return None
    together, alone, first = here.copy(), here.copy(), int(gain.argmax())
    together[index[useful]] *= factors[useful]
    alone[index[first]] *= factors[first]
    pair = _inside(problem, np.stack([together, alone]))
    both = misfits(problem, np.stack([u.to_free(row) for row in pair]), fit.noise)
    return pair[0] if both[0] <= both[1] else pair[1]


def _edges(gain: np.ndarray) -> np.ndarray:
    """Factors between the last one that changes nothing and the first one that does, below and above 1.

    Just beyond that edge an unknown begins to matter, and there may be the only place that is better.
    """
    found = []
    for side in (np.flatnonzero(_FACTORS < 1)[::-1], np.flatnonzero(_FACTORS > 1)):
        changed = np.flatnonzero(gain[side] != 0.0)
        if changed.size and changed[0] > 0:
            found.append(np.geomspace(_FACTORS[side[changed[0] - 1]], _FACTORS[side[changed[0]]], _BETWEEN + 2)[1:-1])
    return np.concatenate(found) if found else np.zeros(0)


def _inside(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Values between their bounds, which are NaN where there are none."""
    return np.fmax(np.fmin(values, np.asarray(problem.unknowns.high)), np.asarray(problem.unknowns.low))
