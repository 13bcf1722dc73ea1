"""CSV with a heading line; units in the headings: `time [s], roof_acc [m/s^2], force (kN)`, or in a line below them.

Cells are separated by comma, semicolon or tab, which may also end a line. Numbers have decimal points or commas, which
the whole file decides (`marks.py`); the time may be a date (`stamps.py`). Empty cells and errors of spreadsheets are
missing samples. Lines that start with # are comments; vibrid's own writer keeps quantity, location, direction and
history of every channel in one of them (`# vibrid: {...}`), so that its files are read back unchanged.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.readers import decimal_comma
from vibrid.records.readers.assemble import FileDescription, assemble, split_unit
from vibrid.records.readers.cells import is_value
from vibrid.records.readers.headings import MARK, Heading, find_heading
from vibrid.records.readers.layout import Column, Layout
from vibrid.records.readers.marks import decimal_mark
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.rows import Form, data_rows, notes_on, table
from vibrid.records.readers.source import Source
from vibrid.records.readers.stamps import StampColumn, looks_like_stamp, seconds_from
from vibrid.records.readers.time_axis import TIME_NAME
from vibrid.records.record import Record
from vibrid.records.units import is_unit, parse_unit

NAME = "CSV"


def recognises(source: Source) -> bool:
    return find_heading(source) is not None


def read(source: Source, layout: Layout) -> list[Record]:
    heading = find_heading(source)
    if heading is None:
        decimal_comma.refuse(source)
        raise source.problem("no line of headings followed by numbers was found.")
    lines = source.lines()
    description, damaged = None, False
    for _ in range(heading.last + 1):
        line = next(lines, "")
        if MARK in line:
            description = _metadata(line)
            damaged = description is None
    headings = {cell: split_unit(cell)[0] for cell in heading.cells}
    layout = replace(layout, drop=tuple(headings.get(name, name) for name in layout.drop))
    names, units = _names_and_units(source, heading, layout)
    notes = [] if heading.rows == 1 else [f"names from {heading.rows} rows of headings ({names[-1]})"]
    form = _form(source, heading, names, layout)
    data = table(source, lines, heading.last + 2, form, len(names))
    if not len(data) and description is None:
        raise source.problem("there are headings and no numbers.", heading.first + 1)
    from_file = None if description is None else _description_of(description, names)
    notes += notes_on(form)
    if form.stamps and len(data):
        data, names, units, time, note, clock = _with_seconds(source, data, names, units, form, layout)
        notes.append(note)
        from_file = FileDescription(time=time, clock=clock)
    record = assemble(
        source, data, names, units, layout, kind=NAME, unit_line=heading.last + 1, from_file=from_file, notes=notes
    )
    return [record.replace("the line that vibrid wrote about the channels is damaged") if damaged else record]


def _form(source: Source, heading: Heading, names: list[str], layout: Layout) -> Form:
    """How the cells are written, from the first rows and, where these leave it open, from all."""
    try:
        layout.check_names(names)
    except InputError as problem:
        raise source.problem(str(problem)) from None
    left_out = {i for i, name in enumerate(names) if name in layout.drop}
    form = Form(heading.delimiter, left_out=left_out, names=tuple(names))
    head = list(data_rows(form, source.head_lines, heading.last + 1))
    first = head[0][1] if head else []
    bare = [cell.strip().strip('"') for cell in first[: len(names)]]
    stamps = {i: StampColumn(names[i]) for i, c in enumerate(bare) if looks_like_stamp(c) and not is_value(c)}
    mark = "."
    if heading.delimiter != "," or any('"' in line for line in source.head_lines[heading.last + 1 :]):
        mark = decimal_mark(source, head, data_rows(form, source.lines(), heading.last + 1), layout.decimal)
    elif layout.decimal == ",":
        raise source.problem("commas stand between the columns, so that no number has a decimal comma.")
    return replace(form, mark=mark, stamps=stamps)


def _with_seconds(source: Source, data, names: list[str], units: list, form: Form, layout: Layout):
    """The table with seconds in place of its dates: numbers, names, units, the index of the time, a sentence,
    the clock."""
    clock = [i for i, name in enumerate(names) if i not in form.stamps and TIME_NAME.match(name)]
    first = next(iter(form.stamps))
    if clock and layout.time is None:
        dates = " and ".join(f"'{names[i]}'" for i in form.stamps)
        note = f"'{names[clock[0]]}' is the time; {dates} left out: dates"
        keep = [i for i in range(len(names)) if i not in form.stamps]
        return data[:, keep], [names[i] for i in keep], [units[i] for i in keep], keep.index(clock[0]), note, None
    data = data.copy()
    data[:, first], note, zero = seconds_from(source, form.stamps, layout.dates)
    keep = [i for i in range(len(names)) if i == first or i not in form.stamps]
    units = ["s" if i == first else units[i] for i in keep]
    return data[:, keep], [names[i] for i in keep], units, keep.index(first), note, zero


def _names_and_units(source: Source, found: Heading, layout: Layout) -> tuple[list[str], list[str | None]]:
    names, units = map(list, zip(*(split_unit(cell) for cell in found.cells), strict=True))
    names = [name or f"column_{i}" for i, name in enumerate(names, 1)]
    lower = [*found.units, *[""] * (len(names) - len(found.units))]
    for i, (cell, unit) in enumerate(zip(found.cells, units, strict=True)):
        if names[i] in layout.drop:
            continue
        if unit and not is_unit(unit) and (lower[i] or layout.units is not None or cell in layout.known):
            names[i], units[i] = cell, None  # `acc (roof)`: words, and the unit is said elsewhere
    for i, below in enumerate(found.units):
        if not below:
            continue
        if units[i] and parse_unit(units[i]) != parse_unit(below):
            raise source.problem(f"column '{names[i]}' is in {units[i]} and, a line below, in {below}.", found.last + 1)
        units[i] = below
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        if name in layout.drop:
            units[i] = None
            continue
        try:
            parse_unit(unit or "")
        except InputError as problem:
            words = f"if '{unit}' are words of the name, give the unit (`units`, --units; `unit` of the sensor)."
            raise source.problem(f"column '{name}': {problem} Or, {words}", found.first + 1) from None
    return names, units


def _metadata(line: str) -> dict | None:
    """The writer's own line; None when it is damaged, and then only the headings are used."""
    try:
        content = json.loads(line.removeprefix(MARK))
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    valid = isinstance(content.get("channels"), list) and isinstance(content.get("history"), list)
    return content if valid else None


