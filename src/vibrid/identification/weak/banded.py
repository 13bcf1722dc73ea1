"""Least squares in the weights of splines: banded normal equations, with a border of unknowns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.errors import Divergence
from vibrid.identification.weak.splines import REACH


def squares(slope: np.ndarray) -> np.ndarray:
    """Lower band (6 c, N) of Σ Sᵀ S over interval slopes S (intervals, rows, 6 c), each c places after the last."""
    count, rows, size = slope.shape
    parts = slope.reshape(count, rows, REACH, size // REACH)
    blocks = np.zeros((REACH, count + REACH - 1, size // REACH, size // REACH))
    for distance in range(REACH):
        for k in range(REACH - distance):
            blocks[distance, k : k + count] += parts[:, :, k + distance].transpose(0, 2, 1) @ parts[:, :, k]
    return from_diagonals(blocks)


def diagonals(blocks: np.ndarray) -> np.ndarray:
    """(6, …, weights): sums of interval blocks (…, intervals, 6, 6) of one channel, by distance from the diagonal."""
    count = blocks.shape[-3]
    sums = np.zeros((REACH, *blocks.shape[:-3], count + REACH - 1))
    for distance in range(REACH):
        for k in range(REACH - distance):
            sums[distance, ..., k : k + count] += blocks[..., k + distance, k]
    return sums


def from_diagonals(blocks: np.ndarray) -> np.ndarray:
    """Lower band (6 c, N) of a symmetric matrix of c × c blocks: `blocks[d, i]` is block (i + d, i)."""
    _, weights, channels, _ = blocks.shape
    band = np.zeros((REACH * channels, weights * channels))
    for distance in range(REACH):
        for column in range(channels):
            first = column if distance == 0 else 0
            top = distance * channels - column
            band[top + first : top + channels, column::channels] = blocks[distance, :, first:, column].T
    return band


def add_block(band: np.ndarray, block: np.ndarray, interval: int = 0) -> None:
    """Add a block (6 c, 6 c) of one interval to a band, in place."""
    start = interval * (len(block) // REACH)
    for column in range(len(block)):
        band[: len(block) - column, start + column] += block[column:, column]


def gather_rows(rows: np.ndarray) -> np.ndarray:
    """(N, …): sum of interval vectors (intervals, 6 c, …), each c places after the last."""
    count, size = rows.shape[:2]
    channels = size // REACH
    total = np.zeros(((count + REACH - 1) * channels, *rows.shape[2:]))
    for b in range(size):
        total[b : b + count * channels : channels] += rows[:, b]
    return total


def factorise(band: np.ndarray) -> np.ndarray:
    """Cholesky factor of the lower band of a symmetric matrix without negative eigenvalues.

    Weights that readings and equations hardly determine (few samples in a period, accelerations alone) make it singular
    to rounding; its diagonal is then raised by the smallest share that gives a factor, which damps such weights.
    """
    if np.isfinite(band).all():
        for raised in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
            with suppress(np.linalg.LinAlgError):
                lifted = np.concatenate([band[:1] * (1.0 + raised), band[1:]])
                return scipy.linalg.cholesky_banded(lifted, lower=True, overwrite_ab=True, check_finite=False)
    raise Divergence(
        "Readings and equations do not determine the splines of the motion: give WeakCollocation a longer spacing, or "
        "more samples in a period."
    )


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
        factor = factorise(band)
        p = len(self.corner)
        sides = np.concatenate([self.border, self.weights_side[:, None]], axis=1)
        solved = scipy.linalg.cho_solve_banded((factor, True), sides, check_finite=False)
        return Eliminated(
            solved[:, :p],
            solved[:, p],
            self.corner - self.border.T @ solved[:, :p],
            self.unknowns_side - self.border.T @ solved[:, p],
            float(self.weights_side @ solved[:, p]),
            factor,
        )


@dataclass(frozen=True, eq=False)
class Eliminated:
    """The reduced system of the unknowns after the weights of one record are eliminated."""

    follow: np.ndarray  # A⁻¹ B: how the weights follow the unknowns
    alone: np.ndarray  # A⁻¹ a: their step when the unknowns do not change
    information: np.ndarray  # S: (p, p)
    side: np.ndarray  # (p,)
    promise: float  # twice the decrease of the cost when only the weights change
    factor: np.ndarray

    def weights_step(self, unknowns_step: np.ndarray) -> np.ndarray:
        return self.alone - self.follow @ unknowns_step


def times(band: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The product of a symmetric matrix, given by its lower band, with a vector."""
    product = band[0] * vector
    for k in range(1, len(band)):
        product[k:] += band[k, :-k] * vector[:-k]
        product[:-k] += band[k, :-k] * vector[k:]
    return product
