"""A virtual banded rotary friction damper: backlash, stick-slip and ringing that a LuGre model alone cannot reproduce.

    δ = x − u,  F = k_g δ + (k_c − k_g) dz(δ, g_c/2) + c_f (ẋ − u̇),  m_d ü = F − F_f              (dz: dead zone)
    ż = u̇ − σ0 |u̇| z/g,  F_f = σ0 z + σ1 exp(−(u̇/0.1)²) ż
    g = g_LuGre(u̇) c_s A [1 − a_f (1 − e^{−E/E0})] [1 + 0.04 sin(2πu/L + φ)] [1 + clip(y, ±0.3)]
    w = clip(∫u̇, ±g_b/2),  s = ½ (1 + sgn(u̇) 2w/g_b),  A = A0 + (1 − A0)(3s² − 2s³)
    ÿ + 2ζω ẏ + ω² y = κ ω Ȧ,  E = ∫|F_f u̇| dt

The actuator moves x; between it and the drum (u, mass m_d) is a clevis with play. The bands release the drum at a
reversal and grip again over the travel g_b (A); y is the ringing after it. g_LuGre is Table 1 of Malik, Cao, Ricles &
Downey (2025) for the chosen capacity. The two band forces are

    T1 = T0 [1 + 0.35 ŵ + 0.06 sin(2πu/L + φ + 0.7) + 0.5 y],  T2 = T0 [1 − 0.30 ŵ + 0.05 sin(2πu/L + φ − 1.1) − 0.3 y]

with ŵ = 2w/g_b and T0 = capacity/140.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import SPECIMENS, LoopDevice, Reading
from vibrid.hybrid.noise import gauss
from vibrid.laws.base import Motion

SUBSTEPS = 16
"""Steps of the device's equations in one step of the test."""
_CAPACITY = 23e3
_SCATTER = {
    "clevis_stiffness": 0.03,
    "ringing_frequency": 0.03,
    "strength": 0.03,
    "gap_stiffness": 0.08,
    "gap": 0.08,
    "band_travel": 0.08,
    "fading": 0.30,
}


class Drum(NamedTuple):
    """The state of the device; `p` is ẏ − κ ω A, so that the derivative of A is not needed."""

    u: jax.Array  # m, drum
    v: jax.Array  # m/s
    z: jax.Array  # m, bristles
    w: jax.Array  # m, travel inside the bands' slack
    y: jax.Array  # ringing of the grip
    p: jax.Array
    energy: jax.Array  # J, dissipated


class BandedState(NamedTuple):
    """State of the specimen. Vectors are faster inside the loop than tuples of numbers."""

    drum: jax.Array  # (7,) a `Drum`
    rate: jax.Array  # (7,) its rate one substep before
    at: Motion
    steps: jax.Array  # so far: noise depends on it


def _as_array(seed: int) -> Any:
    return jnp.asarray(seed, jnp.int32)


