"""Covariances of modes by leaving out the pieces of a record, one group after the other (the jackknife; Tukey, 1958).

It follows every step of a method, also those without derivatives. What is the same in all pieces, such as the bias of a
window, it does not see.
"""

from __future__ import annotations

import numpy as np

from vibrid.modal.measured import as_real

GROUPS = 20
"""Groups of pieces that are left out in turn."""

FEWEST = 10
"""With fewer groups there are no standard deviations."""


def groups_of(pieces: int) -> int:
    """How many groups so many pieces make; 0 where they are too few."""
    count = min(GROUPS, pieces)
    return count if count >= FEWEST else 0


def without_each(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(groups, …) means over all pieces but those of one group, from the sums over those of each."""
    left = counts.sum() - counts
    return (sums.sum(axis=0) - sums) / left.reshape(-1, *[1] * (sums.ndim - 1))


def jackknife(shapes: np.ndarray, poles: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """(k, 2 + l, 2 + l) covariances of frequency (Hz), damping ratio and real shape; NaN where a mode is lost.

    Arguments
        shapes: (l, k) of all pieces, complex, of unit length and turned to be as real as possible.
        poles: (groups, k) 1/s without each group.
        changed: (groups, l, k) complex shapes without each group, of any factor.
    """
    groups, k = poles.shape
    frequency, ratio = np.abs(poles) / (2 * np.pi), -np.real(poles) / np.abs(poles)
    covariances = np.full((k, 2 + len(shapes), 2 + len(shapes)), np.nan)
    for j in range(k):
        if not (np.isfinite(poles[:, j]).all() and np.isfinite(changed[:, :, j]).all()):
            continue
        turned = np.real(as_real(changed[:, :, j].T)[0])
        turned = turned * np.sign(np.real(shapes[:, j]) @ turned)
        every = np.concatenate([frequency[None, :, j], ratio[None, :, j], turned])
        away = every - every.mean(axis=1, keepdims=True)
        covariances[j] = (groups - 1) / groups * (away @ away.T)
    return covariances
