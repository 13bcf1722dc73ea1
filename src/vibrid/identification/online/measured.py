"""The motion as measured: where displacement and velocity of every degree of freedom are known at each sample.

Then the states of the laws follow the measured motion, and the other readings (forces, accelerations) can be predicted
for any parameters without integrating the equation of motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.identification.method import Sample
from vibrid.identification.problem import Problem
from vibrid.laws.masing import MemoryLaw
from vibrid.structures.device import Device

if TYPE_CHECKING:
    from vibrid.identification.method import Method


class MeasuredMotion(eqx.Module):
    """Which readings are the motion and which are to be predicted."""

    to_displacement: jax.Array  # (n, ny): x = to_displacement @ (readings − offset)
    to_velocity: jax.Array
    offset: jax.Array  # (ny,)
    imposed: bool = eqx.field(static=True)  # the inputs are the motion: a device in a testing machine
    compared: tuple[int, ...] = eqx.field(static=True)  # readings that are predicted

    def motion(self, sample: Sample):
        """x, v (n,) at a sample."""
        if self.imposed:
            return sample.inputs[:1], sample.inputs[1:2]
        readings = sample.readings - self.offset
        return self.to_displacement @ readings, self.to_velocity @ readings

    def known(self, sample: Sample):
        """Whether the motion of a sample was measured; 1 or 0."""
        if self.imposed:
            return jnp.all(jnp.isfinite(sample.inputs)).astype(float)
        used = (jnp.abs(self.to_displacement) + jnp.abs(self.to_velocity)).sum(axis=0) > 0
        return jnp.all((sample.present > 0) | ~used).astype(float)

    def predict(self, problem: Problem, experiment, x, v, s, inputs):
        """Readings of the compared sensors at a motion with law states s."""
        model = experiment.structure.model(problem.data[0].loads)
        arrays = experiment.structure.sensor_arrays(model, experiment.sensors)
        y = model.output(arrays, x, v, model.acceleration(x, v, s, inputs), s, inputs)
        return y[jnp.asarray(self.compared)]


def measured_motion(problem: Problem, method: Method) -> MeasuredMotion:
    """Sort the sensors of a problem into motion and compared readings, or refuse with the reason."""
    structure, sensors = problem.experiment.structure, problem.sensors
    model = structure.model(problem.data[0].loads)
    n, ny, name = model.size, len(sensors), type(method).__name__
    gain, offset = (jnp.stack([getattr(s, part) for s in sensors]) for part in ("gain", "offset"))
    if isinstance(structure, Device):
        nothing = jnp.zeros((1, ny))
        return MeasuredMotion(nothing, nothing, offset, True, tuple(range(ny)))
    matrices: dict[str, jax.Array] = {}
    for quantity in ("displacement", "velocity"):
        channels = [i for i, s in enumerate(sensors) if s.quantity == quantity]
        rows = np.array([structure.row(sensors[i].place) for i in channels]).reshape(-1, n)
        if not channels or np.linalg.matrix_rank(rows) < n:
            raise Refusal(
                f"{name} follows measured motion: it needs the {quantity} of every degree of freedom (or a device "
                "whose motion is imposed). Use ukf or trajectory for fewer sensors."
            )
        matrix = np.zeros((n, ny))
        matrix[:, channels] = np.linalg.pinv(rows)
        matrices[quantity] = jnp.asarray(matrix) / gain
    compared = tuple(i for i, s in enumerate(sensors) if s.quantity not in ("displacement", "velocity"))
    if not compared:
        raise Refusal(
            f"{name} predicts forces or accelerations from measured motion; give it at least one such sensor."
        )
    return MeasuredMotion(matrices["displacement"], matrices["velocity"], offset, False, compared)


def check_force(problem: Problem, method: Method) -> None:
    """Refuse sensors other than the one that reads the force of a device."""
    if [s.quantity for s in problem.sensors] != ["element_force"]:
        read = ", ".join(s.label for s in problem.sensors)
        raise Refusal(
            f"{type(method).__name__} compares the force of a device whose law has a memory (masing, iwan): give it "
            f"one sensor of element_force and no other (the sensors are {read})."
        )


def has_snapshots(problem: Problem) -> bool:
    """Whether the memory of past samples serves any parameters: one law with such a memory under imposed motion."""
    structure = problem.experiment.structure
    return isinstance(structure, Device) and isinstance(structure.law, MemoryLaw)


def memory_law(experiment) -> MemoryLaw:
    """The law of a device in an experiment for which `has_snapshots` holds."""
    return cast(MemoryLaw, cast(Device, experiment.structure).law)


def memory_capacity(experiment) -> int:
    """Turning points that the memory of that law can hold."""
    memory, _ = memory_law(experiment).start()
    return memory.extremes.shape[0]


def force_read(problem: Problem, sample: Sample):
    """The force that the first sensor measures, its gain and offset removed."""
    sensor = problem.sensors[0]
    return (sample.readings[0] - sensor.offset) / sensor.gain
