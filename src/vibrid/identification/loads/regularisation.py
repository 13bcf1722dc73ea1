"""The weight of the penalty on the loads, chosen from the data.

For a ratio ρ between the variance of the loads' innovations and that of the noise, the smoother gives two numbers: the
minimum c(ρ) of the criterion and ln|S(ρ)|, with S the covariance of the readings. The rest follows from these:

    evidence   −½ (N ln c + ln|S|)                   noise level profiled out; −½ (c + ln|S|) where it is given
    penalty    p = −dc / d ln ρ,   misfit = c − p     the two axes of the L-curve
    freedom    d ln|S| / d ln ρ = trace of the influence matrix, for generalised cross-validation

Where the model is wrong, the most likely explanation may be that there are no loads, only noise. Such weights are not
useful: weights with which the loads explain half of the readings are preferred to all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.loads.solution import Weights, followed, solve_loads, system_at
from vibrid.identification.problem import Problem, predict

if TYPE_CHECKING:
    from vibrid.core.progress import Progress

CRITERIA = ("evidence", "gcv", "l-curve")

_DECADES = np.arange(-4.0, 13.0, 2.0)  # of the ratio between the variances of loads and noise
_LONG_ENOUGH = 500  # samples of an impulse response for its size
_EXPLAINED = 0.5  # largest misfit with loads over that without them, where a weight reaches it
_COARSE = 1e-7  # convergence of the gains while weights are compared


@dataclass(frozen=True)
class Choice:
    """The chosen weights, and the ratios (variance of loads over that of noise, relative) that were compared."""

    weights: Weights
    ratio: np.ndarray


def known_noise(problem: Problem) -> np.ndarray | None:
    """Stated noise of all sensors; None where it is to be estimated as one share of every signal."""
    given = problem.given_deviations()
    if np.isfinite(given).all():
        return given
    if np.isfinite(given).any():
        raise InputError(
            "With unknown loads the noise of all sensors must be given, or of none: with none, all sensors are assumed "
            "to have the same noise relative to their signals."
        )
    return None


def load_scale(problem: Problem, free: Array) -> np.ndarray:
    """(loads,): the size of white loads if each alone caused the readings."""
    sizes = []
    shape = problem.signal_size()
    for record, data in enumerate(problem.data):
        system = system_at(problem, free, record, "size")
        energy = (impulse_responses(system, min(data.samples, _LONG_ENOUGH)) ** 2).sum(axis=0).T  # (loads, ny)
        seen = energy > 1e-20 * energy.max()
        each = np.log(shape / np.sqrt(np.where(seen, energy, 1.0)))
        sizes.append([np.exp(row[ok].mean()) for row, ok in zip(each, seen, strict=True)])
    return np.min(sizes, axis=0)


def impulse_responses(system, samples: int) -> np.ndarray:
    """(samples, ny, loads): readings after a unit of each load at a single sample."""
    a, g, c = (np.asarray(m[len(m) // 2]) for m in (system.transition, system.drive, system.output))
    size = system.size
    out = np.zeros((samples, c.shape[0], g.shape[1]))
    out[0] = c @ g
    s = a[:size, :size] @ g[:size] + a[:size, size : size + g.shape[1]]
    for k in range(1, samples):
        out[k] = c[:, :size] @ s
        s = a[:size, :size] @ s
    return out


def free_weights(problem: Problem, free: Array, motion: float = 0.0) -> Weights:
    """Weights for a first descent from poor guesses: loads large enough for all readings, 1 % noise.

    Weights chosen at wrong parameters of the structure would attribute most of the readings to noise and none to loads.
    """
    noise, scale = known_noise(problem), load_scale(problem, free)
    return Weights(0.01 * problem.signal_size() if noise is None else noise, scale, scale, motion)


def choose_weights(
    problem: Problem,
    free: Array,
    penalty: str = "size",
    weight: str | float = "evidence",
    motion: float = 0.0,
    around: Weights | None = None,
    starts: dict[int, np.ndarray] | None = None,
    progress: Progress = SILENT,
) -> Choice:
    """Weights of readings and loads at the unknowns φ.

    Arguments
        weight: "evidence", "gcv", "l-curve", or the standard deviation of the loads' innovations in their unit.
        motion: as in `Weights`.
        around: earlier weights: the search is limited to their neighbourhood.
        starts: loads from which a nonlinear structure is linearised, by record.
    """
    if isinstance(weight, str) and weight not in CRITERIA:
        raise InputError(f"The weight of the penalty is a number or one of {', '.join(CRITERIA)}, not '{weight}'.")
    noise = known_noise(problem)
    shape = problem.signal_size() if noise is None else noise
    scale = load_scale(problem, free)
    count = sum(float(np.sum(np.asarray(d.present))) for d in problem.data)
    given = np.array([np.nan if d is None else d for d in problem.load_deviations])
    fixed = np.where(np.isfinite(given), given, np.nan if isinstance(weight, str) else float(weight))
    free_spread = not np.isfinite(fixed).all()
    before = 0.0 if around is None else 2.0 * np.log10(np.mean(around.spread / scale) / np.mean(around.noise / shape))
    if not free_spread and noise is not None:
        decades = np.zeros(1)
    else:
        decades = _DECADES if around is None else before + np.linspace(-2.0, 2.0, 3)

    def weights_at(decade: float, level: float = 1.0) -> Weights:
        """Weights at a ratio; `level` is the noise over `shape`."""
        if free_spread:
            spread = np.where(np.isfinite(fixed), fixed, level * 10 ** (decade / 2) * scale)
            sigma = level * shape
        else:
            spread, sigma = fixed, shape * (1.0 if noise is not None else 10 ** (-decade / 2))
        return Weights(sigma, spread, spread if penalty == "size" else np.maximum(spread, 100.0 * scale), motion)

    def measure(decade: float) -> tuple[float, float]:
        solutions = [
            followed(solve_loads(problem, free, k, weights_at(decade), penalty, (starts or {}).get(k), settled=_COARSE))
            for k in range(len(problem.data))
        ]
        return 2.0 * sum(s.cost for s in solutions), sum(s.factors.log_determinant() for s in solutions)

    profiled = noise is None and free_spread
    most = _EXPLAINED * _without_loads(problem, free, shape) if profiled else np.inf
    seen: dict[float, tuple[float, float]] = {}
    progress.stage("choosing the weight of the loads", len(decades) + 4)

    def search(decades) -> tuple[np.ndarray, float, float]:
        """All decades so far, the best of them, and the criterion there."""
        for decade in decades:
            seen.setdefault(float(decade), measure(decade))
            progress.update(len(seen))
        grid = np.array(sorted(seen))
        cost, determinant = np.array([seen[d] for d in grid]).T
        return grid, *_best(grid, cost, determinant, count, profiled, weight, most)

    grid, best, least = search(decades)
    for reach in (1.0, 0.3) if len(grid) > 1 else ():
        grid, best, least = search([best - reach, best + reach])
    level = float(np.sqrt(max(least, 1e-300) / count)) if profiled else 1.0
    return Choice(weights_at(best, level), np.power(10.0, grid))


def _without_loads(problem: Problem, free, shape) -> float:
    """The criterion where everything that the known inputs do not explain is noise."""
    misfits = [(d.readings - predict(problem, jnp.asarray(free), i)) * d.present for i, d in enumerate(problem.data)]
    return float(sum(np.sum((np.asarray(m) / shape) ** 2) for m in misfits))


def _best(decades, cost, determinant, count, profiled: bool, weight, most: float) -> tuple[float, float]:
    """The best decade and the criterion there; decades whose criterion exceeds `most` are used only if all do."""
    if len(decades) == 1:
        return float(decades[0]), float(cost[0])
    fine = np.linspace(decades[0], decades[-1], 40 * len(decades))
    log_cost, log_det = (scipy.interpolate.CubicSpline(decades, values) for values in (np.log(cost), determinant))
    per_log = 1.0 / np.log(10.0)
    c = np.exp(log_cost(fine))
    penalty = np.maximum(-c * log_cost(fine, 1) * per_log, 1e-300)
    misfit = np.maximum(c - penalty, 1e-300)
    if weight == "gcv":
        left = np.maximum(1.0 - log_det(fine, 1) * per_log / count, 1e-6)
        score = -np.log(misfit) + 2.0 * np.log(left)
    elif weight == "l-curve":
        size = np.log(penalty) + fine / per_log  # ‖w‖² itself, not over its variance
        x, y = 0.5 * np.log(misfit), 0.5 * size
        dx, dy = np.gradient(x, fine), np.gradient(y, fine)
        score = (np.gradient(dy, fine) * dx - np.gradient(dx, fine) * dy) / np.maximum(dx**2 + dy**2, 1e-12) ** 1.5
    else:
        score = -0.5 * ((count * np.log(c) if profiled else c) + log_det(fine))
    if (c <= most).any():
        score = np.where(c <= most, score, -np.inf)
    best = int(np.argmax(score))
    return float(fine[best]), float(c[best])
