"""Splines of degree five on equal intervals: local features, linear in their weights.

On interval e of length h only the weights e … e + 5 act, so least squares in the weights has a band of that width. All
intervals share one set of six polynomials (cardinal B-splines), also at the ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

DEGREE = 5
REACH = DEGREE + 1
"""Weights that act on one interval."""


@cache
def _polynomials() -> np.ndarray:
    """(6, 6): powers of the fraction of an interval in each of its six splines, oldest first."""
    element = scipy.interpolate.BSpline.basis_element(np.arange(REACH + 1.0), extrapolate=False)
    fraction = (np.arange(REACH) + 0.5) / REACH
    vandermonde = np.vander(fraction, REACH, increasing=True)
    return np.stack([np.linalg.solve(vandermonde, element(fraction + (DEGREE - k))) for k in range(REACH)])


@dataclass(frozen=True)
class Splines:
    """Equal intervals: `count` of them, each `spacing` seconds long, the first from time zero."""

    spacing: float
    count: int

    @property
    def weights(self) -> int:
        """Number of weights of one channel."""
        return self.count + DEGREE

    @property
    def edges(self) -> np.ndarray:
        return self.spacing * np.arange(self.count + 1)

    def local(self, fraction, order: int = 0) -> np.ndarray:
        """(…, 6): the six splines of an interval, or their time derivatives, at fractions of it."""
        power = np.arange(REACH)
        falling = np.ones(REACH)
        for k in range(order):
            falling = falling * np.maximum(power - k, 0)
        raised = np.asarray(fraction, dtype=float)[..., None] ** np.maximum(power - order, 0) * falling
        return raised @ _polynomials().T / self.spacing**order

    def place(self, time) -> tuple[np.ndarray, np.ndarray]:
        """The interval of every time and the fraction of it."""
        where = np.asarray(time, dtype=float) / self.spacing
        interval = np.clip(np.floor(where + 1e-9).astype(int), 0, self.count - 1)
        return interval, where - interval

    def evaluate(self, weights, time, order: int = 0) -> np.ndarray:
        """(…, channels): splines with `weights` (count + 5, channels), or their derivative, at any times."""
        interval, fraction = self.place(time)
        local = np.asarray(weights)[interval[..., None] + np.arange(REACH)]
        return np.einsum("...k,...kc->...c", self.local(fraction, order), local)
