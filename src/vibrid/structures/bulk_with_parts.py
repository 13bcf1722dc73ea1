"""A structure as a linear bulk with parts that touch few degrees of freedom, for its simulation in modes.

    M ẍ + C ẋ + K x + Bᵀ f(e, w, s) = L u,      e = B x, w = B ẋ

Slopes of the laws about rest are taken into the bulk, and out of the laws again: K₀ = K + Bᵀ k B and f − k e. That
changes nothing but the modes: with Φ those of K₀ (unit modal mass, x = Φ q) every mode moves by itself,

    q̈ᵢ + dᵢ q̇ᵢ + ωᵢ² qᵢ + (B Φ)ᵢᵀ g = φᵢᵀ L u,      g = f − k e − c w

The damping stays as given. Rayleigh damping `a M + b K` of the structure without its attachments is diagonal in these
modes but for the slopes k of the attachments: c = b k. Any other damping must be diagonal in the modes of K₀ or in
those of the structure without its attachments, whose slopes then stay with the laws.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.structures.base import Structure
from vibrid.structures.damping import Rayleigh, RayleighRatio
from vibrid.structures.incidence import IncidenceRow, incidence
from vibrid.structures.modal_bulk import LinearBulk, uncoupled
from vibrid.structures.model import Loads, Model


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
        self.model = model = structure.model(loads)
        rows = model.incidence
        assert rows is not None
        self.rows = np.asarray(rows.dense())
        self.mass = np.asarray(model.mass_matrix)
        self.load = np.asarray(model.load_matrix)
        zero = np.zeros_like(self.mass)
        self.full_damping = zero if model.damping is None else np.asarray(model.damping)
        self.bare = zero if model.stiffness is None else np.asarray(model.stiffness)
        self.kind, self.damping = getattr(structure, "damping", None), None
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
            self.stiffness = self.bare + self.rows.T @ taken @ self.rows
            values, shapes = self.modes(self.size)
            if isinstance(self.kind, Rayleigh | RayleighRatio):
                whole = self.kind
                if isinstance(whole, RayleighRatio):
                    unit = Rayleigh.from_ratios(whole.frequencies, 1.0)
                    whole = Rayleigh(mass=whole.ratio * unit.mass, stiffness=whole.ratio * unit.stiffness)
                a, b = float(whole.mass), float(whole.stiffness)
                return BulkModes(values, a + b * values, shapes, taken, b * attached)
            modal = shapes.T @ self.full_damping @ shapes
            if uncoupled(modal, values):
                return BulkModes(values, np.diag(modal).copy(), shapes, taken, np.zeros_like(taken))
            if not attached.any():
                break
        raise Refusal("The damping of this structure couples the modes of its linear part; leave out modes=.")

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
