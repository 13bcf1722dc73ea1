"""A device model that no sample can spoil: inputs are checked before they enter its state, and every fault is flagged.

A number that is not finite, or that is beyond its limit, is not taken; the last good one stays in its place. For a
motion that grows beyond its limit that is the limit, for a spike the sample before. Between two samples the
displacement moves no faster than the limit of velocity: after an interruption it catches up. Samples inside the limits
are taken to the last bit, so a model in normal use is the model itself.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.hybrid.learned.model import DeviceModel, ModelState
from vibrid.hybrid.learned.samples import DeviceSample, Setting

CAPACITIES = 1e-3, 1e12
"""N, between which a capacity must be."""


class Fault(enum.IntFlag):
    """The bits of the flags of a step; 0 where nothing was wrong."""

    NOT_FINITE = 1
    DISPLACEMENT = 2
    VELOCITY = 4
    SIGNAL = 8
    CAPACITY = 16
    FORCE = 32
    RESTARTED = 64

    @property
    def meaning(self) -> str:
        """What was wrong, and what the model did."""
        return "; ".join(text for fault, text in _MEANINGS.items() if fault in self)


_MEANINGS = {
    Fault.NOT_FINITE: "an input is not a finite number: the last good one was used, for a first force 0",
    Fault.DISPLACEMENT: "the displacement is beyond its limit: the last good one was used",
    Fault.VELOCITY: "the velocity or the change of the displacement is beyond the limit of velocity: it was limited",
    Fault.SIGNAL: "a signal of the tested device is beyond its limit: the last good one was used",
    Fault.CAPACITY: "a capacity is not between 1 mN and 1 TN: the last good one was used, 1 N before the first",
    Fault.FORCE: "the force is beyond its limit: it is given as it is",
    Fault.RESTARTED: "the force or the state was not finite: the force is NaN, and the state starts again from rest",
}


class HeldInputs(NamedTuple):
    """The last good inputs: displacement (m), velocity (m/s), signals; and 1 after the first good displacement."""

    inputs: jax.Array  # (2 + signals,)
    begun: jax.Array


class GuardedState(NamedTuple):
    held: HeldInputs
    model: ModelState


class GuardedModel(eqx.Module):
    """A device model and its guard, one sample at a time."""

    model: DeviceModel

    def start(self) -> GuardedState:
        held = HeldInputs(jnp.zeros(2 + len(self.model.companion_sizes)), jnp.zeros(()))
        return GuardedState(held, self.model.start())

    def step(
        self, state: GuardedState, sample: DeviceSample, setting: Setting
    ) -> tuple[GuardedState, jax.Array, dict[Fault, jax.Array]]:
        """State, force (N) and whether each fault is there, after one sample."""
        held, taken, faults = self._taken(state.held, sample)
        own, force = self.model.step(state.model, taken, setting)
        after, total = GuardedState(held, own), jnp.asarray(force, float)
        for leaf in jax.tree.leaves(after):
            total = total + jnp.sum(leaf)
        fine = jnp.isfinite(total)
        after = jax.tree.map(lambda new, rest: jnp.where(fine, new, rest), after, self.start())
        capacity = jnp.where(force > 0, setting.capacity[0], setting.capacity[1])
        beyond = jnp.abs(force) > self.model.limits.force * capacity
        force = jnp.where(fine, force, jnp.nan)
        return after, force, {**faults, Fault.FORCE: beyond, Fault.RESTARTED: ~fine}

    def _taken(self, held: HeldInputs, sample: DeviceSample) -> tuple[HeldInputs, DeviceSample, dict[Fault, jax.Array]]:
        """What is taken of a sample, and its faults."""
        limits, last = self.model.limits, held.inputs
        given = jnp.concatenate([jnp.stack([sample.x, sample.v]), sample.companion]).astype(last.dtype)
        good = jnp.abs(given) <= jnp.asarray([limits.displacement, limits.velocity, *limits.signals])
        finite = jnp.isfinite(given)
        beyond = finite & ~good
        used = jnp.where(good, given, last)
        reach = jnp.where(held.begun > 0, limits.velocity / self.model.rate, 2 * limits.displacement)
        x = jnp.clip(used[0], last[0] - reach, last[0] + reach)
        faults = {
            Fault.NOT_FINITE: ~jnp.all(finite),
            Fault.DISPLACEMENT: beyond[0],
            Fault.VELOCITY: beyond[1] | (x != used[0]),
        }
        if limits.signals:
            faults[Fault.SIGNAL] = jnp.any(beyond[2:])
        begun = jnp.where(good[0], 1.0, held.begun)
        return HeldInputs(jnp.concatenate([x[None], used[1:]]), begun), DeviceSample(x, used[1], used[2:]), faults


def flagged(faults: dict[Fault, jax.Array]) -> jax.Array:
    """Flags () as a whole number, from whether each fault is there."""
    return jnp.stack(list(faults.values())).astype(float) @ jnp.asarray([float(fault) for fault in faults])


def good_capacity(last, capacity) -> tuple[jax.Array, dict[Fault, jax.Array]]:
    """(2,) N, capacities that can be used, from those of the sample before; and their faults."""
    good, finite = (capacity >= CAPACITIES[0]) & (capacity <= CAPACITIES[1]), jnp.isfinite(capacity)
    faults = {Fault.NOT_FINITE: ~jnp.all(finite), Fault.CAPACITY: jnp.any(finite & ~good)}
    return jnp.where(good, capacity, last), faults
