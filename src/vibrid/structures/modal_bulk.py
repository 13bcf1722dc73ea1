"""The modes of a linear structure for its simulation: all of them, or the lowest, sparse or full."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.memory import refuse_without_memory
from vibrid.structures.base import Structure
from vibrid.structures.damping import Modal, Rayleigh, RayleighRatio
from vibrid.structures.lanczos import factor, lowest_modes
from vibrid.structures.model import Loads
from vibrid.structures.sparse import SparseMatrices

MOST_FULL = 3000
"""Degrees of freedom up to which all modes are found, from full matrices."""


class LinearBulk:
    """M, K, L and the damping of a linear structure about rest, for its modes."""

    attached: Any = None  # rows, slopes and damping of the attachments of sparse matrices

    def __init__(self, structure: Structure, loads: Loads):
        loads = structure.driven_along(loads)
        if isinstance(structure, SparseMatrices):
            self.mass: Any = structure.mass.matrix
            self.stiffness: Any = structure.stiffness.matrix
            columns = [
                -np.asarray(structure.ground_inertia(place)) if kind == "ground_acceleration" else structure.row(place)
                for kind, place in loads
            ]
            self.load = np.stack(columns, axis=1) if columns else np.zeros((structure.size, 0))
            self.full_damping = None
            self.damping = structure.damping
            self.attached = structure.attached() if structure.attachments else None
            if self.attached is not None:
                rows, slopes, _ = self.attached
                self.stiffness = self.stiffness + rows.T @ scipy.sparse.diags(slopes) @ rows
        else:
            mass, damping, stiffness, load = map(np.asarray, _about_rest(structure, loads))
            self.mass, self.stiffness, self.load = mass, stiffness, load
            self.full_damping, self.damping = damping, None
        self._factors: dict[float, scipy.sparse.linalg.SuperLU | None] = {}

    @property
    def size(self) -> int:
        return self.mass.shape[0]

    @property
    def is_sparse(self) -> bool:
        return scipy.sparse.issparse(self.mass)

    def modes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(count,) ω² and (n, count) shapes."""
        n = self.size
        if count < n and (self.is_sparse or count < n // 10):
            return lowest_modes(self.mass, self.stiffness, count)
        refuse_without_memory(f"All {n} modes of a structure", 40.0 * n * n, "ask for fewer with modes=")
        mass, stiffness = (m.toarray() if scipy.sparse.issparse(m) else m for m in (self.mass, self.stiffness))
        diagonal = np.diagonal(mass)
        if np.count_nonzero(mass) == n:  # a diagonal mass: half the work
            scale = 1.0 / np.sqrt(diagonal)
            values, shapes = scipy.linalg.eigh(stiffness * scale * scale[:, None], driver="evd", overwrite_a=True)
            return values[:count], (scale[:, None] * shapes)[:, :count]
        values, shapes = scipy.linalg.eigh(stiffness, mass, driver="gvd")
        return values[:count], shapes[:, :count]

    def rates(self, values: np.ndarray, shapes: np.ndarray) -> np.ndarray | None:
        """(k,) 2ζω of every mode; None where damping couples them."""
        omega = np.sqrt(np.maximum(values, 0.0))
        if self.attached is not None:
            return self._rates_with_attachments(values, shapes)
        if self.full_damping is not None:
            modal = shapes.T @ self.full_damping @ shapes
            return np.diag(modal).copy() if uncoupled(modal, values) else None
        if isinstance(self.damping, Modal):
            given = np.atleast_1d(np.asarray(self.damping.ratios))[: len(values)]
            return 2.0 * np.concatenate([given, np.full(len(values) - len(given), given[-1])]) * omega
        a, b = self._rayleigh_factors()
        return a + b * np.maximum(values, 0.0)

    def _rayleigh_factors(self) -> tuple[float, float]:
        """a and b of C = a M + b K, of the structure without attachments."""
        damping = self.damping
        if damping is None:
            return 0.0, 0.0
        whole = Rayleigh.from_ratios(damping.frequencies, 1.0) if isinstance(damping, RayleighRatio) else damping
        share = float(damping.ratio) if isinstance(damping, RayleighRatio) else 1.0
        assert isinstance(whole, Rayleigh)
        return share * float(whole.mass), share * float(whole.stiffness)

    def _rates_with_attachments(self, values: np.ndarray, shapes: np.ndarray) -> np.ndarray | None:
        """2ζω where Rayleigh damping leaves out the attachments, and these have their own; None where that couples."""
        rows, slopes, own = self.attached
        (a, b), moved = self._rayleigh_factors(), rows @ shapes
        modal = np.diag(a + b * values) + moved.T @ ((own - b * slopes)[:, None] * moved)
        return np.diag(modal).copy() if uncoupled(modal, values) else None

    def left_out(self, shapes: np.ndarray, frequencies: np.ndarray) -> np.ndarray | None:
        """(frequencies, n, m): displacement per unit input at ω rad/s of the modes that are not in `shapes`, without
        damping; None where K is singular and ω = 0.

        The load is freed of the modes that are there, so that a frequency close to one of them does no harm.
        """
        weighted = self.mass @ shapes
        load = self.load - weighted @ (shapes.T @ self.load)
        found = np.zeros((len(frequencies), *load.shape))
        for i, frequency in enumerate(frequencies):
            factors = self._factored(float(frequency))
            if factors is None:
                return None
            own = factors.solve(load)
            found[i] = own - shapes @ (weighted.T @ own)
        return found if np.isfinite(found).all() else None

    def _factored(self, frequency: float) -> scipy.sparse.linalg.SuperLU | None:
        """The factors of K − ω² M, made once; None where it is singular."""
        if frequency not in self._factors:
            try:
                self._factors[frequency] = factor(self.stiffness - frequency**2 * self.mass)
            except RuntimeError:
                self._factors[frequency] = None
        return self._factors[frequency]


def uncoupled(modal: np.ndarray, values: np.ndarray) -> bool:
    """Whether modal damping is diagonal up to rounding, between modes of different frequency."""
    apart = np.abs(values[:, None] - values) / np.maximum(np.maximum.outer(np.abs(values), np.abs(values)), 1e-300)
    diagonal = np.abs(np.diag(modal))
    allowed = 1e-6 * np.sqrt(np.outer(diagonal, diagonal)) + 1e3 * np.finfo(float).eps * np.abs(modal).max()
    return bool(np.all(np.abs(modal - np.diag(np.diag(modal))) * apart <= allowed))


@eqx.filter_jit
def _about_rest(structure, loads):
    model = structure.model(loads)
    return (*model.initial_matrices(), jnp.asarray(model.load_matrix))
