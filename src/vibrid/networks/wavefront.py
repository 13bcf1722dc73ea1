"""Layers of long short-term memory one after the other, in one loop: for accelerators, where every small operation
waits to be launched.

In turn s the layer at depth d takes sample s − d, so its input is what the layer before it gave in the turn before. All
layers together are then one wide cell, whose recurrent weights have a block for each layer and a block from each layer
to the next. In turns before its first sample and after its last one a layer is held: its gates are closed (c stays,
h = 0) by infinite inputs; the h it starts from is added to the input of its first sample.

State and slope of the loop are one array each, and the rows of the weights for parts that do not enter the product are
zero: a turn is one product and one elementwise operation. On a processor the zeros cost more than the launches.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from vibrid.core.device import unrolled
from vibrid.networks.lstm import LSTM, gates_of

_HELD = (-jnp.inf, jnp.inf, 0.0, -jnp.inf)  # inputs of i, f, g, o


def along_stack(first: Sequence[LSTM], rest: Sequence[LSTM], states, inputs, masks=None):
    """Outputs (samples, …, width) of the last layer, and the state of every layer after them.

    Arguments
        first: layers in parallel, each with its own inputs.
        rest: layers one after the other; the first of them takes the outputs of all layers in `first`.
        states: (h, c) of every layer before the first sample.
        inputs: (samples, …, n) of each layer in `first`.
        masks: (…, width) of every layer, multiplies what the next layer takes; that of the last layer is not used.
    """
    layers, lags = [*first, *rest], [0] * len(first) + [1 + i for i in range(len(rest))]
    edges = list(itertools.accumulate((layer.width for layer in layers), initial=0))
    columns = [slice(*pair) for pair in itertools.pairwise(edges)]
    samples, batch, width, kind = inputs[0].shape[0], inputs[0].shape[1:-1], edges[-1], layers[0].bias.dtype
    recurrent = onward = jnp.zeros((width, 4, width), kind)
    held = jnp.broadcast_to(jnp.asarray(_HELD, kind)[:, None], (lags[-1], *batch, 4, width))
    driven = []
    for k, (layer, lag, at, (h, _)) in enumerate(zip(layers, lags, columns, states, strict=True)):
        taken, again = jnp.split(layer.weights, [layer.weights.shape[0] - layer.width])
        recurrent = recurrent.at[at, :, at].set(again.reshape(-1, 4, layer.width))
        if lag == 0:
            z = inputs[k] @ taken + layer.bias
        else:
            before = slice(0 if lag == 1 else columns[k - 1].start, at.start)
            onward = onward.at[before, :, at].set(taken.reshape(-1, 4, layer.width))
            z = jnp.broadcast_to(layer.bias, (samples, *batch, 4 * layer.width))
        z = z.at[0].add(h @ again).reshape(samples, *batch, 4, layer.width)
        driven.append(jnp.concatenate([held[:lag, ..., at], z, held[lag:, ..., at]]))
    a = jnp.concatenate(driven, axis=-1).reshape(-1, *batch, 4 * width)
    mask = None if masks is None else jnp.broadcast_to(jnp.concatenate(masks, axis=-1), (*batch, width))
    u = recurrent + onward if masks is None else jnp.concatenate([recurrent, onward])
    hs, c = _recur_wide(u.reshape(-1, 4 * width), a, jnp.concatenate([c for _, c in states], axis=-1), mask)
    after = [(hs[samples - 1 + lag, ..., at], c[..., at]) for lag, at in zip(lags, columns, strict=True)]
    return hs[lags[-1] :, ..., columns[-1]], after


@jax.custom_vjp
def _recur_wide(u, a, c, mask):
    """h of all turns and the last c, from h = 0 and inputs `a` (turns, …, 4 width); `u` takes h, or h and mask h."""
    return _forward(u, a, c, mask)[0]


def _forward(u, a, c, mask):
    width = c.shape[-1]
    padded = jnp.pad(u, ((0, width), (0, 0)))

    def one(state, now):  # state: h, mask h where there is a mask, c
        _, c, h = gates_of(now + state @ padded, state[..., -width:])
        state = jnp.concatenate([h, c] if mask is None else [h, h * mask, c], axis=-1)
        return state, state

    first = jnp.concatenate([jnp.zeros((*c.shape[:-1], u.shape[0]), c.dtype), c], axis=-1)
    last, states = jax.lax.scan(one, first, a, unroll=unrolled())
    return (states[..., :width], last[..., -width:]), (u, a, mask, jnp.concatenate([first[None], states[:-1]]))


def _backward(kept, slopes):
    u, a, mask, before = kept
    dhs, dlast = slopes
    width = dlast.shape[-1]
    fed, c = before[..., :-width], before[..., -width:]
    (i, f, g, o), after, _ = gates_of(a + fed @ u, c)
    t = jnp.tanh(after)
    factors = jnp.concatenate([g * i * (1 - i), c * f * (1 - f), i * (1 - g * g), t * o * (1 - o), f], axis=-1)
    padded = jnp.pad(u.T, ((0, width), (0, 0)))

    def one(carry, now):  # carry: slopes of the gates (4 width) and of c
        dh, through, factors = now
        dfed = carry @ padded
        dh = dh + dfed[..., :width] + (0 if mask is None else mask * dfed[..., width:])
        dc = carry[..., -width:] + dh * through
        carry = jnp.concatenate([dc, dc, dc, dh, dc], axis=-1) * factors
        return carry, carry

    end = jnp.concatenate([jnp.zeros((*dlast.shape[:-1], 4 * width), dlast.dtype), dlast], axis=-1)
    first, carries = jax.lax.scan(one, end, (dhs, o * (1 - t * t), factors), reverse=True, unroll=unrolled())
    dz = carries[..., :-width]
    axes = tuple(range(dz.ndim - 1))
    dmask = None if mask is None else jnp.sum(fed[..., :width] * (dz @ u[width:].T), axis=0)
    return jnp.tensordot(fed, dz, axes=(axes, axes)), dz, first[..., -width:], dmask


_recur_wide.defvjp(_forward, _backward)
