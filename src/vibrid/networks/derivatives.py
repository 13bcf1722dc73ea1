"""Derivatives of a network with respect to its input, carried forward with the values: no nested reverse mode."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from vibrid.networks.dense import ACTIVATIONS, Dense


def carried(network, x, first, second):
    """`y, dy/dt, d²y/dt²` of `y = network(x(t))`, from `x`, `dx/dt` and `d²x/dt²`.

    A network over a sequence is differentiated as the whole sequence moves in time, as a convolution has it one step
    later, and a recurrent network once it has forgotten its initial state.
    """

    def slope(x, first):
        return jax.jvp(network, (x,), (first,))

    (y, dy), (_, ddy) = jax.jvp(slope, (x, first), (first, second))
    return y, dy, ddy


def carried_together(networks: Dense, x, first, second: Array | float = 0.0):
    """`y, dy/dt, d²y/dt²` of several networks at points x (points, inputs) with dx/dt `first` and d²x/dt² `second`.

    Weights have a first axis, the networks; all of them and all derivatives pass a layer in one product: on an
    accelerator, small products cost their launch. Gives (networks, 3, points, outputs).
    """
    points = x.shape[0]
    h = jnp.concatenate([x, *(jnp.broadcast_to(jnp.asarray(d, x.dtype), x.shape) for d in (first, second))])
    h = jnp.broadcast_to(h, (networks.weights[0].shape[0], *h.shape))
    value = (jnp.arange(3 * points) < points)[:, None]
    last = len(networks.weights) - 1
    for i, (w, b) in enumerate(zip(networks.weights, networks.biases, strict=True)):
        a = jnp.matmul(h, w, precision=jax.lax.Precision.HIGHEST) + jnp.where(value, b[:, None], 0.0)
        if i < last:
            bent = jnp.concatenate(carried(ACTIVATIONS[networks.activation], *jnp.split(a, 3, axis=1)), axis=1)
            a = h + bent if networks.skip and w.shape[1] == w.shape[2] else bent
        h = a
    return h.reshape(h.shape[0], 3, points, h.shape[-1])