@SPECIMENS.register("banded-friction-damper")
class BandedFrictionDamper(LoopDevice):
    """A virtual banded rotary friction damper with the two band forces among its signals (module docstring).

    Each test of a real device differs: `scattered(key)` draws another specimen of the same kind.
    """

    capacity: Parameter = parameter("friction force that the pretension is set for", "N", positive=True, default=23e3)
    clevis_stiffness: Parameter = parameter("k_c", "N/m", positive=True, default=9000e3)
    gap_stiffness: Parameter = parameter("k_g", "N/m", positive=True, default=1800e3)
    gap: Parameter = parameter("play of the clevis g_c", "m", positive=True, zero=True, default=3e-3)
    contact_damping: Parameter = parameter("c_f", "N s/m", positive=True, zero=True, default=12e3)
    drum_mass: Parameter = parameter("m_d", "kg", positive=True, default=150.0)
    bristle_stiffness: Parameter = parameter("σ0", "N/m", positive=True, default=6e7)
    bristle_damping: Parameter = parameter("σ1", "N s/m", positive=True, default=60e3)
    band_travel: Parameter = parameter("travel over which the bands grip g_b", "m", positive=True, default=5e-3)
    slack_grip: Parameter = parameter("grip just after a reversal A0", "", positive=True, zero=True, default=0.55)
    ringing_frequency: Parameter = parameter("ω/2π", "Hz", positive=True, default=14.0)
    ringing_ratio: Parameter = parameter("ζ", "", positive=True, default=0.03)
    ringing_size: Parameter = parameter("κ", "", positive=True, zero=True, default=1.1)
    fading: Parameter = parameter("loss of grip when warm a_f", "", positive=True, default=0.08)
    warming_energy: Parameter = parameter("E0", "J", positive=True, default=15e3)
    circumference: Parameter = parameter("travel of one turn of the drum L", "m", positive=True, default=0.12)
    phase: Parameter = parameter("where the drum starts φ", "rad", default=0.0)
    strength: Parameter = parameter("factor on the friction c_s", "", positive=True, zero=True, default=1.0)
    force_noise: Parameter = parameter("noise of the load cell", "N", positive=True, zero=True, default=300.0)
    band_noise: Parameter = parameter("noise of the band forces", "N", positive=True, zero=True, default=1.5)
    seed: int = eqx.field(default=0, converter=_as_array)
    """Of the noise; kept as an array, so that another seed needs no new compilation."""

    signal_names: ClassVar[tuple[str, ...]] = ("band_1", "band_2")
    signal_units: ClassVar[tuple[str, ...]] = ("N", "N")

    def scattered(self, key: int) -> BandedFrictionDamper:
        """Another specimen: stiffnesses, play, travel, fading, the start of the drum and the noise differ. The same key
        gives the same specimen."""
        rng = np.random.default_rng(key)
        drawn = {name: getattr(self, name) * (1.0 + share * rng.standard_normal()) for name, share in _SCATTER.items()}
        drawn["phase"], drawn["ringing_size"] = rng.uniform(0, 2 * np.pi), rng.uniform(0.8, 1.4)
        return dataclasses.replace(self, **drawn, seed=key)

    @staticmethod
    def drawn(key: int, capacity: float = 23e3) -> BandedFrictionDamper:
        """A specimen of a given capacity (N) whose other properties are drawn at random by a key."""
        return BandedFrictionDamper(capacity).scattered(key)

    def start(self) -> BandedState:
        zero = jnp.zeros(())
        grip = self._grip(zero, zero)
        drum = jnp.stack(Drum(zero, zero, zero, zero, zero, -self.ringing_size * self._omega * grip, zero))
        return BandedState(drum, jnp.zeros_like(drum), Motion(zero, zero), jnp.zeros((), jnp.int32))

    def initial_stiffness(self) -> jax.Array:
        """The clevis inside its play, in series with the bristles."""
        return 1.0 / (1.0 / self.gap_stiffness + 1.0 / self.bristle_stiffness)

    def trial(self, state: BandedState, motion: Motion, companion: Any, dt: float) -> tuple[Reading, Any]:
        """Adams–Bashforth steps of order 2 (rates one substep apart, one evaluation each); inside a step displacement
        and velocity are linear, heat and the turn of the drum are constant."""
        before, h, slow = state.at, dt / SUBSTEPS, self._slow(Drum(*state.drum))
        ends = jnp.where(jnp.arange(len(Drum._fields)) == Drum._fields.index("w"), 0.5 * self.band_travel, jnp.inf)

        def small(carry, j):
            drum, old = carry
            t = j / SUBSTEPS
            x, v = before.e + t * (motion.e - before.e), before.w + t * (motion.w - before.w)
            new = jnp.stack(self._rates(Drum(*drum), slow, x, v))
            return (jnp.clip(drum + h * (1.5 * new - 0.5 * old), -ends, ends), new), None

        (packed, rate), _ = jax.lax.scan(small, (state.drum, state.rate), jnp.arange(SUBSTEPS))
        drum = Drum(*packed)
        noise = gauss(self.seed, state.steps, 3)
        force = self.clevis_force(drum, motion.e, motion.w) + self.force_noise * noise[0]
        bands = self.band_forces(drum) + self.band_noise * noise[1:]
        return Reading(force, bands), BandedState(packed, rate, motion, state.steps + 1)

    @property
    def _omega(self):
        return 2 * jnp.pi * self.ringing_frequency

    def clevis_force(self, drum: Drum, x: jax.Array, v: jax.Array) -> jax.Array:
        """F: the force on the load cell, N."""
        stretch = x - drum.u
        beyond = stretch - jnp.clip(stretch, -0.5 * self.gap, 0.5 * self.gap)
        stiff = self.gap_stiffness * stretch + (self.clevis_stiffness - self.gap_stiffness) * beyond
        return stiff + self.contact_damping * (v - drum.v)

    def band_forces(self, drum: Drum) -> jax.Array:
        """(2,) T1 and T2, N."""
        w, turn = 2 * drum.w / self.band_travel, 2 * jnp.pi * drum.u / self.circumference + self.phase
        first = 1 + 0.35 * w + 0.06 * jnp.sin(turn + 0.7) + 0.5 * drum.y
        second = 1 - 0.30 * w + 0.05 * jnp.sin(turn - 1.1) - 0.3 * drum.y
        return self.capacity / 140.0 * jnp.stack([first, second])

    def _grip(self, w, v):
        """A."""
        s = 0.5 * (1 + jnp.sign(v) * 2 * w / self.band_travel)
        return self.slack_grip + (1 - self.slack_grip) * s * s * (3 - 2 * s)

    def _slow(self, drum: Drum):
        """The factors of g that hardly change within a step: heat, and the position of the drum."""
        warm = 1 - self.fading * -jnp.expm1(-drum.energy / self.warming_energy)
        turn = 1 + 0.04 * jnp.sin(2 * jnp.pi * drum.u / self.circumference + self.phase)
        return self.capacity / _CAPACITY * self.strength * warm * turn

    def _friction(self, drum: Drum, grip, slow):
        """(F_f, ż)."""
        forward = drum.v >= 0
        coulomb, static = jnp.where(forward, 22.91e3, 19.75e3), jnp.where(forward, 24.43e3, 21.93e3)
        near = jnp.exp(-jnp.square(drum.v / 0.1))
        slip = coulomb + (static - coulomb) * jnp.square(jnp.square(jnp.square(jnp.square(near))))  # vs = 0.1/4 m/s
        slip = slip * slow * grip * (1 + jnp.clip(drum.y, -0.3, 0.3))
        rate = drum.v - self.bristle_stiffness * jnp.abs(drum.v) * drum.z / slip
        return self.bristle_stiffness * drum.z + self.bristle_damping * near * rate, rate

    def _rates(self, drum: Drum, slow, x, v) -> Drum:
        grip = self._grip(drum.w, drum.v)
        friction, bristles = self._friction(drum, grip, slow)
        push = self.clevis_force(drum, x, v)
        ring = drum.p + self.ringing_size * self._omega * grip
        return Drum(
            drum.v,
            (push - friction) / self.drum_mass,
            bristles,
            drum.v,
            ring,
            -2 * self.ringing_ratio * self._omega * ring - self._omega**2 * drum.y,
            jnp.abs(friction * drum.v),
        )


SPECIMENS.also("banded-friction-damper-drawn", BandedFrictionDamper.drawn)
