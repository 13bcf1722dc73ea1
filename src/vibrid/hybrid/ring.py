"""A ring buffer of past samples, for delays and extrapolations inside a compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Ring(NamedTuple):
    """The last `len(values)` samples; `newest` is the place of the latest one."""

    values: jax.Array
    newest: jax.Array


def empty_ring(length: int, columns: int | None = None) -> Ring:
    """A ring of zeros: at rest before the start."""
    return Ring(jnp.zeros(length if columns is None else (length, columns)), jnp.zeros((), jnp.int32))


def push(ring: Ring, value) -> Ring:
    """The ring with one more sample; the oldest is dropped."""
    place = (ring.newest + 1) % ring.values.shape[0]
    return Ring(ring.values.at[place].set(value), place)


def oldest(ring: Ring):
    """The sample that the next `push` drops."""
    return ring.values[(ring.newest + 1) % ring.values.shape[0]]


def past(ring: Ring, samples):
    """(value, slope per sample) `samples` before the newest, which need not be a whole number: linear in between."""
    length = ring.values.shape[0]
    whole = jnp.clip(jnp.floor(samples), 0, length - 2)
    share = jnp.clip(samples - whole, 0.0, 1.0)
    at = ring.newest - whole.astype(jnp.int32)
    late, early = ring.values[at % length], ring.values[(at - 1) % length]
    return late + share * (early - late), late - early
