"""Hysteresis by excursions: the common part of laws that degrade from one crossing of zero force to the next.

An excursion is the path from one zero of the force to the next. Within it the law is a play: the force rises or falls
along the unloading stiffness, and never passes the path ahead, which was fixed when the excursion began: one or two
straight lines towards a target on the envelope, then the envelope itself. At its end the law knows the energy that it
dissipated, and with it wears out envelope, unloading stiffness and target of the next one.

What follows from it: nothing depends on how a straight path is divided into steps; partial unloading leaves no trace;
and since no slope of an excursion exceeds the stiffness of its unloading, no closed path gives energy.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from vibrid.laws.base import Law, Motion
from vibrid.laws.envelopes import Capped, Line, Polyline

_CLOSE = 1e-9
"""Share of the force at the target within which a line is on the envelope."""


class Worn(NamedTuple):
    """What the past has left in one direction."""

    strength: jax.Array  # factor of the strength
    capping: jax.Array  # factor of the branch that falls
    target: jax.Array  # m, deformation on the envelope that reloading aims at
    permanent: jax.Array  # m, largest deformation left after unloading
    peak: jax.Array  # m, farthest deformation of the last excursion
    peak_push: jax.Array  # N, force there


class Corner(NamedTuple):
    """A deformation (m) and a force (N)."""

    x: jax.Array
    f: jax.Array


class Reloading(NamedTuple):
    """Three straight lines, from bend to bend; the first two may have no length."""

    first: Line
    second: Line
    third: Line
    bend: jax.Array  # m, where the second begins
    turn: jax.Array  # m, where the third begins

    def at(self, x: jax.Array) -> jax.Array:
        return jnp.where(x < self.bend, self.first.at(x), jnp.where(x < self.turn, self.second.at(x), self.third.at(x)))

    def integral(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """∫ from a to b ≥ a."""
        bend, turn = jnp.clip(self.bend, a, b), jnp.clip(self.turn, a, b)
        return self.first.integral(a, bend) + self.second.integral(bend, turn) + self.third.integral(turn, b)

    def joins(self, hull: Capped | Polyline, zero: jax.Array, target: jax.Array) -> jax.Array:
        """x at which it reaches, from its beginning at `zero`, an envelope on which its target lies.

        After a large deformation to the other side, the hardening line of the envelope lies below zero there: lines
        that aim at the target are above it, and join the envelope at the target.
        """
        early, then, late = (hull.meets(line) for line in (self.first, self.second, self.third))
        late, top = jnp.where(jnp.isfinite(late), late, target), hull.force(target)
        aims = jnp.abs(self.third.at(target) - top) <= _CLOSE * top
        late = jnp.where(aims, jnp.where(late < self.turn, target, jnp.minimum(late, target)), late)
        before = (early >= zero) & (early < self.bend), (then >= self.bend) & (then < self.turn)
        return jnp.where(before[0], early, jnp.where(before[1], then, late))


class Excursion(NamedTuple):
    """The present excursion; `x = way e` and `f = way F` are measured in its direction."""

    here: jax.Array  # m, deformation e
    push: jax.Array  # N, force F
    way: jax.Array  # +1 or −1
    zero: jax.Array  # m, x where it began
    front: jax.Array  # m, x up to which the path ahead was used
    path: Reloading  # lines from the zero of the force to the target
    joins: jax.Array  # m, x at which they reach the envelope
    unloading: jax.Array  # N/m
    energy: jax.Array  # J, dissipated in the excursions before
    own: Worn  # in this direction
    other: Worn


class ExcursionLaw(Law):
    """A path law of excursions. Subclasses say how it begins (`first_stiffness`, `first_target`), its `envelope`, what
    an excursion wears out (`wear`) and how the next one reloads (`reload`). `way` is +1 or −1."""

    is_averageable: ClassVar[bool] = False

    @abstractmethod
    def first_stiffness(self) -> jax.Array:
        """N/m, of loading and unloading when new."""

    @abstractmethod
    def first_target(self, way: jax.Array | float) -> jax.Array:
        """m, deformation at which a direction first meets its envelope."""

    @abstractmethod
    def envelope(self, way: jax.Array, worn: Worn) -> Capped | Polyline:
        """The envelope of a direction after wear."""

    @abstractmethod
    def wear(self, own: Worn, other: Worn, unloading: jax.Array, spent: jax.Array, energy: jax.Array) -> Any:
        """(own, unloading stiffness) of the excursion to follow, after one that spent `spent` of `energy` J in all."""

    @abstractmethod
    def reload(self, zero: jax.Array, target: Corner, own: Worn, unloading: jax.Array) -> Reloading:
        """From (zero, 0) to the target on the envelope."""

    def start(self) -> Any:
        stiffness = self.first_stiffness()
        zero, one = jnp.zeros_like(stiffness), jnp.ones_like(stiffness)
        line = Line(zero, stiffness)
        worn = [Worn(one, one, self.first_target(way), zero, zero, zero) for way in (1.0, -1.0)]
        path = Reloading(line, line, line, zero, zero)
        joins = path.joins(self.envelope(one, worn[0]), zero, worn[0].target)
        return Excursion(zero, zero, one, zero, zero, path, joins, stiffness, zero, *worn)

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return s.push + s.unloading * (e - s.here)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        back = s.way * (s.push + s.unloading * (after.e - s.here)) < -self._tie(s)
        s = jax.tree.map(lambda turned, same: jnp.where(back, turned, same), self._turned(s), s)
        return self._moved(s, after.e)

    def _tie(self, s: Excursion):
        """N, within which two forces are equal. Rounding must not decide: a compiler rounds the same expression in more
        than one way, and parts of a state would belong to different excursions."""
        return 1e-12 * s.unloading * s.own.target

    def _ahead(self, s: Excursion, x):
        """N, the force on the path ahead."""
        return jnp.where(x < s.joins, s.path.at(x), self.envelope(s.way, s.own).force(x))

    def _moved(self, s: Excursion, e) -> Excursion:
        """The excursion at deformation e, where its force has still the same sign."""
        x = s.way * e
        along, ahead = s.way * (s.push + s.unloading * (e - s.here)), self._ahead(s, x)
        loading = self._loads(s, x, along, ahead)
        f = jnp.where(loading, ahead, along)
        own = s.own._replace(
            target=jnp.maximum(s.own.target, x), permanent=jnp.maximum(s.own.permanent, x - f / s.unloading)
        )
        return s._replace(here=e, push=s.way * f, front=jnp.where(loading, x, s.front), own=own)

    def _loads(self, s: Excursion, x, along, ahead):
        """Whether x lies on the path ahead: there the line of unloading would pass it."""
        return along >= ahead - self._tie(s)

    def _turned(self, s: Excursion) -> Excursion:
        """The next excursion, where the force of this one has fallen to zero."""
        place = s.here - s.push / s.unloading
        way, zero, spent, f = -s.way, -s.way * place, self._spent(s), self._ahead(s, s.front)
        energy = s.energy + spent
        own, unloading = self.wear(s.other, s.own, s.unloading, spent, energy)
        hull = self.envelope(way, own)
        path = self.reload(zero, Corner(own.target, hull.force(own.target)), own, unloading)
        other, none = s.own._replace(peak=s.front, peak_push=f), jnp.zeros_like(spent)
        joins = path.joins(hull, zero, own.target)
        return Excursion(place, none, way, zero, zero, path, joins, unloading, energy, own, other)

    def _spent(self, s: Excursion):
        """J, dissipated: the work along the path ahead, less what unloading gives back."""
        end = jnp.minimum(s.front, s.joins)
        lines = s.path.integral(s.zero, end)
        f, hull = self._ahead(s, s.front), self.envelope(s.way, s.own)
        return jnp.maximum(lines + hull.integral(end, s.front) - 0.5 * f * f / s.unloading, 0.0)


def line_to(start: Corner, to: Corner, steepest: jax.Array) -> Line:
    """From a point to another, no steeper than unloading: also where that is not ahead."""
    way = to.x - start.x
    slope = jnp.where(way > 0.0, jnp.minimum((to.f - start.f) / jnp.maximum(way, 1e-30), steepest), steepest)
    return Line(start.f - slope * start.x, slope)


def over(points: tuple[Corner, Corner], zero: jax.Array, target: Corner, steepest: jax.Array) -> Reloading:
    """From (zero, 0) over a pinched point and a peak to the target.

    The pinched point is left out where it is not ahead; the peak where it does not lie ahead and above the straight
    line from there to the target.
    """
    pinch, peak = points
    start = Corner(zero, jnp.zeros_like(zero))
    least = 1e-9 * target.x  # shorter lines are rounding errors, with meaningless derivatives
    used = (pinch.x > zero + least) & (pinch.x < target.x)
    bend = Corner(jnp.where(used, pinch.x, zero), jnp.where(used, pinch.f, 0.0))
    first = line_to(start, bend, steepest)
    straight, line = line_to(bend, target, steepest), line_to(bend, peak, steepest)
    above = (peak.x > bend.x + least) & (peak.x < target.x) & (line.slope > (1.0 + 1e-9) * straight.slope)
    turn = Corner(jnp.where(above, peak.x, bend.x), jnp.where(above, line.at(peak.x), bend.f))
    return Reloading(first, line, line_to(turn, target, steepest), bend.x, turn.x)


def loss(spent: jax.Array, energy: jax.Array, capacity: jax.Array, strength: jax.Array, exponent: jax.Array):
    """β = [Eᵢ / (Eₜ − Σ Eⱼ)]^c with Eₜ = capacity · strength (Rahnama & Krawinkler 1993), between 0 and 1; an infinite
    capacity loses nothing."""
    left = strength - energy / capacity
    share = spent / capacity / jnp.where(left > 0.0, left, 1.0)
    share = jnp.where((left > 0.0) & (share < 1.0), share, 1.0)
    some = share > 1e-30
    return jnp.where(some, jnp.exp(exponent * jnp.log(jnp.where(some, share, 1.0))), 0.0)