def _description_of(own: dict, names: list[str]) -> FileDescription:
    """The description that vibrid wrote. Columns are found by name; a heading that was changed has none."""
    described = {c["name"]: c for c in own["channels"] if isinstance(c, dict) and isinstance(c.get("name"), str)}
    columns = [Column(), *(_column(described.get(name, {})) for name in names[1:])]
    history = [str(h) for h in own["history"]]
    strangers = [name for name in names[1:] if name not in described]
    if strangers:
        history.append(f"columns that were not written with the file: {', '.join(strangers[:8])}")
    step, start = own.get("step"), own.get("start", 0.0)
    axis = {"step": float(step), "start": float(start)} if _is_number(step) and _is_number(start) and step > 0 else {}
    time = 0 if re.fullmatch("time", names[0]) else None
    clock = UtcClock.from_dict(own.get("clock"))
    return FileDescription(columns, axis if time == 0 else None, time, history, str(own.get("name", "")), clock)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and not isinstance(value, bool) and bool(np.isfinite(value))


def _column(described: dict) -> Column:
    """Quantity, location and direction of a channel; empty for a column that was added to the file."""
    if not described:
        return Column()
    words = [str(described.get(word, "")) for word in ("quantity", "location", "direction")]
    return Column(quantity=words[0] or "other", location=words[1], direction=words[2])


@READERS.register(NAME)
class CSV(Reader):
    """CSV with a heading line; units in the headings: `time [s], force (kN)`."""

    particularity = 20

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
