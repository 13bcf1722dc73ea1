"""What is heard of a device in a recorded test."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.listening.estimate import CompanionEstimator, EstimatorState
from vibrid.records.imposed import one_of
from vibrid.records.record import Channel, Record

HEARD = (
    ("capacity", "N"),
    ("capacity_deviation", "N"),
    ("gap", ""),
    ("gap_deviation", ""),
    ("lag", "s"),
    ("slipped", "s"),
)
"""Names and units of what is heard of a tested device."""


def heard_signals(estimator: CompanionEstimator, state: EstimatorState) -> jax.Array:
    """What is heard, in the order of `HEARD`."""
    known, gap = state.estimate, jnp.exp(state.estimate.gap)
    row = estimator.worn(known.work)
    deviation = jnp.sqrt(jnp.maximum(row @ known.covariance @ row, 0.0))
    both = estimator.capacity * jnp.stack([row @ known.mean, deviation])
    return jnp.concatenate([both, jnp.stack([gap, gap * known.gap_deviation, known.lag, known.slipped])])


def listen(test: Record, estimator: CompanionEstimator) -> Record:
    """What an estimator hears of a device in a recorded test, sample by sample, as it would in a hybrid test.

    Arguments
        test: with a channel of quantity imposed_displacement and one of element_force, as `HybridResult.device` gives.
        estimator: how the device is listened to.
    """
    x, force = one_of(test, "imposed_displacement"), one_of(test, "element_force")
    if not np.isfinite(x + force).all():
        raise InputError(f"Test '{test.name}' has missing samples; fill or cut them first.")
    heard = np.asarray(_walked(estimator, jnp.asarray(x), jnp.asarray(force), 1.0 / test.rate))
    channels = tuple(Channel(name, "other", unit) for name, unit in HEARD)
    return test.replace("what was heard of the device", data=heard, channels=channels)


@eqx.filter_jit
def _walked(estimator: CompanionEstimator, x, force, dt):
    def one(state, now):
        place, pushed = now
        state = estimator.step(state, place, pushed, dt)
        return state, heard_signals(estimator, state)

    return jax.lax.scan(one, estimator.start(), (x, force))[1]
