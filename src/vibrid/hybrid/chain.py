"""From a target to a reading: compensator, actuator and device, one step at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.hybrid.actuator import Actuator
from vibrid.hybrid.compensation import Compensator, TargetMotion
from vibrid.hybrid.device import Companion, LoopDevice, Reading
from vibrid.laws.base import Motion


class Row(NamedTuple):
    """The record of a device at one step."""

    target: jax.Array  # m
    command: jax.Array  # m
    measured: jax.Array  # m, by the displacement sensor
    force: jax.Array  # N, by the load cell
    signals: jax.Array


class ChainState(NamedTuple):
    """State of compensator, actuator and device."""

    compensator: Any
    machine: Any
    device: Any
    measured: jax.Array  # m, at the last step


class Chain(eqx.Module):
    """A device with its actuator and compensator. Without an actuator it is moved exactly, without compensation."""

    device: LoopDevice
    actuator: Actuator | None = None
    compensator: Compensator | None = None

    def prepare(self, dt):
        """Constants of a test with steps of `dt` seconds."""
        compensator = () if self.compensator is None else self.compensator.prepare(dt)
        return compensator, (() if self.actuator is None else self.actuator.prepare(dt))

    def start(self, constants) -> ChainState:
        compensator, machine = constants
        return ChainState(
            () if self.compensator is None else self.compensator.start(compensator),
            () if self.actuator is None else self.actuator.start(machine),
            self.device.start(),
            jnp.zeros(()),
        )

    def step(self, constants, state: ChainState, target: TargetMotion, companion: Companion | None, dt):
        """(row, measurements for modelled devices, next state) after one step of `dt` seconds towards the target."""
        compensator, machine = constants
        compensating, moving = state.compensator, state.machine
        if self.actuator is None:
            command, motion, measured = target.x, Motion(target.x, target.rate), target.x
            velocity = target.rate
        else:
            command = target.x
            if self.compensator is not None:
                command, compensating = self.compensator.command(compensator, compensating, target, state.measured, dt)
            (motion, measured), moving = self.actuator.move(machine, moving, command, dt)
            velocity = (measured - state.measured) / dt
        reading, device = self.device.trial(state.device, motion, companion, dt)
        row = Row(target.x, command, measured, reading.force, reading.signals)
        measurements = Companion(Motion(measured, velocity), Reading(reading.force, reading.signals))
        return row, measurements, ChainState(compensating, moving, device, measured)
