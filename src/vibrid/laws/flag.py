"""Flag-shaped hysteresis: shape-memory alloys, rocking and post-tensioned connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("flag")
class Flag(Law):
    """A self-centring flag (Christopoulos, Filiatrault & Folz 2002): stiffness k to the activation force F_a, then a k;
    the way back is a line of the same slope that leaves the elastic line at (1 − β) F_a.

    For e > 0 the force stays between `min(k e, a k e + (1 − a) F_a)` and `min(k e, a k e + (1 − a)(1 − β) F_a)`; inside
    it follows k. The state is F − k e. β = 0 has no hysteresis; β = 1 returns straight to the origin.
    """

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True)
    activation_force: Parameter = parameter("force at which the flag begins F_a", "N", positive=True)
    post_activation_ratio: Parameter = parameter("stiffness after / before a", "", positive=True, default=0.05)
    height: Parameter = parameter("height of the flag / F_a, β, at most 1", "", positive=True, default=0.8)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"stiffness": loop.first_stiffness, "activation_force": loop.yielding}

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * e + s

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        way = jnp.where(after.e >= 0.0, 1.0, -1.0)
        x = way * after.e
        soft = 1.0 - self.post_activation_ratio
        outer = jnp.minimum(soft * (self.activation_force - self.stiffness * x), 0.0)
        inner = jnp.minimum(soft * ((1.0 - self.height) * self.activation_force - self.stiffness * x), 0.0)
        return way * jnp.clip(way * s, inner, outer)
