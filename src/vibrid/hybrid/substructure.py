"""The interface of an external substructure: behind a network connection, or in the laboratory."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.hybrid.device import LoopDevice
from vibrid.hybrid.scalars import written_out
from vibrid.laws.base import Motion


class Substructure(abc.ABC):
    """A part that is moved and returns forces; it holds its own state.

    `trial` may be called several times per step, always from the last committed state; `commit` makes the last trial
    permanent. Arrays have one entry per degree of freedom.
    """

    count: int
    """Degrees of freedom."""
    signal_names: tuple[str, ...] = ()
    """Names of its signals beside forces."""
    needs_limits: bool = True
    """Whether a hybrid test moves it only with limits: not a computed one, nor one whose server has them."""
    keeps_position: bool = True
    """Whether it stays, from one test to the next, where it was moved to last, as a device in a laboratory does."""

    @property
    def deformation_rows(self) -> np.ndarray:
        """(deformations, count): the deformations of the device are `rows @ displacement`. Limits apply to them.

        By default every degree of freedom is a deformation.
        """
        return np.eye(self.count)

    @property
    def signals(self) -> np.ndarray:
        """(len(signal_names),) readings of the instruments at the last trial."""
        return np.zeros(len(self.signal_names))

    @property
    def position(self) -> float | None:
        """Measured displacement (m) of the first degree of freedom at the last trial; None where it is not measured."""
        return None

    @abc.abstractmethod
    def trial(
        self, displacement: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray, time: float
    ) -> np.ndarray:
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
        """End the test safely for a reason; a second call does nothing."""


def stop_all(devices: Sequence[Substructure], reason: str) -> None:
    """Stop every device, also when one of them fails to stop; the first failure is then raised."""
    failures = []
    for device in devices:
        try:
            device.stop(reason)
        except Exception as problem:  # the next device must be stopped all the same
            failures.append(problem)
    if failures:
        raise failures[0]


class Connection(eqx.Module):
    """How to reach a substructure: the description of a remote device until the test begins."""

    def connect(self) -> Substructure:
        """Open it; the coordinator stops it when the test ends."""
        raise NotImplementedError


class DeviceSubstructure(Substructure):
    """A pure device as a substructure: one compiled call per trial."""

    needs_limits = keeps_position = False

    def __init__(self, device: LoopDevice, step: float, direction: Sequence[float] = (1.0,)):
        """
        Args:
            device: the device that is moved.
            step: seconds between commits; a trial at another time is reached over the time since the last commit.
            direction: the deformation of the device for a unit displacement of each degree of freedom: `(1,)` for a
                device between a node and the ground, `(-1, 1)` for one between two nodes.
        """
        self.device, self.step, self.signal_names = device, step, device.signal_names
        self.direction = np.asarray(direction, float)
        self.count = len(self.direction)
        start, whole = ravel_pytree(jax.tree.map(jnp.asarray, device.start()))
        self._tail = 1 + len(self.signal_names)

        def call(given):
            """[e, w, dt, state …] → [force, signals …, state …]: single arrays take a third of the time of trees."""
            state = whole(given[3:].astype(start.dtype))
            reading, following = device.trial(state, Motion(given[0], given[1]), None, given[2])
            return jnp.concatenate([reading.force[None], reading.signals, ravel_pytree(following)[0]])

        self._call = jax.jit(call)
        self._written = _as_scalars(device)
        self._committed = self._next = np.asarray(start, float)
        self._time = self._next_time = 0.0
        self._signals: Any = np.zeros(len(self.signal_names))
        self.stopped: str | None = None
        both = np.outer(self.direction, self.direction)
        self._stiffness = float(device.initial_stiffness()) * both
        self._damping = float(device.initial_damping()) * both
        self._compiled(0.0, 0.0, step)  # before the test, not in its first step

    @property
    def signals(self) -> np.ndarray:
        return self._signals

    @property
    def deformation_rows(self) -> np.ndarray:
        return self.direction[None, :]

    def _compiled(self, e, w, dt) -> np.ndarray:
        return np.asarray(self._call(np.concatenate([(e, w, dt), self._committed])))

    def _move(self, e, w, dt):
        """Force, signals and state after a motion, by the fastest function."""
        if self._written is not None:
            try:
                return self._written(e, w, dt, *self._committed)
            except (ArithmeticError, ValueError):  # infinite or NaN: computed by the compiled program
                pass
        return self._compiled(e, w, dt)

    def trial(self, displacement, velocity, acceleration, time):
        dt = time - self._time if time > self._time else self.step
        across = self.direction
        numbers = self._move(float(across.dot(displacement)), float(across.dot(velocity)), dt)
        self._signals, self._next, self._next_time = numbers[1 : self._tail], numbers[self._tail :], time
        return across * numbers[0]

    def commit(self):
        self._committed, self._time = self._next, self._next_time

    def stiffness(self):
        return self._stiffness

    def damping(self):
        return self._damping

    def stop(self, reason):
        self.stopped = self.stopped or reason


def _as_scalars(device: LoopDevice):
    """A device whose state is a few scalars, as a plain function `(e, w, dt, *state) → (force, *signals, *state)`."""
    leaves, whole = jax.tree.flatten(jax.tree.map(jnp.asarray, device.start()))
    if any(leaf.shape != () or leaf.dtype != float for leaf in leaves):
        return None

    def call(e, w, dt, *state):
        reading, following = device.trial(jax.tree.unflatten(whole, state), Motion(e, w), None, dt)
        return [reading.force, *reading.signals, *jax.tree.leaves(following)]

    return written_out(call, 3 + len(leaves))
