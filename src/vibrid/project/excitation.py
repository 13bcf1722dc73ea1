"""The excitation of a project's structure, and the reading of its measured files."""

from __future__ import annotations

import inspect

import numpy as np

from vibrid.core.errors import FileProblem, InputError, nearest
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.project.names import as_named, with_units_apart
from vibrid.project.quantities import in_si
from vibrid.project.sections import (
    CyclicTable,
    ExcitationTable,
    InputTable,
    ReadingTable,
    RecordsTable,
    SyntheticTable,
)
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.readers import Column, read_described
from vibrid.records.readers.assemble import DOUBT
from vibrid.records.record import EXCITATIONS, QUANTITIES, Channel, Record
from vibrid.records.units import unit_factor
from vibrid.simulation.excitation import free_vibration

MOST_SAMPLES = 5_000_000
"""The most samples of a synthetic excitation."""


def make_excitation(project) -> Record:
    """The record that drives a simulation of the project."""
    table: ExcitationTable | None = project.excitation_table
    if table is None or not (table.file or table.synthetic or table.cyclic or table.free):
        raise FileProblem(
            project.path,
            "there is no excitation: give [excitation] a file, a synthetic motion, a cyclic protocol, or a free "
            "vibration from an [[initial]] state.",
        )
    if table.free is not None:
        _bounded(table.free.duration * table.free.rate)
        record = free_vibration(table.free.duration, table.free.rate)
    elif table.synthetic is not None:
        record = _synthetic(table.synthetic, table.direction)
    elif table.cyclic is not None:
        record = cyclic(table.cyclic, table.quantity, table.place, table.direction)
    else:
        record = _read(project.beside(table.file), table)
    record = table.preparation()(record)
    return record if table.scale == 1.0 else record.scale(table.scale)


def read_measured(project, path, start: float | None = None, end: float | None = None) -> Record:
    """A measured file as `read_unprepared` gives it, prepared as the project says."""
    return project.records_table.preparation(start, end)(read_unprepared(project, path))


def read_unprepared(project, path) -> Record:
    """A measured file, its columns described by the file and, key by key, by the project, which takes precedence."""
    table: RecordsTable = project.records_table
    inputs, sensors = _inputs(project.excitation_table), project.sensors or ()
    known = {s.label: Column(unit=project.units.get(s.label), quantity=s.quantity, location=s.place) for s in sensors}
    known |= _known(inputs)
    record = as_named(_undoubted(path, read_described(path, with_units_apart(known), **table.reading), table), known)
    if project.excitation_table is not None and project.excitation_table.channels:
        sought = {u.at for u in project.unknown if isinstance(u, UnknownLoad)}
        record = _driven(path, record, [c for c in inputs if c.column in record.names or c.place not in sought])
    return record


def _undoubted(path, record: Record, table: ReadingTable) -> Record:
    """The record, refused where numbers look like fillers and the project does not say whether they are."""
    doubts = [line.removeprefix(DOUBT) for line in record.history if line.startswith(DOUBT)]
    if doubts and table.missing is None:
        raise FileProblem(path, f"{doubts[0]}.")
    return record


def _inputs(table: ExcitationTable | None) -> list[InputTable]:
    """The excitation columns: those described, or the column of a cyclic protocol, named after its quantity."""
    if table is None or table.channels or table.cyclic is None:
        return [] if table is None else table.channels
    return [InputTable(column=table.quantity, quantity=table.quantity, place=table.place, direction=table.direction)]


def _known(inputs: list[InputTable]) -> dict[str, Column]:
    """The project's description of the excitation columns; a quantity that it does not give is left to the file."""
    return {
        c.column: Column(
            unit=c.unit or None,
            quantity=c.quantity if "quantity" in c.model_fields_set else None,
            location=c.place,
            direction=c.direction or None,
        )
        for c in inputs
    }


def _driven(path, record: Record, inputs: list[InputTable]) -> Record:
    """The record with the named columns, and no other, as excitation; a column that is no excitation in the file
    becomes the given quantity, by default a ground acceleration."""
    for c in inputs:
        if c.column not in record.names:
            raise FileProblem(
                path, f"there is no column '{c.column}', which [excitation] names; {nearest(c.column, record.names)}"
            )
        if record.channel(c.column).quantity not in EXCITATIONS:
            if unit_factor(record.channel(c.column).unit)[1] not in ("", QUANTITIES[c.quantity]):
                raise FileProblem(
                    path,
                    f"column '{c.column}' is in {record.channel(c.column).unit}; give its quantity under [excitation] "
                    f"channels ({', '.join(EXCITATIONS)}).",
                )
            record = record.relabel({c.column: {"quantity": c.quantity, "unit": QUANTITIES[c.quantity]}})
    return record.driven_by([c.column for c in inputs])


def _read(path, table: ExcitationTable) -> Record:
    """The excitation file, or its named channels."""
    known = _known(table.channels)
    record = as_named(_undoubted(path, read_described(path, with_units_apart(known), **table.reading), table), known)
    if table.direction:
        ground = [c.name for c in record.channels if c.quantity == "ground_acceleration"]
        if len(ground) != 1 or table.channels:
            raise FileProblem(
                path,
                f"[excitation] gives one direction, '{table.direction}', and there are {len(ground)} channels of "
                f"ground motion ({', '.join(ground)}); give each its own under [excitation] channels.",
            )
        return record.driven_by({ground[0]: table.direction})
    if not table.channels:
        return record
    return _driven(path, record, table.channels).select([c.column for c in table.channels])


def _synthetic(table: SyntheticTable, direction: str) -> Record:
    given = table.model_dump()
    known = inspect.signature(synthetic_motion).parameters
    _bounded(given["duration"] * given["rate"])
    motion = synthetic_motion(given.pop("seed"), **{k: v for k, v in given.items() if k in known})
    return motion.relabel({motion.names[0]: {"direction": direction}}) if direction else motion


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
