"""From named columns of raw numbers to a record: the time axis found, units converted, quantities named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.channel import fits
from vibrid.records.clock import UtcClock
from vibrid.records.components import component_in
from vibrid.records.readers import fillers
from vibrid.records.readers.layout import Column, Layout, override
from vibrid.records.readers.scan import in_brackets
from vibrid.records.readers.source import Source
from vibrid.records.readers.time_axis import TIME_NAME, find_axis, find_time, refuse_days
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.records.units import Unit, from_si, guess_quantity, parse_unit

READ, DOUBT = "as read: ", "check: "
"""Beginnings of lines of a history: what was decided when a file was read, and what may be wrong with it."""

Named = TypeVar("Named", Column, Channel)


def split_unit(header: str) -> tuple[str, str | None]:
    """Name and unit of a heading such as `roof_acc [m/s^2]` or `force (kN)`; unit None when there is none."""
    text = header.strip().strip('"').strip()
    parts = in_brackets(text)
    return parts if parts is not None and parts[0] else (text, None)


@dataclass(frozen=True)
class FileDescription:
    """The description of a record in a file, besides names, units and numbers.

    columns: quantity, location and direction of each column; axis: its sampling; time: the index of its time column,
    None where it has none; history: of the record, where the file keeps it; name: of the record; clock: the instant at
    which its time column is 0.
    """

    columns: Sequence[Column] | None = None
    axis: Mapping[str, object] | None = None
    time: int | None = None
    history: Sequence[str] | None = None
    name: str | None = None
    clock: UtcClock | None = None


def assemble(
    source: Source,
    data: np.ndarray,
    names: Sequence[str],
    units: Sequence[str | None],
    layout: Layout,
    *,
    kind: str,
    step: float | None = None,
    named: bool = True,
    unit_line: int | None = None,
    from_file: FileDescription | None = None,
    notes: Sequence[str] = (),
) -> Record:
    """One record from columns of raw numbers; the caller or a sidecar overrides the file.

    data: (samples, columns) as the file has them; names, units: as the file gives them (unit None: not stated);
    kind: the format, for the history; step: seconds between samples where the file states it; named: whether the names
    come from the file (an unnamed first column is taken as time only when it looks like time); unit_line: the line of
    the units, for messages; from_file: the file's description of the record; notes: what was decided when it was read.
    """
    if data.ndim != 2 or (data.shape[0] < 1 and from_file is None) or data.shape[1] < 1:
        raise source.problem("it holds no numbers.")
    from_file, notes = from_file or FileDescription(), list(notes)
    axis = {"step": step} if from_file.axis is None and step is not None else from_file.axis
    try:
        time_column = from_file.time
        if time_column is None or layout.time not in (None, names[time_column], time_column + 1):
            time_column = find_time(source, data, names, units, layout, axis, named)
            if named and time_column is not None and layout.time is None and not TIME_NAME.match(names[time_column]):
                notes.append(f"'{names[time_column]}' is the time, by its unit")
        keep = [i for i in range(data.shape[1]) if i != time_column]
        clock = Column(unit=units[time_column]) if time_column is not None else Column()
        if layout.columns is not None and len(layout.columns) == data.shape[1] and time_column is not None:
            clock = override(clock, layout.columns[time_column], "the file", "its description")
            layout = replace(layout, columns=tuple(layout.columns[i] for i in keep))
        if time_column is not None and isinstance(layout.units, Mapping):
            given = Column(names[time_column], layout.units.get(names[time_column]))
            clock = override(clock, given, "the file", "its description")
        read = [place for place, i in enumerate(keep) if names[i] not in layout.drop]
        if layout.columns is not None and len(layout.columns) == len(keep):
            layout = replace(layout, columns=tuple(layout.columns[place] for place in read))
        keep = [keep[place] for place in read]
        if not keep:
            raise source.problem("it holds a time axis and nothing else, or every other column is left out.")
        if layout.columns is not None and len(layout.columns) != len(keep):
            raise source.problem(
                f"it has {len(keep)} columns of data and {len(layout.columns)} are described; describe each one."
            )
        layout.check_names(names)
        stated = [
            replace(from_file.columns[i] if from_file.columns else Column(), name=names[i], unit=units[i]) for i in keep
        ]
        stated = numbered(stated)
        raw, columns, channels, unstated, changed = [], [], [], [], []
        for position, (i, column) in enumerate(zip(keep, stated, strict=True)):
            known = layout.column(position, column, len(keep))
            if known.skip:
                continue
            channel, unit = _channel(source, known, unit_line)
            channels.append(channel)
            raw.append(data[:, i])
            columns.append((known.gain, unit))
            if known.unit is None:
                unstated.append(channel.name)
            if known != column:
                changed.append(channel.name)
        if not channels:
            raise source.problem("every column is marked `skip`.")
        time = None if time_column is None else data[:, time_column] * _seconds(names[time_column], clock.unit)
        if time_column is not None and time is not None and axis is None:
            refuse_days(source, names[time_column], clock.unit, data[:, time_column])
        sampling = find_axis(source, time, axis, layout.step)
    except InputError as problem:
        raise source.problem(str(problem), unit_line) from None
    stacked, dropped = fillers.without(np.column_stack(raw), layout.missing)
    doubts = {} if layout.missing is not None or from_file.history is not None else fillers.suspects(stacked)
    stacked = np.column_stack([unit.to_si(stacked[:, i] * gain) for i, (gain, unit) in enumerate(columns)])
    if dropped:
        notes.append(f"{dropped} samples were {' or '.join(f'{n:.15g}' for n in layout.missing or ())}: missing")
    if layout.drop:
        notes.append(f"left out: {_listed(layout.drop)}")
    told = [f"{READ}{'; '.join(notes)}"] if notes else []
    told += [f"{DOUBT}{fillers.told(channels[i].name, *doubt)}" for i, doubt in doubts.items()]
    places = sampling.pop("places", None)
    gaps = [] if places is None else [_gaps(places, sampling)]
    if places is not None:
        rows, stacked = stacked, np.full((int(places[-1]) + 1, stacked.shape[1]), np.nan)
        stacked[places] = rows
    if from_file.history is None:
        history = [f"read from {source.name} ({kind})"]
        missing = int(np.isnan(stacked).sum())
        if unstated:
            history.append(f"the unit is not stated for {_listed(unstated)}")
        if missing:
            history.append(f"{missing} samples are missing (NaN)")
    else:
        history = [
            *from_file.history,
            *([f"description changed when it was read: {_listed(changed)}"] if changed else []),
        ]
    name = layout.name or (stem(source) if from_file.name is None else from_file.name)
    if time_column == from_file.time:
        sampling["clock"] = from_file.clock
    return build(source, stacked, channels, sampling, name, [*history, *told, *gaps])


def _gaps(places: np.ndarray, sampling: Mapping) -> str:
    """The line of the history about rows that an even time column leaves out."""
    counts = np.diff(places) - 1
    first = sampling["start"] + sampling["step"] * float(places[int(np.argmax(counts > 0))])
    return (
        f"the time column leaves out {int(counts.sum())} of {int(places[-1]) + 1} even steps of {sampling['step']:g} s"
        f", first after {first:g} s: NaN there"
    )


def described_anew(
    source: Source, records: Sequence[Record], layout: Layout, units: Sequence[Sequence[str]] | None = None
) -> list[Record]:
    """Records of a format that describes itself, overridden by the caller or a sidecar.

    units: of the numbers in the file, for every channel of every record, so that another unit is refused; SI when not
    given. The readers make the names of the records.
    """
    if replace(layout, name=None) == Layout():
        return list(records)
    units = units or [[c.unit for c in r.channels] for r in records]
    try:
        layout.check_names([name for r in records for name in r.names])
    except InputError as problem:
        raise source.problem(str(problem)) from None
    return [_described_anew(source, r, layout, stated) for r, stated in zip(records, units, strict=True)]


def _described_anew(source: Source, record: Record, layout: Layout, units: Sequence[str]) -> Record:
    columns = [Column(quantity=c.quantity, location=str(c.location), direction=c.direction) for c in record.channels]
    axis = {"times": record.times} if record.step is None else {"step": record.step, "start": record.start}
    from_file = FileDescription(columns, axis, None, record.history, record.name, record.clock)
    raw = np.column_stack([from_si(column, unit) for column, unit in zip(record.data.T, units, strict=True)])
    stated = [u or None for u in units]
    return assemble(source, raw, record.names, stated, layout.within(record.names), kind="", from_file=from_file)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:8])}{' ...' if len(names) > 8 else ''}"


def numbered(columns: Sequence[Named]) -> list[Named]:
    """The columns, or channels, with repeated names numbered: acc, acc_2, acc_3."""
    seen: set[str] = set()
    following: dict[str, int] = {}
    result = []
    for column in columns:
        name, count = column.name, following.get(column.name, 2)
        while name in seen:
            name, count = f"{column.name}_{count}", count + 1
        following[column.name] = count
        seen.add(name)
        result.append(replace(column, name=name))
    return result


def build(
    source: Source, data: np.ndarray, channels: Sequence[Channel], axis: dict, name: str, history: Iterable[str]
) -> Record:
    """The record itself, infinite numbers and repeated names refused with a message about the file."""
    if np.isinf(data).any():
        row = int(np.argwhere(np.isinf(data))[0][0])
        raise source.problem(f"sample {row + 1} is infinite; a missing sample is written NaN.")
    if len(channels) * len(data) > source.limits.numbers:
        raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
    part: object = data
    while isinstance(part, np.ndarray):  # it belongs to the record from now on, which need not copy it
        part.flags.writeable = False
        part = part.base
    try:
        return Record(data, tuple(numbered(channels)), name=name, history=tuple(history), **axis)
    except InputError as problem:
        raise source.problem(str(problem)) from None


def stem(source: Source) -> str:
    name = source.name
    return name.rsplit(".", 1)[0] if "." in name[1:] else name


def _channel(source: Source, known: Column, line: int | None) -> tuple[Channel, Unit]:
    """The channel of a column and the unit of its numbers; a component in its name is its direction."""
    try:
        unit = parse_unit(known.unit or "")
    except InputError as problem:
        raise InputError(f"column '{known.name}': {problem}") from None
    symbol = unit.symbol
    quantity = known.quantity or guess_quantity(known.name, known.unit or "")
    if quantity in QUANTITIES:
        if known.unit is None:
            symbol = QUANTITIES[quantity]
        elif not fits(quantity, symbol):
            raise source.problem(
                f"column '{known.name}' is a {quantity} and cannot be measured in '{known.unit}'.", line
            )
    direction = known.direction
    if direction is None:
        direction = component_in(known.name) if quantity.startswith("ground") else ""
    return Channel(known.name, quantity, symbol, known.location, direction), unit


def _seconds(name: str, unit: str | None) -> float:
    """Factor of a time column to seconds."""
    known = parse_unit(unit or "s")
    if known.kind != "time":
        raise InputError(f"the time column '{name}' is in '{unit}', which is no unit of time; write s, ms or min.")
    return known.factor
