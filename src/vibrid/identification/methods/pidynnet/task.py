"""The objective of the default setting: readings, weak equations and the start of the record, on one grid.

½ Σ ((reading − network)/σ)²  +  ½ Σ (weak equation / (size · eps))²  +  start of the record  +  ridge
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.arguments import Array
from vibrid.identification.methods.pidynnet.windows import Windows, around, evaluate
from vibrid.identification.problem import Problem
from vibrid.identification.weak.equations import (
    AbsoluteMotion,
    Intervals,
    equation_sizes,
    flat_start,
    model_at,
    state_names,
    weak_residuals,
)
from vibrid.identification.weak.ground import Ground
from vibrid.identification.weak.readings import SensorEquations

_BOOLE = np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0
STEPS = len(_BOOLE) - 1
"""Steps of the grid in one interval of the weak equations."""
_FIRST_HELD = 1e-3  # how tightly the known start is held, as a share of the size of each output
_PACE = 2 * np.pi  # rad/s: usual size of a velocity over that of a displacement
RIDGE, BENT_RIDGE = 1e-2, 1e-2
"""1/(usual size of a weight), of skip paths and of networks."""


class Grid(eqx.Module):
    """The points at which networks are compared with readings and equations."""

    step: float = eqx.field(static=True)  # s
    fine: int = eqx.field(static=True)  # samples of the record in a step
    points: int = eqx.field(static=True)  # from the first sample on

    @classmethod
    def of(cls, samples: int, sampling: float, longest: float) -> Grid:
        """Steps of at most `longest` seconds, whole samples of the record; an interval ends where the record does."""
        fine = max(int(longest / sampling + 1e-9), 1)
        return cls(sampling * fine, fine, STEPS * max((samples - 1) // (fine * STEPS), 2) + 1)

    @property
    def time(self) -> np.ndarray:
        return self.step * np.arange(self.points)


def averaged_readings(readings: SensorEquations, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """(points, sensors) readings averaged around every point, and how many samples each stands for."""
    if grid.fine == 1:
        return readings.targets[: grid.points], readings.present[: grid.points]
    offsets, shares = around(grid.fine)
    place = grid.fine * np.arange(grid.points)[:, None] + offsets
    inside = ((place >= 0) & (place < len(readings.targets)))[..., None]
    place = np.clip(place, 0, len(readings.targets) - 1)
    there = readings.present[place] * inside
    whole = there.min(axis=1)  # the features are averaged over all samples: a point with a gap is left out
    mean = np.einsum("g,pgs->ps", shares, readings.targets[place] * there)
    return mean * whole, whole / np.sum(shares**2)


class Task(eqx.Module):
    """One record as a task for the networks. Functions take skip weights, networks and the unknowns φ."""

    problem: Problem
    windows: Windows
    intervals: Intervals
    targets: jax.Array  # (points, sensors)
    counts: jax.Array  # (points, sensors)
    first: tuple[jax.Array, jax.Array]  # y and its rate at the start of the record
    mix: jax.Array  # (n, n) from drifts to displacements
    sizes: jax.Array  # (n + m,) of the outputs
    noise: jax.Array  # (sensors,)
    equations: jax.Array  # (n + m,) rms of each weak equation's terms
    eps: jax.Array  # allowed share of it
    rows: jax.Array  # (sensors, n)
    orders: tuple[int, ...] = eqx.field(static=True)
    grid: Grid = eqx.field(static=True)
    record: int = eqx.field(static=True, default=0)

    @property
    def freedoms(self) -> int:
        return self.mix.shape[0]

    def motion(self, skip: jax.Array, networks: Any) -> tuple[AbsoluteMotion, jax.Array]:
        """Motion at the points of the grid, and (3, points, n) the response as readings average it."""
        at, read = evaluate(self.windows, skip, networks)
        inside = slice(self.windows.overlap, self.windows.overlap + self.grid.points)
        return self.unscaled(at[:, inside]), self.response(read[:, inside])

    def response(self, q: jax.Array) -> jax.Array:
        """Displacements and rates (3, …, n) from outputs (3, …, n + m)."""
        n = self.freedoms
        return (q[..., :n] * self.sizes[:n]) @ self.mix.T

    def unscaled(self, q: jax.Array) -> AbsoluteMotion:
        n = self.freedoms
        y = self.response(q)
        s = q[..., n:] * self.sizes[n:]
        return AbsoluteMotion(y[0], y[1], y[2], s[0], s[1])

    def scaled(self, motion: AbsoluteMotion) -> np.ndarray:
        """(points, n + m) outputs that give a motion."""
        drifts = np.linalg.solve(np.asarray(self.mix), np.asarray(motion.y).T).T
        return np.concatenate([drifts, np.asarray(motion.s)], axis=1) / np.asarray(self.sizes)

    def at_intervals(self, motion: AbsoluteMotion) -> AbsoluteMotion:
        """The motion at the points of every interval (intervals, STEPS + 1, …); neighbours share their ends."""

        def cut(values):
            inner = values[:-1].reshape(values.shape[0] // STEPS, STEPS, *values.shape[1:])
            return jnp.concatenate([inner, values[STEPS::STEPS][:, None]], axis=1)

        return jax.tree.map(cut, motion)

    def equation_residuals(self, free: Array, motion: AbsoluteMotion) -> jax.Array:
        """(intervals, n + m): weak equations over their allowed size."""
        model = model_at(self.problem, free, self.record)
        return weak_residuals(model, self.at_intervals(motion), self.intervals) / (self.equations * self.eps)

    def reading_residuals(self, read: jax.Array) -> jax.Array:
        """(points, sensors): misfit over noise."""
        y = jnp.stack([read[order] @ row for row, order in zip(self.rows, self.orders, strict=True)], axis=-1)
        return (self.targets - y) * jnp.sqrt(self.counts) / self.noise

    def start_residuals(self, free: Array, motion: AbsoluteMotion) -> jax.Array:
        """Misfit of the initial motion, known (or unknown in φ)."""
        n = self.freedoms
        experiment = self.problem.unknowns.apply(self.problem.experiment, free)
        initial = experiment.initial[self.record]
        states = flat_start(experiment.structure.model(self.problem.data[self.record].loads))
        size = jnp.abs(self.mix) @ self.sizes[:n]
        y = (motion.y[0] - self.first[0] - initial.displacement) / size
        v = (motion.dy[0] - self.first[1] - initial.velocity) / (size * _PACE)
        s = (motion.s[0] - states) / self.sizes[n:]
        return jnp.concatenate([y, v, s]) / _FIRST_HELD

    def parts(self, skip: jax.Array, networks: Any, free: Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Sums of squares: readings, equations, start, ridge; and (sensors,) that of every sensor's readings."""
        motion, read = self.motion(skip, networks)
        misfit = jnp.sum(self.reading_residuals(read) ** 2, axis=0)
        equations = jnp.sum(self.equation_residuals(free, motion) ** 2)
        start = jnp.sum(self.start_residuals(free, motion) ** 2)
        prior = jnp.sum(self.problem.unknowns.prior_residual(free) ** 2)
        ridge = RIDGE**2 * jnp.sum(skip**2)
        if networks is not None:
            ridge = ridge + BENT_RIDGE**2 * jnp.sum(ravel_pytree(networks)[0] ** 2)
        return misfit, equations, start, prior + ridge

    def objective(self, skip: jax.Array, networks: Any, free: Array) -> jax.Array:
        misfit, *rest = self.parts(skip, networks, free)
        return 0.5 * (jnp.sum(misfit) + sum(rest))


