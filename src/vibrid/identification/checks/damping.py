"""Whether the damping ratio of a mode explains what a fit leaves over: a score test of every mode.

The readings are differentiated with respect to the damping ratio of every mode, `ΔC = Σ 2 ω δζ M φ φᵀ M` beside the
damping that the structure has. Regressing the residuals on these derivatives together with those of the unknowns gives
the change of each ratio, its standard deviation and the change of every estimate that goes with it: Rao's score test,
followed by a few Gauss–Newton steps. Standard deviations allow for residuals that are not white (Newey and West, 1987).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core import native
from vibrid.core.findings import WRONG, Finding
from vibrid.identification.checks.work import around
from vibrid.identification.diagnostics import autocorrelation, verdict
from vibrid.identification.experiment import Experiment
from vibrid.identification.problem import Problem
from vibrid.identification.unknowns import UnknownSet
from vibrid.simulation.response import delayed
from vibrid.simulation.run import Readings, run
from vibrid.structures.damping import Damping
from vibrid.structures.model import Loads

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

MOST_MODES = 6
"""The lowest modes that are tested."""

MOST_NUMBERS = 20_000_000
"""The most derivatives that are kept in memory."""

FALSE_ALARMS = 1e-4
"""Probability of a false alarm among all modes."""

MOSTLY = 0.9
"""Share of the residuals that the ratios must explain where these are not noise, before and after."""

LARGE = 0.05
"""Change of a ratio, over the ratio, from which on it is told."""

STEPS = 5
_LAGS = 40
_STEP = 1e-5  # of φ and of a ratio, for differences
_RANK = 1e-6  # eigenvalues over the largest below which a direction is none: an unknown ratio is that of all modes


def damping_of_modes(fit: Identification) -> list[Finding]:
    """The mode whose damping explains the residuals, where it moves an estimate by more than its ± 2σ."""
    problem = fit.problem
    if not isinstance(getattr(problem.experiment.structure, "damping", None), Damping) or fit.free_covariance is None:
        return []
    modes = _modes(problem, fit.free)
    count = len(modes.omega)
    if (
        not count
        or sum(d.samples for d in problem.data) * len(problem.sensors) * (len(fit.free) + count) > MOST_NUMBERS
    ):
        return []
    extension = _extended(fit, modes)
    if extension is None:
        return []
    if not (verdict(fit.fits)[0] or extension.white or extension.explains > MOSTLY):
        return []
    deviation = np.sqrt(np.diag(fit.free_covariance))
    far = np.where(deviation > 0, np.abs(extension.moved) / np.where(deviation > 0, 2 * deviation, 1.0), 0.0)
    most = int(np.argmax(far))
    if far[most] < 1.0:
        return []
    before = fit.estimate[most]
    after = np.asarray(problem.unknowns.to_physical(jnp.asarray(fit.free + extension.moved)))[most]
    large = np.abs(extension.change) > LARGE * np.abs(modes.ratios)
    significant = np.flatnonzero((extension.strength > _limit(count)) & large)
    if not significant.size:
        return []
    told = significant[np.argsort(-extension.strength[significant])][:3]
    named = " and ".join(f"mode {j + 1} ({modes.omega[j] / (2 * np.pi):.3g} Hz)" for j in told)
    ratios = " and ".join(f"{100 * (modes.ratios[j] + extension.change[j]):.2g} %" for j in told)
    given = " and ".join(f"{100 * modes.ratios[j]:.2g} %" for j in told)
    sentence = (
        f"Damping of {named} explains what is left over: the ratio would be {ratios} instead of {given}, and "
        f"'{fit.names[most]}' {after:.4g} instead of {before:.4g}, a change of {far[most]:.1f} times its ± 2σ. "
        "Name the damping as unknown, or give the ratios of the modes."
    )
    numbers = {"largest_change": float(far[most])}
    for j in told:
        numbers[f"ratio of mode {j + 1}"] = float(modes.ratios[j])
        numbers[f"suggested ratio of mode {j + 1}"] = float(modes.ratios[j] + extension.change[j])
    return [Finding("damping", WRONG, sentence, "", extension.explains, numbers)]


def _limit(count: int) -> float:
    """Standard deviations beyond which one of `count` ratios is significant."""
    return float(-scipy.special.ndtri(0.5 * FALSE_ALARMS / count))


@dataclass(frozen=True)
class _Modes:
    """The lowest modes about rest: M φ (n, k), ω and damping ratios."""

    inertia: np.ndarray
    omega: np.ndarray
    ratios: np.ndarray


@dataclass(frozen=True)
class _Extension:
    """What the fit becomes with the damping ratios of the modes as further unknowns."""

    change: np.ndarray  # (k,) of the ratios
    strength: np.ndarray  # (k,) the change over its standard deviation
    moved: np.ndarray  # (p,) change of φ
    explains: float  # share of the residuals
    white: bool  # whether the residuals that remain look like noise


def _modes(problem: Problem, free: np.ndarray) -> _Modes:
    mass, damping, stiffness = map(
        np.asarray, _matrices(problem.unknowns, problem.experiment, problem.data[0].loads, free)
    )
    values, shapes = scipy.linalg.eigh(stiffness, mass)
    chosen = np.flatnonzero(values > 1e-9 * values.max())[:MOST_MODES]
    omega, shapes = np.sqrt(values[chosen]), shapes[:, chosen]
    ratios = np.einsum("ik,ij,jk->k", shapes, damping, shapes) / (2 * omega)
    return _Modes(mass @ shapes, omega, ratios)


@eqx.filter_jit
def _matrices(unknowns: UnknownSet, experiment: Experiment, loads: Loads, free):
    return unknowns.apply(experiment, jnp.asarray(free)).structure.model(loads).initial_matrices()


def _extended(fit: Identification, modes: _Modes) -> _Extension | None:
    """Gauss–Newton steps for the unknowns and the ratios together, from the estimate; None where the first step shows
    no significant change of a ratio. An unknown at its bound stays there."""
    problem, size, count = fit.problem, len(fit.free), len(modes.omega)
    weights = np.concatenate([np.asarray(d.present) for d in problem.data]) / fit.noise  # (samples, sensors)
    measured = np.concatenate([np.asarray(d.readings) for d in problem.data])
    free = np.concatenate([problem.unknowns.box().side(fit.free) == 0, np.ones(count, bool)])
    point = np.concatenate([fit.free, np.zeros(count)])
    costs: list[float] = []
    best = point, np.zeros(count), np.zeros(0)
    for step in range(STEPS):
        slopes, readings = _slopes(problem, point, modes) if step else _first_slopes(fit, modes)
        residual = ((measured - readings) * weights).reshape(-1)
        cost = float(residual @ residual)
        if not np.isfinite(cost) or (costs and cost > costs[-1]):
            break
        costs.append(cost)
        columns = (slopes * weights[:, :, None]).reshape(len(residual), -1)[:, free]
        sizes = np.sqrt(np.sum(columns**2, axis=0))
        sizes = np.where(sizes > 0, sizes, 1.0)
        inverse = np.linalg.pinv((columns / sizes).T @ (columns / sizes), rcond=_RANK) / np.outer(sizes, sizes)
        change = inverse @ (columns.T @ residual)
        left = residual - columns @ change
        deviation = _deviations(inverse, columns, left, len(problem.sensors))[-count:]
        total = point[size:] + change[-count:]
        best = point, np.abs(total) / deviation, residual
        if len(costs) == 1 and np.max(best[1]) < _limit(count):
            return None
        point = point.copy()
        point[free] += change
    point, strength, residual = best
    explains = 1.0 - costs[-1] / costs[0] if costs and costs[0] > 0 else 0.0
    return _Extension(point[size:], strength, point[:size] - fit.free, explains, _white(problem, residual, weights))


def _white(problem: Problem, residual: np.ndarray, weights: np.ndarray) -> bool:
    left = residual.reshape(weights.shape)
    levels = [autocorrelation(left[:, c], weights[:, c] > 0) for c in range(weights.shape[1])]
    return bool(max(levels) < 3.0 / np.sqrt(len(left)))


def _deviations(inverse: np.ndarray, columns: np.ndarray, residual: np.ndarray, sensors: int) -> np.ndarray:
    """Standard deviations of a least-squares estimate whose residuals may be correlated in time (Newey–West)."""
    scores = ((columns @ inverse) * residual[:, None]).reshape(-1, sensors, len(inverse)).sum(axis=1)
    variance = plain = np.sum(scores**2, axis=0)
    for lag in range(1, min(_LAGS, len(scores) // 4) + 1):
        variance = variance + 2 * (1 - lag / (_LAGS + 1)) * np.sum(scores[lag:] * scores[:-lag], axis=0)
    return np.sqrt(np.maximum(variance, plain)) + 1e-300


def _first_slopes(fit: Identification, modes: _Modes) -> tuple[np.ndarray, np.ndarray]:
    """`_slopes` at the estimate, where those of the unknowns are known already."""
    here, count = around(fit), len(modes.omega)
    point = np.concatenate([fit.free, np.zeros(count)])
    steps = _STEP * np.eye(len(point))[-count:]
    after, before = np.split(_readings_at(fit.problem, modes, point + steps, point - steps), 2)
    ratios = np.moveaxis((after - before) / (2 * _STEP), 0, -1)
    return np.concatenate([np.concatenate(here.slopes), ratios], axis=-1), np.concatenate(here.predictions)


def _slopes(problem: Problem, point: np.ndarray, modes: _Modes) -> tuple[np.ndarray, np.ndarray]:
    """d(reading)/d(φ, ζ) (samples of all records, sensors, p + k) by central differences, and the readings.

    Differences need the simulation alone to be compiled, not its derivatives.
    """
    steps = _STEP * np.eye(len(point))
    found = _readings_at(problem, modes, point + steps, point - steps, point[None])
    after, before, here = np.split(found, [len(point), 2 * len(point)])
    return np.moveaxis((after - before) / (2 * _STEP), 0, -1), here[0]


def _readings_at(problem: Problem, modes: _Modes, *points: np.ndarray) -> np.ndarray:
    """(points, samples of all records, sensors)."""
    return np.asarray(_all_readings((problem, modes.inertia, modes.omega), np.concatenate(points)))


@native.batch
def _all_readings(shared, point) -> jax.Array:
    problem, inertia, omega = shared
    return _readings(problem, point, inertia, omega)


def _readings(problem: Problem, point, inertia, omega) -> jax.Array:
    """(samples of all records, sensors): the readings at a point (φ, change of ζ)."""
    size = len(problem.unknowns)
    experiment = problem.unknowns.apply(problem.experiment, point[:size])
    extra = jnp.einsum("ik,k,jk->ij", inertia, 2 * omega * point[size:], inertia)
    parts = []
    for i, data in enumerate(problem.data):
        model = experiment.structure.model(data.loads)
        model = dataclasses.replace(model, damping=extra if model.damping is None else model.damping + extra)
        sensors = experiment.structure.sensor_arrays(model, experiment.sensors)
        driven, start = problem.driven(experiment, data), experiment.initial[i]
        y = run(model, problem.integrator, driven, data.step, Readings(sensors), start, problem.substeps)
        if problem.delays:
            y = delayed(y, jnp.stack([s.delay for s in experiment.sensors]), data.step)
        parts.append(y)
    return jnp.concatenate(parts)
