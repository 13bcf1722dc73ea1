"""Requirements on every device in a loop: a force, signals as named, repeatable trials, one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.conformance.base import Checks, expect, finite, same
from vibrid.hybrid.device import LoopDevice
from vibrid.laws.base import Motion

CHECKS = Checks()
SAMPLES = 200


class DeviceExample(NamedTuple):
    """A device, the displacement (m) that it is moved by, and the commands a second."""

    device: LoopDevice
    size: float = 0.01
    rate: float = 1024.0


def motions(example: DeviceExample) -> Motion:
    """Displacement and velocity of a motion that grows from rest, one cycle in a tenth of a second."""
    t = np.arange(1, SAMPLES + 1) / example.rate
    turn = 2 * np.pi * 10.0
    grow = t / t[-1]
    x = example.size * grow * np.sin(turn * t)
    v = example.size * (grow * turn * np.cos(turn * t) + np.sin(turn * t) / t[-1])
    return Motion(jnp.asarray(x), jnp.asarray(v))


@eqx.filter_jit
def _trial(device: LoopDevice, state, motion: Motion, dt: float):
    return device.trial(state, motion, None, dt)


def readings(example: DeviceExample):
    """All readings of the motion, in one compiled loop."""
    device, dt = example.device, 1.0 / example.rate

    def step(state, motion):
        reading, state = device.trial(state, motion, None, dt)
        return state, reading

    return jax.jit(lambda moved: jax.lax.scan(step, device.start(), moved)[1])(motions(example))


@CHECKS("its force is a finite number, and its signals are those it names")
def gives_force_and_signals(example: DeviceExample) -> None:
    device = example.device
    expect(len(device.signal_names) == len(device.signal_units), "there is not one unit for each signal.")
    seen = readings(example)
    expect(seen.force.shape == (SAMPLES,), f"its force has the shape {seen.force.shape[1:]}, not that of a number.")
    expect(seen.signals.shape == (SAMPLES, len(device.signal_names)), "its signals are not as many as their names.")
    finite(seen.force, "its force")
    finite(seen.signals, "a signal")


@CHECKS("a trial is not remembered")
def trial_is_not_remembered(example: DeviceExample) -> None:
    device, dt = example.device, 1.0 / example.rate
    one, other = (Motion(example.size * f, 10 * example.size * f) for f in (jnp.asarray(0.1), jnp.asarray(-0.7)))
    first, _ = _trial(device, device.start(), one, dt)
    _trial(device, device.start(), other, dt)
    again, _ = _trial(device, device.start(), one, dt)
    same(again.force, first.force, "the force of a second trial")


@CHECKS("a compiled loop equals step by step")
def loop_equals_steps(example: DeviceExample) -> None:
    device, together, moved = example.device, readings(example), motions(example)
    state, scale = device.start(), float(np.max(np.abs(np.asarray(together.force))))
    for i in range(20):
        reading, state = _trial(device, state, Motion(moved.e[i], moved.w[i]), 1.0 / example.rate)
        same(reading.force, together.force[i], f"the force of step {i + 1}", rtol=1e-9, atol=1e-9 * scale)


@CHECKS("its first stiffness and damping are finite and not negative")
def first_slopes_are_sane(example: DeviceExample) -> None:
    for what in ("initial_stiffness", "initial_damping"):
        value = float(getattr(example.device, what)())
        expect(np.isfinite(value) and value >= 0, f"{what}() is {value:g}.")
