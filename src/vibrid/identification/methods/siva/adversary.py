"""The two networks of SIVA and the epoch that trains them against each other.

- The generator P turns noise z into values θ = P(z) through a and b: `θ = size · a · 10^b`.
- The discriminator D classifies the accelerations of one time sample as measured or as computed with θ.

    L_D = −E[log D(ä)] − E[log(1 − D(ã))]      on validation samples                     (Eq. 3, ã in the second)
    L_P = −E[log D(ã)] + γ E‖ä − ã‖²           adversary on validation, misfit on training samples   (Eq. 5)

With a critic f in place of D (Wasserstein with gradient penalty, Gulrajani et al. 2017) L_D = E[f(ã)] − E[f(ä)] +
10 E(‖∇f‖ − 1)², L_P = −E[f(ã)] + γ E‖ä − ã‖². Without an adversary L_P = γ E‖ä − ã‖², for comparison.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.identification.acceleration import IntegratedSamples, Tabulated
from vibrid.identification.unknowns import UnknownSet
from vibrid.networks import Dense, adam
from vibrid.networks.training import apply_updates

if TYPE_CHECKING:
    import optax

GENERATOR = (64, 32, 16)
DISCRIMINATOR = (64, 32)
ADVERSARIES = ("standard", "wasserstein", "none")
_PENALTY = 10.0


def scientific(outputs):
    """`a · 10^b` (…, p) from outputs (…, 2p): all a, then all b."""
    a, b = jnp.split(outputs.astype(jnp.float64), 2, axis=-1)
    return a * 10.0 ** jnp.clip(b, -30.0, 30.0)


class ValueMap(Protocol):
    """From the generator's outputs to physical values, and a generator to begin with."""

    @property
    def count(self) -> int:
        """Number of unknowns."""
        ...

    def __call__(self, outputs) -> jax.Array: ...

    def begin(self, generator: Dense) -> Dense: ...


class Values(eqx.Module):
    """From the generator's outputs (…, 2p) to physical values (…, p).

    Unknowns without a sign or bounds are `size · a · 10^b`; the others enter their free space with `a · 10^b`, so
    that no generator leaves their bounds.
    """

    unknowns: UnknownSet
    first: jax.Array  # the first guess in the free space
    sizes: jax.Array

    @classmethod
    def of(cls, unknowns: UnknownSet, sizes) -> Values:
        """Without the names of the unknowns, so that problems of one shape share their compiled programs."""
        blank = ("",) * len(unknowns)
        free = jnp.asarray(unknowns.to_free(np.asarray(unknowns.start)))
        return cls(dataclasses.replace(unknowns, names=blank, units=blank, places=blank), free, jnp.asarray(sizes))

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.unknowns)

    def __call__(self, outputs):
        number = scientific(outputs)
        bounded = jnp.vectorize(self.unknowns.to_physical, signature="(p)->(p)")
        return jnp.where(self._plain, self.sizes * number, bounded(number))

    @property
    def _plain(self):
        return jnp.asarray([kind == "linear" for kind in self.unknowns.kinds])

    def start(self):
        """(2p,) outputs that give the first guess."""
        return jnp.concatenate([jnp.where(self._plain, self.unknowns.start / self.sizes, self.first), 0 * self.first])

    def begin(self, generator: Dense) -> Dense:
        """The generator before training: its values lie around the first guess."""
        return generator.with_output(self.start(), shrink=0.3)


class Players(NamedTuple):
    """Both networks and the memory of their optimisers."""

    generator: Dense
    discriminator: Dense
    generator_memory: optax.OptState
    discriminator_memory: optax.OptState


class Samples(NamedTuple):
    """Data of an epoch: training and validation samples, and the map to values."""

    training: Tabulated | IntegratedSamples
    validation: Tabulated | IntegratedSamples
    values: ValueMap


