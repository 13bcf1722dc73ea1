"""Friction with stops: a slider that meets a bumper on either side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("friction-gap")
class FrictionGap(Law):
    """A Coulomb slider with a gap to stops: slotted bolts, sliding bearings, restrainers.

    `F = k (e − p) + k_s max(|e| − g, 0) sign e`, |k (e − p)| ≤ F_f; the state p is the slip, moved by exact return
    mapping. The stops are elastic springs with the gap g on either side.
    """

    friction: Parameter = parameter("slip force F_f", "N", positive=True)
    stiffness: Parameter = parameter("stiffness while it sticks k", "N/m", positive=True)
    gap: Parameter = parameter("travel to the stops g", "m", positive=True)
    stop_stiffness: Parameter = parameter("stiffness of the stops k_s", "N/m", positive=True, zero=True)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        stop = {"gap": 0.8 * loop.displacement, "stop_stiffness": loop.force / loop.displacement}
        return stop | {"friction": loop.yielding, "stiffness": loop.first_stiffness}

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        pressed = jnp.maximum(jnp.abs(e) - self.gap, 0.0) * jnp.where(e >= 0.0, 1.0, -1.0)
        return self.stiffness * (e - s) + self.stop_stiffness * pressed

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        elastic = self.friction / self.stiffness
        return after.e - jnp.clip(after.e - s, -elastic, elastic)
