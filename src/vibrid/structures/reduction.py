"""Reduction of a structure to few degrees of freedom, and the expansion back.

    x = T q        M_r = Tᵀ M T,  C_r = Tᵀ C T,  K_r = Tᵀ K T,  deformations B T q,  loads Tᵀ L u

With kept (a) and other (o) degrees of freedom and the modes Φ of the whole:
- Guyan (1965): static, x_o = −K_oo⁻¹ K_oa x_a.
- IRS, improved reduced system (O'Callahan 1989): Guyan and the inertia of the others to first order,
  T = T_s + [0; K_oo⁻¹] M T_s M_s⁻¹ K_s.
- SEREP (O'Callahan, Avitabile, Riemer 1989): T = Φ Φ_a⁻¹ with as many modes as kept: those modes are exact.
- Craig–Bampton (1968): Guyan and k modes of the structure held at the kept degrees of freedom.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, Refusal, unknown_name
from vibrid.laws.base import Law
from vibrid.structures.base import GROUND, Structure
from vibrid.structures.constants import ConstantArray
from vibrid.structures.incidence import dense_incidence
from vibrid.structures.model import Loads, Model

if TYPE_CHECKING:
    from vibrid.structures.model import Part

METHODS = ("guyan", "irs", "serep", "craig-bampton")


class Reduced(Structure):
    """A structure with few coordinates, made by `reduce`; simulate, measure, load and identify it like any other.

    Fields
        full: the structure that was reduced, with its laws, damping and parameters: paths begin with `full.`, e.g.
            `full.attachments[0].law.cubic`.
        transformation: T (n, r), a constant: it does not follow when parameters of `full` change.
        keep: places of the first coordinates; the rest, if any, are amplitudes of inner modes.

    Places are all those of `full`; a place that was not kept moves by T.
    """

    full: Structure
    transformation: ConstantArray = eqx.field(static=True)
    keep: tuple[str, ...] = eqx.field(static=True)

    @property
    def matrix(self) -> np.ndarray:
        """T (n, r): `x = T q`."""
        return self.transformation.values

    def expand(self, q: jax.Array) -> jax.Array:
        """Motion of the full structure from motion of this one: (…, r) to (…, n); displacement, velocity alike."""
        return q @ self.matrix.T

    @property
    def size(self) -> int:
        return self.matrix.shape[1]

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        """M and K of the coordinates; the full structure's own laws stay laws."""
        t = jnp.asarray(self.matrix)
        mass, stiffness = self.full.matrices()
        full = jnp.diag(mass) if mass.ndim == 1 else mass
        return t.T @ full @ t, None if stiffness is None else t.T @ stiffness @ t

    def model(self, loads: Loads = GROUND, parts: Sequence[Part] | None = None) -> Model:
        t = self.matrix
        full = self.full.model(loads, parts)
        mass = t.T @ full.mass_matrix @ t
        return dataclasses.replace(
            full,
            mass=mass,
            inverse_mass=jnp.linalg.inv(mass),
            damping=None if full.damping is None else t.T @ full.damping @ t,
            stiffness=None if full.stiffness is None else t.T @ full.stiffness @ t,
            incidence=None if full.incidence is None else dense_incidence(full.incidence.dense() @ t),
            load_matrix=t.T @ full.load_matrix,
        )

    def laws(self) -> list[Law]:
        return self.full.laws()

    def places(self) -> tuple[str, ...]:
        return self.full.places()

    def row(self, place: str) -> np.ndarray:
        return self.full.row(place) @ self.matrix

    def rotation_row(self, place: str) -> np.ndarray:
        return self.full.rotation_row(place) @ self.matrix

    def drift_row(self, place: str) -> np.ndarray:
        return self.full.drift_row(place) @ self.matrix

    def strain_row(self, place: str) -> np.ndarray | jax.Array:
        return self.full.strain_row(place) @ self.matrix

    def force_row(self, place: str) -> np.ndarray | jax.Array:
        return self.full.force_row(place) @ self.matrix

    def ground_axes(self) -> dict[str, str]:
        return self.full.ground_axes()

    def ground(self, direction: str = "") -> np.ndarray:
        raise Refusal("A reduced structure need not be able to move rigidly; use carried(place) or ground_inertia().")

    def ground_inertia(self, direction: str = "") -> jax.Array:
        return jnp.asarray(self.matrix.T) @ self.full.ground_inertia(direction)

    def carried(self, place: str, direction: str = "") -> np.ndarray | jax.Array:
        return self.full.carried(place, direction)


