"""Members with fibre sections, as laws of their end deformations.

The basic deformations of a plane member are its elongation and the rotations of its two ends against the chord, (u, θ₁,
θ₂); the forces that go with them are N, M₁, M₂. Along ξ from 0 to 1 the section forces are `N` and
`M = (ξ − 1) M₁ + ξ M₂`, to which loads on the member add their own.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.laws.base import Law, StaticLaw
from vibrid.structures.sections import Fibres, initial_stiffness, respond, start_states

_UNROLLED = 2  # iterations written out; more are a loop, which compiles faster
COMPONENTS = ("axial", "moment_start", "moment_end")


class ElementState(NamedTuple):
    """The state of a member. Sections are the last axis of (2, sections): first axial, then bending."""

    force: jax.Array  # (components,) forces of the member
    deformation: jax.Array  # (2, sections) axial strain and curvature
    section_force: jax.Array  # (2, sections) N and M of the fibres at that deformation
    stiffness: jax.Array  # (3, sections) tangents of the sections: dN/dε, dN/dκ, dM/dκ
    fibres: tuple  # states of the materials


class Settled(eqx.Module):
    """A member under its permanent loads: the deformation from which motion is counted, and its state there."""

    deformation: jax.Array
    state: ElementState


class FiberElement(Law):
    """Base of members with fibre sections. Deformations and forces count from the settled state.

    Fields
        fibres: of every section of the member.
        axial, bending: (sections, components), how section forces follow from member forces.
        weights: (sections,) m, the length that each section stands for.
        loads: (2, sections) N and N m, section forces of the loads on the member, its ends held.
        settled: the state under permanent loads; None for a member at rest.
        iterations: of the state determination in one step.
    """

    fibres: tuple[Fibres, ...]
    axial: jax.Array
    bending: jax.Array
    weights: jax.Array
    loads: jax.Array
    settled: Settled | None
    iterations: int = eqx.field(static=True)
    # constants of most laws; a member's depend on its section
    components: int = eqx.field(static=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    is_heavy: ClassVar[bool] = True

    @property
    def component_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return COMPONENTS if self.components == 3 else ()

    def start(self) -> ElementState:
        if self.settled is not None:
            return self.settled.state
        return self._rest()

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        force = s.force if self.settled is None else s.force - self.settled.state.force
        return force.reshape(jnp.shape(e))

    def advance(self, s: Any, before, after, dt: jax.Array | float) -> Any:
        e = jnp.reshape(after.e, (self.components,))
        return self.determine(s, e if self.settled is None else e + self.settled.deformation)

    def with_share(self, factor: jax.Array | float) -> Self:
        """The same member under a share of the load along it."""
        return dataclasses.replace(self, loads=factor * self.loads)

    def settled_at(self, deformation: jax.Array, state: Any) -> Self:
        """The same member whose motion counts from a deformation and state under permanent loads."""
        return dataclasses.replace(self, settled=Settled(deformation, state))

    def determine(self, s: ElementState, deformation: jax.Array) -> ElementState:
        """The state at a total deformation, coming from the committed state `s`."""
        raise NotImplementedError

    def tangent(self, s: ElementState) -> jax.Array:
        """(components, components): stiffness of the member at a state."""
        raise NotImplementedError

    def slope(
        self,
        s: Any,
        before,
        after,
        dt: jax.Array | float,
        dx: jax.Array | float,
        dv: jax.Array | float,
        end: Any = None,
    ) -> jax.Array:
        end = self.advance(s, before, after, dt) if end is None else end
        return (dx * self.tangent(end)).reshape(jnp.shape(after.e) * 2)

    def recorded(self, s: Any) -> Any:
        """Without the fibres: their histories follow from those of the sections."""
        return s._replace(fibres=())

    def initial_stiffness(self) -> jax.Array:
        """Of the member before any load: all concrete working."""
        return self.tangent(self._rest()).reshape((self.components,) * 2 if self.components > 1 else ())

    def initial_damping(self) -> jax.Array:
        return jnp.zeros((self.components,) * 2 if self.components > 1 else ())

    def _rest(self) -> ElementState:
        """The member before any load."""
        nothing = jnp.zeros((2, *self.weights.shape))
        stiffness = jnp.broadcast_to(initial_stiffness(self.fibres)[:, None], (3, *self.weights.shape))
        fibres = start_states(self.fibres, self.weights.shape)
        return ElementState(jnp.zeros(self.components), nothing, nothing, stiffness, fibres)

    def _sections(self, committed: tuple, deformation) -> ElementState:
        """Sections at a deformation (2, sections), coming from committed fibre states; the member's force is open."""
        response, fibres = respond(self.fibres, committed, deformation[0], deformation[1])
        return ElementState(
            jnp.zeros(self.components),
            deformation,
            jnp.stack([response.axial, response.moment]),
            jnp.stack([response.axial_stiffness, response.coupling, response.bending_stiffness]),
            fibres,
        )

    def _from_sections(self, axial, bending):
        """Σ over sections: the work of section values (sections,) on each component."""
        return jnp.sum(self.weights[:, None] * (self.axial * axial[:, None] + self.bending * bending[:, None]), axis=0)

    def _matrix(self, section):
        """Σ weights · [a b]ᵀ S [a b] for symmetric section matrices given by three rows."""
        a, b = self.axial, self.bending
        left = self.weights[:, None] * jnp.stack(
            [section[0][:, None] * a + section[1][:, None] * b, section[1][:, None] * a + section[2][:, None] * b]
        )
        return jnp.sum(a[:, :, None] * left[0][:, None, :] + b[:, :, None] * left[1][:, None, :], axis=0)


