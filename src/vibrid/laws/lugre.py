"""LuGre dry friction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Motion, RateLaw

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("lugre")
class LuGre(RateLaw):
    """`F = σ0 z + σ1 dz/dt + σ2 w`, `dz/dt = w − σ0 |w| z / g(w)`,
    `g(w) = Fc + (Fs − Fc) exp(−(w / vs)²)` (Canudas de Wit et al. 1995).

    The Coulomb and static forces may differ by direction (a banded device grips one way more than the other). The
    bristles are stiff: a step is backward Euler, which has a closed form and never overshoots g.
    """

    bristle_stiffness: Parameter = parameter("bristle stiffness σ0", "N/m", positive=True)
    bristle_damping: Parameter = parameter("bristle damping σ1", "N s/m", positive=True, zero=True)
    coulomb_positive: Parameter = parameter("Coulomb force for w > 0", "N", positive=True)
    coulomb_negative: Parameter = parameter("Coulomb force for w < 0", "N", positive=True)
    static_positive: Parameter = parameter("static force for w > 0", "N", positive=True)
    static_negative: Parameter = parameter("static force for w < 0", "N", positive=True)
    stribeck_velocity: Parameter = parameter("Stribeck velocity vs", "m/s", positive=True)
    viscous: Parameter = parameter("viscous friction σ2", "N s/m", positive=True, default=0.0)
    is_stiff: ClassVar[bool] = True

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        forces = {"coulomb_positive": loop.forward, "coulomb_negative": loop.backward}
        static = {"static_positive": 1.1 * loop.forward, "static_negative": 1.1 * loop.backward}
        damping = 0.03 * loop.force / loop.velocity
        return forces | static | {"bristle_damping": damping, "stribeck_velocity": 0.1 * loop.velocity}

    def capacity(self, w: jax.Array) -> jax.Array:
        """g(w): the force at which the bristles slip at velocity w, in newtons."""
        coulomb = jnp.where(w >= 0, self.coulomb_positive, self.coulomb_negative)
        static = jnp.where(w >= 0, self.static_positive, self.static_negative)
        return coulomb + (static - coulomb) * jnp.exp(-jnp.square(w / self.stribeck_velocity))

    def start(self) -> Any:
        return jnp.zeros(())

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        return w - self.bristle_stiffness * jnp.abs(w) * s / self.capacity(w)

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.bristle_stiffness * s + self.bristle_damping * self.state_rate(e, w, s) + self.viscous * w

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        w = after.w
        return (s + dt * w) / (1.0 + dt * self.bristle_stiffness * jnp.abs(w) / self.capacity(w))
