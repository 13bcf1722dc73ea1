"""The experiment: the structure, its sensors, the measured excitation, and the initial state of each record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import paths
from vibrid.core.parameters import Parameter, parameter
from vibrid.records.record import QUANTITIES, Record
from vibrid.simulation.excitation import channels_of
from vibrid.simulation.initial import Initial
from vibrid.structures.base import Structure
from vibrid.structures.model import Loads
from vibrid.structures.sensors import Sensor

ROOTS = ("structure", "sensors", "initial")


class Load(eqx.Module):
    """One measured excitation, a load or a ground motion: `reading(t) = excitation(t) + offset`."""

    quantity: str = eqx.field(static=True)
    place: str = eqx.field(static=True)  # of a load; the direction of a ground motion
    offset: Parameter = parameter("constant added to the reading", "", default=0.0)

    @property
    def parameter_units(self) -> dict[str, str]:
        return {"offset": QUANTITIES[self.quantity]}


class Experiment(eqx.Module):
    """Everything that can be unknown: `structure`, `sensors[i]`, `initial[record]`, `loads[i].offset`.

    `loads` are the excitation channels of the records, in the order in which they first occur.
    """

    structure: Structure
    sensors: tuple[Sensor, ...]
    initial: tuple[Initial, ...]
    loads: tuple[Load, ...] = ()

    @staticmethod
    def full_path(path: str) -> str:
        """A path from the experiment; any other path starts at the structure."""
        tokens = paths.parse(path)
        return path if tokens[0] in ROOTS or is_load_offset(tokens) else f"structure.{path}"

    def short_path(self, path: str) -> str:
        """The same path as an engineer would write it."""
        return path.removeprefix("structure.")

    def offsets(self, inputs: Loads) -> jax.Array:
        """(m,): the offset of every input (quantity, place), zero where there is none."""
        known = {(load.quantity, load.place): load.offset for load in self.loads}
        return jnp.stack([known.get(load, jnp.zeros(())) for load in inputs])


def is_load_offset(tokens: Sequence[str | int]) -> bool:
    """Whether a path names the offset of a measured excitation; permanent loads of a structure have no offset."""
    return tokens[0] == "loads" and tokens[-1] == "offset"


def loads_in(inputs_of_records: Iterable[Loads]) -> tuple[Load, ...]:
    """The excitation channels of several records, each once."""
    return tuple(Load(*load) for load in dict.fromkeys(load for inputs in inputs_of_records for load in inputs))


def without_offsets(record: Record, experiment: Experiment) -> Record:
    """The record with the offsets of its excitation channels subtracted."""
    known = {(load.quantity, load.place): float(load.offset) for load in experiment.loads}
    if not any(known.values()):
        return record
    inputs = channels_of(experiment.structure, record)
    offsets = [known.get(inputs.get(channel.name, ("", "")), 0.0) for channel in record.channels]
    return record.replace("offsets of the excitation subtracted", data=record.data - offsets)
