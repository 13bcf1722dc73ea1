"""A law that a network adapts and corrects: its parameters follow some outputs, one more output adds to its force."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from vibrid.core import paths
from vibrid.hybrid.learned.answers import _WithLaw


class Adapted(_WithLaw):
    """θ = θ̄ exp(span · tanh(outputs)), and a correction that can never be larger than `bound` of the mean capacity.

    Arguments
        law: with the first guess θ̄.
        learned: paths of the parameters that the network moves.
        span: how far: a factor between e^−span and e^span.
        bound: of the correction, relative to the capacity.
    """

    learned: tuple[str, ...] = eqx.field(static=True, converter=tuple, default=())
    span: float = eqx.field(static=True, default=0.7)
    bound: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        for path in self.learned:
            paths.get(self.law.law, path)

    @property
    def names(self) -> tuple[str, ...]:
        return self.learned

    @property
    def outputs(self) -> int:
        return len(self.learned) + 1

    def step(self, state, outputs, motion, capacity, dt):
        outputs = jnp.asarray(outputs, float)
        factors = jnp.exp(self.span * jnp.tanh(outputs[..., 1:]))
        state, force = self.moved(state, factors, motion, capacity, dt)
        return state, force + self.bound * jnp.tanh(outputs[..., 0]) * capacity.mean(axis=-1)
