"""From the numbers at the end of a network to a force.

`Direct` and `MinMax` take them as the force. `LawLayer` takes them as parameters of a law, which has its own state and
gives the force; `Corrected` adds a bounded correction to a law whose parameters are fixed; `Adapted` does both.

Every device has a capacity for each direction, the friction force that its pretension is set for; forces scale with it.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import paths
from vibrid.core.device import unrolled
from vibrid.core.errors import InputError
from vibrid.hybrid.device import LawState
from vibrid.hybrid.learned.samples import Setting
from vibrid.laws.base import Law, Motion


class Answer(eqx.Module):
    """How the outputs of a network become a force."""

    @property
    def outputs(self) -> int:
        return 1

    def start(self, batch: tuple[int, ...] = ()) -> Any:
        return ()

    def step(self, state, outputs, motion: Motion, setting: Setting, dt) -> tuple[Any, jax.Array]:
        """State and force (…) from outputs (…, n) at a motion (…)."""
        raise NotImplementedError

    def along(self, state, outputs, motion: Motion, setting: Setting, dt) -> tuple[jax.Array, Any]:
        """Forces (samples, …) for outputs and motion (samples, …), and the state after them."""

        def one(state, now):
            outputs, motion = now
            return self.step(state, outputs, motion, setting, dt)

        state, force = jax.lax.scan(one, state, (outputs, motion), unroll=unrolled())
        return force, state


class Direct(Answer):
    """The force is the output in units of the mean capacity, limited smoothly to `bound` capacities."""

    bound: float = eqx.field(static=True, default=2.0)

    def step(self, state, outputs, motion, setting, dt):
        return state, self.bound * jnp.tanh(outputs[..., 0] / self.bound) * setting.capacity.mean(axis=-1)

    def along(self, state, outputs, motion, setting, dt):
        return self.step(state, outputs, motion, setting, dt)[::-1]


class MinMax(Answer):
    """The force is the output between the smallest and the largest force of the training tests, as published."""

    low: float = eqx.field(static=True)  # N
    high: float = eqx.field(static=True)

    def step(self, state, outputs, motion, setting, dt):
        return state, self.low + (self.high - self.low) * outputs[..., 0]

    def along(self, state, outputs, motion, setting, dt):
        return self.step(state, outputs, motion, setting, dt)[::-1]


class ScaledLaw(eqx.Module):
    """A law for any capacity.

    Arguments
        law: characterised at a capacity of `at` (N).
        positive, negative: paths of its strengths, which grow with the capacity for that direction; without them its
            force as a whole grows with the mean capacity.
    """

    law: Law
    at: float = eqx.field(static=True)
    positive: tuple[str, ...] = eqx.field(static=True, default=(), converter=tuple)
    negative: tuple[str, ...] = eqx.field(static=True, default=(), converter=tuple)

    def scaled(self, capacity, learned: dict[str, Any]) -> tuple[Law, jax.Array]:
        """The law of one device with a capacity (2,) and some learned values, and what to multiply its force by."""
        law, share = paths.replace(self.law, learned) if learned else self.law, capacity / self.at
        changes = {p: paths.get(law, p) * share[0] for p in self.positive}
        changes |= {p: paths.get(law, p) * share[1] for p in self.negative}
        return paths.replace(law, changes) if changes else law, jnp.ones(()) if changes else share.mean()


class _WithLaw(Answer):
    """An answer with its own law, in 64 bits: bristles are stiff."""

    law: ScaledLaw

    def start(self, batch=()) -> LawState:
        wide = lambda leaf: jnp.broadcast_to(jnp.asarray(leaf), (*batch, *jnp.shape(leaf)))  # noqa: E731
        rest = jnp.zeros(batch)
        return LawState(jax.tree.map(wide, self.law.law.start()), Motion(rest, rest))

    def moved(self, state: LawState, learned, motion: Motion, capacity, dt) -> tuple[LawState, jax.Array]:
        """The law after a step, and its force; `learned` (…, n) are the factors on the parameters it is given."""

        def one(law_state, before, factors, after, capacity):
            given = {p: paths.get(self.law.law, p) * factors[i] for i, p in enumerate(self.names)}
            law, share = self.law.scaled(capacity, given)
            law_state = law.advance(law_state, before, after, dt)
            return law_state, law.force(after.e, after.w, law_state) * share

        motion = Motion(jnp.asarray(motion.e, float), jnp.asarray(motion.w, float))
        for _ in jnp.shape(motion.e):
            one = jax.vmap(one)
        law_state, force = one(state.own, state.at, learned, motion, jnp.asarray(capacity, float))
        return LawState(law_state, motion), force

    @property
    def names(self) -> tuple[str, ...]:
        return ()


class LawLayer(_WithLaw):
    """A law whose named parameters follow the outputs: θ = θ̄ exp(span · tanh(output)).

    Arguments
        law: with the characterised values θ̄.
        learned: paths of the parameters that the network gives.
        span: their range: a factor between e^−span and e^span.
    """

    learned: tuple[str, ...] = eqx.field(static=True, converter=tuple, default=())
    span: float = eqx.field(static=True, default=1.5)

    def __check_init__(self):
        if not self.learned:
            raise InputError("A law layer needs at least one parameter that the network gives.")
        for path in self.learned:
            paths.get(self.law.law, path)

    @property
    def names(self) -> tuple[str, ...]:
        return self.learned

    @property
    def outputs(self) -> int:
        return len(self.learned)

    def factors(self, outputs):
        """(…, learned) on the characterised values."""
        return jnp.exp(self.span * jnp.tanh(jnp.asarray(outputs, float)))

    def step(self, state, outputs, motion, setting, dt):
        return self.moved(state, self.factors(outputs), motion, setting.capacity, dt)


class Corrected(_WithLaw):
    """A law, and a correction that can never be larger than `bound` of the mean capacity."""

    bound: float = eqx.field(static=True, default=0.5)

    def step(self, state, outputs, motion, setting, dt):
        state, force = self.moved(state, jnp.zeros((*jnp.shape(motion.e), 0)), motion, setting.capacity, dt)
        return state, force + correction(outputs, self.bound, setting.capacity)


class Adapted(LawLayer):
    """Both: one more output, the first, corrects the force by at most `bound` of the mean capacity."""

    bound: float = eqx.field(static=True, default=0.5)

    @property
    def outputs(self) -> int:
        return len(self.learned) + 1

    def factors(self, outputs):
        return super().factors(outputs[..., 1:])

    def step(self, state, outputs, motion, setting, dt):
        state, force = super().step(state, outputs, motion, setting, dt)
        return state, force + correction(outputs, self.bound, setting.capacity)


def correction(outputs, bound: float, capacity):
    """N, from the first output."""
    return bound * jnp.tanh(jnp.asarray(outputs, float)[..., 0]) * capacity.mean(axis=-1)
