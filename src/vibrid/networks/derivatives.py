"""Derivatives of a network along its input, carried forward beside the values: no nested reverse mode."""

from __future__ import annotations

import jax


def carried(network, x, first, second):
    """`y, dy/dt, d²y/dt²` of `y = network(x(t))`, from `x`, `dx/dt` and `d²x/dt²`.

    A network over a sequence is differentiated as the whole sequence moves in time, which is what a convolution sees
    one step later, and a recurrent network once it has forgotten its start.
    """

    def slope(x, first):
        return jax.jvp(network, (x,), (first,))

    (y, dy), (_, ddy) = jax.jvp(slope, (x, first), (first, second))
    return y, dy, ddy
