"""The motion of the ground, integrated exactly from the recorded acceleration.

Methods that represent the motion by smooth functions use the absolute displacement y = x + r x_g, which has no kinks
where a recorded acceleration has them. The ground acceleration between samples is a polynomial, so x_g and v_g are
known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.problem import Problem


@dataclass(frozen=True, eq=False)
class Ground:
    """Motion of the ground and loads of one record at any time.

    A straight line is removed from the displacement of the ground: it has no acceleration, and the drift of a record
    could be much larger than the motion of the structure.
    """

    step: float  # s between samples
    coefficients: np.ndarray  # (pieces, powers, m) inputs on every piece, as polynomials of the fraction of the piece
    carried: np.ndarray  # (m, n) displacement of every degree of freedom for a unit ground displacement; 0 for loads
    velocity: np.ndarray  # (pieces + 1, m) at the start of pieces
    displacement: np.ndarray

    @property
    def duration(self) -> float:
        return self.step * len(self.coefficients)

    def inputs(self, time) -> np.ndarray:
        """(..., m): ground acceleration and loads."""
        piece, t = self._place(time)
        return np.einsum("...p,...pm->...m", t[..., None] ** np.arange(self.coefficients.shape[1]), piece[0])

    def motion(self, time) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Displacement, velocity and acceleration (..., n) of the ground at every degree of freedom."""
        (c, v, x), t = self._place(time)
        power = np.arange(c.shape[-2])
        once = self.step * t[..., None] ** (power + 1) / (power + 1)
        twice = self.step**2 * t[..., None] ** (power + 2) / ((power + 1) * (power + 2))
        velocity = v + np.einsum("...p,...pm->...m", once, c)
        displacement = x + self.step * t[..., None] * v + np.einsum("...p,...pm->...m", twice, c)
        return displacement @ self.carried, velocity @ self.carried, self.inputs(time) @ self.carried

    def _place(self, time):
        """Coefficients and starting values of the piece of every time, and the fraction of it."""
        where = np.asarray(time, dtype=float) / self.step
        i = np.clip(np.floor(where + 1e-9).astype(int), 0, len(self.coefficients) - 1)
        return (self.coefficients[i], self.velocity[i], self.displacement[i]), where - i


def ground_of(problem: Problem, record: int = 0) -> Ground:
    """The motion of the ground of one record of a problem."""
    data = problem.data[record]
    structure = problem.experiment.structure
    if structure.moves_supports_apart(data.loads):
        raise Refusal(
            "Methods that use the absolute displacement need a ground that moves as one; this record moves supports "
            "differently. Use 'least-squares' or another method that simulates."
        )
    if any("incidence" in place or "influence_factor" in place for own in problem.unknowns.places for place in own):
        raise Refusal(
            "Methods that use the absolute displacement do not find the angle of incidence or the influence of the "
            "ground; use 'least-squares' or another method that simulates."
        )
    n = structure.model(data.loads).size
    carried = np.array(
        [np.asarray(structure.ground(place)) if quantity == "ground_acceleration" else np.zeros(n)
         for quantity, place in data.loads]
    ).reshape(-1, n)  # fmt: skip
    c = np.asarray(data.drive.coefficients)
    step = data.step / c.shape[1]
    c = np.concatenate(c)
    power = np.arange(c.shape[1])
    gained = step * np.einsum("p,kpm->km", 1.0 / (power + 1), c)
    v = np.concatenate([np.zeros((1, c.shape[2])), np.cumsum(gained, axis=0)])
    moved = step * v[:-1] + step**2 * np.einsum("p,kpm->km", 1.0 / ((power + 1) * (power + 2)), c)
    x = np.concatenate([np.zeros((1, c.shape[2])), np.cumsum(moved, axis=0)])
    time = step * np.arange(len(x))
    slope, level = np.polyfit(time, x, 1) if x.size else np.zeros((2, 0))
    return Ground(step, c, carried, v - slope, x - slope * time[:, None] - level)
