"""A reservoir of past samples that stays small however long a test lasts: remembered places, spread along the path."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from vibrid.laws.masing import Memory, empty_memory

_FINEST = 0.003  # of the largest deformation: samples closer to each other along the path than this tell the same


class Reservoir(NamedTuple):
    """Snapshots of memory, velocity, reading and time of up to K samples, oldest first."""

    memories: Memory  # (K, …)
    velocity: jax.Array  # (K,)
    reading: jax.Array  # (K,)
    number: jax.Array  # (K,) which sample it was
    count: jax.Array
    spacing: jax.Array  # m of path between samples
    last: jax.Array  # deformation at the newest of them


def empty_reservoir(size: int, capacity: int) -> Reservoir:
    memories = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), empty_memory(capacity))
    zero, none = jnp.zeros(size), jnp.zeros((), jnp.int32)
    return Reservoir(memories, zero, zero, zero, none, jnp.zeros(()), jnp.zeros(()))


def admit(reservoir: Reservoir, memory: Memory, velocity, reading, number, usable) -> Reservoir:
    """Keep a sample when the path has gone far enough since the last one; when full, every second one makes room."""
    size = reservoir.velocity.shape[0]
    reservoir = jax.lax.cond(reservoir.count >= size, _thinned, lambda r: r, reservoir)
    spacing = jnp.maximum(reservoir.spacing, _FINEST * memory.largest)
    take = usable & (jnp.abs(memory.here - reservoir.last) >= spacing) & (memory.largest > 0)
    at = reservoir.count

    def put(kept, new):
        return kept.at[at].set(jnp.where(take, new, kept[at]))

    kept = (reservoir.memories, reservoir.velocity, reservoir.reading, reservoir.number)
    memories, velocities, readings, numbers = jax.tree.map(put, kept, (memory, velocity, reading, number))
    last = jnp.where(take, memory.here, reservoir.last)
    return Reservoir(memories, velocities, readings, numbers, at + take, spacing, last)


def _thinned(reservoir: Reservoir) -> Reservoir:
    size = reservoir.velocity.shape[0]
    order = jnp.minimum(2 * jnp.arange(size), size - 1)
    thin = jax.tree.map(lambda leaf: leaf[order], reservoir[:4])
    return Reservoir(*thin, jnp.asarray(size // 2, reservoir.count.dtype), 2.0 * reservoir.spacing, reservoir.last)
