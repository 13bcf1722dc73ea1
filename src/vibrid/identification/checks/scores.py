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


def scored(here: LinearReadings, noise: NoiseModel, keep: np.ndarray) -> tuple[list[FaultScore], float]:
    """All one-parameter faults, the most likely first; and the drop of χ² by all of them together."""
    pairs = whitened(here, noise)
    r = np.concatenate([part.reshape(-1) for part, _ in pairs])
    known = np.concatenate([j[:, :, keep].reshape(-1, int(keep.sum())) for _, j in pairs])
    basis = orthonormal(known)
    r = r - basis @ (basis.T @ r)
    size = float(r @ r) / max(np.count_nonzero(r) - basis.shape[1], 1)
    found, directions = [], []
    for kind, channels, moved in _directions(here):
        d = np.concatenate([noise.whitened(i, part).reshape(-1) for i, part in enumerate(moved)])
        left = d - basis @ (basis.T @ d)
        power = float(left @ left)
        if not power > _SAME * float(d @ d):
            continue
        along = float(left @ r)
        found.append(
            FaultScore(kind, channels, along / power, float(np.sqrt(size / power)), float(along**2 / power / size))
        )
        directions.append(left / np.sqrt(power))
    together = orthonormal(np.stack(directions, axis=1)) if directions else np.zeros((len(r), 0))
    return sorted(found, key=lambda score: -score.drop), float(np.sum((together.T @ r) ** 2)) / size


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
