"""Equations as a penalty whose weight grows in stages while the readings allow it.

At a softness ε every equation, integrated over an interval, has a tolerated residual of ε times its size. With a right
model ε can fall to any value. With a wrong model it cannot: below some ε the motion must leave the readings to satisfy
the equations. The smallest ε that the readings allow measures the model error, and the estimates there are little
biased.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.problem import Problem
from vibrid.identification.weak.collocation import Point, Solved, cost_of, eliminate, point_at, record_of, trial
from vibrid.identification.weak.pieces import finer, followed, noise_left, spectral_noise
from vibrid.identification.weak.readings import DRAWS
from vibrid.identification.weak.start import Beginning

if TYPE_CHECKING:
    from vibrid.core.progress import Progress

_HELD = 2  # first iterations, in which only the motion changes, not the unknowns
_ENOUGH = 0.01  # decrease of ½ χ² at which iterations end: it moves an estimate by 0.14 σ
_KEPT_PROMISE = 0.9  # share of the predicted decrease above which one step per stage is enough
_STATES = 0.03  # softness of equations of states over that of motion: a law defines them
_SAME = 0.005  # relative change of the noise below which the readings keep their weights
_NEGLIGIBLE = 3e-3  # noise over signal below which a rise of the misfit is not counted
RIGHT = 0.003  # softness below which the limit may be that of the splines
_SEEN = 1.0  # χ² of the equations below which finer splines are not needed


@dataclass(frozen=True, eq=False)
class Annealed:
    """The end of the stages."""

    point: Point
    solved: Solved
    noise: np.ndarray  # of every sensor
    softness: float  # the smallest that the readings allow
    refused: float | None  # the next one, which they do not allow; None when all were allowed
    rise: float  # of χ² at the refused softness, as a share; else at the last
    history: list[tuple[float, float, np.ndarray]]  # softness, cost and φ of every step
    cut_short: bool

    @property
    def right(self) -> bool:
        """Whether readings and splines show no model error."""
        return self.refused is None or self.softness <= RIGHT

    def beyond(self, other: Annealed) -> bool:
        """Whether the softness is smaller than in another result, or equal with smaller residuals."""
        if self.softness != other.softness:
            return self.softness < other.softness
        return float(np.sum(np.log(self.noise / other.noise))) < -1e-3

    def residual_share(self) -> np.ndarray:
        """(equations,): rms residual of each equation, as a share of its size."""
        pairs = zip(self.point.records, self.point.slopes, strict=True)
        squares = [(linear.residual / record.sizes) ** 2 for record, linear in pairs]
        return np.sqrt(np.mean(np.concatenate(squares), axis=0))


def anneal(
    problem: Problem, begin: Beginning, stages, tolerance: float, iterations: int, progress: Progress = SILENT
) -> Annealed:
    """Reduce the softness of the equations stage by stage while the readings allow it.

    Arguments
        stages: softness ε of each stage, falling.
        tolerance: relative rise of χ² of displacements and velocities at which the softness falls no further.
        iterations: largest number of Gauss–Newton steps in one stage.
    """
    noise, given = begin.noise, problem.given_deviations()
    records = [record_of(problem, begin.free, piece, i, noise) for i, piece in enumerate(begin.pieces)]
    point = point_at(problem, begin.free, records)
    kept: tuple[Point, np.ndarray, float] | None = None
    history, rise, before, refined = [], 0.0, np.inf, False
    loosest = Loosest.before(problem, begin.pieces)
    try:
        for number, softness in enumerate(stages):
            progress.stage(f"equations to {100 * softness:g} % of their size", iterations)
            last = number == len(stages) - 1
            held = _HELD if number == 0 else 0
            while True:
                tolerated = beliefs(point, softness, stages[-1])
                point, solved = _minimise(problem, point, noise, tolerated, held, last, iterations, history, progress)
                spent = solved.spent(point, noise)
                pieces = [r.piece for r in point.records]
                seen = noise_left(pieces, spent, noise)
                loosest = loosest.after(problem, pieces, seen, spent, number == 0)
                rise, chance = _rise(seen, loosest, problem, point)
                allowed = kept if rise > tolerance + 3.0 * chance else None
                violation = _violation(point, tolerated)
                coarse = violation > max(before * softness / stages[max(number - 1, 0)], _SEEN)
                limited = coarse and softness < RIGHT and (allowed is not None or last)
                if refined or not limited or not _divisible(problem, point):
                    break
                refined = True
                progress.stage(f"finer splines, equations to {100 * softness:g} % of their size", iterations)
                point = _refined(problem, point, noise)
            before, estimated = violation, np.where(np.isfinite(given), given, seen)
            if allowed is not None:
                point, noise, smallest = allowed
                progress.stage(f"back to equations to {100 * smallest:g} % of their size", iterations)
                tolerated = beliefs(point, smallest, stages[-1])
                point, solved = _minimise(problem, point, noise, tolerated, 0, True, iterations, history, progress)
                return Annealed(point, solved, noise, smallest, softness, rise, history, False)
            if np.max(np.abs(np.log(estimated / noise))) > _SAME:
                point, noise = replace(point, records=tuple(r.weighted(estimated) for r in point.records)), estimated
            kept = (point, noise, softness)
        stopped = False
    except KeyboardInterrupt:
        if kept is None:
            raise
        stopped = True
    if kept is None:
        raise InputError("WeakCollocation needs at least one softness.")
    point, noise, softness = kept
    solved = eliminate(point, beliefs(point, softness, stages[-1]))
    return Annealed(point, solved, noise, softness, None, rise, history, stopped)


def _violation(point: Point, softness: np.ndarray) -> float:
    """χ² of the equations. It falls as ε² while the splines can satisfy them, and rises once they cannot."""
    pairs = zip(point.records, point.slopes, strict=True)
    return float(sum(np.sum((linear.residual / (softness * record.sizes)) ** 2) for record, linear in pairs))


def _divisible(problem: Problem, point: Point) -> bool:
    """Whether intervals are longer than a sample."""
    pairs = zip(point.records, problem.data, strict=True)
    return any(record.piece.splines.spacing > 1.5 * data.step for record, data in pairs)


def _refined(problem: Problem, point: Point, noise: np.ndarray) -> Point:
    """The same motion on intervals half as long: a hysteretic state has kinks that wide splines cannot represent."""
    pieces = [finer(problem, record.piece, i) for i, record in enumerate(point.records)]
    records = [record_of(problem, point.free, piece, i, noise) for i, piece in enumerate(pieces)]
    return point_at(problem, point.free, records)


def beliefs(point: Point, softness: float, hardest: float) -> np.ndarray:
    """(equations,): the softness of each equation in a stage.

    Unmodelled forces act in equations of motion; the equations of a law define its states. With the softness of the
    others, hidden states would absorb every unmodelled force, and the parameters of the law could not be estimated.
    """
    states = min(softness, max(_STATES * softness, hardest))
    n, count = point.records[0].piece.size, len(point.records[0].sizes)
    return np.where(np.arange(count) < n, softness, states)


def _minimise(problem, point: Point, noise, softness, held, to_the_end, iterations, history, progress):
    """Gauss–Newton with the given softness (equations,); damping only where a step fails."""
    damping, cost = 0.0, cost_of(point, noise, softness)
    solved = eliminate(point, softness, damping)
    for number in range(held + iterations):
        solved = eliminate(point, softness, damping) if number else solved
        there, promise = trial(problem, point, solved, damping, number < held)
        new = cost_of(there, noise, softness)
        progress.update(number + 1, f"misfit {2 * min(new, cost):.5g}")
        if not new < cost:
            if abs(new - cost) <= _ENOUGH or damping > 1e4:
                break
            damping = max(10.0 * damping, 1e-6)
            continue
        fall, point, cost = cost - new, there, new
        damping = damping / 10.0 if damping > 1e-8 else 0.0
        history.append((softness[0], cost, point.free))
        if number < held:
            held = number + 1 if fall > _KEPT_PROMISE * promise else held
        elif fall <= _ENOUGH or (not to_the_end and fall > _KEPT_PROMISE * promise):
            break
    return point, solved


class Loosest(NamedTuple):
    """(sensors,): noise estimated with soft equations, the relative variance of its square, whether splines have
    interpolated every reading so far, and whether the noise is estimated from readings and motion.

    Where the splines interpolate the readings of a sensor, its noise is as stated, or that of the highest fifth of its
    spectrum, an upper limit; the first stage in which they do not may then give less.
    """

    level: np.ndarray
    variance: np.ndarray
    blind: np.ndarray
    found: np.ndarray

    @classmethod
    def before(cls, problem: Problem, pieces) -> Loosest:
        given, none = problem.given_deviations(), np.zeros(len(problem.sensors))
        stated = np.isfinite(given)
        variance = np.where(stated, 0.0, 3.0 / (0.1 * problem.counts()))
        return cls(np.where(stated, given, spectral_noise(pieces)), variance, none == 0.0, none > 0.0)

    def after(self, problem: Problem, pieces, seen: np.ndarray, spent: np.ndarray, first: bool) -> Loosest:
        """Updated after a stage. The noise absorbed by the weights is estimated from a few random draws."""
        left = np.maximum(problem.counts() - spent, 1.0)
        variance = 2.0 * spent / left**2 + 2.0 / (DRAWS[0] * left)
        sees = self.blind & ~followed(pieces, spent)
        better = sees & ((seen < self.level) | first)
        return Loosest(
            np.where(better, seen, self.level),
            np.where(better, variance, self.variance),
            self.blind & ~sees,
            self.found | better,
        )


def _rise(now: np.ndarray, loosest: Loosest, problem: Problem, point: Point):
    """Relative rise of χ² of displacements and velocities, and the rise that is possible by chance.

    Of all sensors where none measures these.
    """
    slow = point.records[0].piece.readings.orders < 2
    chosen = slow if slow.any() else np.ones_like(slow)
    level = np.maximum(loosest.level, _NEGLIGIBLE * problem.signal_size())
    level = np.where(loosest.found, level, np.maximum(level, now))[chosen]  # a spectrum may give too little by chance
    rise = np.mean((now[chosen] ** 2 - loosest.level[chosen] ** 2) / level**2)
    return float(rise), float(np.sqrt(loosest.variance[chosen].sum()) / chosen.sum())