@dataclass(frozen=True)
class WindowLayout:
    """How windows are laid: length (s), features up to `bandwidth` Hz, share in common, longest step of a grid (s)."""

    window: float
    bandwidth: float
    overlap: float = 0.25
    step: float = 0.0101


@dataclass(frozen=True, eq=False)
class Sizes:
    """Usual sizes: of the outputs (n + m,), and of the terms of every weak equation (n + m,)."""

    outputs: np.ndarray
    equations: np.ndarray


def make_task(
    problem: Problem, ground: Ground, layout: WindowLayout, readings: SensorEquations | None, noise, record: int = 0
) -> Task:
    """The task of one record; without readings it has the equations and the start alone. Sizes are still one."""
    data = problem.data[record]
    grid = Grid.of(data.samples, data.step, layout.step)
    hop = max(STEPS * round(layout.window * (1 - layout.overlap) / grid.step / STEPS), 2 * STEPS)
    shared = min(max(STEPS * round(layout.window * layout.overlap / grid.step / STEPS), STEPS), hop)
    windows = Windows.over(grid.points, grid.step, hop, shared, layout.bandwidth, grid.fine)
    time = grid.time
    times = np.concatenate([time[:-1].reshape(-1, STEPS), time[STEPS::STEPS, None]], axis=1)
    displacement, velocity, acceleration = ground.motion(times)
    intervals = Intervals(
        jnp.asarray(times),
        jnp.asarray(STEPS * grid.step * _BOOLE),
        (jnp.asarray(displacement), jnp.asarray(velocity), jnp.asarray(acceleration)),
        jnp.asarray(ground.inputs(times)),
    )
    mix = drift_basis(problem, record)
    n, m = len(mix), len(state_names(problem))
    if readings is None:
        targets, counts, rows, orders = np.zeros((grid.points, 1)), np.zeros((grid.points, 1)), np.zeros((1, n)), (0,)
    else:
        targets, counts = averaged_readings(readings, grid)
        rows, orders = readings.rows, tuple(int(o) for o in readings.orders)
    unit = jnp.ones(n + m)
    first_y, first_rate, _ = ground.motion(0.0)
    return Task(
        problem, windows, intervals, jnp.asarray(targets), jnp.asarray(counts),
        (jnp.asarray(first_y), jnp.asarray(first_rate)), jnp.asarray(mix), unit, jnp.asarray(noise), unit,
        jnp.ones(()), jnp.asarray(rows), orders, grid, record,
    )  # fmt: skip


