"""Derivatives of a network along its input, carried forward beside the values: no nested reverse mode."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.networks.dense import ACTIVATIONS, Dense


def carried(network, x, first, second):
    """`y, dy/dt, d²y/dt²` of `y = network(x(t))`, from `x`, `dx/dt` and `d²x/dt²`.

    A network over a sequence is differentiated as the whole sequence moves in time, which is what a convolution sees
    one step later, and a recurrent network once it has forgotten its start.
    """

    def slope(x, first):
        return jax.jvp(network, (x,), (first,))

    (y, dy), (_, ddy) = jax.jvp(slope, (x, first), (first, second))
    return y, dy, ddy


def carried_together(networks: Sequence[Dense], x, first):
    """`y, dy/dt, d²y/dt²` of several dense networks at points x (points, inputs) that move at `first`.

    All networks and all derivatives pass a layer in one product: on an accelerator, small products cost their launch.
    Networks must agree in everything but the number of outputs; gives one (3, points, outputs) for each.
    """
    one = networks[0]
    if any(_alike(n) != _alike(one) for n in networks):
        raise InputError("Networks evaluated together need the same layers before their last, and the same activation.")
    outputs = [n.biases[-1].shape[-1] for n in networks]
    widest = max(outputs)
    points = x.shape[0]
    h = jnp.concatenate([x, jnp.broadcast_to(first, x.shape), jnp.zeros_like(x)])
    h = jnp.broadcast_to(h, (len(networks), *h.shape))
    value = (jnp.arange(3 * points) < points)[:, None]
    last = len(one.weights) - 1
    for i in range(last + 1):
        w, b = ([jnp.pad(p, [(0, 0)] * (p.ndim - 1) + [(0, widest - p.shape[-1] if i == last else 0)]) for p in parts]
                for parts in ([n.weights[i] for n in networks], [n.biases[i] for n in networks]))  # fmt: skip
        w, b = jnp.stack(w), jnp.stack(b)
        a = jnp.matmul(h, w, precision=jax.lax.Precision.HIGHEST) + jnp.where(value, b[:, None], 0.0)
        if i < last:
            bent = jnp.concatenate(carried(ACTIVATIONS[one.activation], *jnp.split(a, 3, axis=1)), axis=1)
            a = h + bent if one.skip and w.shape[1] == w.shape[2] else bent
        h = a
    return [own.reshape(3, points, widest)[..., :count] for own, count in zip(h, outputs, strict=True)]


def _alike(network: Dense):
    return network.activation, network.skip, [b.shape for b in network.biases[:-1]], network.weights[0].shape[:-1]
