"""Low-cycle fatigue: cycles of the deformation are counted as they close; a part breaks when their damage is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Motion, absolute_power
from vibrid.laws.steel import GiuffreMenegottoPinto

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vibrid.laws.loops import LoopSizes
    from vibrid.records.cycles import LoadCycle

CAPACITY = 32
"""Turns that are remembered: those whose cycles are still open."""
_CLOSED = 4  # cycles that may close in one step; more of them close in the next


class Counting(NamedTuple):
    """The turns of a path whose cycles are open, and the damage of those that were closed."""

    turns: jax.Array  # (CAPACITY,) m, the first `number` of them
    number: jax.Array  # of them, as a float
    here: jax.Array  # m
    way: jax.Array  # of the last move: +1, −1; 0 before the first
    closed: jax.Array  # damage of closed cycles

    @staticmethod
    def start() -> Counting:
        zero = jnp.zeros(())
        return Counting(jnp.zeros(CAPACITY), jnp.ones(()), zero, zero, zero)

    def moved(self, e: jax.Array, damage) -> Counting:
        """After a straight move to e. `damage`: that of one cycle, from its range (m)."""
        heading = jnp.sign(e - self.here)
        turned = heading * self.way < 0.0
        place = jnp.arange(CAPACITY)
        turns = jnp.where(turned & (place == self.number), self.here, self.turns)
        number = jnp.where(turned, self.number + 1.0, self.number)
        way, closed = jnp.where(heading == 0.0, self.way, heading), self.closed
        for _ in range(_CLOSED):
            last, before = (jnp.sum(jnp.where(place == number - back, turns, 0.0)) for back in (1.0, 2.0))
            closes = (number >= 2.0) & (jnp.abs(e - last) >= jnp.abs(last - before))
            first = number == 2.0  # a cycle from the start of the path is a half one, and its other end the new start
            closed = closed + jnp.where(closes, jnp.where(first, 0.5, 1.0) * damage(last - before), 0.0)
            turns = jnp.where(closes & first, jnp.where(place == 0, last, turns), turns)
            number = jnp.where(closes, jnp.where(first, 1.0, number - 2.0), number)
        return Counting(turns, number, e, way, closed)

    def damage(self, of_cycle) -> jax.Array:
        """That of closed cycles, and of the open ranges as half cycles."""
        place = jnp.arange(CAPACITY)
        ends = jnp.where(place + 1 < self.number, jnp.roll(self.turns, -1), self.here)
        ranges = jnp.where(place < self.number, ends - self.turns, 0.0)
        return self.closed + 0.5 * jnp.sum(of_cycle(ranges))


class FatigueState(NamedTuple):
    """State of the unbroken steel, and the cycles so far."""

    steel: Any
    cycles: Counting


def life(cycles: Sequence[LoadCycle], power: float) -> float:
    """m, amplitude A₀ with `Σ n (A/A₀)^power = 1` over the half cycles before the force was gone at a turn, and half of
    the one in which it went; where it stayed, with half of that sum."""
    spent, strongest, farthest = 0.0, 0.0, 0.0
    for cycle in cycles:
        between = 0.5 * cycle.stiffness * (cycle.positive - cycle.negative)  # N, half of the way from turn to turn
        one = cycle.amplitude**power
        if between < 0.75 * strongest and cycle.amplitude > 0.9 * farthest:
            return (spent + (0.75 if between > 0.25 * strongest else 0.25) * one) ** (1.0 / power)
        spent, strongest, farthest = spent + one, max(strongest, cycle.push), max(farthest, cycle.amplitude)
    return (2.0 * spent) ** (1.0 / power)


@LAWS.register("giuffre-menegotto-pinto-fatigue")
class GiuffreMenegottoPintoFatigue(GiuffreMenegottoPinto):
    """`GiuffreMenegottoPinto` that breaks by low-cycle fatigue: yielding dampers, braces, bars.

        D = Σ nᵢ (Aᵢ/A₀)^{1/c},   F = F_steel · min(1, (1 − D)/(1 − D₀)),   0 where D ≥ 1

    Aᵢ are the amplitudes (half of the range) of the cycles and nᵢ their number, 1 or ½, by the rainflow method (ASTM
    E1049), counted while the path goes on: a range that is still open is half a cycle. Coffin (1954) and Manson (1965)
    for the life at one amplitude, Miner (1945) for the sum, Uriz & Mahin (2008) for c of steel braces. The force falls
    from the damage D₀ on, so that a fit has a slope where a test breaks. `Fatigue` of OpenSees drops it at D = 1; its
    E0 is the range 2 A₀, and it counts open ranges in part: along a random path of 80 turns it broke up to five half
    cycles later, with four values of E0 (`tests/laws/test_fatigue.py`).
    """

    corners: ClassVar[str] = "within"  # where it begins to break
    is_averageable: ClassVar[bool] = False

    fatigue_deformation: Parameter = parameter("amplitude A₀ that one cycle breaks", "m", positive=True, default=1.0)
    fatigue_exponent: Parameter = parameter("c: slope of amplitude over life", "", positive=True, default=0.458)
    fracture_from: Parameter = parameter("damage D₀ from which the force falls", "", positive=True, default=0.9)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        """A₀ from the half cycles before the specimen broke; where it did not, half of its life is left."""
        guesses = [life(reading.cycles, 1.0 / 0.458) for reading in loop.readings if reading.cycles]
        found = float(np.mean(guesses)) if guesses else 4.0 * loop.displacement
        return super().first_guess(loop) | {"fatigue_deformation": found}

    def _of_cycle(self, spans: jax.Array) -> jax.Array:
        return absolute_power(0.5 * spans / self.fatigue_deformation, 1.0 / self.fatigue_exponent)

    def damage(self, s: FatigueState) -> jax.Array:
        """D: zero when new, one when broken."""
        return s.cycles.damage(self._of_cycle)

    def start(self) -> Any:
        return FatigueState(super().start(), Counting.start())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        falling = (1.0 - self.damage(s)) / jnp.maximum(1.0 - self.fracture_from, 1e-6)
        return jnp.clip(falling, 0.0, 1.0) * super().force(e, w, s.steel)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        steel = super().advance(s.steel, before, after, dt)
        return FatigueState(steel, s.cycles.moved(after.e, self._of_cycle))

    def overflowed(self, s: Any) -> jax.Array:
        return jnp.any(s.cycles.number >= CAPACITY)
