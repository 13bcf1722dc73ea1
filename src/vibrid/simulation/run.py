"""The time loop: one compiled scan over the samples, recording only what is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.simulation.base import Integrator, State
from vibrid.simulation.excitation import Drive, Input
from vibrid.simulation.initial import Initial
from vibrid.structures.model import Model
from vibrid.structures.sensors import SensorArrays


class Everything(eqx.Module):
    """Record the motion: x, v, a and the states of the laws."""

    def __call__(self, model: Model, state: State, u: Any) -> Any:
        return state.x, state.v, state.a, state.s


class Kept(eqx.Module):
    """Record the motion, and the part of the states that a response needs."""

    def __call__(self, model: Model, state: State, u: Any) -> Any:
        return state.x, state.v, state.a, model.recorded(state.s)


class Readings(eqx.Module):
    """Record the readings of sensors."""

    sensors: SensorArrays

    def __call__(self, model: Model, state: State, u: Any) -> jax.Array:
        return model.output(self.sensors, state.x, state.v, state.a, state.s, u)


class Watched(eqx.Module):
    """Record the values of another observer, and whether the integrator failed to find equilibrium so far."""

    observe: Callable[..., Any]
    integrator: Integrator

    def __call__(self, model: Model, state: State, u: Any) -> Any:
        return self.observe(model, state, u), self.integrator.failed(state)


class Folding(eqx.Module):
    """Base of observers that keep a few numbers of a run instead of its samples.

    `run` then returns (the numbers, what `take` recorded of every sample). Once a run has `ended` the structure is put
    to rest without excitation, so that what comes after costs nothing and harms nothing.
    """

    def begin(self, model: Model) -> Any:
        """The numbers before the first sample."""
        raise NotImplementedError

    def take(self, sofar: Any, model: Model, state: State, u: Any) -> tuple[Any, Any]:
        """The numbers with one more sample, and what is recorded of the sample itself (None for nothing)."""
        raise NotImplementedError

    def ended(self, sofar: Any) -> jax.Array:
        """Whether the rest of the run is of no interest."""
        raise NotImplementedError


_LONG = 2000  # samples from which a faster loop repays a longer compilation
_UNROLL = 4


def advance_sample(
    model: Model,
    integrator: Integrator,
    constants: Any,
    state: State,
    coefficients: jax.Array,
    end: Any,
    dt: jax.Array | float,
    substeps: int,
) -> State:
    """Move a state from one sample to the next in `substeps` steps of `dt / substeps`."""
    pieces = coefficients.shape[0]
    h = dt / substeps

    def small(state, j):
        piece = j * pieces // substeps
        first = (j % (substeps // pieces)) / (substeps // pieces) if pieces < substeps else 0.0
        share = pieces / substeps
        u = Input(coefficients[piece], first, share, jnp.zeros(()))
        last = u(1.0)
        u = Input(coefficients[piece], first, share, jnp.where(j == substeps - 1, end, last))
        return integrator.step(model, constants, state, u, h), None

    if substeps == 1:
        return integrator.step(model, constants, state, Input(coefficients[0], 0.0, 1.0, end), h)
    return jax.lax.scan(small, state, jnp.arange(substeps))[0]


def run(
    model: Model,
    integrator: Integrator,
    drive: Drive,
    dt: jax.Array | float,
    observe: Callable[..., Any] | Folding,
    start: Initial | None = None,
    substeps: int = 1,
    checkpoints: bool = False,
) -> Any:
    """States or readings at every sample, stacked along time; of a `Folding` observer its numbers. Pure: batch it with
    vmap, differentiate it. With `checkpoints` a reverse derivative keeps the state at √samples alone."""
    start, model = Initial.rest(model.size) if start is None else start, integrator.arranged(model)
    s = model.start() if start.states is None else start.states
    constants = integrator.prepare(model, dt / substeps)
    state = integrator.start(model, constants, start.displacement, start.velocity, s, drive.samples[0])

    fold = observe if isinstance(observe, Folding) else None
    rest = integrator.start(model, constants, start.displacement, start.velocity, s, 0.0 * drive.samples[0])

    def body(carry, sample):
        state, sofar = carry
        coefficients, here, end = sample
        if fold is not None:
            sofar, seen = fold.take(sofar, model, state, here)
            over = fold.ended(sofar)
            state = jax.tree.map(lambda still, moving: jnp.where(over, still, moving), rest, state)
            coefficients, end = (jnp.where(over, 0.0, value) for value in (coefficients, end))
        else:
            seen = observe(model, state, here)  # pyright: ignore[reportCallIssue]
        return (advance_sample(model, integrator, constants, state, coefficients, end, dt, substeps), sofar), seen

    # The loop writes the samples of a state before it leaves it, so nothing is copied afterwards; the step beyond the
    # last sample is taken at rest of the inputs and thrown away.
    beyond = jnp.zeros_like(drive.coefficients[:1])
    samples = (jnp.concatenate([drive.coefficients, beyond]), drive.samples, jnp.roll(drive.samples, -1, axis=0))
    heavy = any(group.law.is_heavy for group in model.groups)
    chain = model.incidence is not None and model.incidence.form != "dense"  # steps that would be computed again
    unroll = _UNROLL if drive.samples.shape[0] > _LONG and not heavy and not chain else 1
    begun = () if fold is None else fold.begin(model)
    if checkpoints:
        (_, sofar), seen = _scan_with_checkpoints(body, (state, begun), samples)
    else:
        (_, sofar), seen = jax.lax.scan(body, (state, begun), samples, unroll=unroll)
    return seen if fold is None else (sofar, seen)


def _scan_with_checkpoints(body: Callable[..., Any], first: Any, samples: Any) -> tuple[Any, Any]:
    """`lax.scan` in √samples stretches, each of which a reverse derivative runs again instead of keeping it."""
    count = len(jax.tree.leaves(samples)[0])
    length = math.isqrt(count)
    whole = count // length * length
    stretches = jax.tree.map(lambda a: a[:whole].reshape(-1, length, *a.shape[1:]), samples)
    stretch = jax.checkpoint(lambda carry, own: jax.lax.scan(body, carry, own))
    carry, seen = jax.lax.scan(stretch, first, stretches)
    seen = jax.tree.map(lambda a: a.reshape(whole, *a.shape[2:]), seen)
    if whole == count:
        return carry, seen
    carry, rest = stretch(carry, jax.tree.map(lambda a: a[whole:], samples))
    return carry, jax.tree.map(lambda a, more: jnp.concatenate([a, more]), seen, rest)
