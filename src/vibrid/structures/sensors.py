"""Sensors: quantity, place, gain, delay and noise of each measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.records.record import EXCITATIONS, QUANTITIES, Channel, Record

if TYPE_CHECKING:
    from vibrid.structures.base import Structure
    from vibrid.structures.model import Model

MEASURABLE = tuple(q for q in QUANTITIES if q not in EXCITATIONS and not q.startswith("ground") and q != "other")


class Sensor(Parameterised):
    """One sensor: `reading(t) = gain · quantity(t − delay) + offset + noise`.

    `place` is the structure's name for it (a floor number, a node and direction, a part). `noise` is the standard
    deviation of the reading in its unit; NaN means unknown, to be estimated from the data. `offset` is in the unit of
    the reading.
    """

    quantity: str = eqx.field(static=True)
    place: str = eqx.field(static=True, converter=str)
    gain: Parameter = parameter("reading / true value", "", default=1.0)
    delay: Parameter = parameter("delay of the reading", "s", default=0.0)
    noise: Parameter = parameter("standard deviation of the noise", "", positive=True, zero=True, default=np.nan)
    name: str = eqx.field(static=True, default="")
    offset: Parameter = parameter("constant added to the reading", "", default=0.0)

    def __check_init__(self) -> None:
        if not isinstance(self.quantity, str) or self.quantity not in MEASURABLE:
            raise unknown_name("measurable quantity", self.quantity, MEASURABLE)

    @property
    def label(self) -> str:
        return self.name or f"{self.quantity}_{self.place}"

    @property
    def parameter_units(self) -> dict[str, str]:
        """Units that depend on the measured quantity."""
        return dict.fromkeys(("noise", "offset"), QUANTITIES[self.quantity])


class Sensors(tuple):
    """The sensors of a test, in the order of their readings.

    `Sensors(acceleration=[0, 1], displacement=["roof"])` lists places by quantity; `Sensors([Sensor(…), …])` takes
    sensors with gains, delays and noise of their own.
    """

    def __new__(cls, sensors: Iterable[Sensor] = (), **by_quantity: Any) -> Self:
        entries = list(as_entries(sensors, "sensors"))
        for sensor in entries:
            if not isinstance(sensor, Sensor):
                raise InputError(f"A sensor is written Sensor(quantity, place), not {sensor!r}.")
        for quantity, places in by_quantity.items():
            if isinstance(places, str | int):
                places = [places]
            entries += [Sensor(quantity, place) for place in as_entries(places, "places")]
        labels = [s.label for s in entries]
        if not entries:
            raise InputError("A test needs at least one sensor: Sensors(acceleration=[0, 1, 2]).")
        if len(set(labels)) < len(labels):
            raise InputError(f"Two sensors have the same name among {', '.join(labels)}; give one of them a name.")
        return super().__new__(cls, entries)

    @classmethod
    def of(cls, record: Record) -> Sensors:
        """The sensors that a record's channels describe: every channel with a measurable quantity and a location."""
        chosen = [c for c in record.channels if c.quantity in MEASURABLE and c.location]
        sensors = [Sensor(c.quantity, c.location, name=c.name) for c in chosen]
        if not sensors:
            raise InputError(
                f"Record '{record.name}' has no channel that states what was measured and where; "
                "give sensors=Sensors(...) or set quantity and location of its channels."
            )
        return cls(sensors)

    def noiseless(self) -> Sensors:
        """The same sensors without noise, for predictions."""
        return Sensors([Sensor(s.quantity, s.place, s.gain, s.delay, 0.0, s.name, s.offset) for s in self])

    def channels(self) -> tuple[Channel, ...]:
        """The record channels these sensors fill."""
        return tuple(Channel(s.label, s.quantity, QUANTITIES[s.quantity], s.place) for s in self)


class SensorArrays(eqx.Module):
    """Sensors compiled for one structure: `y = gain (Rd x + Rv v + Ra a + Ru u + Rf f) + offset`.

    None where nothing is read.
    """

    displacement: jax.Array | None
    velocity: jax.Array | None
    acceleration: jax.Array | None
    inputs: jax.Array
    forces: jax.Array | None
    gain: jax.Array
    offset: jax.Array

    @property
    def count(self) -> int:
        return self.gain.shape[0]


def compile_sensors(structure: Structure, model: Model, sensors: Sequence[Sensor]) -> SensorArrays:
    """The arrays that turn the motion of `model` (of `structure`) into the readings of `sensors`."""
    n, m, ny = model.size, model.load_matrix.shape[1], len(sensors)
    rows = {kind: np.zeros((ny, n)) for kind in ("displacement", "velocity", "acceleration")}
    carried: list[list[Any]] = [[0.0] * m for _ in sensors]
    apart = structure.moves_supports_apart(model.loads)
    force_rows = np.zeros((ny, sum(len(g.index) for g in model.groups)))
    traced = None
    for i, sensor in enumerate(sensors):
        q = sensor.quantity
        if apart and q != "absolute_acceleration":
            raise InputError(
                f"Sensor '{sensor.label}': where supports move differently, {q} has a part that follows the "
                "displacement of the supports, which accelerations do not give; use absolute_acceleration."
            )
        if q == "displacement":
            rows["displacement"][i] = structure.row(sensor.place)
        elif q == "rotation":
            rows["displacement"][i] = structure.rotation_row(sensor.place)
        elif q in ("velocity", "acceleration"):
            rows[q][i] = structure.row(sensor.place)
        elif q == "absolute_acceleration":
            rows["acceleration"][i] = structure.row(sensor.place)
            carried[i] = [
                structure.carried(sensor.place, direction) if quantity == "ground_acceleration" else 0.0
                for quantity, direction in model.loads
            ]
        elif q in ("drift", "drift_velocity"):
            rows["displacement" if q == "drift" else "velocity"][i] = structure.drift_row(sensor.place)
        elif q == "element_force" and sensor.place in model.part_places:
            force_rows[i, model.part_index(sensor.place)] = 1.0
        else:  # strain, or the force of a linear element: a row that may depend on parameters
            row = structure.strain_row(sensor.place) if q == "strain" else structure.force_row(sensor.place)
            traced = jnp.zeros((ny, n)) if traced is None else traced
            traced = traced.at[i].set(row)
    displacement = rows["displacement"] if traced is None else rows["displacement"] + traced
    use = {
        kind: jnp.asarray(value) if (traced is not None and kind == "displacement") or np.any(value) else None
        for kind, value in (rows | {"displacement": displacement} | {"forces": force_rows}).items()
    }
    return SensorArrays(
        displacement=use["displacement"],
        velocity=use["velocity"],
        acceleration=use["acceleration"],
        inputs=jnp.asarray(carried, float).reshape(ny, m),
        forces=use["forces"],
        gain=jnp.stack([jnp.asarray(s.gain) for s in sensors]),
        offset=jnp.stack([jnp.asarray(s.offset) for s in sensors]),
    )
