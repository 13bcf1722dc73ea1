"""Bouc–Wen hysteresis with degradation and pinching, after Baber and Noori."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, RateLaw, absolute_power

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("bouc-wen-baber-noori")
class BoucWenBaberNoori(RateLaw):
    """Bouc–Wen with degradation of strength and stiffness and with pinching (Baber & Noori 1985, 1986; Foliente 1995).

        F = a k e + (1 − a) k z
        ż = h(z) [w − ν (β |w| |z|ⁿ⁻¹ z + γ w |z|ⁿ)] / η
        ν = 1 + δ_ν ε,   η = 1 + δ_η ε,   ε̇ = (1 − a) k z w / (k u²), u = (β + γ)^(−1/n)
        h = 1 − ζ₁ exp(−(z sign w − q z_u)² / ζ₂²),   z_u = [ν (β + γ)]^(−1/n)
        ζ₁ = ζ_s [1 − exp(−p ε)],   ζ₂ = (ψ + δ_ψ ε) (λ + ζ₁) u

    ε is the energy dissipated in the hysteretic spring, divided by that of an elastic spring at its yield deformation
    u, so that δ_ν, δ_η, δ_ψ and p have no unit, and ζ₂ has that of z; in the papers the energy is not divided.
    Smooth, except where w changes its sign.
    """

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True)
    beta: Parameter = parameter("loop shape β", "m^-n", positive=True)
    gamma: Parameter = parameter("loop shape γ", "m^-n")
    exponent: Parameter = parameter("sharpness of yield n", "", positive=True, default=1.0)
    post_yield_ratio: Parameter = parameter("stiffness after yield / before", "", positive=True, default=0.0)
    strength_loss: Parameter = parameter("loss of strength δ_ν", "", positive=True, default=0.0)
    stiffness_loss: Parameter = parameter("loss of stiffness δ_η", "", positive=True, default=0.0)
    slip: Parameter = parameter("largest share of slip ζ_s, below 1", "", positive=True, default=0.0)
    slip_growth: Parameter = parameter("how soon it is reached p", "", positive=True, default=0.1)
    slip_place: Parameter = parameter("z of the slip / largest z, q", "", positive=True, default=0.0)
    slip_width: Parameter = parameter("width of the slip ψ", "", positive=True, default=0.2)
    slip_spread: Parameter = parameter("growth of the width δ_ψ", "", positive=True, default=0.0)
    slip_coupling: Parameter = parameter("width without slip λ", "", positive=True, default=0.5)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        shape = 0.5 * loop.first_stiffness / loop.yielding
        values = {"stiffness": loop.first_stiffness, "beta": shape, "gamma": shape}
        return values | {"strength_loss": 0.005, "stiffness_loss": 0.02, "slip": 0.5, "slip_spread": 0.005}

    def start(self) -> Any:
        return jnp.zeros(2)

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self.stiffness * (self.post_yield_ratio * e + (1.0 - self.post_yield_ratio) * s[0])

    def state_rate(self, e: jax.Array, w: jax.Array, s: Any) -> Any:
        z, energy = s[0], jnp.maximum(s[1], 0.0)
        weak, soft = 1.0 + self.strength_loss * energy, 1.0 + self.stiffness_loss * energy
        power = absolute_power(z, self.exponent)
        shape = self.beta + self.gamma
        unit = jnp.exp(-jnp.log(shape) / self.exponent)
        farthest = unit * jnp.exp(-jnp.log(weak) / self.exponent)
        share = self.slip * (1.0 - jnp.exp(-self.slip_growth * energy))
        width = (self.slip_width + self.slip_spread * energy) * (self.slip_coupling + share) * unit
        distance = (z * jnp.sign(w) - self.slip_place * farthest) / width
        free = 1.0 - share * jnp.exp(-jnp.square(distance))
        rate = free * (w - weak * power * (self.beta * jnp.abs(w) * jnp.sign(z) + self.gamma * w)) / soft
        return jnp.stack([rate, (1.0 - self.post_yield_ratio) * z * w / jnp.square(unit)])
