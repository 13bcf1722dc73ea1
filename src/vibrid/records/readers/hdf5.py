"""HDF5 and netCDF-4: vibrid's own records exactly, and any other file whose arrays can be distinguished.

vibrid writes each channel as one array with the attributes `units`, `quantity`, `location` and `direction`, on a
dimension scale `time`, and marks the file with `vibrid_record`. Other files are searched for arrays of real numbers.
Links to other files, arrays of objects and arrays far larger than the file are refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vibrid.core.errors import InputError, newer_format
from vibrid.records.clock import UtcClock, as_utc, clock_of_text
from vibrid.records.readers.assemble import FileDescription, assemble
from vibrid.records.readers.isolated import Hdf5Array, read_hdf5
from vibrid.records.readers.layout import Column, Layout
from vibrid.records.readers.packed import unit_and_epoch, unpacked
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Record
from vibrid.records.writers import RECORD_FORMAT

NAME = "HDF5"
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def recognises(source: Source) -> bool:
    return source.head.startswith(SIGNATURE)


def read(source: Source, layout: Layout) -> list[Record]:
    attributes, arrays = read_hdf5(source)
    try:
        arrays = [replace(a, values=unpacked(a)) for a in arrays]
    except InputError as problem:
        raise source.problem(str(problem)) from None
    if "vibrid" in attributes:
        raise source.problem(
            "this is a result of `vibrid identify --save`, not a record; use it with `vibrid predict`, or in Python "
            "with vibrid.load_identification."
        )
    if "vibrid_record" in attributes:
        format = attributes["vibrid_record"]
        if isinstance(format, int | float) and format > RECORD_FORMAT:
            raise newer_format(source.path, "record", int(format), f"format {RECORD_FORMAT}")
        return [_own(source, attributes, {a.name: a for a in arrays}, layout)]
    units, epochs = {}, []
    for array in arrays:
        unit, epoch = _unit(array)
        if unit:
            units[array.name] = unit
        if epoch:
            epochs.append(f"'{array.name[:60]}' counts from {epoch[:60]}")
    records = from_variables(source, {a.name: a.values for a in arrays}, layout, NAME, units)
    clock = _epoch_of([array for array in arrays if _unit(array)[1]])
    return [record.replace("; ".join(epochs[:4]), clock=clock) if epochs else record for record in records]


def _epoch_of(counting: list[Hdf5Array]) -> UtcClock | None:
    """The clock of a file in which one array counts from a date; without a zone that is UTC (CF conventions, 4.4)."""
    if len(counting) != 1:
        return None
    text = _unit(counting[0])[1]
    for ending in ("", "Z"):
        try:
            return UtcClock(as_utc(text + ending), "date that the file counts from")
        except InputError:
            continue
    return None


def _unit(array: Hdf5Array) -> tuple[str, str]:
    """The unit that a file states for an array, and the date that it counts from; empty where there is none."""
    text = array.attributes.get("units", array.attributes.get("unit"))
    return unit_and_epoch(text) if isinstance(text, str) else ("", "")


def _own(source: Source, attributes: dict, arrays: dict[str, Hdf5Array], layout: Layout) -> Record:
    """A record that vibrid wrote, unchanged except for what the layout overrides."""
    names, keys = attributes.get("vibrid_channels"), attributes.get("vibrid_variables")
    history = attributes.get("vibrid_history", [])
    incomplete = source.problem("it is marked as a record of vibrid and some of it is missing.")
    if not (isinstance(names, list) and isinstance(keys, list) and isinstance(history, list)):
        raise incomplete
    if not names or len(names) != len(keys) or any(key not in arrays for key in keys):
        raise incomplete
    columns = [arrays[key].values for key in keys]
    if any(c.ndim != 1 or c.shape != columns[0].shape for c in columns):
        raise source.problem("its channels do not have equal lengths.")
    columns_described, units = [], []
    for key in keys:
        words = arrays[key].attributes
        quantity, unit, location, direction = (
            words.get(k, "") if isinstance(words.get(k, ""), str) else ""
            for k in ("quantity", "units", "location", "direction")
        )
        columns_described.append(Column(quantity=quantity or "other", location=location, direction=direction))
        units.append(unit or None)
    step, start = attributes.get("vibrid_step"), attributes.get("vibrid_start", 0.0)
    stated = isinstance(step, float) and isinstance(start, float) and np.isfinite([step, start]).all()
    axis, time = {"step": step, "start": start} if stated else {}, None
    if "time" in arrays and arrays["time"].values.shape == columns[0].shape:  # another program may have changed it
        columns, names, time = [arrays["time"].values, *columns], ["time", *names], 0
        columns_described, units = [Column(), *columns_described], [_unit(arrays["time"])[0] or "s", *units]
    elif not stated:
        raise source.problem("its sampling step is missing.")
    title = attributes.get("title", "")
    from_file = FileDescription(columns_described, axis, time, history, title if isinstance(title, str) else "")
    from_file = replace(from_file, clock=clock_of_text(attributes.get("vibrid_clock")))
    return assemble(
        source, np.column_stack(columns).astype(float), names, units, layout, kind=NAME, from_file=from_file
    )


@READERS.register(NAME)
class HDF5(Reader):
    """HDF5 and netCDF-4: vibrid's own records exactly, and any other file whose arrays can be distinguished."""

    particularity = 120

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
