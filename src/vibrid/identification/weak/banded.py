"""Least squares in the weights of splines: banded normal equations, a border of unknowns eliminated from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from vibrid.identification.weak.splines import REACH


def gather(blocks: np.ndarray) -> np.ndarray:
    """Lower band (6 c, N) of the sum of interval blocks (intervals, 6 c, 6 c), each c places after the last."""
    count, size, _ = blocks.shape
    channels = size // REACH
    band = np.zeros((size, (count + REACH - 1) * channels))
    for b in range(size):
        band[: size - b, b : b + count * channels : channels] += blocks[:, b:, b].T
    return band


def gather_rows(rows: np.ndarray) -> np.ndarray:
    """(N, …): sum of interval vectors (intervals, 6 c, …), each c places after the last."""
    count, size = rows.shape[:2]
    channels = size // REACH
    total = np.zeros(((count + REACH - 1) * channels, *rows.shape[2:]))
    for b in range(size):
        total[b : b + count * channels : channels] += rows[:, b]
    return total


@dataclass(frozen=True, eq=False)
class Bordered:
    """Normal equations [A B; Bᵀ D] with a banded A (weights) and a small border (unknowns), and their right sides."""

    band: np.ndarray  # lower band of A
    border: np.ndarray  # B: (N, p)
    corner: np.ndarray  # D: (p, p)
    weights_side: np.ndarray  # (N,)
    unknowns_side: np.ndarray  # (p,)

    def eliminate(self, damping: float) -> Eliminated:
        """Factorise A (1 + damping on its diagonal) and eliminate the weights: S = D − Bᵀ A⁻¹ B."""
        band = self.band.copy()
        band[0] *= 1.0 + damping
        factor = cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
        p = len(self.corner)
        sides = np.concatenate([self.border, self.weights_side[:, None]], axis=1)
        solved = cho_solve_banded((factor, True), sides, check_finite=False)
        return Eliminated(
            solved[:, :p],
            solved[:, p],
            self.corner - self.border.T @ solved[:, :p],
            self.unknowns_side - self.border.T @ solved[:, p],
            factor,
        )


@dataclass(frozen=True, eq=False)
class Eliminated:
    """What is left for the unknowns when the weights of one record are eliminated."""

    follow: np.ndarray  # A⁻¹ B: how the weights follow the unknowns
    alone: np.ndarray  # A⁻¹ a: their step when the unknowns stay
    information: np.ndarray  # S: (p, p)
    side: np.ndarray  # (p,)
    factor: np.ndarray

    def weights_step(self, unknowns_step: np.ndarray) -> np.ndarray:
        return self.alone - self.follow @ unknowns_step
