"""PIDynNet as published (Liu & Meidani 2023): the losses and one iteration, with the equations of motion corrected.

    x̃ = RPN(t, ẍ_g),  z̃ = LNN(t, ẍ_g);     loss = w_S L_S + w_N L_N + w_Z L_Z                      (Eq. 12)
    L_S = Σ ‖x̃ − x‖² + ‖dx̃/dt − ẋ‖²        L_N = Σ ‖M d²x̃/dt² + f − L u‖²       L_Z = Σ ‖dz̃/dt − g‖²

Derivatives are taken in t with the ground acceleration held, as printed. Not stated in the paper: L_Z holds the
hidden states at the start of a subperiod (without it c(0) is free), unknowns are trained as multiples of their first
guess, the learning rate falls to a tenth over a subperiod, and the response network is pretrained in every subperiod.
Networks are trained in 32-bit numbers, the physics computed in 64.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from vibrid.core.device import accelerated
from vibrid.identification.problem import Problem
from vibrid.identification.weak.equations import flat_start
from vibrid.networks import Dense, carried_together
from vibrid.networks.training import apply_updates

ROWS = 16  # an accelerator multiplies matrices quicker whose rows are a multiple of this


class Subperiod(eqx.Module):
    """Readings and inputs of one subperiod, and where its unknowns may lie."""

    time: jax.Array  # (samples,) 0 … 1
    ground: jax.Array  # (samples,) first input over its largest value
    inputs: jax.Array  # (samples, inputs)
    x: jax.Array
    v: jax.Array
    pools: jax.Array  # (seeds, pool) indices
    low: jax.Array  # (seeds, p) as multiples of the first guess
    high: jax.Array
    states: jax.Array  # (seeds, m) at its start; NaN in the first, where they follow from the unknowns
    duration: jax.Array
    more: tuple = ()  # further arrays of each seed that a loss needs


class Learner(NamedTuple):
    """The trained quantities of one initialisation."""

    networks: Dense  # (2, …) response and latent, one width of outputs: surplus ones are not used
    share: jax.Array  # (p,) θ over its first guess


class PublishedState(NamedTuple):
    """Learners of all initialisations, the memory of their optimiser, and the early stopping of Eq. 16."""

    learner: Learner
    memory: optax.OptState
    reference: jax.Array  # (seeds, p)
    calm: jax.Array  # (seeds,) evaluations in a row that were near the reference
    done: jax.Array  # (seeds,)


class PublishedIteration(eqx.Module):
    """One iteration of all initialisations, and of the pretraining."""

    problem: Problem
    weights: tuple[float, float, float] = eqx.field(static=True)  # of L_S, L_N, L_Z
    batch: int = eqx.field(static=True)
    rate: float = eqx.field(static=True)
    iterations: int = eqx.field(static=True)
    pretraining: bool = eqx.field(static=True, default=False)
    fixed: bool = eqx.field(static=True, default=False)  # unknowns stay: fine-tuning
    imposed: bool = eqx.field(static=True, default=False)  # fine-tuning with the motion imposed at the start
    ground_input: bool = eqx.field(static=True, default=True)  # else zero is the input in its place

    @property
    def inputs(self) -> int:
        """Inputs of the networks."""
        return 2

    @property
    def optimiser(self):
        return optax.flatten(optax.adam(optax.exponential_decay(self.rate, self.iterations, 0.1)))

    def theta(self, share):
        """(…, p): unknowns from multiples of their first guess."""
        u = self.problem.unknowns
        return jnp.where(u.start == 0, u.scale * (share - 1.0), u.start * share)

    def model(self, share):
        placed = self.problem.unknowns.place(self.problem.experiment, self.theta(share))
        return placed.structure.model(self.problem.data[0].loads)

    def outputs(self, learner: Learner, at, data: Subperiod):
        """x̃ with two derivatives and z̃ with one, at samples `at`."""
        response, latent = self.carried(learner.networks, at, data)
        return response[..., : data.x.shape[-1]], latent[:2, :, : data.states.shape[-1]]

    def carried(self, networks: Dense, at, data: Subperiod):
        """(networks, 3, points, outputs): values and two derivatives in time."""
        ground = data.ground[at] if self.ground_input else jnp.zeros(at.shape)
        point = jnp.stack([data.time[at], ground], axis=-1)
        along = jnp.stack([1.0 / data.duration, jnp.zeros_like(data.duration)])
        kind = networks.weights[0].dtype
        return carried_together(networks, point.astype(kind), along.astype(kind)).astype(float)

    def supervised(self, learner: Learner, at, data: Subperiod):
        """The loss of the pretraining."""
        response = jax.tree.map(lambda leaf: leaf[:1], learner.networks)
        x, v, _ = self.carried(response, at, data)[0, ..., : data.x.shape[-1]]
        loss = jnp.sum((x - data.x[at]) ** 2) + jnp.sum((v - data.v[at]) ** 2)
        return loss, (loss, 0.0 * loss, 0.0 * loss)

    def loss(self, learner: Learner, at, data: Subperiod, states, more=()):
        """The loss on samples `at` (batch,), and its three parts."""
        if self.pretraining:
            return self.supervised(learner, at, data)
        if self.fixed:
            learner = learner._replace(share=jax.lax.stop_gradient(learner.share))
        count = at.shape[0]
        more = 1 + (-count - 1) % (ROWS if accelerated() else 1)
        first_too = jnp.concatenate([at, jnp.zeros(more, at.dtype)])
        outputs = self.outputs(learner, first_too, data)
        (x, v, a), (z, dz) = (output[:, :count] for output in outputs)
        supervised = jnp.sum((x - data.x[at]) ** 2) + jnp.sum((v - data.v[at]) ** 2)
        model = self.model(learner.share)
        first = flat_start(model)
        _, unravel = ravel_pytree(model.start())
        dynamic, latent = jax.vmap(lambda x, v, a, z, dz, u: model.residual(x, v, a, unravel(z), unravel(dz), u))(
            x, v, a, z, dz, data.inputs[at]
        )
        flat = jax.vmap(lambda tree: ravel_pytree(tree)[0])(latent)
        (x0, v0, _), (z0, _) = (output[:, count] for output in outputs)
        begun = jnp.where(jnp.isfinite(states), states, first)
        start = count * jnp.sum((z0 - begun) ** 2)
        if self.fixed and self.imposed:
            start = start + count * (jnp.sum((x0 - data.x[0]) ** 2) + jnp.sum((v0 - data.v[0]) ** 2))
        physics, hidden = jnp.sum(dynamic**2), jnp.sum(flat**2) + start
        weight = (0.0, *self.weights[1:]) if self.fixed else self.weights
        return weight[0] * supervised + weight[1] * physics + weight[2] * hidden, (supervised, physics, hidden)

    def step_of(self, change):
        """The step that is made for a step of the optimiser: the same."""
        return change

    def __call__(self, state: PublishedState, key, data: Subperiod):
        size = data.pools.shape[1]
        starts = jax.random.randint(key, (data.pools.shape[0],), 0, size)

        def of_seed(learner, memory, done, start, pool, low, high, states, more):
            at = jnp.take(pool, start + jnp.arange(min(self.batch, size)), mode="wrap")
            slope, parts = jax.grad(self.loss, has_aux=True)(learner, at, data, states, more)
            change, after = self.optimiser.update(slope, memory)
            learner = _where(done, learner, apply_updates(learner, self.step_of(change)))
            share = jnp.clip(learner.share, low, high)
            return learner._replace(share=share), _where(done, memory, after), jnp.stack(parts)

        learner, memory, parts = jax.vmap(of_seed)(
            state.learner, state.memory, state.done, starts, data.pools, data.low, data.high, data.states, data.more
        )
        return state._replace(learner=learner, memory=memory), (learner.share, parts)


class Look(eqx.Module):
    """`count` iterations, and then a check of the unknowns: early stopping (Eq. 16, on scaled unknowns).

    Returns the unknowns of every iteration, and the losses of four.
    """

    iteration: PublishedIteration
    count: int = eqx.field(static=True)
    patience: int = eqx.field(static=True)
    tolerance: float = eqx.field(static=True)

    def __call__(self, state: PublishedState, key, data: Subperiod):
        keys = jax.random.split(key, self.count)
        state, (shares, parts) = jax.lax.scan(lambda state, key: self.iteration(state, key, data), state, keys)
        return self.evaluated(state), (shares, parts[:: max(self.count // 4, 1)])

    def evaluated(self, state: PublishedState) -> PublishedState:
        """Training ends when unknowns are near the reference for `patience` checks in a row."""
        share = state.learner.share
        away = jnp.linalg.norm(share - state.reference, axis=1) / jnp.linalg.norm(state.reference, axis=1)
        near = away < self.tolerance
        reference = jnp.where(near[:, None], state.reference, share)
        calm = jnp.where(near, state.calm + 1, 0)
        return state._replace(reference=reference, calm=calm, done=state.done | (calm >= self.patience))


def _where(done, old, new):
    return jax.tree.map(lambda a, b: jnp.where(done, a, b), old, new)


@eqx.filter_jit
def new_learners(key, seeds: int, widths, states: int, unknowns: int) -> Learner:
    def new(key):
        a, b = jax.random.split(key)
        like = {"activation": "tanh", "skip": True, "dtype": jnp.float32}
        response, latent = Dense.make(a, widths, **like), Dense.make(b, (*widths[:-1], states), **like)
        return Learner(_side_by_side(response, latent), jnp.ones(unknowns))

    return jax.vmap(new)(jax.random.split(key, seeds))


def _side_by_side(response: Dense, latent: Dense) -> Dense:
    """Both as one, (…, 2, inputs, outputs); the last layer with fewer outputs is filled up with zeros."""
    widest = max(response.biases[-1].shape[-1], latent.biases[-1].shape[-1])

    def last(leaf):
        return jnp.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, widest - leaf.shape[-1])])

    layers = []
    for parts, axis in (((response.weights, latent.weights), -3), ((response.biases, latent.biases), -2)):
        hidden = [jnp.stack(pair, axis) for pair in zip(*(p[:-1] for p in parts), strict=True)]
        layers.append((*hidden, jnp.stack([last(p[-1]) for p in parts], axis)))
    weights, biases = layers
    return Dense(weights, biases, response.activation, response.skip)


def latent_as_response(networks: Dense, outputs: int, states: int) -> Dense:
    """The latent network starts as the response network with its `outputs`, repeated where there are more states."""
    w, b = [leaf[..., 0, :, :] for leaf in networks.weights], [leaf[..., 0, :] for leaf in networks.biases]

    def giving(places):
        weights, biases = (*w[:-1], w[-1][..., places]), (*b[:-1], b[-1][..., places])
        return Dense(weights, biases, networks.activation, networks.skip)

    return _side_by_side(giving(np.arange(outputs)), giving(np.arange(states) % outputs))


@eqx.filter_jit
def begin_training(iteration: PublishedIteration, learner: Learner) -> PublishedState:
    seeds = learner.share.shape[0]
    memory = jax.vmap(iteration.optimiser.init)(cast(optax.Params, learner))
    return PublishedState(learner, memory, learner.share, jnp.zeros(seeds, int), jnp.zeros(seeds, bool))


def subperiod_of(problem: Problem, motion, inside: slice, draw, low, high, states) -> Subperiod:
    rng, seeds, pool = draw
    inputs = np.asarray(problem.data[0].drive.samples)
    largest = np.max(np.abs(inputs[:, 0])) or 1.0
    u, x, v = inputs[inside], motion[0][inside], motion[1][inside]
    pools = np.stack([rng.permutation(len(x))[:pool] for _ in range(seeds)])
    duration = problem.data[0].step * (len(x) - 1)
    arrays = (np.linspace(0.0, 1.0, len(x)), u[:, 0] / largest, u, x, v, pools, low, high, states)
    return Subperiod(*(jnp.asarray(a) for a in arrays), duration=jnp.asarray(duration))
