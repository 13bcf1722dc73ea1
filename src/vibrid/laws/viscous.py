"""Nonlinear viscous and visco-elastic dampers."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from vibrid.core.parameters import parameter
from vibrid.laws.base import LAWS, RateLaw, StaticLaw, absolute_power


@LAWS.register("nonlinear-viscous")
class NonlinearViscous(StaticLaw):
    """`F = c |w|^a sign(w)`: a fluid damper; a is usually between 0.2 and 1."""

    coefficient: object = parameter("damping coefficient c", "N (s/m)^a", positive=True)
    exponent: object = parameter("velocity exponent a", "", positive=True)

    def force(self, e, w, s):
        return self.coefficient * absolute_power(w, self.exponent) * jnp.sign(w)


@LAWS.register("maxwell")
class Maxwell(RateLaw):
    """A spring and a dashpot in series: `dF/dt = k (w − F / c)`. The state is the force.

    A step is exact for a deformation that moves linearly, so a stiff spring costs nothing.
    """

    stiffness: object = parameter("spring stiffness k", "N/m", positive=True)
    damping: object = parameter("dashpot c", "N s/m", positive=True)
    is_stiff: ClassVar[bool] = True

    def start(self):
        return jnp.zeros(())

    def force(self, e, w, s):
        return s

    def state_rate(self, e, w, s):
        return self.stiffness * (w - s / self.damping)

    def advance(self, s, before, after, dt):
        decay = -self.stiffness / self.damping * dt
        mean_rate = (after.e - before.e) / dt
        return s * jnp.exp(decay) - self.damping * mean_rate * jnp.expm1(decay)
