"""From trained networks to numbers: convergence, the two approaches to uncertainty, and the information in the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LN4 = float(np.log(4.0))
_LOSS_BAND = 0.05  # how near its last value a settled loss lies
_MISFIT_BAND = 3.0  # how many times its last value a settled misfit may still be
_BLOCKS = 100  # stretches of time that are taken as independent of each other


@dataclass(frozen=True)
class Normal:
    """A normal distribution fitted to samples of every unknown, as the paper does."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def fit(cls, samples: np.ndarray) -> Normal:
        """From samples (count, p)."""
        return cls(samples.mean(axis=0), samples.std(axis=0, ddof=1) if len(samples) > 1 else 0 * samples[0])

    @property
    def interval(self) -> np.ndarray:
        """(p, 2): 95 % of the distribution."""
        return np.stack([self.mean - 1.96 * self.deviation, self.mean + 1.96 * self.deviation], axis=1)

    def table(self, names) -> dict[str, Any]:
        return {
            name: {"mean": float(m), "deviation": float(s), "interval_95": [float(v) for v in ends]}
            for name, m, s, ends in zip(names, self.mean, self.deviation, self.interval, strict=True)
        }


def near_equilibrium(losses: np.ndarray) -> bool:
    """Whether L_D and L_adv end within 5 % of ln 4 and ln 4 / 2, where a discriminator can only guess (Eq. 4)."""
    end = losses[-max(len(losses) // 20, 1) :, :2].mean(axis=0)
    return bool(np.all(np.abs(end / [LN4, LN4 / 2] - 1) < _LOSS_BAND))


def converged_at(losses: np.ndarray) -> int | None:
    """The epoch from which on training has settled, None when it has not.

    `losses` are (epochs, 3): L_D, L_adv, MSE. Settled means that running means of L_D and L_adv stay within 5 % of
    their last values (near ln 4 and ln 4 / 2 where the model is right and noise small: `near_equilibrium`), and that of
    the MSE within a factor of three. The last three tenths of the epochs must be settled.
    """
    width = max(len(losses) // 50, 1)
    kernel = np.ones(width) / width
    running = np.stack([np.convolve(np.pad(c, (width - 1, 0), mode="edge"), kernel, "valid") for c in losses.T], axis=1)
    last = np.median(running[-max(len(losses) // 10, 1) :], axis=0)
    settled = running[:, 2] <= _MISFIT_BAND * last[2]
    settled &= np.all(np.abs(running[:, :2] - last[:2]) < _LOSS_BAND * np.maximum(np.abs(last[:2]), LN4 / 2), axis=1)
    wrong = np.flatnonzero(~settled)
    first = int(wrong[-1]) + 1 if len(wrong) else 0
    return first if first <= 0.7 * len(losses) and np.isfinite(losses).all() else None


@dataclass(frozen=True)
class Held:
    """Information of the training samples on the unknowns: the regression that SIVA's misfit is."""

    deviation: np.ndarray  # (p,) of the minimum of the misfit
    covariance: np.ndarray  # (p, p)
    normal: np.ndarray  # (p, p) Gauss–Newton matrix of the misfit
    distance: np.ndarray  # (p,) from the estimate to that minimum, which training did not reach
    share: np.ndarray  # (m,) rms of the residual, by compared column, over the rms of the signal


def held_by(samples, values: np.ndarray) -> Held:
    """The misfit's Gauss–Newton matrix H, its gradient, and the covariance H⁻¹ G H⁻¹ of its minimum.

    G adds up outer products of gradients over stretches of time, so that residuals may be correlated within a stretch
    and of unequal size (the sandwich estimator of Huber and White, clustered).
    """
    slope = samples.slopes(values)
    miss = np.asarray(samples.real) - samples.at(values)
    p = slope.shape[-1]
    size = np.sqrt(np.mean(slope**2, axis=(0, 1))) + 1e-300
    slope = slope / size
    normal = np.einsum("tmp,tmq->pq", slope, slope)
    by_time = np.einsum("tmp,tm->tp", slope, miss)
    inverse = np.linalg.pinv(normal, rcond=1e-13, hermitian=True)
    distance = inverse @ by_time.sum(axis=0)
    at_minimum = by_time - np.einsum("tmp,tmq,q->tp", slope, slope, distance)
    edges = np.linspace(0, len(miss), min(_BLOCKS, len(miss)) + 1).astype(int)
    blocks = np.add.reduceat(at_minimum, edges[:-1], axis=0)
    spread = len(blocks) / max(len(blocks) - p, 1) * blocks.T @ blocks
    covariance = inverse @ spread @ inverse / np.outer(size, size)
    share = np.sqrt(np.mean(miss**2, axis=0) / np.maximum(np.mean(np.asarray(samples.real) ** 2, axis=0), 1e-300))
    return Held(np.sqrt(np.diag(covariance)), covariance, normal * np.outer(size, size), distance / size, share)


def without(values: np.ndarray, dropped: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The values with some set to zero, the others moved to where the misfit is then least: `H_kk δ_k = H_kd θ_d`."""
    kept = ~dropped
    pruned = np.where(dropped, 0.0, values)
    if kept.any() and dropped.any():
        scale = np.sqrt(np.diag(normal)) + 1e-300
        h = normal / np.outer(scale, scale)
        push = h[np.ix_(kept, dropped)] @ (values * scale)[dropped]
        pruned[kept] += np.linalg.lstsq(h[np.ix_(kept, kept)], push, rcond=None)[0] / scale[kept]
    return pruned
