"""Stochastic realisation: from correlations (or free decays) to the poles and shapes of models of all orders.

The block Hankel matrix H of R₁, R₂, … has the column space of the observability matrix O = [C; CA; CA²; …]. Its left
singular vectors U₁ are taken for O: another basis of the same space changes A and C by a similarity, and neither poles
nor shapes (P. Van Overschee & B. De Moor, 1996; B. Peeters & G. De Roeck, 1999, with references).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy


def block_hankel(sequence: np.ndarray, rows: int) -> np.ndarray:
    """(rows · l, columns · r) block Hankel matrix of a sequence (rows + columns − 1, l, r)."""
    count, l, r = sequence.shape
    columns = count - rows + 1
    index = np.arange(rows)[:, None] + np.arange(columns)[None, :]
    return sequence[index].transpose(0, 2, 1, 3).reshape(rows * l, columns * r)


@dataclass(frozen=True, eq=False)
class Realisation:
    """Models of all orders from one block Hankel matrix H = U S Vᵀ.

    Fields
        left: (m, m) U, complete; values: (min(m, n),) S; right: (n, n) V, complete.
        channels: rows of C.
        step: s between samples.
        q, r: of the QR decomposition of the upper rows of the first columns of U, for all orders at once.
        projected: qᵀ times the lower rows of the same columns.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    channels: int
    step: float
    q: np.ndarray
    r: np.ndarray
    projected: np.ndarray

    @staticmethod
    def of(hankel: np.ndarray, channels: int, step: float, highest_order: int, complete: bool = True) -> Realisation:
        """Decompose; `complete` singular vectors are needed by derivatives alone."""
        left, values, right = scipy.linalg.svd(hankel, full_matrices=complete, lapack_driver="gesdd")
        q, r = np.linalg.qr(left[:-channels, :highest_order])
        return Realisation(
            left, values, right.T, channels, step, q, r, q.T @ left[channels:, :highest_order]
        )  # fmt: skip

    def state_matrix(self, order: int) -> np.ndarray:
        """A of a model of this order: the least squares of O↑ A = O↓."""
        return scipy.linalg.solve_triangular(self.r[:order, :order], self.projected[:order, :order])

    def modes(self, order: int) -> OrderModes:
        """The oscillating modes of the model of one order, one of each conjugate pair."""
        values, vectors = np.linalg.eig(self.state_matrix(order))
        kept = np.flatnonzero((np.imag(values) > 1e-12) & (np.abs(values) > 1e-9))
        poles = np.log(values[kept]) / self.step
        return OrderModes(order, kept, values, vectors, poles, self.left[: self.channels, :order] @ vectors[:, kept])


@dataclass(frozen=True, eq=False)
class OrderModes:
    """The modes of a model of one order.

    Fields
        kept: indices of the eigenvalues below that are modes.
        values, vectors: all eigenvalues and eigenvectors of A.
        poles: (k,) 1/s of the modes kept.
        shapes: (channels, k) complex, of these.
    """

    order: int
    kept: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    poles: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Hz, undamped."""
        return np.abs(self.poles) / (2 * np.pi)

    @property
    def ratios(self) -> np.ndarray:
        return -np.real(self.poles) / np.abs(self.poles)


@dataclass(frozen=True, eq=False)
class HankelChanges:
    """Small changes of H, in the bases of its singular vectors: what the changes of modes of any order need.

    Fields
        tall: (changes, m, p) Uᵀ ΔH V₁, wide: (changes, p, n) U₁ᵀ ΔH V, for the p first singular vectors.
    """

    tall: np.ndarray
    wide: np.ndarray

    @staticmethod
    def of(made: Realisation, sequences: np.ndarray, rows: int, highest_order: int) -> HankelChanges:
        """From changes (changes, lags, l, r) of the sequence of correlations."""
        p = highest_order
        tall = np.empty((len(sequences), made.left.shape[1], p))
        wide = np.empty((len(sequences), p, made.right.shape[1]))
        for i, sequence in enumerate(sequences):
            change = block_hankel(sequence, rows)
            tall[i] = made.left.T @ (change @ made.right[:, :p])
            wide[i] = (made.left[:, :p].T @ change) @ made.right
        return HankelChanges(tall, wide)


def changes_of_mode(made: Realisation, at: OrderModes, mode: int, moved: np.ndarray):
    """(changes,) Δpole and (changes, channels) Δshape of one mode of a model, to first order.

    `moved` is the `subspace_change` of the model's order.

    The perturbation of E. Reynders, R. Pintelon & G. De Roeck (2008) as M. Döhler & L. Mevel (2013) arrange it: for
    each change of H only a few vectors of O are followed. The term of the least-squares residual is kept, so the
    derivative is exact.
    """
    n, l, i = at.order, made.channels, at.kept[mode]
    value, vector = at.values[i], at.vectors[:, i]
    inverse = np.linalg.inv(at.vectors)
    outside = made.left[:, n:]
    d = _times(moved, vector) @ outside.T  # (changes, m): ΔO φ
    upper, lower = made.left[:-l, :n], made.left[l:, :n]
    residual = lower @ vector - value * (upper @ vector)
    weight = outside[:-l].T @ residual  # (m − n,)
    r = made.r[:n, :n]
    straight = scipy.linalg.solve_triangular(r, made.q[:, :n].T @ (d[:, l:] - value * d[:, :-l]).T)
    bent = _times(moved.transpose(0, 2, 1), weight).T  # ΔO↑ᵀ residual
    bent = scipy.linalg.solve_triangular(r, scipy.linalg.solve_triangular(r, bent, trans="T"))
    moves = inverse @ (straight + bent)  # (n, changes): ΔA φ in the eigenvectors of A
    gaps = value - at.values
    gaps[i] = np.inf
    d_shape = d[:, :l] + ((made.left[:l, :n] @ at.vectors) @ (moves / gaps[:, None])).T
    return moves[i] / (value * made.step), d_shape


def _times(matrices: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Real matrices times a complex vector, without complex copies of them."""
    both = matrices @ np.stack([np.real(vector), np.imag(vector)], axis=1)
    return both[..., 0] + 1j * both[..., 1]


def subspace_change(made: Realisation, changes: HankelChanges, n: int) -> np.ndarray:
    """(changes, m − n, n): how the first n left singular vectors turn towards the others.

    uⱼᵀ Δuᵢ = (σᵢ uⱼᵀΔH vᵢ + σⱼ uᵢᵀΔH vⱼ) / (σᵢ² − σⱼ²) for i ≤ n < j; σⱼ is zero beyond the smaller side of H.
    """
    inside, m = made.values[:n], made.left.shape[1]
    outside = np.zeros(m - n)
    rest = made.values[n:]
    outside[: len(rest)] = rest
    numerator = changes.tall[:, n:, :n] * inside
    shared = min(m, made.right.shape[1]) - n
    numerator[:, :shared] += outside[:shared, None] * changes.wide[:, :n, n : n + shared].transpose(0, 2, 1)
    gap = inside[None, :] ** 2 - outside[:, None] ** 2
    return numerator / np.where(gap > 0, gap, np.inf)  # equal ones, such as zeros without any noise, turn freely
