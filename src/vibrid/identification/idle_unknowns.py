"""Unknowns that a descent has left where the data say nothing of them, tried elsewhere.

A storey whose yield limit is guessed beyond its largest drift never yields: the misfit does not depend on the limit, no
derivative tells the way back, and the other unknowns take up part of what is missing, so that the residuals may even
look like noise. A scan does tell it: such unknowns are few, and a simulation is cheap beside a Jacobian. Where others
have taken up so much that no place is better for one of them alone, the descent begins again with all of them where
they begin to matter: there it has derivatives.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.progress import Progress
from vibrid.identification.conclude import predictions_at, unlikelihood
from vibrid.identification.levenberg import descend
from vibrid.identification.method import Method
from vibrid.identification.problem import Problem
from vibrid.identification.result import Identification

_IDLE = 0.05  # Cramér–Rao bound over the estimate, from which an unknown is tried elsewhere
_FACTORS = np.array([0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.93, 1.08, 1.2, 1.4, 2.0, 3.5])
_BETWEEN = 12  # factors that are tried between two of these, where an unknown begins to matter
_GAIN = 1.0  # ln of the likelihood that a better place gains, at least
_ROUNDS = 4
_STEPS = 5  # of a descent from where unknowns begin to matter, in which the misfit must fall below that of the fit


def tried_elsewhere(
    method: Method, problem: Problem, fit: Identification, key: int, progress: Progress
) -> Identification:
    """The fit, or that from a place where an unknown of which the data said little explains them better."""
    for _ in range(_ROUNDS):
        scan = None if fit.cut_short else _scanned(problem.boxed(), fit, progress)
        if scan is None:
            break
        for place in (scan.better, scan.beginning):
            there = place()
            if there is None:
                continue
            again = method.solve(at(problem, there), key, progress)
            if unlikelihood(again) < unlikelihood(fit) - _GAIN:
                fit = again
                break
        else:
            break
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


@dataclass(frozen=True, eq=False)
class _Scan:
    """Unknowns of which the data say little, each tried elsewhere.

    Fields
        index, factors: of the unknown in each row, and by what it is multiplied; gain: (rows,) ln of the likelihood
            that this gains.
    """

    problem: Problem
    fit: Identification
    index: np.ndarray
    factors: np.ndarray
    gain: np.ndarray

    def better(self) -> np.ndarray | None:
        """θ where the misfit is smaller; None where none is."""
        best = [int(np.where(self.index == i, self.gain, -np.inf).argmax()) for i in np.unique(self.index)]
        useful = [row for row in best if self.gain[row] > _GAIN]
        if not useful:
            return None
        together, alone = self._moved(useful), self._moved([int(self.gain.argmax())])
        free = np.stack([self.problem.unknowns.to_free(values) for values in (together, alone)])
        both = misfits(self.problem, free, self.fit.noise)
        return together if both[0] <= both[1] else alone

    def beginning(self) -> np.ndarray | None:
        """θ a few steps from where those that do not matter begin to; None where there are none, or no better place."""
        rows = []
        for i in np.unique(self.index):
            own = np.flatnonzero(self.index == i)
            matters = own[np.isfinite(self.gain[own]) & (self.gain[own] != 0.0)]
            if matters.size < own.size and matters.size:
                rows.append(int(matters[np.abs(np.log(self.factors[matters])).argmin()]))
        return self._few_steps(self._moved(rows)) if rows else None

    def _few_steps(self, there: np.ndarray) -> np.ndarray | None:
        """θ after a few steps of a descent from there; None where the misfit is then no smaller than at the answer."""
        u = self.problem.unknowns
        answer, start = u.to_free(self.fit.estimate), u.to_free(there)
        ended = descend(self.problem, start[None], self.fit.noise, iterations=_STEPS)
        least = 0.5 * misfits(self.problem, answer[None], self.fit.noise)[0] - _GAIN
        return np.asarray(u.to_physical(jnp.asarray(ended.free[0]))) if ended.cost[0] < least else None

    def _moved(self, rows: list[int]) -> np.ndarray:
        values = self.fit.estimate.copy()
        values[self.index[rows]] *= self.factors[rows]
        return _inside(self.problem, values)


def _scanned(problem: Problem, fit: Identification, progress: Progress) -> _Scan | None:
    """Unknowns of which the data say little, tried elsewhere; None where there are none."""
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
    finer = [(i, factor) for i in every for factor in _edges(gain[index == i])]
    if finer:
        more, nearer = np.array([i for i, _ in finer]), np.array([factor for _, factor in finer])
        gain = np.concatenate([gain, gains(more, nearer)])
        index, factors = np.concatenate([index, more]), np.concatenate([factors, nearer])
    return _Scan(problem, fit, index, factors, gain)


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
