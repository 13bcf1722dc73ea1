"""A start that needs no good guess: smooth the readings, then weigh the equations of motion along the smooth motion.

The smooth motion drives the states of the laws, so nothing is simulated but them; the equations of motion, integrated
over intervals, are then linear in stiffnesses, in the coefficients of polynomials and in damping at the start, and
mildly nonlinear in what is inside a law. Noise in the smooth motion biases the answer a little: it is a start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.levenberg import descend
from vibrid.identification.problem import Problem
from vibrid.identification.regression import states_along
from vibrid.identification.weak.banded import gather, gather_rows
from vibrid.identification.weak.equations import Motion, flatten_states, model_at
from vibrid.identification.weak.ground import Ground, ground_of
from vibrid.identification.weak.readings import Readings, readings_of
from vibrid.identification.weak.splines import REACH, Splines

_FINE = 0.005  # s, the longest step with which states follow the smooth motion
_FIRST_HELD = 1e-4  # how tightly a known state at the start is held, as a share of the rms of the motion


@dataclass(frozen=True, eq=False)
class Piece:
    """One record: its ground, its readings, and the weights of splines for y and the states (count + 5, n + m)."""

    ground: Ground
    readings: Readings
    weights: np.ndarray

    @property
    def splines(self) -> Splines:
        return self.readings.splines

    @property
    def size(self) -> int:
        return self.readings.rows.shape[1]

    def motion(self, time) -> Motion:
        """The motion and the states at any times (…): what a network can be started from."""
        y, dy, ddy = (self.splines.evaluate(self.weights[:, : self.size], time, order) for order in range(3))
        s, ds = (self.splines.evaluate(self.weights[:, self.size :], time, order) for order in range(2))
        return Motion(y, dy, ddy, s, ds)


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where to begin: the unknowns φ, the noise of every sensor, and the motion of every record."""

    free: np.ndarray
    noise: np.ndarray
    pieces: tuple[Piece, ...]


def shortest_period(problem: Problem) -> float:
    """s: the shortest period of small motions about rest at the first guess."""
    model = problem.experiment.structure.model(problem.data[0].loads)
    mass, _, stiffness = (np.asarray(part) for part in model.initial_matrices())
    largest = np.max(np.abs(np.linalg.eigvals(np.linalg.solve(mass, stiffness))))
    return float(2.0 * np.pi / np.sqrt(largest))


def regression_start(problem: Problem, spacing: float, progress=SILENT, free=None) -> Beginning:
    """Smooth motion of every record and the unknowns that weigh the equations of motion best along it.

    Arguments
        spacing: length in s of the intervals of the splines.
        free: φ from which to begin; the problem's own first guess by default.
    """
    pieces = [_unread(problem, spacing, r) for r in range(len(problem.data))]
    if not all(piece.readings.determined for piece in pieces):
        raise Refusal(
            "A regression needs some reading of every degree of freedom; start from a trajectory fit instead."
        )
    noise, pieces = smooth(problem, pieces)
    progress.stage("regression along the smooth motion (compiling)", 30)
    grids = tuple(_grid(piece) for piece in pieces)

    def evaluate(many):
        made = [_equation_error(problem, jnp.asarray(one), grids) for one in many]
        return tuple(np.stack(part) for part in zip(*made, strict=True))

    first = problem.start if free is None else np.asarray(free)
    found = descend(problem, first[None], noise, iterations=30, tolerance=1e-6, progress=progress, evaluate=evaluate)
    return Beginning(found.free[0], noise, tuple(with_states(problem, found.free[0], piece) for piece in pieces))


def _unread(problem: Problem, spacing: float, record: int) -> Piece:
    ground = ground_of(problem, record)
    readings = readings_of(problem, ground, Splines.over(ground.duration, spacing), record)
    return Piece(ground, readings, np.zeros((readings.splines.weights, readings.rows.shape[1])))


def smooth(problem: Problem, pieces: list[Piece], rounds: int = 6) -> tuple[np.ndarray, list[Piece]]:
    """Noise of every sensor and the splines that agree best with all its readings, each weighted by its noise.

    Every reading of one motion counts: slow motion follows displacements, quick motion accelerations.
    """
    given = problem.given_deviations()
    known = np.isfinite(given)
    size = problem.signal_size()
    noise = np.where(known, given, 0.05 * size)
    spent = np.zeros(len(noise))
    for _ in range(1 if known.all() else rounds):
        pieces = [replace(piece, weights=_smooth_one(problem, piece, noise, r)) for r, piece in enumerate(pieces)]
        before = noise
        noise, spent = noise_left(pieces, noise, given, spent)
        if np.max(np.abs(np.log(noise / before))) < 0.02:
            break
    return noise, pieces


