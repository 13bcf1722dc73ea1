"""Any device of the loop moved through a test, with the measurements of the tested device, in one scan."""

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
        test: columns 0 and 1 of `heard` are force (N) and displacement (m) of the tested device, the others its
            signals; with fewer columns there are no measurements of it.
        rate: Hz, samples per second.
    """
    if len(test.x) != len(test.heard) and test.heard.size:
        raise InputError(
            f"Test '{test.name}' has {len(test.x)} samples, and {len(test.heard)} samples of the tested device."
        )
    return walk(device, *drives(test.x, test.v, test.heard, rate), 1.0 / rate)


def drives(x, v, heard, rate) -> tuple[Motion, Heard | None]:
    """Motion of a test, and measurements of the tested device, whose velocity is the difference of displacements."""
    motion = Motion(jnp.asarray(x, float), jnp.asarray(v, float))
    heard = jnp.asarray(heard, float)
    if heard.ndim < 2 or heard.shape[1] < 2:
        return motion, None
    moved = heard[:, 1]
    speed = jnp.diff(moved, prepend=moved[:1]) * rate
    return motion, Heard(Motion(moved, speed), Reading(heard[:, 0], heard[:, 2:]))


@eqx.filter_jit
def walk(device: LoopDevice, motion: Motion, heard: Heard | None, dt) -> Reading:
    """The readings of a device that starts at rest, sample by sample (leading axis)."""

    def one(state, now):
        motion, heard = now
        reading, state = device.trial(state, motion, heard, dt)
        return state, reading

    return jax.lax.scan(one, device.start(), (motion, heard))[1]