def sizes_of(task: Task, free: Array, motion: AbsoluteMotion) -> Sizes:
    """Usual sizes in a motion at the points of the grid."""
    drifts = np.linalg.solve(np.asarray(task.mix), np.asarray(motion.y).T).T
    outputs = np.sqrt(np.mean(np.concatenate([drifts, np.asarray(motion.s)], axis=1) ** 2, axis=0))
    model = model_at(task.problem, jnp.asarray(free), task.record)
    there = task.at_intervals(AbsoluteMotion(*(jnp.asarray(getattr(motion, k)) for k in ("y", "dy", "ddy", "s", "ds"))))
    return Sizes(
        np.maximum(outputs, 1e-6 * outputs.max() + 1e-12), np.asarray(equation_sizes(model, there, task.intervals))
    )


def begin_at(task: Task, sizes: Sizes, motion: AbsoluteMotion) -> tuple[Task, np.ndarray]:
    """The task in these sizes, and skip weights that follow a motion at the points of its grid."""
    usual = (jnp.asarray(sizes.outputs), jnp.asarray(sizes.equations))
    task = eqx.tree_at(lambda t: (t.sizes, t.equations), task, usual)
    before, after = task.windows.overlap, task.windows.points - task.windows.overlap - task.grid.points
    padded = np.pad(task.scaled(motion), ((before, after), (0, 0)), mode="edge")
    return task, task.windows.project(padded)


def drift_basis(problem: Problem, record: int) -> np.ndarray:
    """(n, n) from deformations of parts to displacements where they fix each other, else the identity.

    In a shear building y_1 and the drifts d_2 … d_n: the deformation of a law is then an output, not a difference.
    """
    model = problem.experiment.structure.model(problem.data[record].loads)
    rows = np.zeros((0, model.size)) if model.rows is None else np.asarray(model.rows)
    chosen = []
    for row in rows:
        if np.linalg.matrix_rank(np.array([*chosen, row])) > len(chosen):
            chosen.append(row)
    return np.linalg.inv(np.array(chosen)) if len(chosen) == model.size else np.eye(model.size)
