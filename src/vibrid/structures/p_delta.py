"""P-Δ of a member: its axial force, acting over the sway of its ends, pushes it over."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.laws.base import Law, Motion
from vibrid.structures.fiber_elements import COMPONENTS, ElasticElement, FiberElement


def sway_row(length: float, offsets: tuple[float, float]) -> np.ndarray:
    """(6,): how far the first end of the clear part moves across beyond the last, from the nodes in member axes."""
    return np.array([0, 1, offsets[0] * length, 0, -1, offsets[1] * length])


class PDeltaElement(Law):
    """A member with a fourth deformation, its sway w, and the force N w / L that goes with it (N: tension positive).

    Elongation and end rotations stay those of small displacements; N is the present axial force. This is the PDelta
    transformation of OpenSees. Deformations and forces count from the settled state.

    Fields
        member: the law of elongation and end rotations.
        length: m, of the part that deforms.
        axial, sway: N and m, under the permanent loads.
    """

    member: FiberElement | ElasticElement
    length: jax.Array
    axial: jax.Array
    sway: jax.Array
    components: ClassVar[int] = 4
    component_names: ClassVar[tuple[str, ...]] = (*COMPONENTS, "p_delta")

    @property
    def is_heavy(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.member.is_heavy

    def start(self) -> Any:
        return self.member.start()

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        own = self.member.force(e[:3], w[:3], s)
        push = ((own[0] + self.axial) * (e[3] + self.sway) - self.axial * self.sway) / self.length
        return jnp.append(own, push)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        return self.member.advance(s, _first_three(before), _first_three(after), dt)

    def slope(
        self,
        s: Any,
        before: Motion,
        after: Motion,
        dt: jax.Array | float,
        dx: jax.Array | float,
        dv: jax.Array | float,
        end: Any = None,
    ) -> jax.Array:
        end = self.advance(s, before, after, dt) if end is None else end
        own = self.member.slope(s, _first_three(before), _first_three(after), dt, dx, dv, end)
        axial = self.member.force(after.e[:3], after.w[:3], end)[0] + self.axial
        push = jnp.append((after.e[3] + self.sway) * own[0], dx * axial) / self.length
        return jnp.zeros((4, 4)).at[:3, :3].set(own).at[3].set(push)

    def recorded(self, s: Any) -> Any:
        return self.member.recorded(s)

    def initial_stiffness(self) -> jax.Array:
        """Before any load, when there is no axial force."""
        return jnp.zeros((4, 4)).at[:3, :3].set(self.member.initial_stiffness())

    def initial_damping(self) -> jax.Array:
        return jnp.zeros((4, 4))

    def with_share(self, factor: jax.Array | float) -> Self:
        return dataclasses.replace(self, member=self.member.with_share(factor))

    def settled_at(self, deformation: jax.Array, state: Any) -> Self:
        axial = self.member.force(deformation[:3], jnp.zeros(3), state)[0]
        member = self.member.settled_at(deformation[:3], state)
        return dataclasses.replace(self, member=member, axial=axial, sway=deformation[3])


def with_p_delta(member: FiberElement | ElasticElement, clear: jax.Array) -> PDeltaElement:
    """A member at rest with P-Δ; `clear` is the length in m that deforms."""
    return PDeltaElement(member, clear, jnp.zeros(()), jnp.zeros(()))


def _first_three(motion: Motion) -> Motion:
    return Motion(motion.e[:3], motion.w[:3])
