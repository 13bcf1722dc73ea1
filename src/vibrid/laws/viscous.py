"""Nonlinear viscous and visco-elastic dampers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Motion, RateLaw, StaticLaw, absolute_power

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("nonlinear-viscous")
class NonlinearViscous(StaticLaw):
    """`F = c |w|^a sign(w)`: a fluid damper; a is usually between 0.2 and 1."""

    corners: ClassVar[str] = "turns"

    coefficient: Parameter = parameter("damping coefficient c", "N (s/m)^a", positive=True, zero=True)
    exponent: Parameter = parameter("velocity exponent a", "", positive=True)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"coefficient": loop.force / loop.velocity**0.5, "exponent": 0.5}

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.coefficient * absolute_power(w, self.exponent) * jnp.sign(w)


@LAWS.register("maxwell")
class Maxwell(RateLaw):
    """A spring and a dashpot in series: `dF/dt = k (w − F / c)`. The state is the force.

    A step is exact for a rate that changes linearly over the step about the mean rate, so a stiff spring needs no small
    steps and the method stays of order 2 when the spring relaxes within a step.
    """

    corners: ClassVar[str] = "none"

    stiffness: Parameter = parameter("spring stiffness k", "N/m", positive=True)
    damping: Parameter = parameter("dashpot c", "N s/m", positive=True)
    is_stiff: ClassVar[bool] = True

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return s

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        return self.stiffness * (w - s / self.damping)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        r = self.stiffness / self.damping * dt
        kept, lost = jnp.exp(-r), -jnp.expm1(-r)
        safe = jnp.maximum(r, 1e-2)
        closed = 0.5 * (1.0 + jnp.exp(-safe)) + jnp.expm1(-safe) / safe
        lag = jnp.where(r > 1e-2, closed, r * r * (1.0 / 12.0 - r / 24.0 + r * r / 80.0))  # its series where it cancels
        return s * kept + self.damping * ((after.e - before.e) / dt * lost + (after.w - before.w) * lag)
