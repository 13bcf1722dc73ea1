"""Training of device models: truncated backpropagation through time, states carried from stretch to stretch.

An epoch goes once through every test (Algorithm 1 of Malik et al. 2025): tests are shuffled into batches, each batch is
cut into stretches, every stretch is one step of Adam, and memories are carried to the next stretch without their
gradient. An ensemble (seeds, or parts of the data left out) is trained at once: arrays of the state have a leading
axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.learned.histories import Histories
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.network import DeviceNetwork
from vibrid.networks.checkpoint import Checkpoint
from vibrid.networks.training import Trained, apply_updates, train

if TYPE_CHECKING:
    import optax


class Fitting(NamedTuple):
    """A model in training: its trained arrays, and the state of Adam."""

    trained: DeviceModel
    optimiser: optax.OptState

    def moved(self, optimiser: optax.GradientTransformation, slope: DeviceModel) -> Fitting:
        """After one step of Adam."""
        trained: Any = self.trained
        moves, state = optimiser.update(cast(Any, slope), self.optimiser, trained)
        return Fitting(apply_updates(self.trained, moves), state)


class Epoch(eqx.Module):
    """Once through every test.

    Arguments
        model: the arrays that are not trained, and the structure of the rest.
        rate, decay, every: learning rate, multiplied by `decay` every `every` epochs.
        batch: tests in a batch; 0 for all at once.
        stretch: samples between two steps of Adam.
        jitter: noise on the displacement of the features, m, drawn again in every epoch.
        turned: share of the tests that are used with the opposite sign, drawn again in every epoch: a device that is
            turned round.
        doubt: relative deviation of the capacities that the network is given, drawn again in every epoch: they are
            measured in another test.
        shrink: decay of the weights, relative to the learning rate.
        clip: largest norm of a gradient.
    """

    model: DeviceModel
    rate: float = eqx.field(static=True, default=1e-3)
    decay: float = eqx.field(static=True, default=0.99)
    every: int = eqx.field(static=True, default=10)
    batch: int = eqx.field(static=True, default=0)
    stretch: int = eqx.field(static=True, default=512)
    jitter: float = eqx.field(static=True, default=0.0)
    turned: float = eqx.field(static=True, default=0.0)
    doubt: float = eqx.field(static=True, default=0.0)
    shrink: float = eqx.field(static=True, default=0.0)
    clip: float = eqx.field(static=True, default=1.0)

    def optimiser(self, steps_an_epoch: int) -> optax.GradientTransformation:
        import optax  # where it is used: commands that train nothing do not wait for it

        schedule = optax.exponential_decay(self.rate, self.every * steps_an_epoch, self.decay, staircase=True)
        return optax.chain(optax.clip_by_global_norm(self.clip), optax.adamw(schedule, weight_decay=self.shrink))

    def stretches(self, histories: Histories) -> tuple[int, int]:
        """(batches, stretches of each)"""
        if histories.samples % self.stretch:
            raise InputError(f"{histories.samples} samples are not a multiple of the stretch of {self.stretch}.")
        size = self.batch or histories.tests
        return -(-histories.tests // size), histories.samples // self.stretch

    def begin(self, trained: DeviceModel, histories: Histories) -> Fitting:
        batches, count = self.stretches(histories)
        return Fitting(trained, self.optimiser(batches * count).init(cast(Any, trained)))

    def varied(self, histories: Histories, turning, doubting) -> Histories:
        """The tests of this epoch, varied."""
        capacity, sample = histories.setting.capacity, histories.sample
        capacity = capacity * jnp.exp(self.doubt * jax.random.normal(doubting, capacity.shape, capacity.dtype))
        sign = jnp.where(jax.random.bernoulli(turning, self.turned, (histories.tests,)), -1.0, 1.0)
        sign = sign.astype(histories.force.dtype)
        capacity = jnp.where(sign[:, None] > 0, capacity, capacity[:, ::-1])
        sample = jax.tree.map(lambda leaf: leaf * sign.reshape(-1, *[1] * (leaf.ndim - 1)), sample)
        setting = histories.setting._replace(capacity=capacity, first_force=histories.setting.first_force * sign)
        return histories._replace(sample=sample, setting=setting, force=histories.force * sign[:, None])

    def __call__(self, fitting: Fitting, key, data):
        """`data`: histories, and the weight (tests,) of every test; zero leaves one out."""
        histories, weights = data
        batches, count = self.stretches(histories)
        size = self.batch or histories.tests
        optimiser = self.optimiser(batches * count)
        shuffling, shaking, turning, doubting = jax.random.split(key, 4)
        histories = self.varied(histories, turning, doubting)
        order = jax.random.permutation(shuffling, histories.tests)
        order = jnp.resize(order, (batches, size))  # the last batch is filled up from the beginning

        def one_batch(fitting, item):
            own, key = item
            some = jax.tree.map(lambda leaf: leaf[own], histories)
            weight = weights[own] / some.size**2
            total = jnp.sum(weight * some.size**2) + 1e-12

            def one_stretch(carry, item):
                fitting, state = carry
                first, key = item
                cut = lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, self.stretch, axis=1)  # noqa: E731
                sample, force, counts = jax.tree.map(cut, (some.sample, some.force, some.counts))
                noise, dropping = jax.random.split(key)
                moved = sample.x + self.jitter * jax.random.normal(noise, sample.x.shape, sample.x.dtype)
                sample = sample._replace(x=moved)

                def loss(trained):
                    model = eqx.combine(trained, self.model)
                    network, masks = model.network, None
                    if isinstance(network, DeviceNetwork) and network.dropout:
                        masks = network.masks(dropping, (size,))
                    predicted, after = follow(model, state, sample, some.setting, masks)
                    squares = jnp.sum(counts * (predicted - force) ** 2, axis=1)
                    return jnp.sum(weight * squares) / (total * self.stretch), (after, jnp.sum(weight * squares))

                (_, (after, missed)), slope = jax.value_and_grad(loss, has_aux=True)(fitting.trained)
                return (fitting.moved(optimiser, slope), after), missed

            start = eqx.combine(fitting.trained, self.model).start((size,))
            firsts = self.stretch * jnp.arange(count)
            (fitting, _), missed = jax.lax.scan(one_stretch, (fitting, start), (firsts, jax.random.split(key, count)))
            return fitting, (jnp.sum(missed), jnp.sum(weight * some.size**2 * some.counts.sum(axis=1)))

        fitting, (missed, seen) = jax.lax.scan(one_batch, fitting, (order, jax.random.split(shaking, batches)))
        return fitting, jnp.sqrt(jnp.sum(missed) / jnp.maximum(jnp.sum(seen), 1e-12))


def follow(model: DeviceModel, state, sample, setting, masks=None):
    """Forces (tests, samples) for samples (tests, samples, …), and the state after them."""
    in_time = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), sample)
    force, state = model.along(state, in_time, setting, masks)
    return jnp.moveaxis(force, 0, 1), state


@eqx.filter_jit
def predict(model: DeviceModel, histories: Histories):
    """Forces (tests, samples) from rest."""
    return follow(model, model.start((histories.tests,)), histories.sample, histories.setting)[0]


class TrainingStep(Protocol):
    """What is repeated until a model is trained: an epoch, or a number of steps on crops."""

    def begin(self, trained: DeviceModel, histories: Histories) -> Fitting: ...

    def __call__(self, fitting: Fitting, key, data) -> tuple[Fitting, Any]: ...


class Ensemble(eqx.Module):
    """An epoch of many models in parallel: the leading axis of their arrays, keys and weights."""

    epoch: TrainingStep

    def __call__(self, fitting, key, data):
        histories, weights = data
        keys = jax.random.split(key, weights.shape[0])
        return jax.vmap(lambda f, k, w: self.epoch(f, k, (histories, w)))(fitting, keys, weights)


def fit_models(
    make, keys, weights, histories: Histories, epoch: dict[str, Any], epochs: int, *, key, block: int = 5,
    progress: Progress = SILENT, checkpoint: Checkpoint | None = None, kind: Callable[..., TrainingStep] | None = None,
) -> tuple[list[DeviceModel], Trained[Fitting]]:  # fmt: skip
    """Train one model per row of `weights` (models, tests), all at once.

    Arguments
        make: a model from a key.
        keys: one per model; equal keys give equal initial weights.
        weights: of every test in every model's training; zero leaves it out.
        epoch: settings of `Epoch`, or of another `kind` of step.
        block: epochs between two reports of progress, and between two checkpoints.
    """
    models = jax.vmap(lambda k: make(k).trained)(keys)
    fixed = make(keys[0]).fixed
    step = (kind or Epoch)(fixed, **epoch)
    fitting = jax.vmap(lambda trained: step.begin(trained, histories))(models)
    data = (jax.tree.map(jnp.asarray, histories), jnp.asarray(weights))
    note = lambda losses: f"error {100 * losses[-1].mean():.2f} %"  # noqa: E731
    training = train(
        Ensemble(step), fitting, key, epochs, block=block, data=data, progress=progress, note=note,
        checkpoint=checkpoint,
    )  # fmt: skip
    trained = cast(Fitting, training.state).trained
    each = [jax.tree.map(lambda leaf, i=i: leaf[i], trained) for i in range(len(keys))]
    return [eqx.combine(arrays, fixed) for arrays in each], training
