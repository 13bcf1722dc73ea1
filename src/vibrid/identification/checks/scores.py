"""Small faults of instruments by score tests: one more parameter, tested without fitting it.

A fault moves the readings along a direction d: the prediction itself for a gain, minus its rate for a delay. What the
unknowns can explain of d is projected out, in whitened readings; the coefficient of what is left of d in the residuals
is the size of the fault, and the drop of χ² tells how likely it is. No simulation is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.identification.checks.covariance import whitened
from vibrid.identification.checks.dependence import orthonormal
from vibrid.identification.checks.noise import NoiseModel
from vibrid.identification.levenberg import LinearReadings

KINDS = ("gain", "delay", "offset", "drift", "clock")
_SAME = 1e-4  # share of a direction outside what the unknowns explain, below which it cannot be told from them


@dataclass(frozen=True)
class FaultScore:
    """A fault of some channels: its size with a standard deviation, and the drop of χ² (in units of the noise).

    `kind`: gain (reading/true − 1), delay (s), offset (unit of the reading), drift (unit per s, from zero at first),
    clock (s per s: how much later the readings come every second).
    """

    kind: str
    channels: tuple[int, ...]
    size: float
    deviation: float
    drop: float


@dataclass(frozen=True)
class LeftOver:
    """Whitened residuals without what the unknowns can explain.

    Fields
        residual: of all records, one after another.
        known: derivatives by the unknowns, whitened.
        basis: orthonormal, of the same columns.
        size: mean square of a residual.
    """

    residual: np.ndarray
    known: np.ndarray
    basis: np.ndarray
    size: float

    def outside(self, direction: np.ndarray) -> np.ndarray | None:
        """A direction without what the unknowns explain of it; None where that is nearly all, or it is not finite."""
        left = direction - self.basis @ (self.basis.T @ direction)
        return left if self.are_outside(left @ left, direction @ direction) else None

    @staticmethod
    def are_outside(powers: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Whether the unknowns leave enough of directions, by the squares of what they leave and of all."""
        return np.isfinite(powers) & (powers > _SAME * whole) & (whole > 0.0)

    def explained(self, directions: list[np.ndarray]) -> float:
        """Drop of χ² by several directions together."""
        if not directions:
            return 0.0
        together = orthonormal(np.stack(directions, axis=1))
        return float(np.sum((together.T @ self.residual) ** 2)) / self.size


def left_over(here: LinearReadings, noise: NoiseModel, keep: np.ndarray) -> LeftOver:
    """What the unknowns that may move (`keep`) leave over."""
    pairs = whitened(here, noise)
    r = np.concatenate([part.reshape(-1) for part, _ in pairs])
    known = np.concatenate([j[:, :, keep].reshape(-1, int(keep.sum())) for _, j in pairs])
    basis = orthonormal(known)
    r = r - basis @ (basis.T @ r)
    return LeftOver(r, known, basis, float(r @ r) / max(np.count_nonzero(r) - basis.shape[1], 1))


def scored(here: LinearReadings, noise: NoiseModel, keep: np.ndarray) -> tuple[list[FaultScore], float]:
    """All one-parameter faults, the most likely first; and the drop of χ² by all of them together."""
    left, found, directions = left_over(here, noise, keep), [], []
    for kind, channels, moved in _directions(here):
        d = np.concatenate([noise.whitened(i, part).reshape(-1) for i, part in enumerate(moved)])
        outside = left.outside(d)
        if outside is None:
            continue
        power, along = float(outside @ outside), float(outside @ left.residual)
        deviation, drop = float(np.sqrt(left.size / power)), along**2 / power / left.size
        found.append(FaultScore(kind, channels, along / power, deviation, drop))
        directions.append(outside)
    return sorted(found, key=lambda score: -score.drop), left.explained(directions)


def _directions(here: LinearReadings) -> Iterator[tuple[str, tuple[int, ...], list[np.ndarray]]]:
    """Kind, channels, and the change of the readings (nt, ny) of every record for a fault of size one."""
    count = len(here.problem.sensors)
    signals = [np.asarray(y) for y in here.predictions]
    present = [np.asarray(d.present) for d in here.problem.data]
    times = [np.arange(len(y)) * d.step for y, d in zip(signals, here.problem.data, strict=True)]
    rates = [scipy.interpolate.CubicSpline(t, y).derivative()(t) for t, y in zip(times, signals, strict=True)]
    moves = {
        "gain": signals,
        "delay": [-rate for rate in rates],
        "offset": [np.ones_like(y) for y in signals],
        "drift": [np.broadcast_to(t[:, None], y.shape) for t, y in zip(times, signals, strict=True)],
        "clock": [-t[:, None] * rate for t, rate in zip(times, rates, strict=True)],
    }
    groups: list[tuple[int, ...]] = [(c,) for c in range(count)]
    if count > 1:
        groups.append(tuple(range(count)))
    for kind in KINDS:
        for group in groups:
            if len(group) == 1 or kind in ("gain", "delay", "clock"):
                chosen = np.isin(np.arange(count), group)
                yield kind, group, [move * chosen * m for move, m in zip(moves[kind], present, strict=True)]
