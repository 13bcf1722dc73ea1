"""Consistent displacement and velocity from readings of both."""

from __future__ import annotations

import numpy as np
import scipy

_FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60.0  # central differences of order six
_REACH = 3


def noise_levels(signals: np.ndarray) -> np.ndarray:
    """Standard deviation of white noise in every column, from the highest fifth of its spectrum.

    The median of a periodogram is ln 2 of its mean, and a few lines of signal hardly change it; signal that fills
    the whole band counts as noise, so this is an upper limit.
    """
    window = np.hanning(len(signals))[:, None]
    power = np.abs(np.fft.rfft((signals - signals.mean(axis=0)) * window, axis=0)) ** 2 / np.sum(window**2)
    return np.sqrt(np.median(power[int(0.8 * len(power)) :], axis=0) / np.log(2.0))


def consistent_motion(x, v, noise, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and velocity (nt, n) of the motion that fits both readings best.

    Minimises Σ (x − X)²/σx² + (v − DX)²/σv² with differences D of order six: slow motion follows the displacement,
    quick motion the velocity, and there is no corner frequency to choose. The measured acceleration is not used: the
    states are to explain it, and noise on both sides of an equation would bias the estimate.

    The correction is computed in the velocities, X = x + r² Dᵀ λ with (I + r² D Dᵀ) λ = v − D x and r = σx/σv: the
    matrix is well conditioned for any ratio of the two noise levels. (I + r² Dᵀ D is not: D of a constant is zero.)

    Arguments
        noise: (σx, σv), each (n,).
        step: seconds between samples.
    """
    count = len(x)
    derivative = _band(_FIRST / step, count)
    square = _upper(derivative @ derivative.T)
    smooth_x, smooth_v = np.array(x, dtype=float), np.array(v, dtype=float)
    inside = slice(_REACH, count - _REACH)
    for c in range(x.shape[1]):
        weight = (noise[0][c] / noise[1][c]) ** 2
        matrix = weight * square
        matrix[-1] += 1.0
        correction = scipy.linalg.solveh_banded(matrix, v[inside, c] - derivative @ x[:, c])
        smooth_x[:, c] = x[:, c] + weight * (derivative.T @ correction)
        smooth_v[inside, c] = derivative @ smooth_x[:, c]
    return smooth_x, smooth_v


def remaining_noise(noise, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations (n,) of the noise in displacement and velocity after `consistent_motion`."""
    phase = np.linspace(0.0, np.pi, 2001)[:, None]
    offsets = np.arange(-_REACH, _REACH + 1)
    first = (np.sin(phase * offsets) @ _FIRST)[:, None] / step
    power = 1.0 / (1.0 / np.asarray(noise[0]) ** 2 + first**2 / np.asarray(noise[1]) ** 2)
    return np.sqrt(power.mean(axis=0)), np.sqrt((power * first**2).mean(axis=0))


def _band(stencil: np.ndarray, count: int):
    """Differences at the inner samples: (count − 6, count)."""
    rows = count - 2 * _REACH
    diagonals = np.repeat(stencil[:, None], count, axis=1)
    return scipy.sparse.dia_array((diagonals, np.arange(len(stencil))), shape=(rows, count)).tocsr()


def _upper(matrix) -> np.ndarray:
    """The upper diagonals of a symmetric banded matrix, as LAPACK stores them."""
    width, count = 2 * _REACH, matrix.shape[0]
    bands = np.zeros((width + 1, count))
    for k in range(width + 1):
        bands[width - k, k:] = matrix.diagonal(k)
    return bands
