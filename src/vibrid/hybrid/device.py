"""The interface of a device in the loop: pure functions, so that a whole test can be one compiled scan.

A law, a virtual specimen and a trained network have the same step: from the state of the device, its motion now, and
the measurements of the tested device, it computes the reading and the new state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.parameters import Parameterised
from vibrid.core.registry import Registry
from vibrid.laws.base import Law, Motion

SPECIMENS = Registry("specimen")
"""Devices that a project file can name: laws, virtual specimens, a replayed test, and remote devices."""


class Reading(NamedTuple):
    """The reading of a device's instruments: its force (N) and the signals named by its class."""

    force: jax.Array
    signals: jax.Array  # (len(signal_names),)


class Companion(NamedTuple):
    """Measurements of the companion, a tested device, at this step: its motion and its reading."""

    motion: Motion
    reading: Reading


class DeviceWatch(Protocol):
    """Looks at a device while a test runs."""

    def see(self, x: np.ndarray, force: np.ndarray, signals: np.ndarray) -> list[tuple[int, str]]:
        """What happened in further substeps that a user should know at once: the number of the substep among them, and
        the end of a sentence that begins with the device. Measured displacement (m), force (N) and signals."""
        ...


class LoopDevice(Parameterised):
    """A device that a coordinator moves step by step.

    `trial` starts from the committed `state` and may be called again with another motion: nothing is remembered between
    calls. `companion` is None for a device that uses no measurements of a tested device.
    """

    signal_names: ClassVar[tuple[str, ...]] = ()
    signal_units: ClassVar[tuple[str, ...]] = ()
    no_force_means: ClassVar[str] = "The device failed there."
    """The meaning of a force that is not a number, for the message that ends the test."""

    def start(self) -> Any:
        """The state at rest."""
        raise NotImplementedError

    def trial(self, state: Any, motion: Motion, companion: Companion | None, dt: float) -> tuple[Reading, Any]:
        """The reading at `motion`, reached in `dt` seconds, and the state to commit with it."""
        raise NotImplementedError

    def initial_stiffness(self) -> jax.Array | float:
        """N/m at rest: the integrators of the KR-α family are built from it."""
        return jnp.zeros(())

    def initial_damping(self) -> jax.Array | float:
        """N s/m at rest."""
        return jnp.zeros(())

    def watch(self) -> DeviceWatch | None:
        """What looks at it while a test runs, and warns; None for a device without warnings."""
        return None


@runtime_checkable
class DeviceFile(Protocol):
    """A device that a project file describes by other files. Any registered class with this method is one."""

    def read(self, folder: Path) -> LoopDevice:
        """The device; the names of its files are relative to `folder`, that of the project file."""
        ...


class LawState(NamedTuple):
    """State of a law's device: that of the law, and the motion it belongs to."""

    own: Any
    at: Motion


@SPECIMENS.register("law")
class LawDevice(LoopDevice):
    """Any law of force and deformation as a device in the loop."""

    law: Law
    no_force_means: ClassVar[str] = "The law overflowed, or its memory was too small for the path."

    def start(self) -> LawState:
        rest = jnp.zeros(() if self.law.components == 1 else self.law.components)
        return LawState(self.law.start(), Motion(rest, rest))

    def trial(
        self, state: LawState, motion: Motion, companion: Companion | None, dt: float
    ) -> tuple[Reading, LawState]:
        law_state = self.law.advance(state.own, state.at, motion, dt)
        force = jnp.where(self.law.overflowed(law_state), jnp.nan, self.law.force(motion.e, motion.w, law_state))
        return Reading(force, jnp.zeros(0)), LawState(law_state, motion)

    def initial_stiffness(self) -> jax.Array | float:
        return self.law.initial_stiffness()

    def initial_damping(self) -> jax.Array | float:
        return self.law.initial_damping()
