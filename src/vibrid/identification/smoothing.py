"""Measured motion made consistent: displacement, velocity and acceleration are three readings of one motion."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import solveh_banded

_FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60.0  # central differences of order six
_SECOND = np.array([2, -27, 270, -490, 270, -27, 2]) / 180.0
_REACH = 3


def noise_levels(signals: np.ndarray) -> np.ndarray:
    """Standard deviation of white noise in every column, from the highest fifth of its spectrum.

    The median of a periodogram is ln 2 of its mean, and hardly feels a few lines of signal; signal that fills the
    whole of that band counts as noise, so this is an upper limit.
    """
    window = np.hanning(len(signals))[:, None]
    power = np.abs(np.fft.rfft((signals - signals.mean(axis=0)) * window, axis=0)) ** 2 / np.sum(window**2)
    return np.sqrt(np.median(power[int(0.8 * len(power)) :], axis=0) / np.log(2.0))


def consistent_motion(x, v, a, noise, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and velocity (nt, n) of the motion that best agrees with all three readings.

    Minimises Σ (x − X)²/σx² + (v − DX)²/σv² + (a − D²X)²/σa² with differences of order six: slow motion follows the
    displacement, quick motion the acceleration, and there is no corner frequency to choose.

    Arguments
        noise: (σx, σv, σa), each (n,).
        step: seconds between samples.
    """
    count = len(x)
    d1 = _band(_FIRST / step, count)
    d2 = _band(_SECOND / step**2, count)
    squares = [_upper(d.T @ d, count) for d in (d1, d2)]
    smooth_x, smooth_v = np.array(x, dtype=float), np.array(v, dtype=float)
    inside = slice(_REACH, count - _REACH)
    for c in range(x.shape[1]):
        wx, wv, wa = (1.0 / s[c] ** 2 for s in noise)
        matrix = wv * squares[0] + wa * squares[1]
        matrix[-1] += wx
        right = wx * x[:, c] + wv * (d1.T @ v[inside, c]) + wa * (d2.T @ a[inside, c])
        smooth_x[:, c] = solveh_banded(matrix, right)
        smooth_v[inside, c] = d1 @ smooth_x[:, c]
    return smooth_x, smooth_v


def remaining_noise(noise, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations (n,) of what `consistent_motion` leaves in displacement and velocity."""
    phase = np.linspace(0.0, np.pi, 2001)[:, None]
    offsets = np.arange(-_REACH, _REACH + 1)
    first = (np.sin(phase * offsets) @ _FIRST)[:, None] / step
    second = (np.cos(phase * offsets) @ _SECOND)[:, None] / step**2
    wx, wv, wa = (1.0 / np.asarray(s) ** 2 for s in noise)
    power = 1.0 / (wx + wv * first**2 + wa * second**2)
    return np.sqrt(power.mean(axis=0)), np.sqrt((power * first**2).mean(axis=0))


def _band(stencil: np.ndarray, count: int):
    """Differences at the inner samples: (count − 6, count)."""
    rows = count - 2 * _REACH
    return sparse.diags_array(list(stencil), offsets=list(range(len(stencil))), shape=(rows, count)).tocsr()


def _upper(matrix, count: int) -> np.ndarray:
    """The upper diagonals of a symmetric banded matrix, as LAPACK stores them."""
    width = 2 * _REACH
    made = np.zeros((width + 1, count))
    for k in range(width + 1):
        made[width - k, k:] = matrix.diagonal(k)
    return made
