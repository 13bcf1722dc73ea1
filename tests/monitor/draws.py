"""Series drawn at random, cheap enough for thousands of years."""

import numpy as np

from vibrid.monitor import Series

HOUR = np.timedelta64(3600, "s")
START = np.datetime64("2025-01-01", "ns")


def covariance(d: int) -> np.ndarray:
    """Of ln y: shares of a thousandth, correlated."""
    mixing = np.random.default_rng(d).standard_normal((d, d)) / np.sqrt(d) + np.eye(d)
    return 1e-6 * mixing @ mixing.T


def temperature(windows: int, rng) -> np.ndarray:
    hours = np.arange(windows)
    cycle = 10 - 12 * np.cos(2 * np.pi * hours / 8766) - 5 * np.cos(2 * np.pi * hours / 24)
    return (cycle + 2.0 * rng.standard_normal(windows))[:, None]


SCATTERS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t(5), windows": lambda rng, shape: rng.standard_normal(shape) / np.sqrt(rng.chisquare(5, (shape[0], 1)) / 3),
    "t(5), quantities": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5 / 3),
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1.0,
}
"""Of mean 0 and variance 1: (windows, d) at random."""


def drawn(windows: int, d: int, key: int, change=None, since=0, warm=True, rho=0.0, scatter="normal") -> Series:
    """ln y: noise, moved by 5 % over the temperatures of a year; `change` is added from a window on."""
    rng = np.random.default_rng(key)
    noise = SCATTERS[scatter](rng, (windows, d)) @ np.linalg.cholesky(covariance(d)).T
    for i in range(1, windows if rho else 0):
        noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
    z = temperature(windows, rng) if warm else np.zeros((windows, 0))
    moved = z @ np.linspace(-0.0015, -0.001, d)[None, :] if warm else 0.0
    logarithms = np.log(np.arange(1.0, d + 1)) + moved + noise
    if change is not None:
        logarithms[since:] += change
    values = np.exp(logarithms)
    share = np.sqrt(np.diag(covariance(d)))
    names = tuple(f"mode {i + 1}" for i in range(d))
    return Series(START + np.arange(windows) * HOUR, names, values, values * share, z, ("temperature",) if warm else ())