class ForceElement(FiberElement):
    """A force-based member: section forces are in exact equilibrium with the ends; sections deform accordingly.

    State determination (Spacone, Ciampi & Filippou 1996; in a fixed number of iterations after Kolay & Ricles 2018):
    with section forces D and flexibilities f at the section deformations e of the last evaluation, the member's force q
    solves the linearised compatibility

        v = Σ wᵢ bᵢᵀ [ eᵢ + fᵢ (bᵢ q + pᵢ − Dᵢ) ]

    then `e ← e + f (b q + p − D)` and the fibres are evaluated, always from the committed state. A last solution for q
    follows the last evaluation. The residual of an iteration stays in D and e, and is corrected by the next step: one
    iteration is enough for the small steps of explicit integration; the error falls with the square of the step.
    """

    def determine(self, s: Any, deformation: jax.Array) -> ElementState:
        def iterate(now, _):
            q, strains = self._solve(now, deformation)
            return self._sections(s.fibres, strains)._replace(force=q), None

        if self.iterations <= _UNROLLED:
            now = s
            for _ in range(self.iterations):
                now, _ = iterate(now, None)
        else:
            now, _ = jax.lax.scan(iterate, s, length=self.iterations)
        return now._replace(force=self._solve(now, deformation)[0])

    def _solve(self, s: ElementState, deformation):
        """The member's force, and the section deformations that go with it, linearised at a state."""
        f = flexibility(s.stiffness)

        def corrected(q):
            short = jnp.stack([self.axial @ q, self.bending @ q]) + self.loads - s.section_force
            return s.deformation + jnp.stack([f[0] * short[0] + f[1] * short[1], f[1] * short[0] + f[2] * short[1]])

        missing = deformation - self._from_sections(*corrected(s.force))
        q = s.force + inverse(self._matrix(f)) @ missing
        return q, corrected(q)

    def tangent(self, s: Any) -> jax.Array:
        return inverse(self._matrix(flexibility(s.stiffness)))


class DisplacementElement(FiberElement):
    """A displacement-based member: constant axial strain and linear curvature between the ends. No iterations.

    `axial` and `bending` give section deformations from (u, θ₁, θ₂): `ε = u/L`, `κ = [(6ξ − 4) θ₁ + (6ξ − 2) θ₂]/L`.
    """

    def determine(self, s: Any, deformation: jax.Array) -> ElementState:
        now = self._sections(s.fibres, jnp.stack([self.axial @ deformation, self.bending @ deformation]))
        return now._replace(force=self._from_sections(*(now.section_force - self.loads)))

    def tangent(self, s: Any) -> jax.Array:
        return self._matrix(s.stiffness)


class ElasticElement(StaticLaw):
    """A linear member: the stiffness (3, 3) of its end deformations."""

    stiffness: jax.Array
    components: ClassVar[int] = 3
    component_names: ClassVar[tuple[str, ...]] = COMPONENTS
    is_linear: ClassVar[bool] = True

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness @ e

    def with_share(self, factor: jax.Array | float) -> Self:
        return self

    def settled_at(self, deformation: jax.Array, state: Any) -> Self:
        return self


def flexibility(stiffness: jax.Array) -> jax.Array:
    """Inverse of symmetric 2 × 2 matrices given by three rows (k₁₁, k₁₂, k₂₂)."""
    determinant = stiffness[0] * stiffness[2] - stiffness[1] * stiffness[1]
    return jnp.stack([stiffness[2], -stiffness[1], stiffness[0]]) / determinant


def inverse(matrix: jax.Array) -> jax.Array:
    """Inverse of a symmetric matrix of size 1 or 3, written out: much faster than a factorisation."""
    if matrix.shape[0] == 1:
        return 1.0 / matrix
    (a, b, c), (d, e), f = matrix[0], matrix[1, 1:], matrix[2, 2]
    first = jnp.stack([d * f - e * e, c * e - b * f, b * e - c * d])
    determinant = a * first[0] + b * first[1] + c * first[2]
    rows = [first, jnp.stack([first[1], a * f - c * c, b * c - a * e])]
    rows.append(jnp.stack([first[2], rows[1][2], a * d - b * b]))
    return jnp.stack(rows) / determinant
