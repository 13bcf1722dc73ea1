"""Thermostat damping: a dashpot whose coefficient has its own dynamics (Nosé–Hoover)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, RateLaw

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("thermostat")
class Thermostat(RateLaw):
    """`F = c w`, `dc/dt = Λ w² − b`, c(0) given (Louhghalam, Pellenq & Ulm 2018; Liu & Meidani's Eq. 18).

    `rate` is Λ = Γ/(R T0); `bath` is b = Γ T∞/T0, zero for a cold bath: then the damping only grows. The coefficient
    is driven by the deformation rate of the dashpot.
    """

    corners: ClassVar[str] = "none"

    initial: Parameter = parameter("damping at the start c(0)", "N s/m", positive=True, zero=True)
    rate: Parameter = parameter("growth of the damping Λ", "N s^2/m^3", positive=True, zero=True)
    bath: Parameter = parameter("pull of the bath b", "N/m", default=0.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"rate": 0.1 * loop.size("N s^2/m^3")}

    def start(self) -> Any:
        return self.initial

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return s * w

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        return self.rate * w * w - self.bath


@LAWS.register("floor-thermostat")
class FloorThermostat(RateLaw):
    """A thermostat dashpot between floors that is driven by the floor's own velocity, as printed in the paper.

    `F = c w_drift`, `dc/dt = Λ w_floor² − b`. Its two deformations are the storey's drift and the floor's
    displacement; no force acts on the second.
    """

    initial: Parameter = parameter("damping at the start c(0)", "N s/m", positive=True, zero=True)
    rate: Parameter = parameter("growth of the damping Λ", "N s^2/m^3", positive=True, zero=True)
    bath: Parameter = parameter("pull of the bath b", "N/m", default=0.0)
    corners: ClassVar[str] = "none"
    components: ClassVar[int] = 2

    def start(self) -> Any:
        return self.initial

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return jnp.stack([s * w[0], jnp.zeros_like(w[0])])

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        return self.rate * w[1] * w[1] - self.bath
