"""Polynomial springs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, StaticLaw

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("cubic")
class Cubic(StaticLaw):
    """A Duffing spring: `F = k e + k3 e³`; hardening for k3 > 0."""

    stiffness: Parameter = parameter("linear stiffness k", "N/m", positive=True, zero=True)
    cubic: Parameter = parameter("cubic stiffness k3", "N/m^3")

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * e + self.cubic * e * e * e


@LAWS.register("polynomial")
class Polynomial(StaticLaw):
    """`F = k1 e + k2 e² + … + kn eⁿ`; `coefficients` lists k1 … kn in N/m, N/m², …"""

    coefficients: Parameter = parameter("stiffness coefficients k1, k2, …", "N/m^i")

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        terms = [loop.force / loop.displacement**power for power in (1, 2, 3)]
        return {"coefficients": [terms[0], 0.1 * terms[1], 0.1 * terms[2]]}

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        total = jnp.zeros_like(e)
        for i in range(self.coefficients.shape[-1] - 1, -1, -1):
            total = (total + self.coefficients[i]) * e
        return total
