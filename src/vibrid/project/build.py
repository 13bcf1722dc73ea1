"""From tables to objects: laws, structures, sensors, unknowns. Every error is noted with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import numpy as np

from vibrid.core import paths
from vibrid.core.errors import VibridError
from vibrid.identification.experiment import Experiment, Load
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.unknowns import Unknown, compile_unknowns
from vibrid.laws.base import Law, check_law
from vibrid.project.maker import MOST_PARTS
from vibrid.project.problems import Keys, Mistake
from vibrid.project.quantities import in_si
from vibrid.project.section import Section
from vibrid.project.sections import ExcitationTable, InitialTable, SensorTable, UnknownLoadTable, UnknownTable
from vibrid.records.record import QUANTITIES
from vibrid.simulation.initial import Initial, as_initial
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.sensors import Sensor, Sensors, compile_sensors

_NAMES = ("law", "kind", "name", "count")


_UNUSABLE = (TypeError, ValueError, LookupError, ArithmeticError, MemoryError, RecursionError)
"""Errors of the libraries below on values that no check refuses before."""


class Notes:
    """Collects errors, so that all of them are reported at once."""

    def __init__(self):
        self.problems: list[Mistake] = []

    def add(self, keys: Keys, message: str) -> None:
        self.problems.append(Mistake(keys, message))

    @contextmanager
    def at(self, *keys: str | int) -> Iterator[None]:
        """An error inside the block is noted at these keys."""
        try:
            yield
        except VibridError as problem:
            self.add(keys, str(problem))
        except _UNUSABLE as problem:
            self.add(keys, f"these values cannot be used ({type(problem).__name__}: {str(problem)[:200]}).")


def make(table: Section, keys: Keys, notes: Notes) -> Any:
    """The object that a table describes, or None when it cannot be made; the reasons are in the notes."""
    before = len(notes.problems)
    given = {
        name: _value(getattr(table, name), (*keys, name), notes)
        for name in type(table).model_fields
        if name in table.model_fields_set and not (name in _NAMES and not _is_field(table, name))
    }
    if len(notes.problems) > before:
        return None
    try:
        thing = type(table).target(**given)
        if isinstance(thing, Law):
            check_law(thing)
        return thing
    except VibridError as problem:
        notes.add(keys, str(problem))
    except _UNUSABLE as problem:
        notes.add(keys, f"{table.words} cannot be made from these values ({problem}).")
    return None


def _is_field(table: Section, name: str) -> bool:
    """Whether a name is a field of the target class, and not a key of the project file alone."""
    return name in getattr(table.target, "__dataclass_fields__", {})


def _value(value, keys: Keys, notes: Notes):
    if isinstance(value, Section):
        if not _is_field(value, "count") and getattr(value, "count", 1) != 1:
            notes.add((*keys, "count"), "one is expected here, so it cannot be repeated.")
        return make(value, keys, notes)
    if isinstance(value, list):
        if not any(isinstance(v, Section) for v in value):
            return value
        counts = [1 if _is_field(v, "count") else v.count for v in value]
        if sum(counts) > MOST_PARTS:
            notes.add(keys, f"a list may have {MOST_PARTS} parts, not {sum(counts)}.")
            return None
        parts = [make(v, (*keys, i), notes) for i, v in enumerate(value)]
        return tuple(part for part, count in zip(parts, counts, strict=True) for _ in range(count))
    if isinstance(value, dict):
        return {k: _value(v, (*keys, k), notes) for k, v in value.items()}
    return value


def make_sensors(
    tables: list[SensorTable], structure: Structure, notes: Notes
) -> tuple[Sensors | None, dict[str, str]]:
    """The sensors, each checked against the structure, and the unit of each channel in files."""
    sensors: list[Sensor] = []
    tables_of: list[int] = []
    units: dict[str, str] = {}
    for i, table in enumerate(tables):
        noise = np.nan if table.noise is None else table.noise
        if table.channel and len(table.place) > 1:
            notes.add(("sensors", i, "channel"), "one channel cannot have several places; write one table for each.")
        for place in table.place:
            given = table.channel if len(table.place) == 1 else ""
            channel = given or re.sub(r"[^\w.=-]+", "_", f"{table.quantity}_{place}").strip("_")
            sensor = Sensor(table.quantity, place, table.gain, table.delay, noise, channel, table.offset)
            sensors.append(sensor)
            tables_of.append(i)
            if table.unit:
                units[sensor.label] = table.unit

    def check(whole, model):
        for i, sensor in zip(tables_of, sensors, strict=True):
            with notes.at("sensors", i, "place"):
                compile_sensors(whole, model, (sensor,))

    if sensors:
        with notes.at("sensors", tables_of[0], "place"):
            _traced(structure, check)  # all at once: the model of a large frame takes a second
    with notes.at("sensors"):
        return (Sensors(sensors) if sensors else None), units
    return None, units


def _traced(structure: Structure, function):
    """The shapes of `function(structure, model)`: checked without computing."""
    loads = structure.inputs if isinstance(structure, ImposedTest) else ()
    return eqx.filter_eval_shape(lambda whole: function(whole, whole.model(loads)), structure)


def _size(structure: Structure) -> int:
    """Degrees of freedom."""
    return _traced(structure, lambda whole, model: model.mass).shape[-1]


def make_initial(tables: list[InitialTable], structure: Structure, notes: Notes) -> tuple[Initial, ...]:
    """The initial state of each record."""
    states = []
    for i, table in enumerate(tables):
        given = {}
        for name, unit in (("displacement", "m"), ("velocity", "m/s")):
            value = getattr(table, name)
            with notes.at("initial", i, name):
                if isinstance(value, dict):
                    given[name] = {place: in_si(number, unit) for place, number in value.items()}
                elif value is not None:
                    given[name] = [in_si(number, unit) for number in value]
                if name in given:
                    as_initial({name: given[name]}, structure, _size(structure))
        if not given:
            notes.add(("initial", i), "give a displacement or a velocity; a structure is at rest without this table.")
        if not notes.problems:
            states.append(as_initial(given, structure, _size(structure)))
    return tuple(states)


def _stand_in(
    tables: list[UnknownTable], structure: Structure, sensors, excitation: ExcitationTable | None
) -> Experiment:
    """An experiment with as many records and excitation channels as the unknowns name: neither is read yet."""
    most = {"initial": 0, "loads": 0}
    for table in tables:
        for path in [table.path] if isinstance(table.path, str) else table.path:
            for root, index in re.findall(r"^(initial|loads)\[(\d+)\]", path):
                most[root] = max(most[root], min(int(index), MOST_PARTS))
    rest = Initial.rest(_size(structure))
    inputs = [] if excitation is None else [(c.quantity, c.place) for c in excitation.channels]
    if not inputs:
        quantity = "ground_acceleration" if excitation is None else excitation.quantity
        inputs = [(quantity, "")] * (most["loads"] + 1)
    return Experiment(
        structure, tuple(sensors or ()), (rest,) * (most["initial"] + 1), tuple(Load(*given) for given in inputs)
    )


def make_unknowns(
    tables: list[UnknownTable],
    structure: Structure,
    sensors: Sensors | None,
    notes: Notes,
    excitation: ExcitationTable | None = None,
    left_out: Collection[str] = (),
    numbers_known: bool = True,
):
    """The unknowns, each checked against the experiment; those of tables that were `left_out` are not judged, and no
    first guess where the numbers of the structure are not known."""
    if not tables:
        return ()
    experiment = _stand_in(tables, structure, sensors, excitation)
    unknowns = []
    first = len(notes.problems)
    for i, table in enumerate(tables):
        before = len(notes.problems)
        values = {}
        unit = None
        given = [table.path] if isinstance(table.path, str) else table.path
        if any(re.match(rf"{root}\b", path) for root in left_out for path in given):
            continue
        with notes.at("unknown", i, "path"):
            places = [p for path in given for p in paths.expand(experiment, experiment.full_path(path))]
            unit = paths.info(experiment, places[0]).unit
        for name in ("bounds", "prior", "start", "scale"):
            value = getattr(table, name)
            with notes.at("unknown", i, name):
                if isinstance(value, tuple | list):
                    values[name] = tuple(in_si(v, unit) for v in value)
                elif value is not None:
                    values[name] = in_si(value, unit)
        if len(notes.problems) > before:
            continue
        path = table.path if isinstance(table.path, str) else tuple(table.path)
        unknown = Unknown(path, tied=table.tied, name=table.name, **values)
        if numbers_known:
            with notes.at("unknown", i):
                compile_unknowns(experiment, [unknown])
        unknowns.append(unknown)
    if numbers_known and len(unknowns) == len(tables) and len(notes.problems) == first:
        with notes.at("unknown"):
            compile_unknowns(experiment, unknowns)
    return tuple(unknowns)


def make_unknown_loads(tables: list[UnknownLoadTable], structure: Structure, notes: Notes) -> tuple[UnknownLoad, ...]:
    """The loads to be identified, each at a place that exists."""
    loads = []
    for i, table in enumerate(tables):
        with notes.at("unknown_loads", i):
            load = UnknownLoad(
                table.place, deviation=table.deviation, quantity=table.quantity, speed=table.speed, enters=table.enters
            )
            if load.quantity == "load":
                _ = load.inputs(structure) if load.moves else structure.row(str(load.at))
            loads.append(load)
    return tuple(loads)


def check_excitation(table: ExcitationTable, structure: Structure | None, notes: Notes) -> None:
    """At most one source, loads at places that exist, ground motions in directions of the structure.

    Places and directions are not judged without a structure.
    """
    sources = [name for name in ("file", "synthetic", "cyclic", "free") if getattr(table, name)]
    if len(sources) > 1:
        notes.add(("excitation",), f"{' and '.join(sources)} are given; an excitation has one source.")
    if not sources and not table.channels:
        notes.add(
            ("excitation",),
            "give a file, a synthetic motion, a cyclic protocol, a free vibration, or channels of measured files.",
        )
    for key in ("quantity", "place"):
        if table.cyclic is None and key in table.model_fields_set:
            notes.add(("excitation", key), "it describes a cyclic protocol; describe columns of files in channels.")
    directions = [(("excitation", "channels", i, "direction"), c.direction) for i, c in enumerate(table.channels)]
    for keys, direction in (*directions, (("excitation", "direction"), table.direction)):
        if direction and structure is not None:
            with notes.at(*keys):
                structure.ground_axis(direction)
    driven: list[tuple[Keys, str, str]] = [
        (("excitation", "channels", i, "place"), c.quantity, c.place) for i, c in enumerate(table.channels)
    ]
    if table.cyclic is not None:
        driven.append((("excitation", "place"), table.quantity, table.place))
        for i, amplitude in enumerate(table.cyclic.amplitudes):
            with notes.at("excitation", "cyclic", "amplitudes", i):
                in_si(amplitude, QUANTITIES[table.quantity])
    for keys, quantity, place in driven:
        if quantity == "load" and structure is not None:
            with notes.at(*keys):
                structure.row(place)
