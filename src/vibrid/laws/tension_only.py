"""Tension-only braces: they yield in tension and buckle at once in compression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("tension-only")
class TensionOnly(Law):
    """A slender brace or a cable: `F = k max(e − p, 0)`, at most `F_y + a k (e − u_y)`, u_y = F_y/k + slack.

    The state p is the elongation at which the brace becomes taut; yielding moves it, and the slack grows with each
    cycle (as in the slip model of Tanabashi & Kaneta 1962).
    """

    stiffness: Parameter = parameter("stiffness in tension k", "N/m", positive=True)
    yield_force: Parameter = parameter("yield force F_y", "N", positive=True)
    post_yield_ratio: Parameter = parameter("stiffness after yield / before a", "", positive=True, default=0.0)
    slack: Parameter = parameter("elongation at which it becomes taut when new", "m", positive=True, default=0.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"stiffness": loop.first_stiffness, "yield_force": loop.yielding}

    def start(self) -> Any:
        return self.slack

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * jnp.maximum(e - s, 0.0)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        a, first = self.post_yield_ratio, self.yield_force / self.stiffness
        plastic = (1.0 - a) * (after.e - first) + a * self.slack
        return jnp.maximum(s, plastic)
