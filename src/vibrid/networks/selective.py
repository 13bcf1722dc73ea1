"""A memory that forgets with time and with the path travelled, as fast as its input says.

    m ← a m + (1 − a) tanh(x U + u),      a = exp(−(0.05/s + τ(x)) Δt − λ(x) path),      τ, λ > 0

It is bounded, and it does not change at rest where τ is small: what a device with friction remembers, it forgets by
moving.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.networks.dense import product
from vibrid.networks.recurrence import recurrence

SLOWEST = 0.05
"""1/s: everything is forgotten at least so fast."""


def softplus(x):
    """ln(1 + eˣ), in operations that every export has."""
    return jnp.maximum(x, 0.0) + jnp.log(1.0 + jnp.exp(-jnp.abs(x)))


class SelectiveMemory(eqx.Module):
    """From (…, inputs) and the path of a sample (…) to (…, count). Made by `SelectiveMemory.make`."""

    weights: jax.Array  # (inputs, 3 count): what is remembered, forgetting with time, forgetting with the path
    bias: jax.Array
    rate: float = eqx.field(static=True)

    @classmethod
    def make(
        cls, key, inputs: int, count: int, rate: float, *, times=(0.5, 60.0), paths=(0.02, 2.0), dtype=jnp.float32
    ) -> SelectiveMemory:
        """A new memory.

        Arguments
            rate: samples a second.
            times: 1/s, range of the initial rates of forgetting with time.
            paths: range of the initial rates of forgetting with the path, over its unit.
        """
        drawn = jax.random.normal(key, (inputs, 3 * count), dtype) / inputs**0.5
        weights = drawn * jnp.repeat(jnp.asarray([1.0, 0.3, 0.3], dtype), count)
        order = np.random.default_rng(0).permutation(count)  # slow in time and slow along the path in any combination
        rates = np.concatenate(
            [np.geomspace(times[0], times[1], count)[order], np.geomspace(paths[0], paths[1], count)]
        )
        bias = jnp.asarray(np.concatenate([np.zeros(count), np.log(np.expm1(rates))]), dtype)
        return cls(weights, bias, rate)

    @property
    def count(self) -> int:
        return self.bias.shape[-1] // 3

    def start(self, batch: tuple[int, ...] = ()):
        return jnp.zeros((*batch, self.count), self.bias.dtype)

    def _parts(self, x, path):
        """Share that is kept, and what is added."""
        new, time, way = jnp.split(product(x, self.weights) + self.bias, 3, axis=-1)
        forgotten = (SLOWEST + softplus(time)) / self.rate + softplus(way) * path[..., None]
        kept = jnp.exp(-forgotten)
        return kept, (1.0 - kept) * jnp.tanh(new)

    def step(self, state, x, path):
        """The memory after one sample, which is also the output."""
        kept, added = self._parts(x, path)
        return kept * state + added

    def along(self, state, x, path):
        """Outputs (samples, …, count), and the memory after them."""
        outputs = recurrence(*self._parts(x, path), state)
        return outputs, outputs[-1]
