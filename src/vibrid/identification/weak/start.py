"""A start that needs no good guess: smooth the readings, then a regression on the equations of motion.

The smoothed motion drives the states of the laws, so only these are simulated; the equations of motion, integrated over
intervals, are then linear in stiffnesses, in the coefficients of polynomials and in initial damping, and mildly
nonlinear in parameters inside a law. Noise in the smoothed motion biases the estimate slightly: it is only a start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.box import bounded_step
from vibrid.identification.problem import Problem
from vibrid.identification.regression import states_along
from vibrid.identification.weak.equations import flatten_states, model_at
from vibrid.identification.weak.pieces import Piece, project, smooth, spectral_noise, unread
from vibrid.identification.weak.readings import sensor_rows
from vibrid.simulation.run import Everything, run

if TYPE_CHECKING:
    from vibrid.core.progress import Progress

_FINE = 0.005  # s, the longest step for the states over the smoothed motion


@dataclass(frozen=True, eq=False)
class Beginning:
    """Initial values: the unknowns φ, the noise of every sensor, and the motion of every record."""

    free: np.ndarray
    noise: np.ndarray
    pieces: tuple[Piece, ...]


def shortest_period(problem: Problem, free: Array) -> float:
    """s: the shortest period of small motions about rest with the unknowns at φ."""
    mass, stiffness = (np.asarray(part) for part in _matrices(problem, jnp.asarray(free)))
    largest = np.max(np.abs(np.linalg.eigvals(np.linalg.solve(mass, stiffness))))
    if not largest > 0.0:
        raise Refusal(
            "The structure has no stiffness about rest, so its shortest period is not known: give the spacing of the "
            "splines, WeakCollocation(spacing=…) in s, about a fifteenth of the shortest period of its motion."
        )
    return float(2.0 * np.pi / np.sqrt(largest))


def determined(problem: Problem) -> bool:
    """Whether the sensors determine displacement or velocity of every degree of freedom.

    With accelerations alone the displacement drifts, and a regression on it would not give the stiffness.
    """
    rows, orders, *_ = sensor_rows(problem)
    slow = rows[orders < 2]
    return bool(len(slow) > 0 and np.linalg.matrix_rank(slow) == rows.shape[1])


@eqx.filter_jit
def _matrices(problem: Problem, free):
    mass, _, stiffness = model_at(problem, free).initial_matrices()
    return mass, stiffness


def regression_start(
    problem: Problem, spacing: float, progress: Progress = SILENT, free: Array | None = None
) -> Beginning:
    """Smoothed motion of every record, and the unknowns that fit the equations of motion on it best.

    Arguments
        spacing: length in s of the intervals of the splines.
        free: φ at the start; the first guess of the problem by default.
    """
    if not determined(problem):
        raise Refusal(
            "A regression needs displacement or velocity of every degree of freedom; start from a trajectory fit."
        )
    pieces = [unread(problem, spacing, r) for r in range(len(problem.data))]
    noise, pieces = smooth(problem, pieces)
    progress.stage("regression on the smoothed motion (compiling)", 30)
    grids = tuple(_grid(piece) for piece in pieces)
    free = _regress(problem, problem.start if free is None else np.asarray(free), grids, progress)
    return Beginning(free, noise, tuple(with_states(problem, free, piece, r) for r, piece in enumerate(pieces)))


def _regress(problem: Problem, free: np.ndarray, grids, progress, iterations: int = 30) -> np.ndarray:
    """Gauss–Newton on the smoothed motion, in the physical unknowns: linear ones need a single step.

    An unknown that must be positive falls to no less than a third of its value in one step.
    """
    cost, gradient, normal = _equation_error(problem, jnp.asarray(free), grids)
    damping = 1e-9
    for number in range(iterations):
        _, there = straight(problem, free, np.asarray(normal), np.asarray(gradient), damping)
        terms = _equation_error(problem, jnp.asarray(there), grids)
        progress.update(number + 1, f"residual of the equations {2 * min(float(terms[0]), float(cost)):.4g}")
        if not terms[0] < cost:
            damping = max(10.0 * damping, 1e-6)
            if damping > 1e3:
                break
            continue
        settled = cost - terms[0] < 1e-6 * cost
        free, (cost, gradient, normal), damping = there, terms, damping / 10.0
        if settled:
            break
    return free


@eqx.filter_jit
def _physical(problem: Problem, free):
    return problem.unknowns.to_physical(free), problem.unknowns.slope(free)


def straight(problem: Problem, free: Array, normal, gradient, damping: float, longest: float = np.inf):
    """The Gauss–Newton step in the physical unknowns and inside their bounds, and φ after it.

    No positive unknown falls below a third of its value. None moves by more than `longest` in φ, or a positive one by
    more than `longest` times its value or half its first guess: a damping that a poor start has put near zero would
    otherwise grow too slowly. The limit of one unknown does not shorten the step of the others.
    """
    u = problem.unknowns
    value, slope = (np.asarray(part) for part in _physical(problem, jnp.asarray(free)))
    positive = np.array([kind == "log" for kind in u.kinds], bool)
    low, high = (np.where(np.isfinite(b), b, e) for b, e in ((u.low, -np.inf), (u.high, np.inf)))
    least = np.where(positive, np.maximum(low, value / 3.0), low)
    down, up = np.minimum((least - value) / slope, 0.0), np.maximum((high - value) / slope, 0.0)
    usual = np.maximum(np.abs(value), 0.5 * np.asarray(u.scale))
    reach = np.where(positive, longest * usual / np.abs(slope), longest)
    step = bounded_step(normal, gradient, damping, np.maximum(down, -reach), np.minimum(up, reach))
    return step, u.to_free(value + slope * step)


def _grid(piece: Piece):
    """x, v, ẍ, inputs on a fine grid, intervals with readings, the grid's step, and steps (even) in an interval."""
    h = piece.splines.spacing
    steps = 2 * max(1, round(np.ceil(h / _FINE) / 2))
    time = h / steps * np.arange(piece.splines.count * steps + 1)
    time = np.minimum(time, piece.ground.duration)
    carried = piece.ground.motion(time)
    y, dy, ddy = (piece.splines.evaluate(piece.weights[:, : piece.size], time, order) for order in range(3))
    motion = (y - carried[0], dy - carried[1], ddy - carried[2], piece.ground.inputs(time))
    return tuple(map(jnp.asarray, motion)), jnp.asarray(~piece.unread.any(axis=1), float), h / steps, steps


