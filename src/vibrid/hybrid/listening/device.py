"""A modelled device that takes over what is heard of the tested one."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.hybrid.device import SPECIMENS, Companion, DeviceWatch, LawState, LoopDevice, Reading
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.network_file import NetworkFile
from vibrid.hybrid.listening.estimate import LEAST, CompanionEstimator, EstimatorState
from vibrid.hybrid.listening.offline import HEARD, heard_signals
from vibrid.laws.base import Motion


class ListeningState(NamedTuple):
    """States of the estimator and of the modelled device, its own work (J), and its last displacement and force."""

    heard: EstimatorState
    own: Any
    work: jax.Array
    x: jax.Array
    force: jax.Array


@SPECIMENS.register("listening")
class Listening(LoopDevice):
    """A modelled device with the capacity and the gap that are estimated from its companion, the tested device.

    Two devices of a kind are alike, not equal: of what the tested device differs from its law, the modelled one takes
    over the share `likeness`, the correlation ρ of two such devices (1: always equal, 0: nothing in common). Where
    devices wear by their own work (`wear_work` of the estimator), the modelled device wears by its own.

    Its signals: `capacity` (N) and `gap` (over that of the law) of the tested device now, their standard deviations,
    `lag` (s) of its force behind its displacement, `slipped` (s) so far, and `own_capacity` and `own_gap` of the
    modelled device; a network adds its own.

    Arguments
        estimator: how the tested device is listened to, with its law.
        likeness: ρ, from 0 to 1. `likeness_of` finds it from repeated tests.
        network: a trained network that takes the capacity; without one the law of the estimator is the model.
    """

    estimator: CompanionEstimator
    likeness: Parameter = parameter("correlation of two devices ρ", "", positive=True, zero=True)
    network: NetworkFile | None = None  # or the network itself, after `read`

    no_force_means: ClassVar[str] = "The law or the network overflowed."

    def __check_init__(self):
        if not isinstance(self.likeness, Tracer) and not 0.0 <= float(self.likeness) <= 1.0:
            raise InputError(f"The likeness of two devices is between 0 and 1, not {float(self.likeness):g}.")

    @property
    def signal_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        own = () if self.network is None else NetworkDevice.signal_names
        return (*(name for name, _ in HEARD), "own_capacity", "own_gap", *own)

    @property
    def signal_units(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        own = () if self.network is None else NetworkDevice.signal_units
        return (*(unit for _, unit in HEARD), "N", "", *own)

    def read(self, folder) -> Listening:
        """With its network read from its file, which is named relative to a folder."""
        if not isinstance(self.network, NetworkFile):
            return self
        return dataclasses.replace(self, network=self.network.read(folder))

    @property
    def model(self) -> NetworkDevice | None:
        """The network, if it has one."""
        network: Any = self.network
        if isinstance(network, NetworkFile):
            raise InputError("The network of a listening device has not been read from its file: call .read(folder).")
        return network

    def start(self) -> ListeningState:
        zero, network = jnp.zeros(()), self.model
        own = LawState(self.estimator.law.start(), Motion(zero, zero)) if network is None else network.start()
        return ListeningState(self.estimator.start(), own, zero, zero, zero)

    def trial(
        self, state: ListeningState, motion: Motion, companion: Companion | None, dt
    ) -> tuple[Reading, ListeningState]:
        if companion is None:
            raise InputError("A listening device needs the measurements of a tested one: name it with `companion`.")
        estimator, network = self.estimator, self.model
        heard = estimator.step(state.heard, companion.motion.e, companion.reading.force, dt)
        known = heard.estimate
        capacity = jnp.maximum(1.0 + self.likeness * (estimator.worn(state.work) @ known.mean - 1.0), LEAST)
        gap = jnp.exp(self.likeness * known.gap)
        if network is None:
            law, force = estimator.moved(capacity, gap, state.own.own, state.own.at, motion, dt)
            own, more = LawState(law, motion), jnp.zeros(0)
        else:
            told = dataclasses.replace(network, capacity=network.capacity * capacity)
            reading, own = told.trial(state.own, motion, companion, dt)
            force, more = reading
        usual = estimator.capacity if network is None else jnp.mean(network.capacity)
        signals = jnp.concatenate([heard_signals(estimator, heard), jnp.stack([usual * capacity, gap]), more])
        work = state.work + 0.5 * (state.force + force) * (motion.e - state.x)
        return Reading(force, signals), ListeningState(heard, own, work, motion.e, force)

    def watch(self) -> DeviceWatch | None:
        network = self.model
        return None if network is None else network.watch()

    def initial_stiffness(self):
        network = self.model
        return self.estimator.law.initial_stiffness() if network is None else network.initial_stiffness()

    def initial_damping(self):
        network = self.model
        return self.estimator.law.initial_damping() if network is None else network.initial_damping()
