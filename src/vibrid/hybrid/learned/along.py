"""Any device of the loop moved through a test, with the measurements of the tested device, in one scan."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.hybrid.device import Companion, LoopDevice, Reading
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.laws.base import Motion


def along(device: LoopDevice, test: DeviceTest, rate: float) -> Reading:
    """Forces (samples,) and signals (samples, n) of a device that is moved through a test.

    Arguments
        device: a law, a network or a specimen, already set for the capacity of the test.
        test: columns 0 and 1 of `companion` are force (N) and displacement (m) of the tested device, the others its
            signals; with fewer columns there are no measurements of it.
        rate: Hz, samples per second.
    """
    if len(test.x) != len(test.companion) and test.companion.size:
        raise InputError(
            f"Test '{test.name}' has {len(test.x)} samples, and {len(test.companion)} samples of the tested device."
        )
    return walk(device, *drives(test.x, test.v, test.companion, rate), 1.0 / rate)


def drives(x, v, companion, rate) -> tuple[Motion, Companion | None]:
    """Motion of a test, and measurements of the tested device, whose velocity is the difference of displacements."""
    motion = Motion(jnp.asarray(x, float), jnp.asarray(v, float))
    companion = jnp.asarray(companion, float)
    if companion.ndim < 2 or companion.shape[1] < 2:
        return motion, None
    moved = companion[:, 1]
    speed = jnp.diff(moved, prepend=moved[:1]) * rate
    return motion, Companion(Motion(moved, speed), Reading(companion[:, 0], companion[:, 2:]))


@eqx.filter_jit
def walk(device: LoopDevice, motion: Motion, companion: Companion | None, dt) -> Reading:
    """The readings of a device that starts at rest, sample by sample (leading axis)."""

    def one(state, now):
        motion, companion = now
        reading, state = device.trial(state, motion, companion, dt)
        return state, reading

    return jax.lax.scan(one, device.start(), (motion, companion))[1]