class AdversaryEpoch(eqx.Module):
    """One pass over the training samples, for all seeds at once.

    Seeds differ in their networks; they share the batches, and the epoch's noise shifted by an amount of their own
    (drawing normal numbers would otherwise cost as much as learning from them).
    """

    batch: int = eqx.field(static=True)
    noise_dimension: int = eqx.field(static=True)
    gamma: float = eqx.field(static=True)
    adversary: str = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    last_rate: float = eqx.field(static=True)
    steps: int = eqx.field(static=True)  # of the whole training, for the schedule

    @property
    def optimiser(self):
        return adam(self.rate, self.steps, self.last_rate)

    def players(self, key, channels: int, values: ValueMap, dtype=jnp.float32) -> Players:
        """Networks before training."""
        first, second = jax.random.split(key)
        generator = values.begin(Dense.make(first, (self.noise_dimension, *GENERATOR, 2 * values.count), dtype=dtype))
        discriminator = Dense.make(second, (channels, *DISCRIMINATOR, 1), dtype=dtype)
        memories = [self.optimiser.init(cast("optax.Params", network)) for network in (generator, discriminator)]
        return Players(generator, discriminator, *memories)

    def __call__(self, players: Players, key, samples: Samples):
        """Players after an epoch, and of every seed: L_D, L_adv, MSE (means), θ and its spread in the last batch."""
        count, kept = samples.training.real.shape[0], samples.validation.real.shape[0]
        batch = min(self.batch, count)
        number = count // batch
        used, (seeds, dtype) = number * batch, (len(players.generator.biases[-1]), players.generator.biases[-1].dtype)
        even, bell, mix = jax.random.split(key, 3)
        drawn = jax.random.uniform(even, (count + used + seeds,))
        index = jnp.argsort(drawn[:count])[:used].reshape(number, batch)  # every sample once
        other = (kept * drawn[count : count + used]).astype(int).reshape(number, batch)
        shifts = (used * drawn[count + used :]).astype(int)
        noise = jax.random.normal(bell, (used, self.noise_dimension), dtype)

        def body(players, step):
            at, val, key, first = step

            def of_seed(players, shift):
                z = jnp.take(noise, first + shift + jnp.arange(batch), axis=0, mode="wrap")
                return self.play(players, at, val, z, key, samples)

            if seeds > 1:
                return jax.vmap(of_seed)(players, shifts)
            alone = of_seed(jax.tree.map(lambda leaf: leaf[0], players), shifts[0])  # plain products are twice as fast
            return jax.tree.map(lambda leaf: leaf[None], alone)

        steps = (index, other, jax.random.split(mix, number), batch * jnp.arange(number))
        players, (losses, means, spreads) = jax.lax.scan(body, players, steps)
        return players, (losses.mean(axis=0), means[-1], spreads[-1])

    def play(self, players: Players, index, other, noise, key, samples: Samples):
        """One batch: the discriminator learns, then the generator against it."""
        dtype = noise.dtype
        real = samples.validation.real[other].astype(dtype)

        def fakes(generator):
            theta = samples.values(generator(noise))
            return theta, samples.validation.fake(theta, other).astype(dtype)

        _, fake = fakes(players.generator)
        loss_d, slope = jax.value_and_grad(self._discriminator_loss)(players.discriminator, real, fake, key)
        change, memory_d = self.optimiser.update(slope, players.discriminator_memory)
        discriminator = apply_updates(players.discriminator, change)

        def generator_loss(generator):
            theta, fake = fakes(generator)
            adversarial = self._adversarial_loss(discriminator, fake)
            miss = samples.training.real[index] - samples.training.fake(theta, index)
            mse = jnp.mean(miss**2)
            return adversarial + self.gamma * mse, (adversarial, mse, theta)

        slope, (adversarial, mse, theta) = jax.grad(generator_loss, has_aux=True)(players.generator)
        change, memory_g = self.optimiser.update(slope, players.generator_memory)
        generator = apply_updates(players.generator, change)
        losses = jnp.stack([loss_d.astype(mse.dtype), adversarial.astype(mse.dtype), mse])
        return Players(generator, discriminator, memory_g, memory_d), (losses, theta.mean(axis=0), theta.std(axis=0))

    def _discriminator_loss(self, discriminator, real, fake, key):
        if self.adversary == "none":
            return jnp.zeros(())
        on_real, on_fake = jnp.split(discriminator(jnp.concatenate([real, fake])), 2)
        if self.adversary == "standard":
            return jnp.mean(jax.nn.softplus(-on_real)) + jnp.mean(jax.nn.softplus(on_fake))
        share = jax.random.uniform(key, (real.shape[0], 1), real.dtype)
        slope = jax.vmap(jax.grad(lambda x: discriminator(x)[0]))(share * real + (1 - share) * fake)
        length = jnp.sqrt(jnp.sum(slope**2, axis=-1) + 1e-12)
        return jnp.mean(on_fake) - jnp.mean(on_real) + _PENALTY * jnp.mean((length - 1) ** 2)

    def _adversarial_loss(self, discriminator, fake):
        if self.adversary == "none":
            return jnp.zeros(())
        if self.adversary == "standard":
            return jnp.mean(jax.nn.softplus(-discriminator(fake)))
        return -jnp.mean(discriminator(fake))
