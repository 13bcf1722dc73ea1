"""What sensors say about the weights of splines: rows of least squares, interval by interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.problem import Problem
from vibrid.identification.weak.banded import diagonals, from_diagonals, gather_rows
from vibrid.identification.weak.ground import Ground
from vibrid.identification.weak.splines import REACH, Splines

DRAWS, _MANY = (2, 12), 2000
"""Draws of noise by which what weights take of it is found: fewer where there are many weights."""
_ORDERS = ("displacement", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class SensorEquations:
    """The sensors of one record as linear functions of the weights of the absolute displacement y.

    A sensor reads `row · (derivative of y)`; what the ground and the loads add to a reading is taken off it.
    """

    splines: Splines
    time: np.ndarray  # (nt,)
    rows: np.ndarray  # (sensors, n)
    orders: np.ndarray  # (sensors,) derivative that is read
    targets: np.ndarray  # (nt, sensors)
    present: np.ndarray  # (nt, sensors) 1 where a sample is there
    samples: np.ndarray  # (sensors, intervals) how many samples there are
    grams: np.ndarray  # (6, sensors, weights) Σ b bᵀ over the samples, by distance from the diagonal
    moments: np.ndarray  # (sensors, weights) Σ b y

    @property
    def counts(self) -> np.ndarray:
        return self.present.sum(axis=0)

    def predicted(self, weights: np.ndarray) -> np.ndarray:
        """(nt, sensors): what the sensors would read of splines with weights (count + 5, ≥ n)."""
        n = self.rows.shape[1]
        made = np.empty_like(self.targets)
        for order in np.unique(self.orders):
            own = self.orders == order
            made[:, own] = self.splines.evaluate(weights[:, :n], self.inside, order) @ self.rows[own].T
        return made

    @property
    def inside(self) -> np.ndarray:
        """The times of the samples; those after the last interval stay at its end."""
        return np.minimum(self.time, self.splines.edges[-1])

    def misfit(self, weights: np.ndarray) -> np.ndarray:
        """(sensors,): Σ (reading − spline)² over the samples of each sensor."""
        return np.sum(((self.targets - self.predicted(weights)) * self.present) ** 2, axis=0)

    def spent(self, noise: np.ndarray, solve, channels: int) -> np.ndarray:
        """(sensors,): how many of the samples of each sensor are spent on weights: what splines take of pure noise.

        `solve` applies A⁻¹ to columns (weights × channels, k), A the normal equations of everything that is believed.
        Noise of a few draws goes through the fit; what is left of a right model's readings is left of it. (Counting
        weights, trace(A⁻¹ A_sensor), would call the noise too small where equations are soft.)
        """
        size, noise = self.splines.weights * channels, np.asarray(noise)
        shape = (DRAWS[0] if size > _MANY else DRAWS[1], *self.targets.shape)
        draws = np.random.default_rng(0).choice([-1.0, 1.0], size=shape) * noise * self.present
        solved = solve(np.stack([self._side(own / noise**2, channels) for own in draws], axis=1)).T
        left = [
            own - self.present * self.predicted(w.reshape(-1, channels)) for own, w in zip(draws, solved, strict=True)
        ]
        return np.clip(self.counts - np.mean(np.sum(np.square(left), axis=1), axis=0) / noise**2, 0.0, self.counts)

    def _side(self, values: np.ndarray, channels: int) -> np.ndarray:
        """(weights × channels,): Σ b · value over the samples (nt, sensors), as the sensors read the motion."""
        interval, fraction = self.splines.place(self.inside)
        n = self.rows.shape[1]
        made = np.zeros((self.splines.weights, channels))
        for order in np.unique(self.orders):
            own = self.orders == order
            pushed = self.splines.local(fraction, order)[:, :, None] * (values[:, own] @ self.rows[own])[:, None, :]
            blocks = summed(pushed, interval, self.splines.count).reshape(self.splines.count, -1)
            made[:, :n] += gather_rows(blocks).reshape(self.splines.weights, n)
        return made.reshape(-1)

    def normal(self, noise: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Lower band and right side of Σ (reading − spline)²/σ², with `channels` a weight, the motion's first."""
        n, weights = self.rows.shape[1], self.splines.weights
        weighed = self.rows / np.asarray(noise)[:, None] ** 2
        outer = (weighed[:, :, None] * self.rows[:, None, :]).reshape(len(self.rows), -1)
        made = np.zeros((REACH, weights, channels, channels))
        made[:, :, :n, :n] = (self.grams.transpose(0, 2, 1) @ outer).reshape(REACH, weights, n, n)
        side = np.zeros((weights, channels))
        side[:, :n] = self.moments.T @ weighed
        return from_diagonals(made), side.reshape(-1)


def sensor_rows(problem: Problem, record: int = 0):
    """Row and order of derivative of every sensor, its gain, and what it reads of the inputs."""
    structure = problem.experiment.structure
    model = structure.model(problem.data[record].loads)
    arrays = structure.sensor_arrays(model, problem.sensors)
    if arrays.forces is not None:
        raise Refusal(
            "Forces of parts cannot be used where the motion is represented by splines: they are not linear in it. "
            "Leave those sensors out, or use TrajectoryFit or UnscentedKalman."
        )
    read = [getattr(arrays, q) for q in _ORDERS]
    read = np.stack([np.zeros((arrays.count, model.size)) if r is None else np.asarray(r) for r in read])
    orders, gain = np.abs(read).sum(axis=2).argmax(axis=0), np.asarray(arrays.gain)
    return read[orders, np.arange(arrays.count)] * gain[:, None], orders, gain, np.asarray(arrays.inputs)


def readings_of(problem: Problem, ground: Ground, splines: Splines, record: int = 0) -> SensorEquations:
    """The sensors of one record of a problem; forces of parts are refused: they are not linear in the motion."""
    data = problem.data[record]
    rows, orders, gain, inputs = sensor_rows(problem, record)
    count = len(rows)
    time = data.step * np.arange(data.samples)
    carried = np.stack(ground.motion(time))  # (3, nt, n)
    offset = np.array([float(s.offset) for s in problem.sensors])
    targets = np.asarray(data.readings) - offset - gain * (ground.inputs(time) @ inputs.T)
    targets = targets + np.einsum("tsn,sn->ts", np.moveaxis(carried[orders], 0, 1), rows)
    present = np.asarray(data.present)
    interval, fraction = splines.place(time)
    inside = time <= splines.edges[-1] * (1.0 + 1e-9)
    present = present * inside[:, None]
    whole = {}
    grams, moments = [], []
    for s in range(count):
        order = int(orders[s])
        basis = splines.local(fraction, order)
        masked = basis * present[:, s : s + 1]
        complete = bool(present[:, s].all())
        if not complete or order not in whole:
            gram = diagonals(summed(masked[:, :, None] * basis[:, None, :], interval, splines.count))
            if complete:
                whole[order] = gram
        grams.append(whole[order] if complete else gram)
        moments.append(gather_rows(summed(masked * targets[:, s : s + 1], interval, splines.count)))
    samples = summed(present, interval, splines.count).T
    stacked = (np.stack(grams, axis=1), np.stack(moments))
    return SensorEquations(splines, time, rows, orders, targets, present, samples, *stacked)


def summed(values: np.ndarray, interval: np.ndarray, count: int) -> np.ndarray:
    """(count, …): values (samples, …) added up over the intervals they fall into, which rise with the samples."""
    first = np.searchsorted(interval, np.arange(count))
    made = np.add.reduceat(values, np.minimum(first, len(values) - 1), axis=0)
    made[np.bincount(interval, minlength=count) == 0] = 0.0
    return made
