"""Rubber bearings: rate-dependent high-damping rubber, and lead–rubber whose lead is heated by the motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, RateLaw, absolute_power

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("rate-rubber")
class RateRubber(RateLaw):
    """High-damping rubber with a nonlinear dashpot (of the form of Amin et al. 2006 and Bhuiyan et al. 2009):

        F = k₁ e + k₃ e³ + z,   ż = k_m (w − v₀ |z/F₀|^{1/n} sign z)

    a hardening spring beside a spring k_m in line with a dashpot `F₀ |v/v₀|ⁿ`: fast motion meets a higher force, and
    the force relaxes at rest. `reference_velocity` v₀ only says at which velocity F₀ holds: do not fit both.
    """

    corners: ClassVar[str] = "none"

    stiffness: Parameter = parameter("stiffness at slow motion k₁", "N/m", positive=True)
    cubic: Parameter = parameter("hardening k₃", "N/m^3", positive=True, zero=True)
    overstress_stiffness: Parameter = parameter("stiffness of the dashpot's spring k_m", "N/m", positive=True)
    overstress: Parameter = parameter("force of the dashpot at v₀, F₀", "N", positive=True)
    rate_exponent: Parameter = parameter("exponent of the rate n, at most 1", "", positive=True, default=0.3)
    reference_velocity: Parameter = parameter("velocity v₀", "m/s", positive=True, default=0.1)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        slow = 0.5 * loop.force / loop.displacement
        return {
            "stiffness": slow,
            "cubic": 0.1 * slow / loop.displacement**2,
            "overstress_stiffness": loop.stiffness,
            "overstress": 0.5 * loop.force,
            "reference_velocity": loop.velocity,
        }

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * e + self.cubic * e**3 + s

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        creep = self.reference_velocity * absolute_power(s / self.overstress, 1.0 / self.rate_exponent)
        return self.overstress_stiffness * (w - creep * jnp.sign(s))


@LAWS.register("lead-rubber")
class LeadRubber(RateLaw):
    """A lead–rubber bearing whose lead core softens as the motion heats it (Kalpakidis, Constantinou & Whittaker 2010):

        F = k_d e + Q(T) z,   ż = w (1 − |z|ⁿ [γ + β sign(w z)]) / u_y,   β = γ = 1/2
        Q(T) = Q₀ exp(−a T),   Ṫ = Q(T) |z w| / C − T/τ

    T is the rise of the temperature of the lead, C its heat capacity. The paper follows the flow of heat into the steel
    plates; here one time τ stands for it (a stated difference), infinite by default: no cooling. C is that of lead of
    the core's volume, 1.45e6 J/(m³ K).
    """

    rubber_stiffness: Parameter = parameter("stiffness of the rubber k_d", "N/m", positive=True)
    strength: Parameter = parameter("strength of the cold lead core Q₀", "N", positive=True)
    yield_deformation: Parameter = parameter("yield deformation u_y", "m", positive=True)
    heat_capacity: Parameter = parameter("heat capacity of the lead core C", "J/K", positive=True)
    softening: Parameter = parameter("loss of strength with temperature a", "1/K", positive=True, default=0.0069)
    cooling_time: Parameter = parameter("time of cooling τ", "s", positive=True, default=jnp.inf)
    exponent: Parameter = parameter("sharpness of yield n", "", positive=True, default=2.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        strength = 0.7 * loop.force
        return {
            "rubber_stiffness": 0.5 * loop.force / loop.displacement,
            "strength": strength,
            "yield_deformation": loop.elastic,
            "heat_capacity": strength * loop.displacement / 10.0,
        }

    def start(self) -> Any:
        return jnp.zeros(2)

    def _core(self, s):
        return self.strength * jnp.exp(-self.softening * s[1])

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.rubber_stiffness * e + self._core(s) * s[0]

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        z, power = s[0], absolute_power(s[0], self.exponent)
        rate = (w - 0.5 * power * (w + jnp.abs(w) * jnp.sign(z))) / self.yield_deformation
        return jnp.stack([rate, self._core(s) * jnp.abs(z * w) / self.heat_capacity - s[1] / self.cooling_time])