@eqx.filter_jit
def _equation_error(problem: Problem, free, grids):
    """Cost, gradient and Gauss–Newton matrix of the weak equations of motion on smoothed motions."""

    def residuals(free):
        parts = []
        for r, ((x, v, a, u), read, step, steps) in enumerate(grids):
            model = model_at(problem, free, r)
            s = states_along(model, x, v, step)
            inertia = jax.vmap(model.mass_times)(a)
            force = inertia + jax.vmap(model.forces)(x, v, s) - jax.vmap(model.load)(u)
            simpson = jnp.asarray([1.0, *([4.0, 2.0] * (steps // 2))[:-1], 1.0]) * step / 3.0
            inside = jnp.arange(0, force.shape[0] - 1, steps)[:, None] + jnp.arange(steps + 1)
            absolute = inertia - jax.vmap(model.load)(u)
            size = jax.lax.stop_gradient(jnp.sqrt(jnp.mean(absolute**2, axis=0))) * step * steps
            parts.append((read[:, None] * jnp.einsum("k,ekn->en", simpson, force[inside]) / size).reshape(-1))
        return jnp.concatenate([*parts, -problem.unknowns.prior_residual(free)])

    jacobian, r = jax.jacfwd(lambda q: (residuals(q),) * 2, has_aux=True)(free)
    return 0.5 * jnp.vdot(r, r), jacobian.T @ r, jacobian.T @ jacobian


@eqx.filter_jit
def _states(problem, free, record, x, v, step):
    return states_along(model_at(problem, free, record), x, v, step)


def simulated_start(problem: Problem, free: Array, noise, spacing: float) -> Beginning:
    """Start from the simulated motion with the unknowns at φ: for few sensors.

    `noise` (sensors,) are the residuals of that motion. Residuals of a wrong model are not noise: where the noise is
    not stated, it is at most that of the spectra of the readings.
    """
    pieces = []
    for r in range(len(problem.data)):
        piece = unread(problem, spacing, r)
        x, s = (np.asarray(part) for part in _simulated(problem, jnp.asarray(free), r))
        time = problem.data[r].step * np.arange(len(x))
        y = x + piece.ground.motion(time)[0]
        used = time <= piece.splines.edges[-1] * (1.0 + 1e-9)
        weights = project(piece.splines, time[used], np.concatenate([y, s], axis=1)[used])
        pieces.append(replace(piece, weights=weights))
    stated = np.isfinite(problem.given_deviations())
    noise = np.where(stated, noise, np.minimum(noise, spectral_noise(pieces)))
    return Beginning(np.asarray(free), noise, tuple(pieces))


@eqx.filter_jit
def _simulated(problem: Problem, free, record: int):
    """Displacement and states at every sample."""
    experiment = problem.unknowns.apply(problem.experiment, free)
    data, start = problem.data[record], experiment.initial[record]
    model = experiment.structure.model(data.loads)
    x, _, _, s = run(model, problem.integrator, data.drive, data.step, Everything(), start, problem.substeps)
    return x, flatten_states(s, data.samples)


def with_states(problem: Problem, free: Array, piece: Piece, record: int = 0) -> Piece:
    """The piece with weights for the states of its laws, integrated over its motion at φ."""
    (x, v, _, _), _, step, _ = _grid(piece)
    s = np.asarray(flatten_states(_states(problem, jnp.asarray(free), record, x, v, step), len(x)))
    time = step * np.arange(len(s))
    return replace(piece, weights=np.concatenate([piece.weights[:, : piece.size], project(piece.splines, time, s)], 1))
