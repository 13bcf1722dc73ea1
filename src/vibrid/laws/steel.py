"""Steel: Giuffré, Menegotto and Pinto's curves with kinematic and isotropic hardening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion
from vibrid.laws.material import Material

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


_SHARPNESS = 0.01
"""Share of R₀ below which R does not fall: c₁ above 1 would make it zero or negative, and the curve has none then."""
_TINY = 1e-12


def _log_root(way: jax.Array, span: jax.Array, sharpness: jax.Array, yield_strain: jax.Array) -> jax.Array:
    """ln(1 + |way/span|^R): finite also where a branch begins on its corner, so that its span vanishes."""
    least = _TINY * yield_strain
    moved, open_ = jnp.abs(way) > 1e-30, jnp.abs(span) > least
    log_way = jnp.log(jnp.where(moved, jnp.abs(way), 1.0))
    log_span = jnp.log(jnp.where(open_, jnp.abs(span), least))
    power = sharpness * (log_way - log_span)
    return jnp.where(moved, jnp.maximum(power, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(power))), 0.0)


class SteelState(NamedTuple):
    """Strain and stress of a bar, and the two straight lines between which its branch bends."""

    strain: jax.Array
    stress: jax.Array
    direction: jax.Array  # of straining: +1, −1; 0 before the first
    turn_strain: jax.Array  # where the branch began
    turn_stress: jax.Array
    corner_strain: jax.Array  # where its elastic line meets the hardening line
    corner_stress: jax.Array
    sharpness: jax.Array  # R
    highest: jax.Array  # strain at past turns, at first the yield strain
    lowest: jax.Array


@LAWS.register("menegotto-pinto")
class MenegottoPinto(Material):
    """Steel whose branches bend from the modulus E to the hardening modulus b E (Menegotto & Pinto 1973).

        σ* = b ε* + (1 − b) ε* / (1 + |ε*|^R)^{1/R},   ε* = (ε − ε_r)/(ε_c − ε_r),   σ* = (σ − σ_r)/(σ_c − σ_r)

    from the last turn (ε_r, σ_r) to the corner (ε_c, σ_c), where the line of slope E through the turn meets the
    hardening line through ±f_y. `R = R₀ (1 − c₁ ξ/(c₂ + ξ))` falls with the plastic excursion ξ, in yield strains,
    between the corner and the farthest past turn on its side; never below R₀/100, where c₁ > 1 would lead. The same as
    Steel02 of OpenSees without isotropic hardening.

    Isotropic hardening (Filippou, Popov & Bertero 1983): after a turn the hardening line of the new branch passes
    through `± f_y [1 + a₁ (ε_max/ε_y − a₂)]`, the round bracket not below zero; ε_max is the largest |ε| at a turn.
    """

    corners: ClassVar[str] = "turns"

    yield_stress: Parameter = parameter("yield stress f_y", "N/m^2", positive=True)
    modulus: Parameter = parameter("modulus E", "N/m^2", positive=True, default=200e9)
    hardening_ratio: Parameter = parameter("modulus after yield / before", "", positive=True, default=0.01)
    sharpness: Parameter = parameter("R₀: how sharp the first bend is", "", positive=True, default=18.0)
    softening: Parameter = parameter("c₁: loss of sharpness", "", positive=True, zero=True, default=0.925)
    softening_rate: Parameter = parameter("c₂: how soon it is lost", "", positive=True, default=0.15)
    isotropic: Parameter = parameter("a₁: growth of the yield stress", "", positive=True, default=0.0)
    isotropic_from: Parameter = parameter("a₂: strain / yield strain where it begins", "", positive=True, default=1.0)

    def initial_modulus(self) -> jax.Array:
        return self.modulus

    def start(self) -> Any:
        yield_strain = self.yield_stress / self.modulus
        zero = jnp.zeros_like(yield_strain)
        corner = SteelState(
            zero, zero, zero, zero, zero, yield_strain, self.yield_stress, self.sharpness, yield_strain, -yield_strain
        )
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, zero.shape), corner)

    def respond(self, s: Any, strain: jax.Array) -> tuple[jax.Array, jax.Array, Any]:
        b, yield_strain = self.hardening_ratio, self.yield_stress / self.modulus
        heading = jnp.sign(strain - s.strain)
        turned = heading * s.direction < 0.0
        changed = turned | ((s.direction == 0.0) & (heading != 0.0))
        highest = jnp.where(turned & (heading < 0.0), jnp.maximum(s.highest, s.strain), s.highest)
        lowest = jnp.where(turned & (heading > 0.0), jnp.minimum(s.lowest, s.strain), s.lowest)
        turn_strain = jnp.where(turned, s.strain, s.turn_strain)
        turn_stress = jnp.where(turned, s.stress, s.turn_stress)
        farthest = jnp.maximum(highest, -lowest) / yield_strain
        strain_then = yield_strain * (1.0 + self.isotropic * jnp.maximum(farthest - self.isotropic_from, 0.0))
        soft = jnp.where(jnp.abs(1.0 - b) > _TINY, 1.0 - b, _TINY)
        corner = heading * strain_then + (turn_strain - turn_stress / self.modulus) / soft
        corner_strain = jnp.where(changed, corner, s.corner_strain)
        corner_stress = jnp.where(
            changed, self.modulus * (heading * strain_then + b * (corner - heading * strain_then)), s.corner_stress
        )
        excursion = jnp.abs((jnp.where(heading > 0.0, highest, lowest) - corner_strain) / yield_strain)
        bent = self.sharpness * jnp.maximum(
            1.0 - self.softening * excursion / (self.softening_rate + excursion), _SHARPNESS
        )
        sharpness = jnp.where(turned, bent, s.sharpness)
        way, span = strain - turn_strain, corner_strain - turn_strain
        root = _log_root(way, span, sharpness, yield_strain)
        stress = turn_stress + self.modulus * way * (b + (1.0 - b) * jnp.exp(-root / sharpness))
        tangent = self.modulus * (b + (1.0 - b) * jnp.exp(-root * (1.0 + 1.0 / sharpness)))
        direction = jnp.where(heading == 0.0, s.direction, heading)
        turn, corner = (turn_strain, turn_stress), (corner_strain, corner_stress)
        state = SteelState(strain, stress, direction, *turn, *corner, sharpness, highest, lowest)
        return stress, tangent, jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, stress.shape), state)


@LAWS.register("giuffre-menegotto-pinto")
class GiuffreMenegottoPinto(Law):
    """The curves of `MenegottoPinto` between force and deformation: steel members, braces that do not buckle, yielding
    dampers. k, F_y, e and F stand for E, f_y, ε and σ; isotropic hardening as there.
    """

    corners: ClassVar[str] = "turns"

    stiffness: Parameter = parameter("elastic stiffness k", "N/m", positive=True)
    yield_force: Parameter = parameter("yield force F_y", "N", positive=True)
    hardening_ratio: Parameter = parameter("stiffness after yield / before", "", positive=True, default=0.01)
    sharpness: Parameter = parameter("R₀: how sharp the first bend is", "", positive=True, default=18.0)
    softening: Parameter = parameter("c₁: loss of sharpness", "", positive=True, zero=True, default=0.925)
    softening_rate: Parameter = parameter("c₂: how soon it is lost", "", positive=True, default=0.15)
    isotropic: Parameter = parameter("a₁: growth of the yield force", "", positive=True, default=0.0)
    isotropic_from: Parameter = parameter("a₂: e / yield deformation where it begins", "", positive=True, default=1.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"stiffness": loop.first_stiffness, "yield_force": loop.yielding, "sharpness": 10.0}

    def _steel(self) -> MenegottoPinto:
        shape = (self.hardening_ratio, self.sharpness, self.softening, self.softening_rate)
        return MenegottoPinto(self.yield_force, self.stiffness, *shape, self.isotropic, self.isotropic_from)

    def start(self) -> Any:
        return self._steel().start()

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self._steel().force(e, w, s)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        return self._steel().advance(s, before, after, dt)
