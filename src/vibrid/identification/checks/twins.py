"""Twins: answers far from the estimate that the sensors cannot tell from it.

Local information (the Gauss–Newton matrix, the Cramér–Rao bound) knows nothing of a second answer far away: a roof
sensor alone cannot tell a building with 30 and 10 MN/m from one with 20 and 15. Candidates are values with the same
transfer functions between the excitation and the sensors (`transfer.py`), found from many starts; each is then fitted
to the readings themselves, and counts where it explains them as well. Unknowns that small motions do not show have
candidates of their own (`hidden.py`). Values joined to the estimate by a valley of equal misfit are one answer with a
direction that the data do not show, which the bound tells already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from vibrid.identification.checks.again import movable
from vibrid.identification.checks.covariance import robust_covariance
from vibrid.identification.checks.hidden import HiddenStart, exchanged, hidden_starts
from vibrid.identification.checks.noise import white_noise
from vibrid.identification.checks.transfer import AT_ONCE, AboutRest, log_sizes, matched, points_of
from vibrid.identification.checks.work import first_model
from vibrid.identification.conclude import covariance_of
from vibrid.identification.levenberg import descend, linearised
from vibrid.identification.other_answers import OtherAnswer
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

OF_EACH, STARTS, FEWEST = 16, 96, 8
"""Number of starts: of each unknown, and in all at most; a search with fewer than the last is left out."""

SCOUTING, REFINING = 8, 20
"""Iterations from every start, and from the distinct ends that came closest."""

REFINED = 16
LED_BACK = 0.75
"""Share of the first starts that lead back to the estimate from which the search ends, where none leads elsewhere."""

FACTOR = 4.0
"""Starts have positive unknowns between this factor below the estimate and above."""

MOST_WORK = 1e10
"""Number of multiplications of the search; the starts are fewer where each takes many, and none above this."""

ALIKE, SAME = 0.1, 0.01
"""Rms difference of log H of a candidate, at most; and of undamped structures that are the same to the sensors."""

APART = 0.03
"""Smallest relative distance of two answers."""

EQUAL, BETTER, RIDGE = 9.2, 6.0, 25.0
"""Differences of the misfit χ²: of another answer at most; of a better one at least; between two answers at least."""

NEAR = 0.1
"""Growth of χ² over that of the readings themselves up to which a twin is told that only damping rejects."""

CANDIDATES = 8
_POLISH = 8  # iterations
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Twin:
    """Another answer: φ in the problem's space with edges, growth of χ², and whether only damping rejects it.

    relabelled: names of two parts in parallel where it is the same structure with these exchanged.
    """

    free: np.ndarray
    growth: float
    covariance: np.ndarray
    by_damping: bool = False
    relabelled: tuple[str, str] | None = None


def find_twins(fit: Identification, seed: int = 1) -> tuple[list[Twin], np.ndarray | None]:
    """The other answers, the most likely first; and φ of one that fits better than the result, where there is one."""
    problem = fit.problem.boxed()
    free = problem.unknowns.to_free(fit.estimate)
    everywhere = _is_everywhere(problem)
    shown = [] if everywhere else _candidates(problem, free, seed)
    hidden = hidden_starts(problem, free, everywhere, FACTOR, seed)
    if not shown and not hidden:
        return [], None
    keep = movable(fit)
    misfit = _Misfit(problem, fit.noise, keep)
    own, least = misfit.polished(free)
    result = _Result(own, least, *_sizes(misfit, own))
    twins: list[Twin] = []
    better, lowest = None, -BETTER * result.scale
    for start, origin in [*((phi, None) for phi in shown), *((start.free, start) for start in hidden)]:
        phi, cost = misfit.polished(start)
        if cost - result.cost < lowest:
            better, lowest = phi, cost - result.cost
        twin = _twin(misfit, result, [twin.free for twin in twins], phi, cost, origin)
        twins += [] if twin is None else [twin]
    return sorted(twins, key=lambda twin: twin.growth), better


@dataclass(frozen=True)
class _Result:
    """The result that answers are compared with: φ and χ² there, how much larger differences of χ² are than for
    independent noise, and χ² of the readings themselves."""

    free: np.ndarray
    cost: float
    scale: float
    signal: float


def _twin(
    misfit: _Misfit,
    result: _Result,
    others: list[np.ndarray],
    phi: np.ndarray,
    cost: float,
    origin: HiddenStart | None,
) -> Twin | None:
    """φ as another answer; None where it is the result, one of the others, or does not explain the readings as well.

    origin: the start of an answer in hidden unknowns.
    """
    growth, known = cost - result.cost, [result.free, *others]
    by_damping = growth >= EQUAL * result.scale
    if min(_distance(phi, other) for other in known) < APART or growth > NEAR * result.signal:
        return None
    if by_damping and (origin is not None or not _same_undamped(misfit.problem, result.free, phi)):
        return None
    limit = max(result.cost, cost) + RIDGE * result.scale
    if not misfit.has_ridge(result.free, phi, limit):
        return None
    if origin is not None and not all(misfit.has_high_ridge(other, phi, limit) for other in known):
        return None
    relabelled = None if origin is None else _relabelled(misfit, result, origin)
    return Twin(phi, growth / result.scale, misfit.covariance(phi), by_damping, relabelled)


def _is_everywhere(problem: Problem) -> bool:
    """Whether there is a sensor at as many places as there are degrees of freedom."""
    model = first_model(problem)
    return len({sensor.place for sensor in problem.sensors}) >= model.size


def _relabelled(misfit: _Misfit, result: _Result, origin: HiddenStart) -> tuple[str, str] | None:
    """The parts in parallel whose exchange changes no reading; None where it does, or none were exchanged."""
    if origin.parallel is None:
        return None
    there = misfit(exchanged(misfit.problem, result.free, origin.parallel))
    return origin.parallel.parts if abs(there - result.cost) < _ROUNDING * (1.0 + result.cost) else None


def answers_of(fit: Identification, twins: list[Twin]) -> tuple[OtherAnswer, ...]:
    """Answers in physical values."""
    unknowns = fit.problem.boxed().unknowns
    made = []
    for twin in twins:
        slope = np.asarray(unknowns.slope(jnp.asarray(twin.free)))
        made.append(
            OtherAnswer(
                np.asarray(unknowns.to_physical(jnp.asarray(twin.free))),
                np.sqrt(np.diag(twin.covariance)) * np.abs(slope),
                -0.5 * twin.growth,
            )
        )
    return tuple(made)


def starts_of(problem: Problem) -> int:
    """Number of starts of the search; 0 where it would take too long, or nothing excites the structure."""
    model = first_model(problem)
    n, inputs, unknowns = model.size, model.load_matrix.shape[1], len(problem.unknowns)
    if not inputs or not unknowns:
        return 0
    each = 4 * points_of(n, unknowns) * (SCOUTING + REFINING) * (unknowns * n**2 * inputs + n**3)
    starts = int(min(STARTS, OF_EACH * unknowns, MOST_WORK / each))
    return starts if starts >= FEWEST else 0


def _candidates(problem: Problem, free: np.ndarray, seed: int) -> list[np.ndarray]:
    """Values with the transfer functions of the estimate, apart from it and from each other, the closest first."""
    starts = starts_of(problem)
    if not starts:
        return []
    about = AboutRest.of(problem)
    s = about.line(free)
    if not s.size:
        return []
    log = np.array([kind == "log" for kind in problem.unknowns.kinds])
    rng = np.random.default_rng(seed)
    away = np.where(log, np.log(FACTOR), 1.0) * rng.uniform(-1.0, 1.0, (starts, len(free)))
    scouts = problem.unknowns.box().clip(free + away)
    ends, differences = matched(about, free, scouts[:AT_ONCE], s, SCOUTING + REFINING)
    near = _distinct(free, ends, differences, ALIKE, CANDIDATES)
    home = sum(_distance(end, free) < APART for end in ends)
    if not near and home >= LED_BACK * len(ends):
        return []
    others = matched(about, free, scouts[AT_ONCE:], s, SCOUTING)
    ends, differences = (np.concatenate(parts) for parts in zip((ends, differences), others, strict=True))
    nearest = _distinct(free, ends, differences, np.inf, REFINED)
    if not nearest:
        return []
    return _distinct(free, *matched(about, free, np.array(nearest), s, REFINING), ALIKE, CANDIDATES)


def _distinct(free: np.ndarray, ends: np.ndarray, differences: np.ndarray, limit: float, most: int) -> list[np.ndarray]:
    """Ends of a search that are apart from the estimate and from each other, the closest first."""
    chosen: list[np.ndarray] = []
    for i in np.argsort(np.where(np.isfinite(differences), differences, np.inf)):
        if not differences[i] < limit or len(chosen) == most:
            break
        if all(_distance(ends[i], other) > APART for other in [free, *chosen]):
            chosen.append(ends[i])
    return chosen


def _distance(one: np.ndarray, two: np.ndarray) -> float:
    """Largest difference of an unknown: of a positive one relative, of another in its scale."""
    return float(np.max(np.abs(one - two), initial=0.0))


def _same_undamped(problem: Problem, one: np.ndarray, two: np.ndarray) -> bool:
    """Whether the undamped structures have the same transfer functions: at real s, where they have no poles.

    Those of a nonlinear structure hold for small motions alone, so that not only damping can tell two of them apart.
    """
    if not first_model(problem).is_linear:
        return False
    about = AboutRest.of(problem)
    s = jnp.asarray(np.abs(about.line(one)).astype(complex))
    first, second = (np.asarray(log_sizes(about, jnp.asarray(phi), s, damped=False)) for phi in (one, two))
    heard = np.isfinite(first) & np.isfinite(second)
    return bool(heard.any() and np.sqrt(np.mean((first - second)[heard] ** 2)) < SAME)


class _Misfit:
    """χ² of the readings and priors with the noise of a result."""

    def __init__(self, problem: Problem, noise: np.ndarray, keep: np.ndarray):
        self.problem, self.noise, self.keep = problem, noise, keep

    def __call__(self, free: np.ndarray) -> float:
        cost = 2.0 * float(linearised(self.problem, free).normal_equations(self.noise)[0])
        return cost if np.isfinite(cost) else np.inf

    def polished(self, free: np.ndarray, held: int | None = None) -> tuple[np.ndarray, float]:
        """φ after a few steps downhill, one unknown held where it is given, and χ² there."""
        active = self.keep & (np.arange(len(free)) != held)
        descent = descend(self.problem, free[None], self.noise, active=active, iterations=_POLISH, tolerance=1e-6)
        return descent.free[0], 2.0 * float(descent.cost[0])

    def has_ridge(self, one: np.ndarray, two: np.ndarray, limit: float) -> bool:
        """Whether χ² is above a limit on the straight line between two answers."""
        return min(self(one + share * (two - one)) for share in (0.25, 0.5, 0.75)) > limit

    def has_high_ridge(self, one: np.ndarray, two: np.ndarray, limit: float) -> bool:
        """Whether χ² is above a limit halfway between two answers on any way: the unknown in which they differ most is
        held there, and the others are fitted, since valleys of nonlinear laws are bent."""
        return self.polished(0.5 * (one + two), held=int(np.argmax(np.abs(two - one))))[1] > limit

    def covariance(self, free: np.ndarray) -> np.ndarray:
        _, _, normal = linearised(self.problem, free).normal_equations(self.noise)
        return covariance_of(normal, ~self.keep)


def _sizes(misfit: _Misfit, free: np.ndarray) -> tuple[float, float]:
    """How much larger differences of χ² are for the noise as it is than for independent noise; χ² of the readings."""
    problem, noise, keep = misfit.problem, misfit.noise, misfit.keep
    here = linearised(problem, free)
    plain = white_noise(noise, [np.asarray(d.present) for d in problem.data], problem.data[0].step)
    robust = np.diag(robust_covariance(here, plain, keep))[keep]
    _, _, normal = here.normal_equations(noise)
    assumed = np.diag(covariance_of(normal, ~keep))[keep]
    scale = float(max(np.max(robust / np.maximum(assumed, 1e-300), initial=1.0), 1.0))
    return scale, sum(float(np.sum((np.asarray(d.readings) * d.present / noise) ** 2)) for d in problem.data)
