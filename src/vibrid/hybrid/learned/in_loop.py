"""A learned model as a device in a hybrid test."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import LoopDevice, Reading
from vibrid.hybrid.learned.guard import GuardedModel, flagged
from vibrid.hybrid.learned.model import DeviceModel, DeviceSample, Setting
from vibrid.hybrid.learned.watch import NetworkWatch
from vibrid.laws.base import Motion


class NetworkState(NamedTuple):
    model: Any
    force: jax.Array  # N, the last force
    flags: jax.Array  # of that force
    commands: jax.Array  # since the last force


class NetworkDevice(LoopDevice):
    """A device model in the loop, behind its guard; the signal `flags` tells the faults of its last step (`Fault`).

    Arguments
        model: trained.
        capacity: N, friction force that the pretension is set for, one number or one for each direction.
        stiffness: N/m at rest, for the integrator.
        every: commands of the test in one step of the model, e.g. 4 for a model of 256 Hz in a test of 1024 Hz; between
            them the last force is held. Integrators use the force at the end of a step only, so nothing is lost if a
            step of the structure is as long as one of the model.
        first_force: N, before the test, where it is known.
        devices: how many devices it was trained on; 0 where its file does not say.
    """

    model: DeviceModel
    capacity: Parameter = parameter("friction force of either direction", "N", positive=True)
    stiffness: Parameter = parameter("stiffness at rest", "N/m", positive=True, default=0.0)
    every: int = eqx.field(static=True, default=1)
    first_force: Parameter = parameter("force before the test", "N", default=0.0)
    devices: int = eqx.field(static=True, default=0)

    signal_names: ClassVar[tuple[str, ...]] = ("flags",)
    signal_units: ClassVar[tuple[str, ...]] = ("",)
    no_force_means: ClassVar[str] = "The network overflowed: it was moved far beyond its training tests."

    def __check_init__(self):
        if self.every < 1:
            raise InputError(f"`every` must be 1 or more commands, not {self.every}.")
        if jnp.shape(self.capacity) not in ((), (2,)):
            raise InputError("The capacity of a device is one number, or one for each direction.")

    @property
    def setting(self) -> Setting:
        return Setting(jnp.broadcast_to(self.capacity, (2,)), jnp.asarray(self.first_force, float))

    def start(self) -> NetworkState:
        return NetworkState(GuardedModel(self.model).start(), jnp.zeros(()), jnp.zeros(()), jnp.zeros((), jnp.int32))

    def initial_stiffness(self):
        return self.stiffness

    def watch(self) -> NetworkWatch:
        capacity, first = float(np.mean(np.asarray(self.capacity))), float(self.first_force)
        return NetworkWatch(capacity, self.model.features.displacement, self.model.limits.force, first)

    def trial(self, state: NetworkState, motion: Motion, companion, dt):
        sample = DeviceSample(motion.e, motion.w, self._signals(companion))

        def answer(own):
            own, force, faults = GuardedModel(self.model).step(own, sample, self.setting)
            return own, jnp.asarray(force, state.force.dtype), flagged(faults)

        if self.every == 1:
            own, force, flags = answer(state.model)
            return Reading(force, flags[None]), NetworkState(own, force, flags, state.commands)
        count = state.commands + 1
        last = lambda own: (own, state.force, state.flags)  # noqa: E731
        own, force, flags = jax.lax.cond(count >= self.every, answer, last, state.model)
        return Reading(force, flags[None]), NetworkState(own, force, flags, jnp.where(count >= self.every, 0, count))

    def _signals(self, companion):
        """(signals,) of the tested device, in the order of training: force, displacement, others."""
        wanted = len(self.model.companion_sizes)
        if not wanted:
            return jnp.zeros(0)
        if companion is None:
            raise InputError("This network uses measurements of a tested device: name the device with `companion`.")
        signals = jnp.concatenate([jnp.stack([companion.reading.force, companion.motion.e]), companion.reading.signals])
        if len(signals) != wanted:
            raise InputError(
                f"The network was trained with {wanted} signals of the tested device "
                f"({', '.join(self.model.companion_names) or 'unnamed'}), which has {len(signals)}."
            )
        return signals
