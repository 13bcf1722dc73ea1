"""A structure as a linear bulk with parts that touch few degrees of freedom, for its simulation in modes.

    M ẍ + C ẋ + K x + Bᵀ f(e, w, s) = L u,      e = B x, w = B ẋ

Slopes of the laws about rest are taken into the bulk, and out of the laws again: K₀ = K + Bᵀ k B and f − k e. That
changes nothing but the modes: with Φ those of K₀ (unit modal mass, x = Φ q) every mode moves by itself,

    q̈ᵢ + dᵢ q̇ᵢ + ωᵢ² qᵢ + (B Φ)ᵢᵀ g = φᵢᵀ L u,      g = f − k e − c w

The damping stays as given. Rayleigh damping `a M + b K` of the structure without its attachments is diagonal in these
modes but for the slopes k of the attachments: c = b k. Any other damping must be diagonal in the modes of K₀ or in
those of the structure without its attachments, whose slopes then stay with the laws.

Few modes are joined by the static shapes `K₀⁻¹ [Bᵀ L]` of the laws and the loads, made orthogonal to them and to each
other in M and K₀, so that what acts on the structure deforms it statically as it should (static correction).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.errors import Refusal
from vibrid.structures.base import Structure
from vibrid.structures.damping import Rayleigh, RayleighRatio
from vibrid.structures.incidence import IncidenceRow, incidence
from vibrid.structures.lanczos import factor
from vibrid.structures.modal_bulk import LinearBulk, uncoupled
from vibrid.structures.model import Loads, Model
from vibrid.structures.sparse import SparseMatrices

_COUPLED = "The damping of this structure couples the modes of its linear part; leave out modes=."
_DEPENDENT = 1e-10  # share of the largest below which static shapes say nothing new


class BulkModes(NamedTuple):
    """The modes of the bulk and what they take out of the laws; arrays of NumPy."""

    values: np.ndarray  # (k,) ω²
    rates: np.ndarray  # (k,) d
    shapes: np.ndarray  # (n, k)
    taken: np.ndarray  # (r, r) k, the slopes that are in the bulk
    damped: np.ndarray  # (r, r) c, the damping that is in the bulk and not in the structure


class BulkWithParts(LinearBulk):
    """M, K₀, C, L and the rows of the laws of a structure, as numbers."""

    def __init__(self, structure: Structure, loads: Loads):
        if isinstance(structure, SparseMatrices):
            super().__init__(structure, loads)
            model, self.bare = structure.shape_of_model(loads), structure.stiffness.matrix
        else:
            model = structure.model(loads)
            self.mass, self.load = np.asarray(model.mass_matrix), np.asarray(model.load_matrix)
            zero = np.zeros_like(self.mass)
            self.full_damping = zero if model.damping is None else np.asarray(model.damping)
            self.bare = zero if model.stiffness is None else np.asarray(model.stiffness)
            self.damping = None
        self.model, rows = model, model.incidence
        assert rows is not None
        self.rows = np.asarray(rows.dense())
        self.kind = getattr(structure, "damping", None)
        attached = [name.startswith("attachments[") for name, _ in model.parts]
        self.slopes = {own: _slopes(model, [a == own for a in attached]) for own in (True, False)}
        self._factors = {}

    @property
    def count(self) -> int:
        """Rows that laws act on."""
        return len(self.rows)

    def all_modes(self) -> BulkModes:
        """All modes; a damping that couples them is refused."""
        own, attached = self.slopes[False], self.slopes[True]
        for taken in (own + attached, own):
            self._take(taken)
            found = self._damped(*self.modes(self.size), taken)
            if found is not None:
                return found
            if not attached.any():
                break
        raise Refusal(_COUPLED)

    def lowest(self, count: int) -> BulkModes:
        """The lowest modes, and after them the static shapes of laws and loads."""
        taken = self.slopes[False] + self.slopes[True]
        self._take(taken)
        values, shapes = self.modes(count)
        factors = self._factored(0.0)
        if factors is None:
            raise Refusal("The linear part of this structure can move freely: take all modes of it (modes='all').")
        static = factors.solve(np.concatenate([self.rows.T, self.load], axis=1))
        for _ in range(2):  # twice, against rounding
            static = static - shapes @ ((self.mass @ shapes).T @ static)
        static = static / np.sqrt(np.maximum(np.einsum("ni,ni->i", static, self.mass @ static), 1e-300))
        sizes, turned = np.linalg.eigh(static.T @ (self.mass @ static))
        kept = sizes > _DEPENDENT * sizes.max(initial=0.0)
        static = static @ (turned[:, kept] / np.sqrt(sizes[kept]))
        more, turned = np.linalg.eigh(static.T @ (self.stiffness @ static))
        found = self._damped(np.r_[values, more], np.concatenate([shapes, static @ turned], axis=1), taken)
        if found is None:
            raise Refusal(_COUPLED)
        return found

    def _take(self, taken: np.ndarray) -> None:
        """Slopes of laws into the stiffness of the bulk."""
        rows, slopes = (scipy.sparse.csr_matrix(m) if self.is_sparse else m for m in (self.rows, taken))
        self.stiffness, self._factors = self.bare + rows.T @ slopes @ rows, {}

    def _rayleigh(self) -> tuple[float, float] | None:
        """a and b of the damping; None where it is another one."""
        kind = self.kind
        if isinstance(kind, RayleighRatio):
            unit, share = Rayleigh.from_ratios(kind.frequencies, 1.0), float(kind.ratio)
            return share * float(unit.mass), share * float(unit.stiffness)
        if isinstance(kind, Rayleigh):
            return float(kind.mass), float(kind.stiffness)
        return (0.0, 0.0) if kind is None else None

    def _damped(self, values: np.ndarray, shapes: np.ndarray, taken: np.ndarray) -> BulkModes | None:
        """These modes with their damping; None where it couples them."""
        factors = self._rayleigh()
        if factors is not None:
            a, b = factors
            included = self.slopes[True] if taken is not self.slopes[False] else np.zeros_like(taken)
            return BulkModes(values, a + b * values, shapes, taken, b * included)
        modal = shapes.T @ self.full_damping @ shapes
        if not uncoupled(modal, values):
            return None
        return BulkModes(values, np.diag(modal).copy(), shapes, taken, np.zeros_like(taken))

    def missed(self, found: BulkModes, frequency: float) -> np.ndarray:
        """(n, m + r), complex: displacement per unit input and per unit force of a row at ω rad/s that is not in these
        modes."""
        force = np.concatenate([self.load, -self.rows.T], axis=1)
        factors = self._rayleigh()
        if factors is None:
            damping: Any = self.full_damping
        else:
            damping = factors[0] * self.mass + factors[1] * self.stiffness
        whole = self.stiffness + 1j * frequency * damping - frequency**2 * self.mass
        solved = factor(whole).solve(force.astype(complex))
        values = found.values + 1j * frequency * found.rates - frequency**2
        return solved - found.shapes @ ((found.shapes.T @ force) / values[:, None])

    def laws(self) -> Model:
        """The laws alone, as a model whose displacements are the deformations of the rows."""
        r = self.count
        identity = incidence([IncidenceRow(np.array([i]), np.ones(1)) for i in range(r)], r)
        ones = jnp.ones(r)
        return Model(ones, ones, None, None, identity, self.model.groups, jnp.zeros((r, 0)), (), self.model.parts)


def _slopes(model: Model, chosen: list[bool]) -> np.ndarray:
    """(r, r): the slopes about rest of the chosen parts, among the rows."""
    assert model.incidence is not None
    total = np.zeros((model.incidence.shape[0],) * 2)
    first = 0
    for group in model.groups:
        k = np.asarray(_initial_stiffness(group.law)).reshape(group.count, group.components, group.components)
        for i, at in enumerate(np.reshape(group.index, (group.count, group.components))):
            if chosen[first + i]:
                total[np.ix_(at, at)] += k[i]
        first += group.count
    return total


@eqx.filter_jit
def _initial_stiffness(law):
    return jax.vmap(lambda one: one.initial_stiffness())(law)
