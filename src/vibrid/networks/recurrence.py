"""A linear recurrence along time, sₖ = aₖ sₖ₋₁ + uₖ, and its gradient, which is one too, backwards.

On a processor it is a loop over the samples: it compiles quickly, and does no more work than there is. On an
accelerator it is a parallel scan: a loop would start a kernel for every sample.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from vibrid.core.device import accelerated, unrolled


@jax.custom_vjp
def recurrence(a: jax.Array, u: jax.Array, first: jax.Array) -> jax.Array:
    """States (samples, …) for factors a and additions u (samples, …), real or complex, from the state `first` (…)."""
    return _states(a, u, first)


def _states(a, u, first):
    if accelerated():
        u = u.at[0].add(a[0] * first)
        return jax.lax.associative_scan(lambda one, then: (then[0] * one[0], then[0] * one[1] + then[1]), (a, u))[1]

    def one(state, now):
        state = now[0] * state + now[1]
        return state, state

    return jax.lax.scan(one, first, (a, u), unroll=unrolled())[1]


def _forward(a, u, first):
    states = _states(a, u, first)
    return states, (a, states, first)


def _backward(kept, slopes):
    a, states, first = kept
    after = jnp.concatenate([a[1:], jnp.zeros_like(a[:1])])
    back = _states(after[::-1], slopes[::-1], jnp.zeros_like(first))[::-1]
    return back * jnp.concatenate([first[None], states[:-1]]), back, a[0] * back[0]


recurrence.defvjp(_forward, _backward)
