"""A shifting window of recent samples on which any parameters can be tried.

`Snapshots` keeps the memory of a Masing-like law at every sample, so that the window is re-evaluated in one vector
operation. `ReplayedWindow` serves every other law: it keeps the state at the start of the window and integrates
through it again. Both give residuals (points, terms), weighted, zero where a sample is missing.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.identification.method import Sample
from vibrid.identification.online.measured import MeasuredMotion, force_read, memory_capacity, memory_law
from vibrid.identification.problem import Problem
from vibrid.laws.masing import Memory, begun, empty_memory, entry, remember


class Level(NamedTuple):
    """How strong the motion of the window is; it decides whether a step is taken."""

    displacement: jax.Array  # mean yield deformation x_yt of a Masing law, else standard deviation of x, m
    velocity: jax.Array  # standard deviation, m/s
    force: jax.Array  # standard deviation of the first compared reading


WindowData = TypeVar("WindowData")


class ShiftingWindow(Protocol[WindowData]):
    """What an online method asks of a window; the data it keeps are an argument and a result, never changed."""

    def start(self, problem: Problem) -> WindowData:
        """An empty window."""
        ...

    def push(self, problem: Problem, data: WindowData, values, sample: Sample) -> WindowData:
        """The window one sample later."""
        ...

    def residuals(self, problem: Problem, data: WindowData, values) -> jax.Array:
        """(points, terms) of the readings at these values, weighted."""
        ...

    def level(self, data: WindowData) -> Level: ...

    def overflow(self, data: WindowData) -> jax.Array:
        """Whether the memory of the law was full."""
        ...


def _shift(kept, new):
    """Arrays with a leading axis over samples, one sample later."""
    return jax.tree.map(lambda a, b: jnp.concatenate([a[1:], jnp.asarray(b, a.dtype)[None]]), kept, new)


class SnapshotData(NamedTuple):
    memory: Memory  # before the next sample
    at_turns: jax.Array  # (2, capacity) measured force and velocity at the remembered turning points
    memories: Memory  # (l, …)
    turns: jax.Array  # (l, 2, capacity)
    velocity: jax.Array  # (l,)
    readings: jax.Array  # (l,)
    present: jax.Array  # (l,)


class Snapshots(eqx.Module):
    """The window of a device whose law has a memory of its deformation alone."""

    motion: MeasuredMotion
    length: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)
    objective: int = eqx.field(static=True)

    def start(self, problem: Problem):
        capacity, l = memory_capacity(problem.experiment), self.length
        memory = empty_memory(capacity)
        many = jax.tree.map(lambda leaf: jnp.zeros((l, *leaf.shape), leaf.dtype), memory)
        zero = jnp.zeros(l)
        turns = jnp.zeros((2, capacity))
        return SnapshotData(memory, turns, many, jnp.zeros((l, 2, capacity)), zero, zero, zero)

    def push(self, problem: Problem, data: SnapshotData, values, sample: Sample):
        known = self.motion.known(sample) > 0
        x = jnp.where(known, sample.inputs[0], data.memory.here)
        v = jnp.where(known, sample.inputs[1], 0.0)
        before, last = begun(data.memory, x), jnp.stack([data.readings[-1], data.velocity[-1]])
        memory, at = remember(before, x)
        at_turns = jnp.where(jnp.arange(memory.extremes.shape[0]) == at, last[:, None], data.at_turns)
        kept = (data.memories, data.turns, data.velocity, data.readings, data.present)
        new = (memory, at_turns, v, force_read(problem, sample), sample.present[0] * known)
        return SnapshotData(memory, at_turns, *_shift(kept, new))

    def residuals(self, problem: Problem, data: SnapshotData, values):
        law = memory_law(problem.unknowns.place(problem.experiment, values))
        chosen = slice(None, None, -self.stride)
        memories = jax.tree.map(lambda leaf: leaf[chosen], data.memories)
        v, y, present = data.velocity[chosen], data.readings[chosen], data.present[chosen]
        miss = (jax.vmap(law.recall)(memories, v) - y) * present
        if self.objective == 1:
            return miss[:, None]
        turns = jax.vmap(law.recall_turns)(memories)
        measured, velocity = data.turns[chosen, 0], data.turns[chosen, 1]
        n = memories.count[:, None]
        there = (jnp.arange(turns.shape[1]) < n) * present[:, None]
        at_turns = (turns + law.dashpot(velocity) - measured) * there
        return jnp.concatenate([at_turns, miss[:, None]], axis=1) / jnp.sqrt(n + 1.0)

    def level(self, data: SnapshotData) -> Level:
        m = data.memories
        top = jax.vmap(entry)(m.extremes, m.count - 1)
        yielding = jnp.where(m.count == 0, jnp.abs(m.here), 0.5 * jnp.abs(m.here - top))
        return Level(jnp.mean(yielding), jnp.std(data.velocity), jnp.std(data.readings))

    def overflow(self, data: SnapshotData):
        return data.memory.overflow


class ReplayData(NamedTuple):
    state: tuple  # of the laws at the first sample of the window
    x: jax.Array  # (l, n)
    v: jax.Array
    inputs: jax.Array  # (l, m)
    readings: jax.Array  # (l, compared)
    present: jax.Array  # (l, compared)
    steps: jax.Array  # (l,) s, from the sample before


class ReplayedWindow(eqx.Module):
    """The window of any laws: the state at its start is advanced with the estimate of the time."""

    motion: MeasuredMotion
    length: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)

    def start(self, problem: Problem):
        model = problem.experiment.structure.model(problem.data[0].loads)
        l, n, m, k = self.length, model.size, model.load_matrix.shape[1], len(self.motion.compared)
        zeros = [jnp.zeros((l, size)) for size in (n, n, m, k, k)]
        return ReplayData(model.start(), *zeros, steps=jnp.full(l, 1.0))

    def push(self, problem: Problem, data: ReplayData, values, sample: Sample):
        model = problem.unknowns.place(problem.experiment, values).structure.model(problem.data[0].loads)
        known = self.motion.known(sample)
        x, v = self.motion.motion(sample)
        x, v = jnp.where(known > 0, x, data.x[-1]), jnp.where(known > 0, v, 0.0 * data.v[-1])
        leaving, entering = (data.x[0], data.v[0]), (data.x[1], data.v[1])
        state = model.advance(data.state, leaving, entering, data.steps[1])
        kept = (data.x, data.v, data.inputs, data.readings, data.present, data.steps)
        which = jnp.asarray(self.motion.compared)
        new = (x, v, sample.inputs, sample.readings[which], sample.present[which] * known, sample.dt)
        return ReplayData(state, *_shift(kept, new))

    def residuals(self, problem: Problem, data: ReplayData, values):
        experiment = problem.unknowns.place(problem.experiment, values)
        model = experiment.structure.model(problem.data[0].loads)

        def run(s, ends):
            x0, v0, x1, v1, dt = ends
            s = model.advance(s, (x0, v0), (x1, v1), dt)
            return s, s

        rows = (data.x[:-1], data.v[:-1], data.x[1:], data.v[1:], data.steps[1:])
        _, states = jax.lax.scan(run, data.state, rows)
        states = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), data.state, states)
        chosen = slice(None, None, -self.stride)
        x, v, u, s = jax.tree.map(lambda leaf: leaf[chosen], (data.x, data.v, data.inputs, states))
        y = jax.vmap(lambda *at: self.motion.predict(problem, experiment, *at))(x, v, s, u)
        return (y - data.readings[chosen]) * data.present[chosen]

    def level(self, data: ReplayData) -> Level:
        return Level(jnp.max(jnp.std(data.x, axis=0)), jnp.max(jnp.std(data.v, axis=0)), jnp.std(data.readings[:, 0]))

    def overflow(self, data: ReplayData):
        return jnp.zeros((), bool)
