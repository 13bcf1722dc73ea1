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


class DeviceSubstructure(Substructure):
    """A pure device held as a substructure of one degree of freedom, a compiled call a trial."""

    count = 1

    def __init__(self, device: LoopDevice, step: float):
        """
        Args:
            device: what is moved.
            step: seconds between commits; a trial at another time is reached over the time since the last commit.
        """
        self.device, self.step = device, step
        self._call = eqx.filter_jit(lambda device, state, e, w, dt: device.trial(state, Motion(e, w), None, dt))
        self._committed = self._next = jax.tree.map(jnp.asarray, device.start())
        self._time = self._next_time = 0.0
        self.stopped: str | None = None

    def trial(self, displacement, velocity, acceleration, time):
        dt = time - self._time if time > self._time else self.step
        reading, self._next = self._call(self.device, self._committed, displacement[0], velocity[0], dt)
        self._next_time = time
        return np.asarray(reading.force).reshape(1)

    def commit(self):
        self._committed, self._time = self._next, self._next_time

    def stop(self, reason):
        self.stopped = self.stopped or reason
