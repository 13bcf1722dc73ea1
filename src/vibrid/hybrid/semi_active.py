"""A semi-active device in the loop: a law that follows a command, and the control that gives the command."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.hybrid.device import SPECIMENS, Companion, LoopDevice, Reading
from vibrid.laws.base import Law, Motion
from vibrid.laws.commanded import Commanded
from vibrid.records.imposed import one_of
from vibrid.records.readers import read_record
from vibrid.records.record import Record

ON = {
    "outward": lambda e, w: e * w > 0.0,
    "inward": lambda e, w: e * w < 0.0,
    "forward": lambda e, w: w > 0.0,
    "backward": lambda e, w: w < 0.0,
}
"""When an on–off control is on: while the device moves away from its zero, back to it, or one way."""


class Control(Parameterised):
    """Gives the command of a semi-active device, step by step."""

    def start(self) -> Any:
        """The state before the test."""
        return ()

    @abstractmethod
    def command(self, state: Any, motion: Motion, dt) -> tuple[jax.Array, Any]:
        """The command (V) at the motion of the device, reached in `dt` seconds, and the state after it."""


class ConstantCommand(Control):
    """One command throughout a test."""

    value: Parameter = parameter("command", "V")

    def command(self, state, motion, dt):
        return self.value, state


class CommandHistory(Control):
    """A given history: linear between samples, the first at the start of the test; the last one is kept after it."""

    step: Parameter = parameter("time between samples", "s", positive=True)
    values: Parameter = parameter("commands", "V")

    def __check_init__(self):
        if jnp.ndim(self.values) != 1 or not jnp.shape(self.values)[0]:
            raise InputError(f"The values of a command are a list of numbers, not of shape {jnp.shape(self.values)}.")

    @staticmethod
    def of(record: Record, channel: str = "") -> CommandHistory:
        """The history in a record: its one channel of quantity command, or the channel with a name."""
        values = record[channel] if channel else one_of(record, "command")
        if not np.isfinite(values).all():
            raise InputError(f"The command in record '{record.name}' has missing samples; fill or cut them first.")
        return CommandHistory(1.0 / record.rate, values)

    def start(self):
        return jnp.zeros(())

    def command(self, state, motion, dt):
        time = state + dt
        return jnp.interp(time / self.step, jnp.arange(len(self.values)), self.values), time


class CommandFile(Control):
    """A history in a file, until it is read.

    Arguments
        file: any record, relative to the project file.
        channel: its channel; the one of quantity command by default.
    """

    file: str = eqx.field(static=True)
    channel: str = eqx.field(static=True, default="")

    def read(self, folder) -> CommandHistory:
        """The history in the file, which is named relative to a folder."""
        return CommandHistory.of(read_record(Path(folder) / self.file), self.channel)

    def start(self):
        raise InputError("The command of a semi-active device has not been read from its file: call .read(folder).")

    def command(self, state, motion, dt):
        return self.start()


class OnOff(Control):
    """One command while a condition holds, another while it does not.

    Arguments
        on: V, while the device moves as `when` says.
        off: V, otherwise.
        when: "outward" (away from its zero), "inward", "forward" or "backward".
        still: m/s, speed below which the last command is kept: noise about a reversal would switch it on and off.
    """

    on: Parameter = parameter("command while it is on", "V")
    off: Parameter = parameter("command while it is off", "V", default=0.0)
    when: str = eqx.field(static=True, default="outward")
    still: Parameter = parameter("speed below which nothing is switched", "m/s", positive=True, zero=True, default=0.0)

    def __check_init__(self):
        if self.when not in ON:
            raise InputError(f"An on–off control is on while the device moves {', '.join(ON)}; not '{self.when}'.")

    def start(self):
        return jnp.asarray(self.off, float)

    def command(self, state, motion, dt):
        wanted = jnp.where(ON[self.when](motion.e, motion.w), self.on, self.off)
        command = jnp.where(jnp.abs(motion.w) > self.still, wanted, state)
        return command, command


class SemiActiveState(NamedTuple):
    """States of law and control, and the motion and command they belong to."""

    law: Any
    control: Any
    at: Motion  # (2,) each: of the device, and of the command


@SPECIMENS.register("semi-active")
class SemiActive(LoopDevice):
    """A law that follows a command, with the control that gives it; its signal `control` is the command (V).

    Arguments
        law: a `Commanded` law.
        control: of its command: `ConstantCommand`, `CommandHistory`, `OnOff`, or one of your own.
    """

    law: Law
    control: ConstantCommand | CommandHistory | CommandFile | OnOff

    signal_names: ClassVar[tuple[str, ...]] = ("control",)
    signal_units: ClassVar[tuple[str, ...]] = ("V",)
    no_force_means: ClassVar[str] = "The law overflowed, or its memory was too small for the path."

    def __check_init__(self):
        if not isinstance(self.law, Commanded):
            name = type(self.law).__name__
            raise InputError(f"A semi-active device needs a law with a command: commanded, with {name} as its base.")
        if not isinstance(self.control, Control):
            raise InputError(f"The control of a semi-active device is an OnOff(…) or the like, not {self.control!r}.")

    @property
    def commanded(self) -> Commanded:
        """Its law."""
        assert isinstance(self.law, Commanded)
        return self.law

    def read(self, folder) -> SemiActive:
        """With the command read from its file, which is named relative to a folder."""
        if not isinstance(self.control, CommandFile):
            return self
        return dataclasses.replace(self, control=self.control.read(folder))

    def start(self) -> SemiActiveState:
        return SemiActiveState(self.law.start(), self.control.start(), Motion(jnp.zeros(2), jnp.zeros(2)))

    def trial(
        self, state: SemiActiveState, motion: Motion, companion: Companion | None, dt
    ) -> tuple[Reading, SemiActiveState]:
        command, control = self.control.command(state.control, motion, dt)
        now = Motion(jnp.stack([motion.e, command]), jnp.stack([motion.w, jnp.zeros_like(motion.w)]))
        law = self.law.advance(state.law, state.at, now, dt)
        force = jnp.where(self.law.overflowed(law), jnp.nan, self.law.force(now.e, now.w, law)[0])
        return Reading(force, command[None]), SemiActiveState(law, control, now)

    def initial_stiffness(self) -> jax.Array | float:
        return self.commanded.base.initial_stiffness()

    def initial_damping(self) -> jax.Array | float:
        return self.commanded.base.initial_damping()
