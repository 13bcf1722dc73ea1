"""Fixed-lag smoothing of a measured motion: displacement and velocity together, a fixed number of samples late.

The acceleration is modelled as a random walk. The smoother over a window of 2 L + 1 samples is a weighted sum of the
readings, so a bank of smoothers is one product. The noise and the corner are chosen automatically: the candidate that
best predicts each reading from the others (leave one out), from past samples alone.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

AGILITIES = (0.15, 0.3, 0.6, 1.2, 2.4)
"""Corner of the smoother, radians a sample."""
NOISE_RATIOS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Noise of velocity × sampling step / noise of displacement."""


class SmoothingState(NamedTuple):
    motion: jax.Array  # (2, W) last readings of displacement and velocity × step
    seen: jax.Array
    squares: jax.Array  # (candidates, 2) sum of squared leave-one-out errors
    best: jax.Array  # candidate in use


class LagSmoother(eqx.Module):
    """x and v at L samples ago from the last 2 L + 1 readings of both."""

    weights: np.ndarray  # (candidates, 2 outputs, 2 readings, W)
    lag: int = eqx.field(static=True)

    @staticmethod
    @functools.lru_cache(maxsize=8)
    def make(lag: int) -> LagSmoother:
        bank = [_centre_weights(lag, corner, ratio) for corner in AGILITIES for ratio in NOISE_RATIOS]
        return LagSmoother(np.stack(bank), lag)

    def start(self) -> SmoothingState:
        candidates = self.weights.shape[0]
        width = 2 * self.lag + 1
        return SmoothingState(
            jnp.zeros((2, width)), jnp.zeros((), jnp.int32), jnp.zeros((candidates, 2)), jnp.zeros((), jnp.int32)
        )

    def step(self, state: SmoothingState, x, v, dt):
        """Add a reading: next state, x and v at L samples ago, and whether they are valid yet."""
        new = jnp.stack([x, v * dt])
        fresh = state.seen == 0  # a record that starts away from zero did not jump there
        motion = jnp.where(fresh, jnp.stack([x, 0.0 * v])[:, None], state.motion)
        motion = jnp.concatenate([motion[:, 1:], new[:, None]], axis=1)
        smooth = jnp.einsum("cort,rt->co", self.weights, motion)
        leverage = jnp.stack([self.weights[:, 0, 0, self.lag], self.weights[:, 1, 1, self.lag]], axis=1)
        missed = (motion[:, self.lag] - smooth) / (1.0 - leverage)
        ready = state.seen >= self.lag
        squares = state.squares + jnp.where(ready, missed**2, 0.0)
        best = jnp.argmin(jnp.sum(jnp.log(squares + 1e-300), axis=1)).astype(jnp.int32)
        state = SmoothingState(motion, state.seen + 1, squares, best)
        return state, smooth[best, 0], smooth[best, 1] / dt, ready


def _centre_weights(lag: int, corner: float, ratio: float) -> np.ndarray:
    """(2, 2, W): weights of the readings in the smoothed x and v of the middle sample, in units of one step.

    Least squares over the states (x, v, a) of the window: readings with deviations 1 and ratio, transitions with the
    covariance of an acceleration that wanders at the rate q = ratio² corner⁴ a step. Its rows, each over its deviation,
    are made triangular (QR): normal equations would square their condition, to 6e10 at a lag of 8.
    """
    width = 2 * lag + 1
    move = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    wander = np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
    whiten = scipy.linalg.solve_triangular(ratio * corner**2 * np.linalg.cholesky(wander), np.eye(3), lower=True)
    step = whiten @ np.concatenate([-move, np.eye(3)], axis=1)
    rows = np.zeros((2 * width + 3 * (width - 1), 3 * width))
    rows[np.arange(width), 3 * np.arange(width)] = 1.0
    rows[width + np.arange(width), 3 * np.arange(width) + 1] = 1.0 / ratio
    for i in range(width - 1):
        rows[2 * width + 3 * i : 2 * width + 3 * i + 3, 3 * i : 3 * i + 6] = step
    turned, upper = np.linalg.qr(rows)
    over = np.repeat([1.0, 1.0 / ratio], width)
    gain = scipy.linalg.solve_triangular(upper, turned[: 2 * width].T * over)[3 * lag : 3 * lag + 2]
    return gain.reshape(2, 2, width)
