"""The covariance of an estimate that does not assume what the noise is like: the sandwich with autocorrelation.

The estimate solves Σ Jᵀ r = 0. Its covariance is N⁻¹ V N⁻¹, N the Gauss–Newton matrix and V the covariance of the sum
of the scores Jᵀ r, which is estimated from the scores themselves with the products of neighbouring samples (Bartlett's
weights; the number of neighbours after Andrews, Econometrica 59, 1991). It is right for noise with a memory and for
noise whose size changes, and costs no simulation. V is itself uncertain when neighbours are many and the motion that
counts is short; intervals are widened for that (Kiefer and Vogelsang, Econometric Theory 21, 2005).
"""

from __future__ import annotations

import numpy as np

from vibrid.identification.checks.noise import NoiseModel
from vibrid.identification.levenberg import LinearReadings

_LIMIT = 0.97  # of an autocorrelation, for the number of neighbours


def normal_equations(here: LinearReadings, noise: NoiseModel) -> tuple[float, np.ndarray, np.ndarray]:
    """Cost ½‖r‖², gradient and Gauss–Newton matrix of the whitened residuals."""
    misfit, slope = here.prior()
    cost, gradient, normal = 0.5 * float(misfit @ misfit), slope.T @ misfit, slope.T @ slope
    for r, j in whitened(here, noise):
        cost, gradient, normal = cost + 0.5 * float(np.sum(r * r)), gradient - _sum(r, j), normal + _square(j)
    return cost, gradient, normal


def whitened(here: LinearReadings, noise: NoiseModel) -> list[tuple[np.ndarray, np.ndarray]]:
    """Residuals (nt, ny) and derivatives (nt, ny, p) of every record as independent readings of unit size."""
    pairs = zip(here.residuals, here.slopes, here.problem.data, strict=True)
    return [
        (noise.whitened(i, r), noise.whitened(i, j * np.asarray(d.present)[:, :, None]))
        for i, (r, j, d) in enumerate(pairs)
    ]


def robust_covariance(here: LinearReadings, noise: NoiseModel, active: np.ndarray) -> np.ndarray:
    """(p, p) of the free variables; zero for those that are not active.

    An interval is at least as wide as with the independent innovations of the model of the noise.
    """
    _, slope = here.prior()
    pairs = whitened(here, noise)
    normal = slope.T @ slope + sum(_square(j) for _, j in pairs)
    scores = [np.einsum("tc,tcp->tp", r, j)[:, active] for r, j in pairs]
    count = sum(len(s) for s in scores)
    scatter = _long_run(scores) * count / max(count - active.sum(), 1)
    keep = np.ix_(active, active)
    inverse = np.linalg.pinv(normal[keep], rcond=1e-14, hermitian=True)
    covariance = np.zeros_like(normal)
    prior = (slope.T @ slope)[keep]
    found = inverse @ (scatter / noise.efficiency**2 + prior) @ inverse
    expected = _expected(pairs, scores, noise, keep) / noise.efficiency**2
    modelled = np.diag(inverse @ (expected + prior) @ inverse)
    wider = np.sqrt(np.maximum(modelled / np.maximum(np.diag(found), 1e-300), 1.0))
    covariance[keep] = found * np.outer(wider, wider)
    return covariance


def _expected(pairs, scores, noise: NoiseModel, keep) -> np.ndarray:
    """Covariance of the sum of scores if innovations are independent.

    Their size is the same everywhere, but where the noise changes with time: its size is an average over neighbours,
    too small inside a burst and too large beside it, and the innovations keep what is left of that.
    """
    if any(channel.kind == "time" for channel in noise.channels):
        return np.asarray(sum(s.T @ s for s in scores))
    squares = sum(np.sum(r * r) for r, _ in pairs) / sum(np.count_nonzero(r) for r, _ in pairs)
    return squares * np.sum([_square(_coloured(noise, j)) for _, j in pairs], axis=0)[keep]


def _coloured(noise: NoiseModel, slopes: np.ndarray) -> np.ndarray:
    return np.stack([channel.coloured(slopes[:, c]) for c, channel in enumerate(noise.channels)], axis=1)


def _square(slopes: np.ndarray) -> np.ndarray:
    flat = slopes.reshape(-1, slopes.shape[-1])
    return flat.T @ flat


def _sum(residuals: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    return slopes.reshape(-1, slopes.shape[-1]).T @ residuals.reshape(-1)


def _long_run(scores: list[np.ndarray]) -> np.ndarray:
    """Covariance of the sum of scores (nt, p) of all records."""
    reach = _neighbours(scores)
    share = min((reach + 1) / _effective_samples(scores), 1.0)
    widened = (1.96 + 2.9694 * share + 0.416 * share**2 - 0.5324 * share**3) / 1.96  # of a 95 % interval
    total = sum(s.T @ s for s in scores)
    for lag in range(1, reach + 1):
        product = sum(s[lag:].T @ s[:-lag] for s in scores if len(s) > 4 * lag)
        total = total + (1.0 - lag / (reach + 1.0)) * (product + np.transpose(product))
    return widened**2 * np.asarray(total)


def _effective_samples(scores: list[np.ndarray]) -> float:
    """Number of samples that carry the scores: all for a steady motion, few for a short strong one."""
    together = np.concatenate(scores)
    power = (together**2 / (np.mean(together**2, axis=0) + 1e-300)).mean(axis=1)
    return float(3.0 * power.sum() ** 2 / max(np.sum(power**2), 1e-300))  # normal scores have E s⁴ = 3 (E s²)²


def _neighbours(scores: list[np.ndarray]) -> int:
    """Number of neighbouring samples that count, from the first autocorrelation of the scores."""
    powers = sum(np.sum(s * s, axis=0) for s in scores) + 1e-300
    rho = np.clip(sum(np.sum(s[1:] * s[:-1], axis=0) for s in scores) / powers, -_LIMIT, _LIMIT)
    count = sum(len(s) for s in scores)
    left = (powers / count * (1.0 - rho**2)) ** 2
    above = np.sum(4.0 * rho**2 * left / ((1.0 - rho) ** 6 * (1.0 + rho) ** 2))
    below = np.sum(left / (1.0 - rho) ** 4)
    return int(np.ceil(1.1447 * (above / below * count) ** (1.0 / 3.0)))
