"""Training of a passive network on long crops of the tests, drawn anew at every step of Adam.

A crop begins at the beginning of a test, anywhere, or around its strong motion. The play operators are those of the
whole test; memories begin empty, so the first seconds of a crop inside a test do not count. Crops are varied: another
speed, another strength, noise on the features. All begin with the force that was measured there; a network that was
trained so is the better one also where that force is unknown and taken as zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.histories import Histories
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.samples import DeviceSample
from vibrid.hybrid.learned.training import Fitting
from vibrid.laws.base import Motion
from vibrid.records.force_scores import STRONG

if TYPE_CHECKING:
    import optax

_AT_FIRST, _STRONG = 0.25, 0.45  # shares of crops
_RISE, _LAST = 0.01, 0.01  # share of the steps in which the learning rate rises; its end, over its largest


class Crops(eqx.Module):
    """A number of steps of Adam, each on a batch of crops.

    Arguments
        model: the arrays that are not trained, and the structure of the rest.
        rate: largest learning rate; it falls over half a cosine.
        steps, each: number of steps of the training, and of a call.
        crop, warm_up: samples of a crop, and of its beginning that do not count.
        batch: number of crops in a step.
        shake: noise on the features, in their sizes.
        warp, gain: deviations of the logarithms of speed and strength.
        doubt: deviation of the logarithms of the capacities that the network is given: they are those of other tests.
        least: range of the force, in the largest of the capacities, below which errors of a test count no more.
        strong: how much more the strong part of a test counts than the rest of it; tests count alike.
        shrink: decay of the weights, relative to the learning rate.
        clip: largest norm of a gradient.
    """

    model: DeviceModel
    rate: float = eqx.field(static=True, default=3e-3)
    steps: int = eqx.field(static=True, default=6000)
    each: int = eqx.field(static=True, default=50)
    crop: int = eqx.field(static=True, default=2560)
    warm_up: int = eqx.field(static=True, default=512)
    batch: int = eqx.field(static=True, default=8)
    shake: float = eqx.field(static=True, default=0.04)
    warp: float = eqx.field(static=True, default=0.12)
    gain: float = eqx.field(static=True, default=0.1)
    doubt: float = eqx.field(static=True, default=0.02)
    least: float = eqx.field(static=True, default=0.6)
    strong: float = eqx.field(static=True, default=1.0)
    shrink: float = eqx.field(static=True, default=0.02)
    clip: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        if not isinstance(self.model.answer, PassivePort):
            raise InputError("Crops train passive networks; other networks are trained by `Epoch`.")
        if not 0 <= self.warm_up < self.crop:
            raise InputError(f"The first {self.warm_up} of {self.crop} samples of a crop do not count: none is left.")

    def optimiser(self) -> optax.GradientTransformation:
        import optax  # where it is used: commands that train nothing do not wait for it

        rising = max(int(_RISE * self.steps), 1)
        schedule = optax.warmup_cosine_decay_schedule(0.0, self.rate, rising, self.steps + 1, _LAST * self.rate)
        matrices = lambda tree: jax.tree.map(lambda leaf: leaf.ndim > 1, tree)  # noqa: E731
        return optax.chain(
            optax.clip_by_global_norm(self.clip), optax.adamw(schedule, weight_decay=self.shrink, mask=matrices)
        )

    def begin(self, trained: DeviceModel, histories: Histories) -> Fitting:
        return Fitting(trained, self.optimiser().init(cast(Any, trained)))

    def __call__(self, fitting: Fitting, key, data):
        """`data`: histories, and the weight (tests,) with which every test is drawn; zero leaves one out."""
        histories, weights = data
        optimiser, tests = self.optimiser(), _Tests(self.model, histories, weights, self.strong)

        def one(fitting, key):
            missed, slope = jax.value_and_grad(lambda trained: self._loss(trained, tests, key))(fitting.trained)
            return fitting.moved(optimiser, slope), missed

        fitting, missed = jax.lax.scan(one, fitting, jax.random.split(key, self.each))
        return fitting, jnp.sqrt(jnp.mean(missed))

    def _loss(self, trained: DeviceModel, tests: _Tests, key):
        """Mean square error of a batch of crops, over the range of the measured force of each test."""
        model = eqx.combine(trained, self.model)
        choosing, warping, gaining, shaking, doubting = jax.random.split(key, 5)
        normal = lambda key: jnp.clip(jax.random.normal(key, (self.batch,)), -2.0, 2.0)  # noqa: E731
        speed, gain = jnp.exp(self.warp * normal(warping)), jnp.exp(self.gain * normal(gaining))
        chosen, first = tests.drawn(choosing, self.batch, self.crop)
        sample, plays, force, counts = tests.cut(chosen, first, speed, self.crop)
        force = gain * force
        setting = jax.tree.map(lambda leaf: leaf[chosen], tests.histories.setting)
        begin = jnp.where(first == 0, gain * setting.first_force, force[0])
        setting = setting._replace(capacity=setting.capacity * gain[:, None], first_force=begin)
        counts = counts * ((first == 0) | (jnp.arange(self.crop)[:, None] >= self.warm_up))
        least = self.least * jnp.max(tests.histories.setting.capacity.mean(axis=1))
        weight = 1.0 / (gain * jnp.maximum(tests.histories.size[chosen], least)) ** 2
        stated = jnp.exp(self.doubt * jax.random.normal(doubting, setting.capacity.shape, setting.capacity.dtype))
        setting = setting._replace(capacity=setting.capacity * stated)
        predicted = self._forces(model, sample, plays, setting, shaking)
        missed = jnp.sum(weight * counts * (predicted - force) ** 2)
        return missed / jnp.maximum(jnp.sum(counts), 1.0)

    def _forces(self, model: DeviceModel, sample, plays, setting, key):
        """(samples, batch)"""
        seen = model.features.seen(plays, sample.x, sample.v)
        whole, each = jax.random.split(key)
        noise = jax.random.normal(whole, seen.shape[1:], seen.dtype)
        noise = noise + 0.3 * jax.random.normal(each, seen.shape, seen.dtype)
        companion, own = model.inputs(seen + self.shake * noise, sample, setting)
        network = cast(Modulators, model.network)
        outputs = network.along(network.start((self.batch,)), companion, own)[0]
        port = cast(PassivePort, model.answer)
        return port.unlimited(outputs, Motion(sample.x, sample.v), setting, 1.0 / model.rate)


class _Tests:
    """The tests of a training, with what is the same in all steps."""

    def __init__(self, model: DeviceModel, histories: Histories, weights, strong: float):
        self.histories, self.weights = histories, weights
        x = jnp.moveaxis(jnp.asarray(histories.sample.x), 1, 0)
        begin = model.features.start((histories.tests,))
        self.plays = jnp.moveaxis(model.features.plays(begin, x, histories.setting.first_force), 0, 1)
        self.lengths = jnp.sum(histories.counts > 0, axis=1)
        power = jnp.cumsum(histories.sample.v**2, axis=1)
        self.arrived = power / jnp.maximum(power[:, -1:], 1e-30)
        counts = histories.counts * (1.0 + strong * ((self.arrived > STRONG[0]) & (self.arrived < STRONG[1])))
        self.counts = counts * (self.lengths / jnp.sum(counts, axis=1))[:, None]

    def drawn(self, key, batch: int, crop: int):
        """Tests and first samples (batch,) of crops."""
        which, kind, where, there = jax.random.split(key, 4)
        chosen = jax.random.categorical(which, jnp.log(self.weights + 1e-30), shape=(batch,))
        last = jnp.maximum(self.lengths[chosen] - crop, 0)
        share = jax.random.uniform(where, (batch,))
        anywhere = jnp.floor(share * (last + 1)).astype(jnp.int32)
        # a sample of strong motion, somewhere in the crop
        strong = jax.vmap(jnp.searchsorted)(self.arrived[chosen], share)
        strong = strong - jnp.floor(crop * jax.random.uniform(there, (batch,))).astype(jnp.int32)
        draw = jax.random.uniform(kind, (batch,))
        first = jnp.where(draw < _AT_FIRST + _STRONG, jnp.clip(strong, 0, last), anywhere)
        return chosen, jnp.where(draw < _AT_FIRST, 0, first)

    def cut(self, chosen, first, speed, crop: int):
        """Crops (crop, batch, …) at another speed: between samples straight lines, beyond the end nothing counts."""
        h = self.histories
        place = first + speed * jnp.arange(crop)[:, None]
        before = jnp.clip(jnp.floor(place).astype(jnp.int32), 0, h.samples - 2)
        part = jnp.clip(place - before, 0.0, 1.0)

        def at(leaf):
            one, two = leaf[chosen, before], leaf[chosen, before + 1]
            return one + _wide(part, one.ndim).astype(leaf.dtype) * (two - one)

        moved = DeviceSample(at(h.sample.x), at(h.sample.v) * speed, at(h.sample.companion))
        counts = self.counts[chosen, before + 1] * (place < self.lengths[chosen])
        return moved, at(self.plays), at(h.force), counts


def _wide(values, dimensions: int):
    return values.reshape(*values.shape, *[1] * (dimensions - 2))
