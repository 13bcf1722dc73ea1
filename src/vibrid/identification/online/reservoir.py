"""A reservoir of past samples of limited size for tests of any length, spread evenly over the path."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from vibrid.laws.masing import Memory, empty_memory

_FINEST = 0.003  # of the largest deformation: closer samples carry the same information


class Reservoir(NamedTuple):
    """Snapshots of memory, velocity, reading and time of up to K samples, oldest first."""

    memories: Memory  # (K, …)
    velocity: jax.Array  # (K,)
    reading: jax.Array  # (K,)
    number: jax.Array  # (K,) which sample it was
    filled: jax.Array  # how many of the K are in use
    spacing: jax.Array  # m of path between samples
    last: jax.Array  # deformation at the newest of them


def empty_reservoir(size: int, capacity: int) -> Reservoir:
    memories = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), empty_memory(capacity))
    zero, none = jnp.zeros(size), jnp.zeros((), jnp.int32)
    return Reservoir(memories, zero, zero, zero, none, jnp.zeros(()), jnp.zeros(()))


def admit(reservoir: Reservoir, memory: Memory, velocity, reading, number, usable) -> Reservoir:
    """Keep a sample when the path since the last one is long enough; a full reservoir drops every second sample."""
    size = reservoir.velocity.shape[0]
    reservoir = jax.lax.cond(reservoir.filled >= size, _thinned, lambda r: r, reservoir)
    spacing = jnp.maximum(reservoir.spacing, _FINEST * memory.largest)
    take = usable & (jnp.abs(memory.here - reservoir.last) >= spacing) & (memory.largest > 0)
    at = reservoir.filled

    def put(kept, new):
        return kept.at[at].set(jnp.where(take, new, kept[at]))

    kept = (reservoir.memories, reservoir.velocity, reservoir.reading, reservoir.number)
    memories, velocities, readings, numbers = jax.tree.map(put, kept, (memory, velocity, reading, number))
    last = jnp.where(take, memory.here, reservoir.last)
    return Reservoir(memories, velocities, readings, numbers, at + take, spacing, last)


def _thinned(reservoir: Reservoir) -> Reservoir:
    size = reservoir.velocity.shape[0]
    order = jnp.minimum(2 * jnp.arange(size), size - 1)
    kept = (reservoir.memories, reservoir.velocity, reservoir.reading, reservoir.number)
    memories, velocity, reading, number = jax.tree.map(lambda leaf: leaf[order], kept)
    half = jnp.asarray(size // 2, reservoir.filled.dtype)
    return Reservoir(memories, velocity, reading, number, half, 2.0 * reservoir.spacing, reservoir.last)
