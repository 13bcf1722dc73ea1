"""The contract of a substructure outside the compiled loop: on the wire, or in the laboratory."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.hybrid.device import LoopDevice
from vibrid.laws.base import Motion


class Substructure(abc.ABC):
    """A part that is moved and answers with forces; it holds its own state.

    `trial` may come several times a step, always from the state last committed; `commit` makes the last one permanent.
    Arrays have one entry a degree of freedom.
    """

    count: int
    """Degrees of freedom."""
    signal_names: tuple[str, ...] = ()
    """What its instruments show beside forces."""

    @property
    def signals(self) -> np.ndarray:
        """(len(signal_names),) what the instruments showed at the last trial."""
        return np.zeros(len(self.signal_names))

    @property
    def position(self) -> float | None:
        """Measured displacement (m) of the first degree of freedom at the last trial; None where it is not measured."""
        return None

    @abc.abstractmethod
    def trial(self, displacement: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, time: float):
        """Forces (N) at a trial motion (m, m/s, m/s²) and time (s)."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Make the last trial permanent."""

    def stiffness(self) -> np.ndarray:
        """(count, count) initial stiffness (N/m)."""
        return np.zeros((self.count, self.count))

    def damping(self) -> np.ndarray:
        """(count, count) initial damping (N s/m)."""
        return np.zeros((self.count, self.count))

    def mass(self) -> np.ndarray:
        """(count, count) mass (kg)."""
        return np.zeros((self.count, self.count))

    @abc.abstractmethod
    def stop(self, reason: str) -> None:
        """End the test safely and say why; a second call does nothing."""


class Connection(eqx.Module):
    """How to reach a substructure: what a project file holds of one behind a wire until the test begins."""

    def connect(self) -> Substructure:
        """Open it; the coordinator stops it when the test ends."""
        raise NotImplementedError


class DeviceSubstructure(Substructure):
    """A pure device held as a substructure of one degree of freedom, a compiled call a trial."""

    count = 1

    def __init__(self, device: LoopDevice, step: float):
        """
        Args:
            device: what is moved.
            step: seconds between commits; a trial at another time is reached over the time since the last commit.
        """
        self.device, self.step, self.signal_names = device, step, device.signal_names
        self._call = eqx.filter_jit(lambda device, state, e, w, dt: device.trial(state, Motion(e, w), None, dt))
        self._committed = self._next = jax.tree.map(jnp.asarray, device.start())
        self._time = self._next_time = 0.0
        self._signals = np.zeros(len(self.signal_names))
        self.stopped: str | None = None

    @property
    def signals(self):
        return self._signals

    def trial(self, displacement, velocity, acceleration, time):
        dt = time - self._time if time > self._time else self.step
        reading, self._next = self._call(self.device, self._committed, displacement[0], velocity[0], dt)
        self._next_time, self._signals = time, np.asarray(reading.signals)
        return np.asarray(reading.force).reshape(1)

    def commit(self):
        self._committed, self._time = self._next, self._next_time

    def stiffness(self):
        return np.asarray(self.device.initial_stiffness(), float).reshape(1, 1)

    def damping(self):
        return np.asarray(self.device.initial_damping(), float).reshape(1, 1)

    def stop(self, reason):
        self.stopped = self.stopped or reason
