"""One layer of long short-term memory (Hochreiter & Schmidhuber 1997), stepped sample by sample.

    i, f, o = σ([x, h] W + b);  g = tanh([x, h] W + b);  c ← f c + i g;  h ← o tanh c

The four gates are the columns of W and b, in the order i, f, g, o. `step` takes one sample, as a device in a loop must;
`along` takes many samples, with one product for all inputs before the loop and one for the gradient of all recurrent
weights after it, so that the loop itself holds a single small product.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.device import unrolled


class LSTM(eqx.Module):
    """A layer from (…, inputs) to (…, width), so that a batch needs no vmap. Made by `LSTM.make`."""

    weights: jax.Array  # (inputs + width, 4 width)
    bias: jax.Array  # (4 width,)

    @classmethod
    def make(cls, key, inputs: int, width: int, dtype=jnp.float64) -> LSTM:
        """Uniform in ± 1/√width; the forget gate is open at first (bias 1)."""
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

    def along(self, state, x):
        """Outputs (samples, …, width) for inputs (samples, …, inputs), and the state after them."""
        inputs = x.shape[-1]
        h, c = _recur(self.weights[inputs:], x @ self.weights[:inputs] + self.bias, *state)
        return h, (h[-1], c)


def along_beside(layers: Sequence[LSTM], states, inputs):
    """`along` for independent layers of one width, all in one loop: for each, the result of `along`."""
    pairs = [(layer, x, x.shape[-1]) for layer, x in zip(layers, inputs, strict=True)]
    recurrent = jnp.stack([layer.weights[n:] for layer, _, n in pairs])
    driven = jnp.stack([x @ layer.weights[:n] + layer.bias for layer, x, n in pairs])
    h, c = jax.vmap(_recur)(recurrent, driven, *(jnp.stack(part) for part in zip(*states, strict=True)))
    return [(h[i], (h[i, -1], c[i])) for i in range(len(layers))]


def gates_of(z, c):
    """Gates i, f, g, o from their inputs `z`; c and h after them."""
    i, f, g, o = jnp.split(z, 4, axis=-1)
    i, f, o, g = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jax.nn.sigmoid(o), jnp.tanh(g)
    after = f * c + i * g
    return (i, f, g, o), after, o * jnp.tanh(after)


@jax.custom_vjp
def _recur(u, a, h, c):
    """h of all samples and the last c, from inputs `a` (samples, …, 4 width) and recurrent weights `u`."""
    return _recur_forward(u, a, h, c)[0]


def _recur_forward(u, a, h, c):
    def one(state, now):
        h, c = state
        gates, after, output = gates_of(now + h @ u, c)
        return (output, after), (output, c, jnp.concatenate(gates, axis=-1))

    (_, last), (hs, cs, gates) = jax.lax.scan(one, (h, c), a, unroll=unrolled())
    return (hs, last), (u, h, hs, cs, gates)


def _recur_backward(kept, slopes):
    u, first, hs, cs, gates = kept
    dhs, dlast = slopes

    def one(carry, now):
        dh, dc = carry
        dh_now, before, gate = now
        i, f, g, o = jnp.split(gate, 4, axis=-1)
        t = jnp.tanh(f * before + i * g)
        dh = dh + dh_now
        dc = dc + dh * o * (1 - t * t)
        parts = (dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o))
        dz = jnp.concatenate(parts, axis=-1)
        return (dz @ u.T, dc * f), dz

    (dh, dc), dzs = jax.lax.scan(one, (jnp.zeros_like(first), dlast), (dhs, cs, gates), reverse=True, unroll=unrolled())
    before = jnp.concatenate([first[None], hs[:-1]])
    axes = tuple(range(before.ndim - 1))
    return jnp.tensordot(before, dzs, axes=(axes, axes)), dzs, dh, dc


_recur.defvjp(_recur_forward, _recur_backward)
