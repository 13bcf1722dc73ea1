"""Concrete in compression: Kent and Park's curve with degrading linear unloading and reloading."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.material import Material


@LAWS.register("kent-park")
class KentPark(Material):
    """Concrete without tension (Kent & Park 1971; unloading of Karsan & Jirsa 1969, linear).

    With compression counted positive and η = ε/ε₀, ε₀ = 2 f/E:

        σ = f (2η − η²)                          up to the peak, η ≤ 1
        σ = f − (f − f_u)(ε − ε₀)/(ε_u − ε₀)     down to the crushing strain ε_u, then f_u

    From the largest compression ε_m the stress unloads, and reloads, on one straight line to zero at
    `ε_p/ε₀ = 0.145 η_m² + 0.13 η_m` for η_m < 2, `0.707 (η_m − 2) + 0.834` beyond; never steeper than E. The state is
    ε_m. The same as Concrete01 of OpenSees.
    """

    strength: Parameter = parameter("compressive strength f", "N/m^2", positive=True)
    modulus: Parameter = parameter("initial modulus E; the peak is at the strain 2 f/E", "N/m^2", positive=True)
    crushing_strength: Parameter = parameter("stress left after crushing f_u", "N/m^2", positive=True, default=0.0)
    crushing_strain: Parameter = parameter("strain at crushing ε_u", "", positive=True, default=0.006)

    @property
    def peak_strain(self) -> jax.Array:
        """ε₀, where the stress is largest."""
        return 2.0 * self.strength / self.modulus

    def confined(
        self,
        ratio: float,
        hoop_strength: float,
        core_width: float = 0.0,
        spacing: float = 1.0,
        crushing_share: float = 0.2,
    ) -> KentPark:
        """The same concrete held by hoops (Scott, Park & Priestley 1982), for the core of a section.

        Strength and peak strain grow by `K = 1 + ρ f_h / f`; the stress falls with
        `Z = 0.5 / ((3 + 0.29 f)/(145 f − 1000) + 0.75 ρ √(h/s) − 0.002 K)`, f in MPa, to a share of the peak.

        Arguments
            ratio: ρ, volume of hoops over volume of core.
            hoop_strength: N/m², yield stress of the hoops.
            core_width, spacing: m, width of the core and distance of the hoops.
            crushing_share: stress left after crushing over the peak.
        """
        mpa = self.strength / 1e6
        gain = 1.0 + ratio * hoop_strength / self.strength
        softening = 0.5 / (
            (3.0 + 0.29 * mpa) / (145.0 * mpa - 1000.0)
            + 0.75 * ratio * jnp.sqrt(core_width / spacing)
            - self.peak_strain * gain
        )
        return KentPark(
            strength=gain * self.strength,
            modulus=self.modulus,
            crushing_strength=crushing_share * gain * self.strength,
            crushing_strain=gain * self.peak_strain + (1.0 - crushing_share) / softening,
        )

    def initial_modulus(self) -> jax.Array:
        return self.modulus

    def start(self) -> Any:
        return jnp.zeros_like(self.strength)

    def respond(self, s: Any, strain: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        peak = self.peak_strain
        most = jnp.maximum(s, -strain)  # ε_m, compression positive
        eta = most / peak
        rising = eta < 1.0
        falling = most < self.crushing_strain
        slope = (self.strength - self.crushing_strength) / (self.crushing_strain - peak)
        stress = jnp.where(
            rising,
            self.strength * eta * (2.0 - eta),
            jnp.where(falling, self.strength - slope * (most - peak), self.crushing_strength),
        )
        envelope = jnp.where(rising, self.modulus * (1.0 - eta), jnp.where(falling, -slope, 0.0))
        # the unloading line: its length along strain, and its slope
        held = jnp.minimum(most, self.crushing_strain) / peak
        plastic = peak * jnp.where(held < 2.0, held * (0.145 * held + 0.13), 0.707 * (held - 2.0) + 0.834)
        length = jnp.maximum(most - plastic, stress / self.modulus)
        used = length > 0.0
        unloading = jnp.where(used, stress / jnp.where(used, length, 1.0), self.modulus)
        line = stress - unloading * (most + strain)
        tangent = jnp.where(-strain >= s, envelope, jnp.where(line > 0.0, unloading, 0.0))
        return -jnp.maximum(line, 0.0), tangent, most