def noise_left(pieces, noise, given, spent) -> tuple[np.ndarray, np.ndarray]:
    """Noise of every sensor from what smooth motions leave, and how many weights each sensor has paid for.

    Weights are shared out among the sensors by the information they bring; what is stated stays.
    """
    squares = sum(piece.readings.misfit(piece.weights) for piece in pieces)
    counts = sum(piece.readings.counts for piece in pieces)
    size = np.sqrt(sum(np.sum((p.readings.targets * p.readings.present) ** 2, axis=0) for p in pieces) / counts)
    shares = np.zeros(len(noise))
    for piece in pieces:
        own = np.einsum("skk->s", piece.readings.grams.sum(axis=1)) * np.sum(piece.readings.rows**2, axis=1) / noise**2
        shares += piece.splines.weights * piece.size * own / own.sum()
    left = np.sqrt(squares / np.maximum(counts - shares, 0.2 * counts))
    return np.where(np.isfinite(given), given, np.maximum(left, 1e-9 * size)), shares


def _smooth_one(problem: Problem, piece: Piece, noise, record: int) -> np.ndarray:
    n, splines = piece.size, piece.splines
    blocks, sides = piece.readings.normal(noise, n)
    first = problem.experiment.initial[record]
    carried = piece.ground.motion(0.0)
    for order, value in ((0, first.displacement), (1, first.velocity)):
        basis = splines.local(0.0, order)
        rms = np.sqrt(np.mean(piece.ground.motion(piece.readings.time)[order] ** 2)) or 1.0
        weight = 1.0 / (_FIRST_HELD * rms) ** 2
        blocks[0] += weight * np.kron(np.outer(basis, basis), np.eye(n))
        sides[0] += weight * np.kron(basis, np.asarray(value) + carried[order])
    band = gather(blocks)
    band[0] *= 1.0 + 1e-12
    solved = cho_solve_banded((cholesky_banded(band, lower=True), True), gather_rows(sides))
    return solved.reshape(splines.weights, n)


def _grid(piece: Piece):
    """x, v, ÿ, inputs on a fine grid, an even number of steps in every interval, and its step."""
    h = piece.splines.spacing
    steps = 2 * max(1, round(np.ceil(h / _FINE) / 2))
    time = h / steps * np.arange(piece.splines.count * steps + 1)
    time = np.minimum(time, piece.ground.duration)
    carried = piece.ground.motion(time)
    y, dy, ddy = (piece.splines.evaluate(piece.weights[:, : piece.size], time, order) for order in range(3))
    motion = (y - carried[0], dy - carried[1], ddy - carried[2], piece.ground.inputs(time))
    return tuple(map(jnp.asarray, motion)), h / steps, steps


@eqx.filter_jit
def _equation_error(problem: Problem, free, grids):
    """Cost, gradient and Gauss–Newton matrix of the weak equations of motion along smooth motions."""

    def residuals(free):
        parts = []
        for r, ((x, v, a, u), step, steps) in enumerate(grids):
            model = model_at(problem, free, r)
            s = states_along(model, x, v, step)
            inertia = jax.vmap(model.mass_times)(a)
            force = inertia + jax.vmap(model.forces)(x, v, s) - jax.vmap(model.load)(u)
            simpson = jnp.asarray([1.0, *([4.0, 2.0] * (steps // 2))[:-1], 1.0]) * step / 3.0
            inside = jnp.arange(0, force.shape[0] - 1, steps)[:, None] + jnp.arange(steps + 1)
            absolute = inertia - jax.vmap(model.load)(u)
            size = jax.lax.stop_gradient(jnp.sqrt(jnp.mean(absolute**2, axis=0))) * step * steps
            parts.append((jnp.einsum("k,ekn->en", simpson, force[inside]) / size).reshape(-1))
        return jnp.concatenate([*parts, -problem.unknowns.prior_residual(free)])

    jacobian, r = jax.jacfwd(lambda q: (residuals(q),) * 2, has_aux=True)(free)
    return 0.5 * jnp.vdot(r, r), jacobian.T @ r, jacobian.T @ jacobian


@eqx.filter_jit
def _states(problem, free, record, x, v, step):
    return states_along(model_at(problem, free, record), x, v, step)


def with_states(problem: Problem, free, piece: Piece, record: int = 0) -> Piece:
    """The piece with weights for the states of its laws, which follow its motion at φ."""
    (x, v, _, _), step, steps = _grid(piece)
    s = flatten_states(_states(problem, jnp.asarray(free), record, x, v, step))
    time = step * np.arange(len(s))
    return replace(piece, weights=np.concatenate([piece.weights[:, : piece.size], project(piece.splines, time, s)], 1))


def project(splines: Splines, time, values) -> np.ndarray:
    """(count + 5, channels): weights of the splines nearest to values (samples, channels), at least six an interval."""
    interval, fraction = splines.place(time)
    basis = splines.local(fraction)
    first = np.searchsorted(interval, np.arange(splines.count))
    gram = np.add.reduceat(basis[:, :, None] * basis[:, None, :], first, axis=0)
    side = np.add.reduceat(basis[:, :, None] * np.asarray(values)[:, None, :], first, axis=0)
    band = gather(gram)
    band[0] += 1e-10 * band[0].max()
    return cho_solve_banded((cholesky_banded(band, lower=True), True), gather_rows(side))


__all__ = ["REACH", "Beginning", "Piece", "noise_left", "project", "regression_start", "shortest_period", "smooth"]
