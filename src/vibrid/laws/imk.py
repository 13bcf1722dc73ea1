"""The Ibarra–Medina–Krawinkler hinge in its modified form: bilinear, peak-oriented and pinching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.arguments import check
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS
from vibrid.laws.envelopes import Capped, Line
from vibrid.laws.excursions import Corner, Excursion, ExcursionLaw, Reloading, Worn, line_to, loss, over

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes

_SAME = float("nan")
_STEEP = 1e6
"""Times the unloading stiffness: no limit for lines of reloading."""


class IMK(ExcursionLaw):
    """What the three hinges of Ibarra, Medina & Krawinkler (2005), Lignos & Krawinkler (2011) have in common.

    **Backbone.** Stiffness K to the yield force F_y; a straight line over the plastic deformation θ_p to the capping
    force F_c; a straight fall that would reach zero over θ_pc; a residual force κ F_y. A parameter `…_negative` that is
    not given is the same as that of the positive direction.

    **Deterioration.** At the end of every excursion i (a zero of the force), which dissipated E_i, each mode loses
    `β = [E_i / (E_t − Σ E_j)]^c`, E_t = Λ F_y, the sum over all excursions so far (Rahnama & Krawinkler 1993):

    - strength: yield force and hardening slope of the direction that follows, × (1 − β_S);
    - capping: the force at which the falling line meets e = 0, × (1 − β_C);
    - unloading: the unloading stiffness, × (1 − β_K);
    - reloading: the deformation that reloading aims at, × (1 + β_A) (not for the bilinear hinge).

    An infinite capacity Λ (the default) takes no part.

    Stated differences from the papers: the unloading stiffness changes at the end of an excursion, not at each
    reversal, so that partial unloading leaves no trace and no cycle can give energy; the residual force deteriorates
    with the yield force; there is no ultimate deformation at which all force is lost at once.
    """

    stiffness: Parameter = parameter("elastic stiffness K", "N/m", positive=True)
    yield_force: Parameter = parameter("yield force F_y", "N", positive=True)
    plastic_deformation: Parameter = parameter("from yield to capping θ_p", "m", positive=True)
    post_capping_deformation: Parameter = parameter("from capping to no force θ_pc", "m", positive=True)
    capping_ratio: Parameter = parameter("capping force / yield force", "", positive=True, default=1.1)
    residual_ratio: Parameter = parameter("residual force / yield force κ", "", positive=True, default=0.0)
    strength_capacity: Parameter = parameter("Λ_S of the strength", "m", positive=True, default=jnp.inf)
    capping_capacity: Parameter = parameter("Λ_C of the falling branch", "m", positive=True, default=jnp.inf)
    unloading_capacity: Parameter = parameter("Λ_K of the unloading stiffness", "m", positive=True, default=jnp.inf)
    exponent: Parameter = parameter("exponent of the deterioration c", "", positive=True, default=1.0)
    yield_force_negative: Parameter = parameter("F_y for e < 0", "N", positive=True, default=_SAME)
    plastic_deformation_negative: Parameter = parameter("θ_p for e < 0", "m", positive=True, default=_SAME)
    post_capping_deformation_negative: Parameter = parameter("θ_pc for e < 0", "m", positive=True, default=_SAME)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        elastic = loop.yielding / loop.first_stiffness
        capacity = 4.0 * loop.energy_travel
        return {
            "stiffness": loop.first_stiffness,
            "yield_force": loop.yielding,
            "plastic_deformation": max(loop.peak_at - elastic, 0.2 * elastic),
            "post_capping_deformation": max(loop.fall, elastic),
            "capping_ratio": max(loop.peak / loop.yielding, 1.01),
            "strength_capacity": capacity,
            "capping_capacity": capacity,
        }

    def first_stiffness(self) -> jax.Array:
        return self.stiffness

    def first_target(self, way: jax.Array | float) -> jax.Array:
        return self._of(way, "yield_force") / self.stiffness

    def envelope(self, way: jax.Array, worn: Worn) -> Capped:
        first, plastic, falling = (
            self._of(way, name) for name in ("yield_force", "plastic_deformation", "post_capping_deformation")
        )
        strength, peak = worn.strength * first, self.capping_ratio * first
        hardening, fall = worn.strength * (peak - first) / plastic, -peak / falling
        capping = worn.capping * (peak - fall * (first / self.stiffness + plastic))
        rise = Line(strength * (1.0 - hardening / self.stiffness), hardening)
        return Capped(rise, Line(capping, fall), self.residual_ratio * strength)

    def wear(self, own: Worn, other: Worn, unloading: jax.Array, spent: jax.Array, energy: jax.Array) -> Any:
        weak, capped, soft = (
            loss(spent, energy, capacity, self.yield_force, self.exponent)
            for capacity in (self.strength_capacity, self.capping_capacity, self.unloading_capacity)
        )
        own = own._replace(strength=own.strength * (1.0 - weak), capping=own.capping * (1.0 - capped))
        return own, jnp.maximum(unloading * (1.0 - soft), self._softest())

    def _softest(self):
        """N/m: unloading is never softer than the backbone when new."""
        slopes = [
            (self.capping_ratio - 1.0) * self._of(way, "yield_force") / self._of(way, "plastic_deformation")
            for way in (1.0, -1.0)
        ]
        return jnp.maximum(jnp.maximum(*slopes), 1e-6 * self.stiffness)

    def _of(self, way: jax.Array | float, name: str) -> jax.Array:
        """The parameter of a direction."""
        positive, negative = getattr(self, name), getattr(self, f"{name}_negative")
        return jnp.where((way > 0.0) | jnp.isnan(negative), positive, negative)


@LAWS.register("imk-bilinear")
class IMKBilinear(IMK):
    """The bilinear hinge of Ibarra, Medina & Krawinkler (2005) in the form of Lignos & Krawinkler (2011), as for steel
    members: it reloads along its unloading stiffness to the backbone. Backbone and deterioration: `vibrid.laws.IMK`.
    """

    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        line = Line(-unloading * zero, unloading)
        return Reloading(line, line, line, zero, zero)


class IMKTarget(IMK):
    """An IMK hinge that reloads towards its past extreme, which cyclic deterioration moves away.

    `as_opensees=True` reloads as IMKPeakOriented and IMKPinching of OpenSees 3.7.1 do, by two rules of its source: a
    hinge that turns back on its way to the peak of the last excursion forgets this peak, and goes on straight to its
    target; and after the bend of a pinching hinge a line may be steeper than unloading, so that closed paths can give
    energy. Without it partial unloading leaves no trace. With it every turn before that peak changes the path, however
    small: along measured deformations noise alone would make the hinge forget.
    """

    reloading_capacity: Parameter = parameter("Λ_A of accelerated reloading", "m", positive=True, default=jnp.inf)
    as_opensees: bool = eqx.field(static=True, default=False, kw_only=True)

    def __check_init__(self) -> None:
        check(self.as_opensees, bool, "as_opensees", type(self).__name__)

    def wear(self, own: Worn, other: Worn, unloading: jax.Array, spent: jax.Array, energy: jax.Array) -> Any:
        own, stiffness = super().wear(own, other, unloading, spent, energy)
        further = loss(spent, energy, self.reloading_capacity, self.yield_force, self.exponent)
        return own._replace(target=own.target * (1.0 + further)), stiffness

    def _loads(self, s: Excursion, x: jax.Array, along: jax.Array, ahead: jax.Array) -> jax.Array:
        if not self.as_opensees:
            return super()._loads(s, x, along, ahead)
        return x >= s.front - self._tie(s) / s.unloading  # also where the path is steeper than unloading

    def _moved(self, s: Excursion, e: jax.Array) -> Excursion:
        after = super()._moved(s, e)
        if not self.as_opensees:
            return after
        corner = jnp.maximum(s.front, s.path.bend)
        forgets = (s.way * e < s.front - self._tie(s) / s.unloading) & (corner < s.path.turn)
        hull, target = self.envelope(s.way, s.own), s.own.target
        end = Corner(target, hull.force(target))
        path = s.path._replace(
            turn=corner, third=line_to(Corner(corner, s.path.at(corner)), end, self._steepest(s.unloading))
        )
        joins = path.joins(hull, s.zero, target)
        path, joins = jax.tree.map(lambda new, old: jnp.where(forgets, new, old), (path, joins), (s.path, s.joins))
        return after._replace(path=path, joins=joins)

    def _steepest(self, unloading: jax.Array) -> jax.Array:
        """N/m, of lines of reloading."""
        return _STEEP * unloading if self.as_opensees else unloading


@LAWS.register("imk-peak-oriented")
class IMKPeakOriented(IMKTarget):
    """The peak-oriented hinge of Ibarra, Medina & Krawinkler (2005) in the form of Lignos & Krawinkler (2011), as for
    reinforced concrete: it reloads on a straight line to the farthest past deformation of that direction, or first to
    the peak of the last excursion there, where that lies above the line (Mahin & Bertero 1975). Backbone and
    deterioration: `vibrid.laws.IMK`.
    """

    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        start = Corner(zero, jnp.zeros_like(zero))
        return over((start, Corner(own.peak, own.peak_push)), zero, target, self._steepest(unloading))


@LAWS.register("imk-pinching")
class IMKPinching(IMKTarget):
    """The pinching hinge of Ibarra, Medina & Krawinkler (2005) in the form of Lignos & Krawinkler (2011), as for wood,
    masonry and shear in concrete: it reloads on two lines.

    With the target (e_t, F_t) at the farthest past deformation of that direction, the first line heads for
    (e_t, κ_F F_t); at `(1 − κ_D) e_p`, e_p the largest permanent deformation of that direction, it bends towards the
    target. An excursion that begins beyond the bend has only the line to the target. Backbone and deterioration:
    `vibrid.laws.IMK`.
    """

    pinching_force: Parameter = parameter("pinched strength / strength κ_F", "", positive=True, default=0.4)
    pinching_deformation: Parameter = parameter("place of the bend κ_D", "", positive=True, default=0.5)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return super().first_guess(loop) | {"pinching_force": 0.4, "pinching_deformation": 0.5}

    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        bend = (1.0 - self.pinching_deformation) * own.permanent
        straight = line_to(Corner(zero, jnp.zeros_like(zero)), target, self._steepest(unloading))
        pinch = Corner(bend, self.pinching_force * straight.at(bend))
        return over((pinch, Corner(own.peak, own.peak_push)), zero, target, self._steepest(unloading))
