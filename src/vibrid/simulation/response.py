"""The response: the motion of a structure, and the readings of sensors on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Seed, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.core.shown import InNotebooks
from vibrid.records.record import EXCITATIONS, Record
from vibrid.simulation.base import Integrator
from vibrid.simulation.step_error import StepError, course_without_error, shares_of_peaks
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.model import Loads, Model
from vibrid.structures.sensors import Sensor, Sensors


@eqx.filter_jit
def _outputs(structure, built, loads, sensors, x, v, a, s, u):
    model = built if isinstance(built, Model) else structure.model(loads)
    arrays = structure.sensor_arrays(model, sensors)
    return jax.vmap(lambda *at: model.output(arrays, *at))(x, v, a, s, u)


@eqx.filter_jit
def _part_motion(built, loads, x, v, s):
    model = built if isinstance(built, Model) else built.model(loads)
    return jax.vmap(lambda x, v, s: (model.part_deformations(x, v).e, model.part_forces(x, v, s)))(x, v, s)


@dataclass(frozen=True)
class RunSettings:
    """How a response was computed. `again(structure, excitation, substeps=…)` computes it with another step;
    `equations` says how those of an implicit step were solved."""

    again: Callable[..., Response]
    integrator: Integrator
    hold: str
    substeps: int
    equations: str = ""


@dataclass(frozen=True, eq=False)
class Response(InNotebooks):
    """The motion of a structure under an excitation. Arrays have time first: (samples, degrees of freedom).

    `displacement`, `velocity` and `acceleration` are relative to the ground; `states` are those of the laws. `settings`
    are None where it does not come from `simulate`.
    """

    structure: Structure
    excitation: Record
    loads: Loads
    inputs: np.ndarray
    displacement: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    states: Any
    settings: RunSettings | None = None

    @property
    def time(self) -> np.ndarray:
        return self.excitation.time

    def __repr__(self) -> str:
        size = self.displacement.shape
        largest = float(np.abs(np.asarray(self.displacement)).max()) if self.displacement.size else 0.0
        solved = f"\n  {self.settings.equations}" if self.settings and self.settings.equations else ""
        return (
            f"Response of a {type(self.structure).__name__} to '{self.excitation.name}': {size[0]} samples, "
            f"{self.excitation.duration:g} s, {size[1]} degrees of freedom\n"
            f"  largest displacement {largest:.4g} m; arrays displacement, velocity, acceleration {size}\n"
            f"  {len(self.parts)} parts with laws: {', '.join(self.parts[:6])}{', …' if len(self.parts) > 6 else ''}"
            f"{solved}"
        )

    @checked
    def readings(self, sensors: Sequence[Sensor]) -> np.ndarray:
        """(samples, sensors) true readings: gain, delay and offset applied, no noise."""
        sensors = Sensors(sensors)
        motion = (self.displacement, self.velocity, self.acceleration, self.states, self.inputs)
        y = _outputs(self.structure, self.structure.built(self.loads), self.loads, tuple(sensors), *motion)
        return np.asarray(delayed(y, jnp.stack([s.delay for s in sensors]), self.excitation.step))

    @checked
    def measure(self, sensors: Sequence[Sensor], noise: float = 0.0, key: Seed = 0) -> Record:
        """A record as measured in a laboratory: the excitation and the sensors' readings with noise.

        `noise` is the standard deviation of the noise over that of the clean signal, for sensors that do not give their
        own. The same `key` gives the same noise.
        """
        if not (np.isfinite(noise) and noise >= 0):
            raise InputError(f"The noise is a share of each signal, zero or more, not {noise}.")
        sensors = Sensors(sensors)
        y = self.readings(sensors)
        levels = np.array([float(s.noise) for s in sensors])
        sigma = np.where(np.isfinite(levels), levels, noise * y.std(axis=0))
        y = y + sigma * np.random.default_rng(key).standard_normal(y.shape)
        drive = self.excitation.select(quantity=EXCITATIONS)
        taken = set(drive.names) & {s.label for s in sensors}
        if taken:
            raise InputError(f"A sensor has the name of an excitation channel: {', '.join(sorted(taken))}.")
        return self.excitation.replace(
            f"measured by {len(sensors)} sensors, noise {noise:g} of each signal, key {key}",
            data=np.concatenate([drive.data, y], axis=1),
            channels=drive.channels + sensors.channels(),
        )

    @checked
    def part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Deformation (m) and force (N) of one part, e.g. "storeys[0]": the two axes of a hysteresis loop."""
        place = self.shape_of_model().part_index(name)
        e, f = _part_motion(self.structure.built(self.loads), self.loads, self.displacement, self.velocity, self.states)
        return np.asarray(e[:, place]), np.asarray(f[:, place])

    @attached
    def reduction_error(self, sensors: Sequence[Sensor]) -> Any:
        """What the reduction of a `Reduced` structure costs under this excitation, sensor by sensor.

        The readings are compared with those of the full structure, laws of both linear about rest.
        """
        ...

    def step_error(self) -> StepError:
        """The error of the time step, estimated by simulating again with half the step.

        For every quantity it is the largest error over the largest value: of displacement, velocity and acceleration
        (rotations left out), or of the force where the motion is imposed. The exact step of a linear structure has
        none and is not simulated again.
        """
        settings = self.settings
        if settings is None:
            raise InputError(
                "This response does not come from `simulate`, so that its step cannot be halved to estimate its error."
            )
        exact_for = course_without_error(settings.integrator, settings.hold)
        if exact_for:
            return StepError(
                dict.fromkeys(("displacement", "velocity", "acceleration"), 0.0), settings.substeps, exact_for
            )
        finer = settings.again(self.structure, self.excitation, substeps=2 * settings.substeps)
        shares = shares_of_peaks(self._motion(), finer._motion(), settings.integrator.least_order)
        return StepError(shares, settings.substeps)

    def _motion(self) -> dict[str, np.ndarray]:
        """What the time step has an error in, by quantity."""
        if isinstance(self.structure, ImposedTest):
            return {"force": np.stack([self.part(name)[1] for name in self.parts])}
        rows = [self.structure.row(place) for place in self.structure.places()]
        moves = np.stack(rows, axis=1) if rows else np.eye(self.displacement.shape[1])
        return {name: getattr(self, name) @ moves for name in ("displacement", "velocity", "acceleration")}

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts with laws."""
        return tuple(name for name, _ in self.shape_of_model().parts)

    def shape_of_model(self) -> Model:
        """The model without its numbers: names and places only."""
        return self.structure.shape_of_model(self.loads)


@jax.jit
def delayed(y, delays, step: float) -> jax.Array:
    """Signals (samples, channels) seen `delays` seconds late, by cubic interpolation between samples.

    Differentiable in the delays. Before the first sample a signal keeps its first value.
    """
    n = y.shape[0]
    shift = jnp.arange(n)[:, None] - delays[None, :] / step
    low = jnp.floor(shift)
    t = shift - low
    base = low.astype(int)

    def at(offset):
        return jnp.take_along_axis(y, jnp.clip(base + offset, 0, n - 1), axis=0)

    y0, y1, y2, y3 = at(-1), at(0), at(1), at(2)
    return y1 + 0.5 * t * (y2 - y0 + t * (2 * y0 - 5 * y1 + 4 * y2 - y3 + t * (3 * (y1 - y2) + y3 - y0)))