@checked
def reduce(structure: Structure, keep: Sequence[str | int], method: str = "guyan", modes: int | None = None) -> Reduced:
    """The same structure with fewer degrees of freedom.

    Arguments
        structure: what to reduce. Its laws, attachments and damping are carried over by the same transformation, which
            is computed once, from the structure about rest without its attachments.
        keep: places that stay, each one degree of freedom ("3.lateral").
        method: "guyan", "irs", "serep" or "craig-bampton".
        modes: for "craig-bampton", how many inner modes to add; "serep" uses as many as it keeps.

    Example
        >>> small = reduce(beam, keep=[f"{i}.lateral" for i in range(1, 16)], method="serep")
        >>> response = simulate(small, record)
        >>> small.expand(response.displacement)
    """
    if method not in METHODS:
        raise unknown_name("reduction method", method, METHODS)
    if isinstance(structure, Reduced):
        raise InputError("This structure is reduced already; reduce the full one, which it holds as `.full`.")
    mass, stiffness = _bare_matrices(structure)
    kept = [_kept_index(structure, str(place)) for place in keep]
    if not kept or len(set(kept)) < len(kept) or len(kept) >= len(mass):
        raise InputError(f"Keep between 1 and {len(mass) - 1} different degrees of freedom; {len(kept)} were given.")
    others = np.setdiff1d(np.arange(len(mass)), kept)
    inner_modes = 0
    if method == "craig-bampton":
        if modes is None or not 1 <= modes <= len(others):
            raise InputError(
                f"Give the number of inner modes to add: modes= 1 to {len(others)} (none is Guyan's method)."
            )
        inner_modes = modes
    elif modes not in ((None, len(kept)) if method == "serep" else (None,)):
        raise InputError(
            f"SEREP uses as many modes as it keeps degrees of freedom, here {len(kept)}; with {modes} its mass matrix "
            "would be singular."
            if method == "serep"
            else f"'{method}' uses no modes; leave out modes=."
        )
    if method == "serep":
        _, shapes = scipy.linalg.eigh(stiffness, mass, subset_by_index=(0, len(kept) - 1))
        if np.linalg.cond(shapes[kept]) > 1e10:
            raise InputError("The kept degrees of freedom cannot distinguish the modes; keep others, or fewer.")
        return Reduced(structure, ConstantArray(np.linalg.solve(shapes[kept].T, shapes.T).T), tuple(map(str, keep)))
    columns = [_static(stiffness, kept, others)]
    if method == "irs":
        columns = [_improved(columns[0], mass, stiffness, others)]
    elif method == "craig-bampton":
        inner = np.ix_(others, others)
        _, shapes = scipy.linalg.eigh(stiffness[inner], mass[inner], subset_by_index=(0, inner_modes - 1))
        columns.append(np.zeros((len(mass), inner_modes)))
        columns[1][others] = shapes
    return Reduced(structure, ConstantArray(np.concatenate(columns, axis=1)), tuple(map(str, keep)))


def _bare_matrices(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """M and K about rest, attachments left out."""
    if getattr(structure, "attachments", ()):
        structure = dataclasses.replace(structure, attachments=())
    mass, _, stiffness = eqx.filter_jit(lambda s: s.model(()).initial_matrices())(structure)
    return np.asarray(mass), np.asarray(stiffness)


def _kept_index(structure: Structure, place: str) -> int:
    row = structure.row(place)
    entries = np.flatnonzero(row)
    if len(entries) != 1 or row[entries[0]] != 1:
        raise InputError(f"'{place}' is not one degree of freedom that can move; keep nodes with a direction.")
    return int(entries[0])


def _static(stiffness, kept, others) -> np.ndarray:
    inner = stiffness[np.ix_(others, others)]
    if np.linalg.cond(inner) > 1e14:
        raise InputError("Held at the kept degrees of freedom the structure can still move freely; keep more of them.")
    t = np.zeros((len(stiffness), len(kept)))
    t[kept, np.arange(len(kept))] = 1.0
    t[others] = -np.linalg.solve(inner, stiffness[np.ix_(others, kept)])
    return t


def _improved(static, mass, stiffness, others) -> np.ndarray:
    small_mass, small_stiffness = static.T @ mass @ static, static.T @ stiffness @ static
    inertia = mass @ static @ np.linalg.solve(small_mass, small_stiffness)
    t = static.copy()
    t[others] += np.linalg.solve(stiffness[np.ix_(others, others)], inertia[others])
    return t
