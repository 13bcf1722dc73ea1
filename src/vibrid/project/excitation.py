"""What drives a project's structure, and how its measured files are read."""

from __future__ import annotations

import inspect

import numpy as np

from vibrid.core.errors import FileProblem, InputError
from vibrid.project.quantities import in_si
from vibrid.project.sections import CyclicTable, ExcitationTable, InputTable
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.readers import read_record
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.simulation.excitation import free_vibration

MOST_SAMPLES = 5_000_000
"""The most samples of a made-up excitation."""


def make_excitation(project) -> Record:
    """The record that drives a simulation of the project."""
    table: ExcitationTable | None = project.excitation_table
    if table is None or not (table.file or table.synthetic or table.cyclic or table.free):
        raise FileProblem(
            project.path,
            "nothing drives the structure: give [excitation] a file, a synthetic motion, a cyclic protocol, or a free "
            "vibration from an [[initial]] state.",
        )
    if table.free is not None:
        _bounded(table.free.duration * table.free.rate)
        made = free_vibration(table.free.duration, table.free.rate)
    elif table.synthetic is not None:
        made = _synthetic(table)
    elif table.cyclic is not None:
        made = cyclic(table.cyclic, table.quantity, table.place, table.direction)
    else:
        made = _read(project.beside(table.file), table, table.channels)
    made = _shape(made, table)
    return made if table.scale == 1.0 else made.scale(table.scale)


def read_measured(project, path) -> Record:
    """A measured file with the names, quantities, places and units that the project gives to its columns."""
    inputs = _inputs(project.excitation_table)
    sensors = project.sensors or ()
    units = dict(project.units) | {c.column: c.unit for c in inputs if c.unit}
    quantities = {s.label: s.quantity for s in sensors} | {c.column: c.quantity for c in inputs}
    table = project.records_table
    record = read_record(path, format=table.format, rate=table.rate, units=units, quantities=quantities)
    places = {s.label: {"location": s.place} for s in sensors if s.label in record.names}
    record = record.relabel(places) if places else record
    return _shape(_driven(record, inputs), table)


def _inputs(table: ExcitationTable | None) -> list[InputTable]:
    """The columns that drive: those described, or the one that a cyclic protocol writes under its quantity's name."""
    if table is None or table.channels or table.cyclic is None:
        return [] if table is None else table.channels
    return [InputTable(column=table.quantity, quantity=table.quantity, place=table.place, direction=table.direction)]


def _read(path, table: ExcitationTable, inputs: list[InputTable]) -> Record:
    units = {c.column: c.unit for c in inputs if c.unit}
    quantities = {c.column: c.quantity for c in inputs}
    record = read_record(path, format=table.format, rate=table.rate, units=units or None, quantities=quantities or None)
    return _driven(record.select([c.column for c in inputs]), inputs) if inputs else record


def _driven(record: Record, inputs: list[InputTable]) -> Record:
    """The record with the places and directions of its excitation channels."""
    places = {c.column: {"location": c.place, "direction": c.direction} for c in inputs if c.column in record.names}
    return record.relabel(places) if places else record


def _shape(record: Record, table) -> Record:
    if table.start is not None or table.end is not None:
        record = record.cut(table.start, table.end)
    return record if table.resample is None else record.resample(table.resample)


def _synthetic(table: ExcitationTable) -> Record:
    given = table.synthetic.model_dump()
    known = inspect.signature(synthetic_motion).parameters
    _bounded(given["duration"] * given["rate"])
    made = synthetic_motion(given.pop("seed"), **{k: v for k, v in given.items() if k in known})
    return made.relabel({made.names[0]: {"direction": table.direction}}) if table.direction else made


def cyclic(table: CyclicTable, quantity: str, place: str = "", direction: str = "") -> Record:
    """Blocks of sine cycles in the unit of `quantity`, ending where they began."""
    unit = QUANTITIES[quantity]
    amplitudes = [in_si(a, unit) for a in table.amplitudes]
    seconds = table.cycles * len(amplitudes) / table.frequency
    _bounded(seconds * table.rate)
    time = np.arange(round(seconds * table.rate) + 1) / table.rate
    block = np.minimum((time * table.frequency / table.cycles).astype(int), len(amplitudes) - 1)
    values = np.asarray(amplitudes)[block] * np.sin(2 * np.pi * table.frequency * time)
    name = f"cyclic {quantity.replace('_', ' ')}"
    note = f"{name}: {table.cycles} cycles at {table.frequency:g} Hz of each amplitude {amplitudes} {unit}"
    channel = Channel(quantity, quantity, location=place, direction=direction)
    return Record(values, [channel], step=1.0 / table.rate, name=name, history=(note,))


def _bounded(samples: float) -> None:
    if not 2 <= samples <= MOST_SAMPLES:
        raise InputError(f"An excitation has between 2 and {MOST_SAMPLES} samples; duration × rate is {samples:.0f}.")
