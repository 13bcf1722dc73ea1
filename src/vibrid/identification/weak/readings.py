"""Least-squares equations of the readings for the weights of splines, interval by interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.problem import Problem
from vibrid.identification.weak.banded import diagonals, from_diagonals, gather_rows
from vibrid.identification.weak.ground import Ground
from vibrid.identification.weak.splines import REACH, Splines

DRAWS, _MANY = (2, 12), 2000
"""Random draws to estimate the noise that the weights absorb: fewer where there are many weights."""
_ORDERS = ("displacement", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class SensorEquations:
    """The sensors of one record as linear functions of the weights of the absolute displacement y.

    A sensor reads `row · (derivative of y)`; the part of the ground and the loads is subtracted from its readings.
    """

    splines: Splines
    time: np.ndarray  # (nt,)
    rows: np.ndarray  # (sensors, n)
    orders: np.ndarray  # (sensors,) derivative that is read
    targets: np.ndarray  # (nt, sensors)
    present: np.ndarray  # (nt, sensors) 1 where a sample is present
    samples: np.ndarray  # (sensors, intervals) number of samples
    grams: np.ndarray  # (6, sensors, weights) Σ b bᵀ over the samples, by distance from the diagonal
    moments: np.ndarray  # (sensors, weights) Σ b y

    @property
    def counts(self) -> np.ndarray:
        return self.present.sum(axis=0)

    def predicted(self, weights: np.ndarray) -> np.ndarray:
        """(nt, sensors): readings predicted by splines with weights (count + 5, ≥ n)."""
        n = self.rows.shape[1]
        readings = np.empty_like(self.targets)
        for order in np.unique(self.orders):
            alike = self.orders == order
            readings[:, alike] = self.splines.evaluate(weights[:, :n], self.inside, order) @ self.rows[alike].T
        return readings

    @property
    def inside(self) -> np.ndarray:
        """The times of the samples; those after the last interval are set to its end."""
        return np.minimum(self.time, self.splines.edges[-1])

    def misfit(self, weights: np.ndarray) -> np.ndarray:
        """(sensors,): Σ (reading − spline)² over the samples of each sensor."""
        return np.sum(((self.targets - self.predicted(weights)) * self.present) ** 2, axis=0)

    def spent(self, noise: np.ndarray, solve, channels: int) -> np.ndarray:
        """(sensors,): how many samples of each sensor are spent on weights: the pure noise that splines absorb.

        `solve` applies A⁻¹ to columns (weights × channels, k), A the normal equations of readings and equations. A few
        draws of noise go through the fit; the residuals of a right model are what remains of them. (The number of
        weights, trace(A⁻¹ A_sensor), would make the noise too small where equations are soft.)
        """
        size, noise = self.splines.weights * channels, np.asarray(noise)
        shape = (DRAWS[0] if size > _MANY else DRAWS[1], *self.targets.shape)
        draws = np.random.default_rng(0).choice([-1.0, 1.0], size=shape) * noise * self.present
        solved = solve(np.stack([self._side(draw / noise**2, channels) for draw in draws], axis=1)).T
        left = [
            draw - self.present * self.predicted(w.reshape(-1, channels)) for draw, w in zip(draws, solved, strict=True)
        ]
        return np.clip(self.counts - np.mean(np.sum(np.square(left), axis=1), axis=0) / noise**2, 0.0, self.counts)

    def _side(self, values: np.ndarray, channels: int) -> np.ndarray:
        """(weights × channels,): Σ b · value over the samples (nt, sensors)."""
        interval, fraction = self.splines.place(self.inside)
        n = self.rows.shape[1]
        side = np.zeros((self.splines.weights, channels))
        for order in np.unique(self.orders):
            alike = self.orders == order
            motion = values[:, alike] @ self.rows[alike]
            products = self.splines.local(fraction, order)[:, :, None] * motion[:, None, :]
            blocks = summed(products, interval, self.splines.count).reshape(self.splines.count, -1)
            side[:, :n] += gather_rows(blocks).reshape(self.splines.weights, n)
        return side.reshape(-1)

    def normal(self, noise: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Lower band and right side of Σ (reading − spline)²/σ², with `channels` per weight, the motion's first."""
        n, weights = self.rows.shape[1], self.splines.weights
        weighted = self.rows / np.asarray(noise)[:, None] ** 2
        outer = (weighted[:, :, None] * self.rows[:, None, :]).reshape(len(self.rows), -1)
        blocks = np.zeros((REACH, weights, channels, channels))
        blocks[:, :, :n, :n] = (self.grams.transpose(0, 2, 1) @ outer).reshape(REACH, weights, n, n)
        side = np.zeros((weights, channels))
        side[:, :n] = self.moments.T @ weighted
        return from_diagonals(blocks), side.reshape(-1)


def sensor_rows(problem: Problem, record: int = 0):
    """Row and order of derivative of every sensor, its gain, and its reading of the inputs."""
    structure = problem.experiment.structure
    model = structure.model(problem.data[record].loads)
    arrays = structure.sensor_arrays(model, problem.sensors)
    if arrays.forces is not None:
        raise Refusal(
            "Sensors of element forces cannot be used where splines represent the motion: they are not linear in it. "
            "Leave those sensors out, or use TrajectoryFit or UnscentedKalman."
        )
    read = [getattr(arrays, q) for q in _ORDERS]
    read = np.stack([np.zeros((arrays.count, model.size)) if r is None else np.asarray(r) for r in read])
    orders, gain = np.abs(read).sum(axis=2).argmax(axis=0), np.asarray(arrays.gain)
    return read[orders, np.arange(arrays.count)] * gain[:, None], orders, gain, np.asarray(arrays.inputs)


def readings_of(problem: Problem, ground: Ground, splines: Splines, record: int = 0) -> SensorEquations:
    """The sensors of one record of a problem; element forces are refused: they are not linear in the motion."""
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
    whole: dict[int, np.ndarray] = {}  # by order, of sensors without gaps
    grams, moments = [], []
    for s in range(count):
        order = int(orders[s])
        basis = splines.local(fraction, order)
        masked = basis * present[:, s : s + 1]
        complete = bool(present[:, s].all())
        gram = whole.get(order) if complete else None
        if gram is None:
            gram = diagonals(summed(masked[:, :, None] * basis[:, None, :], interval, splines.count))
            if complete:
                whole[order] = gram
        grams.append(gram)
        moments.append(gather_rows(summed(masked * targets[:, s : s + 1], interval, splines.count)))
    samples = summed(present, interval, splines.count).T
    stacked = (np.stack(grams, axis=1), np.stack(moments))
    return SensorEquations(splines, time, rows, orders, targets, present, samples, *stacked)


def summed(values: np.ndarray, interval: np.ndarray, count: int) -> np.ndarray:
    """(count, …): values (samples, …) added up over the intervals they fall into, which rise with the samples."""
    first = np.searchsorted(interval, np.arange(count))
    sums = np.add.reduceat(values, np.minimum(first, len(values) - 1), axis=0)
    sums[np.bincount(interval, minlength=count) == 0] = 0.0
    return sums
