"""One layer of long short-term memory (Hochreiter & Schmidhuber 1997), stepped sample by sample.

    i, f, o = σ([x, h] W + b);  g = tanh([x, h] W + b);  c ← f c + i g;  h ← o tanh c

The four gates stand side by side in the columns of W and b, in the order i, f, g, o.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp


class LSTM(eqx.Module):
    """A layer from (…, inputs) to (…, width), so that a batch needs no vmap. Made by `LSTM.make`."""

    weights: jax.Array  # (inputs + width, 4 width)
    bias: jax.Array  # (4 width,)

    @classmethod
    def make(cls, key, inputs: int, width: int, dtype=jnp.float64) -> LSTM:
        """Uniform in ± 1/√width; the forget gate begins open (bias 1)."""
        drawn = jax.random.uniform(key, (inputs + width, 4 * width), dtype, -1.0, 1.0) / width**0.5
        return cls(drawn, jnp.zeros(4 * width, dtype).at[width : 2 * width].set(1.0))

    @property
    def width(self) -> int:
        return self.bias.shape[-1] // 4

    def start(self, batch: tuple[int, ...] = ()):
        """(h, c) before the first sample."""
        rest = jnp.zeros((*batch, self.width), self.bias.dtype)
        return rest, rest

    def step(self, state, x):
        """State after one sample; its first part is the output."""
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], axis=-1) @ self.weights + self.bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c
