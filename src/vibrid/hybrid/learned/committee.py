"""The mean of several passive networks of one recipe, as one device model: passive as they are.

Every member has modulators and a port of its own. The force is the mean of their forces, and the energy that is stored
the mean of their energies, so force times motion is again the change of that energy plus losses that are never
negative. What members got wrong in different ways cancels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.passive import PassivePort, PortState
from vibrid.hybrid.learned.samples import Setting
from vibrid.laws.base import Motion


class Committee(eqx.Module):
    """Modulators of one shape, each with its own weights; their outputs one after the other. See `mean_model`."""

    members: tuple[Modulators, ...]

    @classmethod
    def make(cls, key, members: int, **sizes) -> Committee:
        """New modulators: `members` of them, with the arguments of `Modulators.make`."""
        return cls(tuple(Modulators.make(each, **sizes) for each in jax.random.split(key, members)))

    def sizes(self) -> dict[str, Any]:
        """Arguments of `make` for members of these shapes."""
        return {"members": len(self.members), **self.members[0].sizes()}

    @property
    def bias(self) -> jax.Array:
        return self.members[0].bias

    def start(self, batch: tuple[int, ...] = ()):
        return tuple(member.start(batch) for member in self.members)

    def step(self, memory, companion, own, masks=None) -> tuple[Any, jax.Array]:
        """Memories and outputs (…, outputs) after one sample."""
        each = [one.step(kept, companion, own) for one, kept in zip(self.members, memory, strict=True)]
        return tuple(kept for kept, _ in each), jnp.concatenate([outputs for _, outputs in each], axis=-1)

    def along(self, memory, companion, own, masks=None) -> tuple[jax.Array, Any]:
        """Outputs (samples, …, outputs), and the memories after them."""
        each = [one.along(kept, companion, own) for one, kept in zip(self.members, memory, strict=True)]
        return jnp.concatenate([outputs for outputs, _ in each], axis=-1), tuple(kept for _, kept in each)


class MeanPort(PassivePort):
    """The mean force of as many equal ports as there are members; arguments of each as of `PassivePort`."""

    members: int = eqx.field(static=True, default=2)

    @property
    def outputs(self) -> int:
        return self.members * super().outputs

    def start(self, batch: tuple[int, ...] = ()) -> PortState:
        return super().start((*batch, self.members))

    def energy(self, state: PortState, setting: Setting) -> jax.Array:
        return super().energy(state, _beside(setting)).mean(axis=-1)

    def step(self, state: PortState, outputs, motion: Motion, setting: Setting, dt) -> tuple[PortState, jax.Array]:
        outputs = outputs.reshape(*outputs.shape[:-1], self.members, -1)
        x = jnp.broadcast_to(jnp.asarray(motion.e, float)[..., None], state.x.shape)
        after, force = super().step(state, outputs, motion._replace(e=x), _beside(setting), dt)
        return after, force.mean(axis=-1)


def _beside(setting: Setting) -> Setting:
    """A setting with one more axis, along which members lie."""
    return Setting(jnp.asarray(setting.capacity)[..., None, :], jnp.asarray(setting.first_force)[..., None])


def mean_model(models: Sequence[DeviceModel]) -> DeviceModel:
    """The mean of passive models that differ in their weights only."""
    first = models[0]
    if len(models) < 2 or type(first.answer) is not PassivePort:
        raise InputError("A mean is taken of two or more passive models.")
    without = [eqx.tree_at(lambda model: model.network, model, None) for model in models]
    if any(not eqx.tree_equal(one, without[0]) for one in without[1:]):
        raise InputError("The models of a mean need the same features, inputs, port and rate.")
    port = {field.name: getattr(first.answer, field.name) for field in dataclasses.fields(first.answer)}
    members = Committee(tuple(cast(Modulators, model.network) for model in models))
    return dataclasses.replace(first, network=members, answer=MeanPort(**port, members=len(models)))
