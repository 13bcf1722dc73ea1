"""Distributed elements that yield and break, by the generalised Masing rules.

A distributed-element model is a large number of sliders in parallel. Instead of following each of them, the law stores
the few turning points of the deformation that still matter (the sequence of dominant alternating extremes of Ashrafi &
Smyth 2007) and reads the force from two curves. The memory depends on the deformation only, never on the parameters:
`remember` updates it, and `MemoryLaw.recall` gives the force for any parameters at a stored state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion
from vibrid.laws.distributions import RayleighYield, YieldDistribution

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


class Memory(NamedTuple):
    """The turning points that still matter, oldest and largest first, and the present deformation."""

    extremes: jax.Array  # (capacity,) m; only the first `count` are used
    count: jax.Array  # 0: on the virgin curve  # pyright: ignore[reportIncompatibleMethodOverride]
    largest: jax.Array  # largest |deformation| so far, m
    here: jax.Array  # deformation at the last step, m
    overflow: jax.Array  # a turning point did not fit: later values are not valid


def empty_memory(capacity: int) -> Memory:
    """Nothing remembered: at rest, never deformed."""
    zero = jnp.zeros(())
    return Memory(jnp.zeros(capacity), jnp.zeros((), jnp.int32), zero, zero, jnp.zeros((), bool))


def begun(memory: Memory, e: jax.Array) -> Memory:
    """A path that begins away from zero is assumed to have come straight from zero."""
    fresh = memory.largest == 0.0
    return memory._replace(here=jnp.where(fresh, e, memory.here), largest=jnp.where(fresh, jnp.abs(e), memory.largest))


def entry(values: jax.Array, index: jax.Array) -> jax.Array:
    """`values[index]`, 0 for −1, as a sum over a mask: a batch of look-ups stays one vector operation."""
    return jnp.sum(jnp.where(jnp.arange(values.shape[-1]) == index, values, 0.0), axis=-1)


def remember(memory: Memory, e: jax.Array) -> tuple[Memory, jax.Array]:
    """The memory after a straight move to `e`, and the index at which `here` was written (−1 where it was not).

    1. Where the motion turns, the turning point is stored. 2. Where |e| reaches its largest value on either side, all
    are deleted: the virgin curve. 3. Where the motion passes the last-but-one extreme a loop has closed, and its two
    extremes are deleted.
    """
    extremes, n, largest, here, overflow = memory
    capacity, places = extremes.shape[-1], jnp.arange(extremes.shape[-1])
    move = e - here
    since = here - entry(extremes, n - 1)  # from the last turning point, or from zero on the virgin curve
    turned = (since * move < 0.0) & (since != 0.0)
    at = jnp.where(turned & (n < capacity), n, -1)
    extremes = jnp.where(places == at, here, extremes)
    virgin = jnp.abs(e) >= largest
    full = overflow | (turned & (n >= capacity) & ~virgin)
    n = jnp.where(at >= 0, n + 1, n)
    closed = (places % 2 == n % 2) & (places <= n - 2) & (move * (e - extremes) >= 0.0)
    n_closed = jnp.min(jnp.where(closed, places.astype(n.dtype), n), axis=-1)
    moved = move != 0.0
    n = jnp.where(moved, jnp.where(virgin, 0, n_closed), memory.count).astype(memory.count.dtype)
    return Memory(extremes, n, jnp.maximum(largest, jnp.abs(e)), e, full), at


class MemoryLaw(Law):
    """A path law whose memory depends on the deformation only. Subclasses give `curve` (and a dashpot `damping`).

    Its state keeps the force at every stored turning point as well, so that a step costs two evaluations of the curve,
    however many there are.
    """

    is_averageable: ClassVar[bool] = False

    def curve(self, y: jax.Array, largest: jax.Array) -> jax.Array:
        """Force after a monotonic deformation y ≥ 0 from zero, of elements that survived |e| = `largest`, in N."""
        raise NotImplementedError

    @property
    def _capacity(self) -> int:
        return self.capacity  # pyright: ignore[reportAttributeAccessIssue]  # a field of every subclass

    def dashpot(self, w: jax.Array) -> jax.Array:
        """The viscous force at a rate."""
        return self.damping * w  # pyright: ignore[reportAttributeAccessIssue]  # a field of every subclass

    def start(self) -> Any:
        return empty_memory(self._capacity), jnp.zeros(self._capacity)

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        memory, forces = begun(s[0], before.e), s[1]
        moved, at = remember(memory, after.e)
        turning = self._hysteretic(memory.here, (memory, forces))
        return moved, jnp.where(jnp.arange(self._capacity) == at, turning, forces)

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        return self._hysteretic(e, s) + self.dashpot(w)

    def _hysteretic(self, e, s):
        """Rule 1 and 2: the virgin curve, or twice the curve at half the way from the last turning point."""
        memory, forces = s
        virgin = memory.count == 0
        way = e - jnp.where(virgin, 0.0, entry(memory.extremes, memory.count - 1))
        sign = jnp.where(way >= 0.0, 1.0, -1.0)
        stretch = jnp.where(virgin, 1.0, 2.0)
        last = jnp.where(virgin, 0.0, entry(forces, memory.count - 1))
        largest = jnp.where(virgin, jnp.maximum(memory.largest, jnp.abs(e)), memory.largest)
        force = last + sign * stretch * self.curve(sign * way / stretch, largest)
        return jnp.where(memory.overflow, jnp.nan, force)

    def recall(self, memory: Memory, w: jax.Array) -> jax.Array:
        """Force at a stored state for these parameters: one evaluation of the curve per turning point."""
        return jnp.sum(self._increments(memory)) + self.dashpot(w)

    def recall_turns(self, memory: Memory) -> jax.Array:
        """Hysteretic force (capacity,) at every stored turning point; beyond `memory.count`, at `here`."""
        return jnp.cumsum(self._increments(memory))[:-1]

    def _increments(self, memory: Memory):
        """(capacity + 1,): change of force from zero to the first turning point, to the next, …, and to `here`."""
        places = jnp.arange(self._capacity + 1)
        stops = jnp.where(places < memory.count, jnp.append(memory.extremes, 0.0), memory.here)
        way = jnp.diff(stops, prepend=0.0)
        sign = jnp.where(way >= 0.0, 1.0, -1.0)
        stretch = jnp.where(places == 0, 1.0, 2.0)
        changes = sign * stretch * self.curve(sign * way / stretch, memory.largest)
        return jnp.where(memory.overflow, jnp.nan, changes)

    def overflowed(self, s: Any) -> jax.Array:
        return s[0].overflow


@LAWS.register("masing")
class Masing(MemoryLaw):
    """Distributed elements of one stiffness that yield and, beyond β times their yield deformation, break; a dashpot
    in parallel (Ashrafi & Smyth 2007, the DEM with viscous damping).

    With S and I of the distribution of yield deformations and b = |e|max/β,
    `curve(y) = k y S(b)` for y < b, else `k [I(y) − I(b) + b S(b)]`;
    `F = ± curve(|e|)` on the virgin curve, else `F = F_turn ± 2 curve(|e − e_turn|/2)`, plus `c w`.

    Arguments
        distribution: `UniformYield`, `RayleighYield`, `WeibullYield` or your own, of the yield deformation.
        ductility: β; infinite (the default) means that nothing breaks.
        capacity: turning points that can be stored; more are an error, never dropped silently.
    """

    stiffness: Parameter = parameter("initial stiffness k", "N/m", positive=True, zero=True)
    distribution: YieldDistribution
    ductility: Parameter = parameter("deformation at breaking / at yield β", "", positive=True, default=jnp.inf)
    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, default=0.0)
    capacity: int = eqx.field(static=True, default=32)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"distribution": RayleighYield(loop.elastic)}

    def __check_init__(self) -> None:
        check_memory_law(self)

    def curve(self, y: jax.Array, largest: jax.Array) -> jax.Array:
        return self.stiffness * surviving(self.distribution, y, largest / self.ductility)


def surviving(distribution: YieldDistribution, y: jax.Array, b: jax.Array) -> jax.Array:
    """∫ min(y, x) φ(x) dx over the elements with x > b: force of the unbroken ones per unit stiffness, in metres."""
    share = distribution.survival(b)
    integral = distribution.integral
    return jnp.where(y < b, y * share, integral(y) - integral(b) + b * share)


def check_memory_law(law) -> None:
    if not isinstance(law.distribution, YieldDistribution):
        raise InputError(
            "The yield deformations need a distribution such as RayleighYield(mean=0.01), "
            f"not {type(law.distribution).__name__}."
        )
    if isinstance(law.capacity, bool) or not isinstance(law.capacity, int) or law.capacity < 2:
        raise InputError(f"The memory must hold at least 2 turning points, not {law.capacity!r}.")
