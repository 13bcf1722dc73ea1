"""A learned device model: features of its motion, a network, and how its outputs become a force."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.answers import Answer
from vibrid.hybrid.learned.features import MotionFeatures
from vibrid.hybrid.learned.input_limits import InputLimits
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.network import Constant, DeviceNetwork
from vibrid.hybrid.learned.passive import first_share
from vibrid.hybrid.learned.resonant import ResonantNetwork
from vibrid.hybrid.learned.samples import DeviceSample, Setting
from vibrid.laws.base import Motion


class ModelState(NamedTuple):
    plays: jax.Array
    memory: Any
    answer: Any


class DeviceModel(eqx.Module):
    """`force = step(state, sample, setting)`, sample by sample, at the rate it was trained for.

    Arguments
        features: of its own motion.
        network: the trained layers, or a `Constant` for a law alone.
        answer: how outputs become a force.
        companion_sizes: a large value of every signal of the tested device; () for a model that uses none.
        rate: Hz.
        companion_names: names of those signals.
        companion_middles: values of the signals that count as zero; () for zero itself.
        is_told: whether the ratio of the capacities is among the inputs, and the capacity or the first force.
        capacity: N, of an ordinary training test: the capacity over it is an input; 0 where the first force is.
        limits: of the inputs in a loop or an export; by default from the sizes of the training tests.
        is_told_first: whether the first force is an input beside the capacity, the last one.
    """

    features: MotionFeatures
    network: DeviceNetwork | ResonantNetwork | Modulators | Constant
    answer: Answer
    companion_sizes: tuple[float, ...] = eqx.field(static=True, converter=tuple)
    rate: float = eqx.field(static=True)
    companion_names: tuple[str, ...] = eqx.field(static=True, converter=tuple, default=())
    companion_middles: tuple[float, ...] = eqx.field(static=True, converter=tuple, default=())
    is_told: bool = eqx.field(static=True, default=True)
    limits: InputLimits = eqx.field(static=True, default=None)
    capacity: float = eqx.field(static=True, default=0.0)
    is_told_first: bool = eqx.field(static=True, default=False)

    def __post_init__(self):
        if self.limits is None:
            self.limits = InputLimits.of(self.features, self.companion_sizes, self.companion_middles)
        if len(self.limits.signals) != len(self.companion_sizes):
            raise InputError(
                f"The model uses {len(self.companion_sizes)} signals of the tested device, but there are limits of "
                f"{len(self.limits.signals)}."
            )

    @staticmethod
    def own_inputs(features: MotionFeatures, is_told: bool = True, is_told_first: bool = False) -> int:
        """Features of the motion, the ratio of the two capacities, and the capacity, the first force or both."""
        return features.count + 2 * is_told + is_told_first

    def start(self, batch: tuple[int, ...] = ()) -> ModelState:
        return ModelState(self.features.start(batch), self.network.start(batch), self.answer.start(batch))

    def inputs(self, seen, sample: DeviceSample, setting: Setting) -> tuple[jax.Array, jax.Array]:
        """Inputs of the network: signals of the tested device, and features of its own motion with the setting."""
        kind = self.network.bias.dtype
        companion = sample.companion[..., : len(self.companion_sizes)]
        if self.companion_sizes:
            companion = (companion - jnp.asarray(self.companion_middles or 0.0)) / jnp.asarray(self.companion_sizes)
        companion = companion.astype(kind)
        if not self.is_told:
            return companion, seen.astype(kind)
        mean = setting.capacity.mean(axis=-1)
        ratio = jnp.log(setting.capacity[..., 0] / setting.capacity[..., 1])
        size = jnp.log(mean / self.capacity) if self.capacity else setting.first_force / mean
        first = [first_share(setting)] if self.is_told_first else []
        fixed = jnp.stack([ratio, size, *first], axis=-1)
        fixed = jnp.broadcast_to(fixed, (*seen.shape[:-1], fixed.shape[-1]))
        return companion, jnp.concatenate([seen, fixed], axis=-1).astype(kind)

    def step(
        self, state: ModelState, sample: DeviceSample, setting: Setting, masks=None
    ) -> tuple[ModelState, jax.Array]:
        """State and force (…), N."""
        plays, seen = self.features.step(state.plays, sample.x, sample.v, setting.first_force)
        memory, outputs = self.network.step(state.memory, *self.inputs(seen, sample, setting), masks)
        answer, force = self.answer.step(state.answer, outputs, Motion(sample.x, sample.v), setting, 1.0 / self.rate)
        return ModelState(plays, memory, answer), force

    def along(
        self, state: ModelState, sample: DeviceSample, setting: Setting, masks=None
    ) -> tuple[jax.Array, ModelState]:
        """Forces (samples, …) for samples (samples, …), and the state after them: `step` many times, but faster."""
        seen, plays = self.features.along(state.plays, sample.x, sample.v, setting.first_force)
        outputs, memory = self.network.along(state.memory, *self.inputs(seen, sample, setting), masks)
        motion = Motion(sample.x, sample.v)
        force, answer = self.answer.along(state.answer, outputs, motion, setting, 1.0 / self.rate)
        return force, ModelState(plays, memory, answer)

    @property
    def trained(self) -> DeviceModel:
        """The model with only the arrays that are trained: those of its network."""
        nothing = jax.tree.map(lambda leaf: False, self)
        moves = jax.tree.map(eqx.is_inexact_array, self.network)
        return eqx.filter(self, eqx.tree_at(lambda m: m.network, nothing, moves))

    @property
    def fixed(self) -> DeviceModel:
        """The rest of it."""
        nothing = jax.tree.map(lambda leaf: True, self)
        moves = jax.tree.map(lambda leaf: not eqx.is_inexact_array(leaf), self.network)
        return eqx.filter(self, eqx.tree_at(lambda m: m.network, nothing, moves))
