"""The motion and the hidden states that trained networks give along a subperiod."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from vibrid.networks.training import untuned
from vibrid.papers.pidynnet.losses import Learner, PublishedIteration, Subperiod


@untuned
def along(iteration: PublishedIteration, learner: Learner, part: Subperiod):
    """Hidden states and displacements of the first initialisation over a subperiod, and all states at its end."""
    first, every = jax.tree.map(lambda leaf: leaf[0], learner), jnp.arange(part.time.size)
    (x, _, _), (z, _) = iteration.outputs(first, every, part)
    ends = jax.vmap(lambda each: iteration.outputs(each, every[-1:], part)[1][0, 0])(learner)
    return z, x, ends


@untuned
def motions(iteration: PublishedIteration, learner: Learner, part: Subperiod, at):
    """Displacements, velocities and hidden states of every initialisation at samples `at`: (samples, seeds, …)."""

    def of_seed(each):
        (x, v, _), (z, _) = iteration.outputs(each, at, part)
        return x, v, z

    return tuple(jnp.swapaxes(part_of, 0, 1) for part_of in jax.lax.map(of_seed, learner))
