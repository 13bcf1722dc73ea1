"""Any device of the loop moved along a test, hearing what the test says the physical device did, in one scan."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.errors import InputError
from vibrid.hybrid.device import Heard, LoopDevice, Reading
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.laws.base import Motion


def along(device: LoopDevice, test: DeviceTest, rate: float) -> Reading:
    """Forces (samples,) and signals (samples, n) of a device that is moved through a test.

    Arguments
        device: a law, a network or a specimen, already set for the capacity of the test.
        test: columns 0 and 1 of `heard` are force (N) and displacement (m) of the physical device, the others its
            signals; with fewer columns nothing is heard.
        rate: samples a second.
    """
    if len(test.x) != len(test.heard) and test.heard.size:
        raise InputError(f"Test '{test.name}' has {len(test.x)} samples, and {len(test.heard)} of them were heard.")
    return walk(device, *drives(test.x, test.v, test.heard, rate), 1.0 / rate)


def drives(x, v, heard, rate) -> tuple[Motion, Heard | None]:
    """Motion, and what is heard, along a test; the heard velocity is the difference of displacements."""
    own = Motion(jnp.asarray(x, float), jnp.asarray(v, float))
    heard = jnp.asarray(heard, float)
    if heard.ndim < 2 or heard.shape[1] < 2:
        return own, None
    moved = heard[:, 1]
    speed = jnp.diff(moved, prepend=moved[:1]) * rate
    return own, Heard(Motion(moved, speed), Reading(heard[:, 0], heard[:, 2:]))


@eqx.filter_jit
def walk(device: LoopDevice, motion: Motion, heard: Heard | None, dt) -> Reading:
    """The readings of a device that starts at rest, sample by sample (leading axis)."""

    def one(state, now):
        reading, state = device.trial(state, *now, dt)
        return state, reading

    return jax.lax.scan(one, device.start(), (motion, heard))[1]
