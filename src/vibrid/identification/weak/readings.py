"""What sensors say about the weights of splines: rows of least squares, interval by interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.problem import Problem
from vibrid.identification.weak.ground import Ground
from vibrid.identification.weak.splines import REACH, Splines

_ORDERS = ("displacement", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class Readings:
    """The sensors of one record as linear functions of the weights of the absolute displacement y.

    A sensor reads `row · (derivative of y)`; what the ground and the loads add to a reading is taken off it.
    """

    splines: Splines
    time: np.ndarray  # (nt,)
    rows: np.ndarray  # (sensors, n)
    orders: np.ndarray  # (sensors,) derivative that is read
    targets: np.ndarray  # (nt, sensors)
    present: np.ndarray  # (nt, sensors) 1 where a sample is there
    grams: np.ndarray  # (sensors, intervals, 6, 6) Σ b bᵀ over the samples of an interval
    moments: np.ndarray  # (sensors, intervals, 6) Σ b y

    @property
    def counts(self) -> np.ndarray:
        return self.present.sum(axis=0)

    @property
    def determined(self) -> bool:
        """Whether every degree of freedom is read by some sensor."""
        return np.linalg.matrix_rank(self.rows) == self.rows.shape[1]

    def predicted(self, weights: np.ndarray) -> np.ndarray:
        """(nt, sensors): what the sensors would read of splines with weights (count + 5, ≥ n)."""
        n = self.rows.shape[1]
        made = np.empty_like(self.targets)
        for order in np.unique(self.orders):
            own = self.orders == order
            made[:, own] = self.splines.evaluate(weights[:, :n], self.time, order) @ self.rows[own].T
        return made

    def misfit(self, weights: np.ndarray) -> np.ndarray:
        """(sensors,): Σ (reading − spline)² over the samples of each sensor."""
        return np.sum(((self.targets - self.predicted(weights)) * self.present) ** 2, axis=0)

    def normal(self, noise: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Blocks (intervals, 6 c, 6 c) and sides (intervals, 6 c) of Σ (reading − spline)²/σ², c channels a weight."""
        n, count = self.rows.shape[1], self.splines.count
        blocks = np.zeros((count, REACH, channels, REACH, channels))
        sides = np.zeros((count, REACH, channels))
        weight = 1.0 / np.asarray(noise) ** 2
        outer = np.einsum("s,sa,sb->sab", weight, self.rows, self.rows)
        blocks[:, :, :n, :, :n] = np.einsum("sab,sejk->ejakb", outer, self.grams, optimize=True)
        sides[:, :, :n] = np.einsum("s,sa,sej->eja", weight, self.rows, self.moments, optimize=True)
        size = REACH * channels
        return blocks.reshape(count, size, size), sides.reshape(count, size)


def readings_of(problem: Problem, ground: Ground, splines: Splines, record: int = 0) -> Readings:
    """The sensors of one record of a problem; forces of parts are refused: they are not linear in the motion."""
    data, structure = problem.data[record], problem.experiment.structure
    model = structure.model(data.loads)
    arrays = structure.sensor_arrays(model, problem.sensors)
    if arrays.forces is not None:
        raise Refusal(
            "Forces of parts cannot be used where the motion is represented by splines: they are not linear in it. "
            "Leave those sensors out, or use TrajectoryFit or UnscentedKalman."
        )
    count, n = arrays.count, model.size
    read = [getattr(arrays, q) for q in _ORDERS]
    read = np.stack([np.zeros((count, n)) if r is None else np.asarray(r) for r in read])
    orders = np.abs(read).sum(axis=2).argmax(axis=0)
    gain = np.asarray(arrays.gain)
    rows = read[orders, np.arange(count)] * gain[:, None]
    time = data.step * np.arange(data.samples)
    carried = np.stack(ground.motion(time))  # (3, nt, n)
    targets = np.asarray(data.readings) - gain * (ground.inputs(time) @ np.asarray(arrays.inputs).T)
    targets = targets + np.einsum("tsn,sn->ts", np.moveaxis(carried[orders], 0, 1), rows)
    present = np.asarray(data.present)
    interval, fraction = splines.place(time)
    first = np.searchsorted(interval, np.arange(splines.count))  # the samples of an interval follow each other
    filled = np.bincount(interval, minlength=splines.count) > 0

    def summed(values):
        made = np.add.reduceat(values, np.minimum(first, len(values) - 1), axis=0)
        made[~filled] = 0.0
        return made

    whole = {}
    grams, moments = [], []
    for s in range(count):
        order = int(orders[s])
        basis = splines.local(fraction, order)
        masked = basis * present[:, s : s + 1]
        complete = bool(present[:, s].all())
        if not complete or order not in whole:
            gram = summed(masked[:, :, None] * basis[:, None, :])
            if complete:
                whole[order] = gram
        grams.append(whole[order] if complete else gram)
        moments.append(summed(masked * targets[:, s : s + 1]))
    return Readings(splines, time, rows, orders, targets, present, np.stack(grams), np.stack(moments))
