"""Materials of fibres with straight branches: elastic, and bilinear with kinematic hardening."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.material import Material


@LAWS.register("elastic-material")
class ElasticMaterial(Material):
    """`σ = E ε`, in tension and compression."""

    corners: ClassVar[str] = "none"

    modulus: Parameter = parameter("modulus E", "N/m^2", positive=True)

    def initial_modulus(self) -> jax.Array:
        return self.modulus

    def start(self) -> Any:
        return ()

    def respond(self, s: Any, strain: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        stress = self.modulus * strain
        return stress, jnp.broadcast_to(self.modulus, stress.shape), s


@LAWS.register("bilinear-steel")
class BilinearSteel(Material):
    """`σ = b E ε + (1 − b) E (ε − p)` with |ε − p| ≤ f_y/E; the state p is the plastic strain.

    The same as Steel01 of OpenSees without isotropic hardening, and for b = 0 as ElasticPP.
    """

    yield_stress: Parameter = parameter("yield stress f_y", "N/m^2", positive=True)
    modulus: Parameter = parameter("modulus E", "N/m^2", positive=True, default=200e9)
    hardening_ratio: Parameter = parameter("modulus after yield / before", "", positive=True, zero=True, default=0.01)

    def initial_modulus(self) -> jax.Array:
        return self.modulus

    def start(self) -> Any:
        return jnp.zeros_like(self.yield_stress)

    def respond(self, s: Any, strain: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        limit = self.yield_stress / self.modulus
        elastic = jnp.clip(strain - s, -limit, limit)
        stress = self.modulus * (self.hardening_ratio * strain + (1.0 - self.hardening_ratio) * elastic)
        yields = jnp.abs(strain - s) > limit
        tangent = self.modulus * jnp.where(yields, self.hardening_ratio, 1.0)
        return stress, tangent, strain - elastic
