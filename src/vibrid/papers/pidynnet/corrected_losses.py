"""Losses and one iteration of the corrected recipe (`corrected.py`)."""

from __future__ import annotations

from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.device import accelerated
from vibrid.identification.weak.equations import flat_start
from vibrid.networks import Dense, carried_together
from vibrid.papers.pidynnet.losses import ROWS, Learner, PublishedIteration, Subperiod

DAMPED_AT = 6.0  # rad/s
AMPLITUDE = 3.0  # of undamped features: the first layer is then neither linear nor saturated


class Scales(NamedTuple):
    """Middle and size of what networks give in a subperiod, sizes of the residuals, and the motion of the ground."""

    q: jax.Array  # (samples, n) measured drifts, y_1 the first
    dq: jax.Array
    ground: jax.Array  # (3, samples, n) displacement, velocity and acceleration of the ground
    middle: jax.Array  # (n,) of q
    size: jax.Array  # (n,)
    speed: jax.Array  # (n,) size of dq
    force: jax.Array  # (n,) size of the equations of motion
    state: jax.Array  # (2, m) middle and size of the hidden states
    rate: jax.Array  # (m,) size of their rates


class ScaledSubperiod(Subperiod):
    """A subperiod with its scales; `more` has the unknowns at the end of the one before, and their information."""

    scales: Scales = eqx.field(kw_only=True)


def scales_of(data: Subperiod) -> Scales:
    """The scales of a subperiod of the corrected recipe."""
    return cast(ScaledSubperiod, data).scales


class CorrectedIteration(PublishedIteration):
    """One iteration of the corrected recipe."""

    mix: np.ndarray = eqx.field(default_factory=lambda: np.eye(1))  # (n, n) from drifts to displacements
    frequencies: tuple[float, ...] = eqx.field(static=True, default=())  # rad/s of the features
    logarithms: bool = eqx.field(static=True, default=True)
    unknown_rate: float = eqx.field(static=True, default=1.0)  # of the unknowns, over that of the networks
    frozen: bool = eqx.field(static=True, default=False)  # whether the response network stays

    @property
    def inputs(self) -> int:
        return 1 + 2 * len(self.frequencies) + self.ground_input

    def theta(self, share):
        """(…, p): unknowns from one plus the logarithm of their multiple of the first guess."""
        if not self.logarithms:
            return super().theta(share)
        u = self.problem.unknowns
        return jnp.where(u.start == 0, u.scale * (share - 1.0), u.start * jnp.exp(share - 1.0))

    def carried(self, networks: Dense, at, data: Subperiod):
        """(networks, 3, points, outputs): values and two derivatives in time."""
        time, one = data.time[at][:, None], jnp.ones((at.shape[0], 1))
        omega = jnp.asarray(self.frequencies)
        size, angle = AMPLITUDE / (1.0 + (omega / DAMPED_AT) ** 2), omega * time * data.duration
        cosine, sine = size * jnp.cos(angle), size * jnp.sin(angle)
        point = [2.0 * time - 1.0, cosine, sine]
        first = [2.0 / data.duration * one, -omega * sine, omega * cosine]
        second = [0.0 * one, -(omega**2) * cosine, -(omega**2) * sine]
        if self.ground_input:
            point, first, second = [*point, data.ground[at][:, None]], [*first, 0.0 * one], [*second, 0.0 * one]
        kind = networks.weights[0].dtype
        parts = (jnp.concatenate(part, axis=1).astype(kind) for part in (point, first, second))
        return carried_together(networks, *parts).astype(float)

    def outputs(self, learner: Learner, at, data: Subperiod):
        """x̃ with two derivatives and z̃ with one, at samples `at`."""
        return self.unscaled(self.carried(learner.networks, at, data), at, data)

    def unscaled(self, carried, at, data: Subperiod):
        """Displacements relative to the ground and hidden states, with derivatives, from what the networks give."""
        s, (response, latent) = scales_of(data), carried
        q = (s.size * response[..., : s.size.size]).at[0].add(s.middle)
        z = (s.state[1] * latent[:2, :, : s.rate.size]).at[0].add(s.state[0])
        return q @ self.mix.T - s.ground[:, at], z

    def misfit(self, response, at, data: Subperiod):
        """The loss of the readings, from outputs of the response network before they are scaled."""
        s = scales_of(data)
        off = response[0] - (s.q[at] - s.middle) / s.size
        off_rate = (s.size * response[1] - s.dq[at]) / s.speed
        return jnp.mean(off**2) + jnp.mean(off_rate**2)

    def residuals(self, share, outputs, at, data: Subperiod):
        """Residuals of the equations of motion and of the hidden states over their sizes."""
        (x, v, a), (z, dz) = outputs
        model = self.model(share)
        _, unravel = ravel_pytree(model.start())
        dynamic, latent = jax.vmap(lambda x, v, a, z, dz, u: model.residual(x, v, a, unravel(z), unravel(dz), u))(
            x, v, a, z, dz, data.inputs[at]
        )
        flat = jax.vmap(lambda tree: ravel_pytree(tree)[0])(latent)
        return dynamic / scales_of(data).force, flat / scales_of(data).rate

    def loss(self, learner: Learner, at, data: Subperiod, states, more=()):
        """The loss on samples `at` (batch,), and its three parts."""
        n = scales_of(data).size.size
        if self.pretraining:
            alone = jax.tree.map(lambda leaf: leaf[:1], learner.networks)
            supervised = self.misfit(self.carried(alone, at, data)[0, ..., :n], at, data)
            return supervised, (supervised, 0.0 * supervised, 0.0 * supervised)
        count = at.shape[0]
        more_rows = 1 + (-count - 1) % (ROWS if accelerated() else 1)
        first_too = jnp.concatenate([at, jnp.zeros(more_rows, at.dtype)])
        carried = self.carried(learner.networks, first_too, data)
        supervised = self.misfit(carried[0, :, :count, :n], at, data)
        x, z = self.unscaled(carried, first_too, data)
        dynamic, latent = self.residuals(learner.share, (x[:, :count], z[:, :count]), at, data)
        begun = jnp.where(jnp.isfinite(states), states, flat_start(self.model(learner.share)))
        start = jnp.mean(((z[0, count] - begun) / scales_of(data).state[1]) ** 2)
        physics, hidden = jnp.mean(dynamic**2), jnp.mean(latent**2) + start
        anchor, information = more
        kept = jnp.sum(information * (learner.share - anchor) ** 2)
        weight = self.weights
        return weight[0] * supervised + weight[1] * physics + weight[2] * hidden + kept, (supervised, physics, hidden)

    def information(self, learner: Learner, pool, data: Subperiod):
        """(p,) of the equations about the unknowns, the motion held: sums of squares of their slopes."""
        outputs = self.outputs(learner, pool, data)

        def weighed(share):
            dynamic, latent = self.residuals(share, outputs, pool, data)
            parts = (jnp.sqrt(w / r.size) * r.ravel() for w, r in zip(self.weights[1:], (dynamic, latent), strict=True))
            return jnp.concatenate(list(parts))

        return jnp.sum(jax.jacfwd(weighed)(learner.share) ** 2, axis=0)

    def step_of(self, change):
        """Unknowns have a rate of their own; a frozen response network (the first of the two) does not move."""
        networks = change.networks
        if self.frozen:
            networks = jax.tree.map(lambda leaf: leaf.at[0].set(0.0), networks)
        return change._replace(networks=networks, share=self.unknown_rate * change.share)
