"""Universal file format, dataset 58: functions at nodal degrees of freedom, ASCII (58) and binary (58b).

Structural Dynamics Research Laboratory, University of Cincinnati, "Universal File Formats". Real time histories
(function types 0 and 1) are read; spectra and frequency response functions in the same file are left out
(`vibrid.modal.read_uff` reads frequency responses).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.channel import fits
from vibrid.records.clock import UtcClock, utc_text
from vibrid.records.readers import numbers
from vibrid.records.readers.assemble import build, described_anew, stem
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source, split_lines
from vibrid.records.readers.uff_units import FileUnits, ordinate, powers_of, read_units, seconds
from vibrid.records.record import QUANTITIES, Channel, Record
from vibrid.records.units import Unit, guess_quantity

NAME = "UFF 58"
_DIRECTIONS = {1: "X+", -1: "X-", 2: "Y+", -2: "Y-", 3: "Z+", -3: "Z-"}
_QUANTITIES = {
    3: "strain",
    8: "displacement",
    9: "element_force",
    11: "velocity",
    12: "absolute_acceleration",
    13: "load",
}
_HEADER_LINES = 11

_CLOCK = re.compile(r"UTC (\S{10,40}Z)(?: \+- (\S{1,20}) s)?(?: by (.*))?")


@dataclass(frozen=True, eq=False)
class _Function:
    channel: Channel
    unit: str  # as the file states it
    values: np.ndarray
    start: float
    step: float | None
    times: np.ndarray | None
    note: str
    clock: UtcClock | None = None


def recognises(source: Source) -> bool:
    lines = [line.split() for line in source.head[:2000].split(b"\n") if line.strip()][:2]
    if len(lines) < 2 or lines[0] != [b"-1"]:
        return False
    return re.fullmatch(rb"58b?|15[1-9]?|16[0-9]|8[0-9]|24[0-9]{2}", lines[1][0]) is not None


def read(source: Source, layout: Layout) -> list[Record]:
    functions, others = [], 0
    every = [entry for entry in datasets(source) if entry[0].lower() in ("58", "58b", "164")]
    units = next((read_units(source, line, body) for kind, line, body in every if kind == "164"), None)
    for kind, line, body in every:
        if kind == "164":  # it holds for what follows; the first one for all before it
            units = read_units(source, line, body)
            continue
        function = _function(source, kind.lower(), line, body, len(functions) + 1, units, layout)
        if function is None:
            others += 1
        else:
            functions.append(function)
    if not functions:
        raise source.problem(
            f"it holds no real time history in a dataset 58{f'; {others} other functions are there' if others else ''}."
        )
    groups: dict[tuple, list[_Function]] = {}
    for f in functions:
        alike = (f.step, f.start) if f.times is None else (f.times.tobytes(),)
        groups.setdefault((f.values.size, *alike), []).append(f)
    records, stated = [], []
    for index, members in enumerate(groups.values(), 1):
        axis: dict = (
            {"times": members[0].times}
            if members[0].step is None
            else {"step": members[0].step, "start": members[0].start}
        )
        history = [f"read from {source.name} ({NAME}, {len(members)} functions)"]
        if others:
            history.append(f"left out: {others} functions that are not real time histories")
        history += sorted({f.note for f in members if f.note})
        if len({f.clock for f in members}) == 1 and members[0].clock is not None:
            axis["clock"] = members[0].clock
        name = layout.name or stem(source)
        records.append(
            build(
                source,
                np.column_stack([f.values for f in members]),
                [f.channel for f in members],
                axis,
                name if len(groups) == 1 else f"{name} ({index})",
                history,
            )
        )
        stated.append([f.unit for f in members])
    return described_anew(source, records, layout, stated)


def datasets(source: Source):
    """Number, line and bytes of every dataset between two lines of -1."""
    content, place, line = source.content, 0, 1
    while place < len(content):
        text, after = _line(content, place)
        if text.strip() != b"-1":
            if text.strip():
                raise source.problem("a dataset should begin with -1 here.", line)
            place, line = after, line + 1
            continue
        title, start = _line(content, after)
        words = title.split()
        if not words:
            return
        kind = words[0].decode("ascii", "replace")
        skip = 0
        if kind.lower() == "58b":
            skip = _binary_size(source, title, line + 1)
            body_start = start
            for _ in range(_HEADER_LINES):
                _, body_start = _line(content, body_start)
            skip = body_start + skip - start
            if start + skip > len(content):
                raise source.problem("the file ends inside a binary dataset.", line + 1)
        end = re.compile(rb"^[ \t]*-1[ \t]*\r?$", re.M).search(content, start + skip)
        if end is None:
            raise source.problem("the file ends inside a dataset: it is cut short.", line + 1)
        yield kind, line + 1, content[after : end.start()]
        line += content.count(b"\n", place, end.end()) + 1
        _, place = _line(content, end.start())


def _line(content: bytes, place: int) -> tuple[bytes, int]:
    end = content.find(b"\n", place)
    end = len(content) if end < 0 else end
    return content[place:end], end + 1


def _binary_size(source: Source, title: bytes, line: int) -> int:
    words = title.split()
    if len(words) < 5 or not all(w.isdigit() and len(w) < 12 for w in words[1:5]):
        raise source.problem("the first line of a binary dataset is damaged.", line)
    return int(words[4])


def field(source: Source, text: str, first: int, width: int, line: int) -> int:
    """The whole number in a field of a header; an empty one is 0."""
    value = numbers.number(text[first : first + width] or "0")
    value = 0 if not text[first : first + width].strip() else value
    if value is None or not np.isfinite(value) or abs(value) > 1e9:
        raise source.problem(f"'{text[first : first + width].strip()[:40]}' is not a number.", line)
    return int(value)


def opened(source: Source, line: int, body: bytes) -> tuple[bytes, list[str], bytes]:
    """The line of the number of a dataset 58, the lines of its header, and what follows."""
    title, place = _line(body, 0)
    header = []
    for _ in range(_HEADER_LINES):
        text, place = _line(body, place)
        header.append(text.decode("utf-8", "replace").rstrip("\r"))
    if place > len(body) + 1:
        raise source.problem("the header of the dataset is cut short.", line)
    return title, header, body[place:]


def _function(
    source: Source, kind: str, line: int, body: bytes, count: int, units: FileUnits | None, layout: Layout
) -> _Function | None:
    title, header, data = opened(source, line, body)
    if field(source, header[5], 0, 5, line + 6) not in (0, 1):
        return None
    stored, size, even = (field(source, header[6], i, 10, line + 7) for i in (0, 10, 20))
    if stored not in (2, 4):
        return None
    try:
        clock = seconds(field(source, header[7], 0, 10, line + 8), header[7][47:67].strip())
    except InputError as problem:
        raise source.problem(str(problem), line + 8) from None
    if clock is None:
        return None
    start, step = numbers.number(header[6][30:43]), numbers.number(header[6][43:56])
    if not 1 <= size <= source.limits.numbers:
        raise source.problem(f"{size} is not a possible count of values.", line + 7)
    width = size if even == 1 else 2 * size
    if kind == "58b":
        values = binary_numbers(source, title, data, stored, even, width, line)
    else:
        text = split_lines(data.decode("ascii", "replace"))
        values = numbers.block(source, text, line + _HEADER_LINES + 1, 13 if stored == 2 else 20, width)
    values, times = numbers.counted(source, values, width, line + 7), None
    if even == 1:
        if start is None or step is None or not (np.isfinite(start) and abs(start) < 1e12 and 0 < step < 1e6):
            raise source.problem("the dataset gives no sampling step.", line + 7)
    else:
        times, values, step, start = clock * values[::2], values[1::2], None, 0.0
    channel, label, unit, note = _channel(source, header, line, count, units, layout)
    step = None if step is None else clock * step
    zero = clock_of_line(header[4])
    return _Function(channel, label, unit.to_si(values), clock * float(start), step, times, note, zero)


def line_of_clock(clock: UtcClock | None) -> str:
    """The fifth line of the header of a dataset 58, which is free: a clock, at most 80 characters."""
    if clock is None:
        return "NONE"
    known = "" if clock.uncertainty is None else f" +- {clock.uncertainty:g} s"
    return f"UTC {utc_text(clock.zero)}{known}{f' by {clock.source}' if clock.source else ''}"[:80]


def clock_of_line(line: str) -> UtcClock | None:
    """The clock that `line_of_clock` wrote; None for any other line."""
    found = _CLOCK.fullmatch(line.strip())
    if found is None:
        return None
    return UtcClock.from_dict(
        {"zero": found[1], "source": found[3] or "", "uncertainty": numbers.number(found[2] or "")}
    )


def binary_numbers(source, title, data: bytes, stored: int, even: int, count: int, line: int) -> np.ndarray:
    """The numbers of a binary dataset; `stored` is 2 for single and 4 for double precision."""
    words = title.split()
    order = {b"1": "<", b"2": ">"}.get(words[1])
    if order is None or words[2] != b"2":
        raise source.problem("the binary dataset is not in IEEE numbers of a known byte order.", line)
    size = int(words[4])
    dtype = np.dtype(order + ("f4" if stored == 2 else "f8"))
    if even != 1 and stored == 4:
        raise source.problem("binary datasets with uneven abscissa in double precision are not read.", line)
    if size != count * dtype.itemsize or len(data) < size:
        raise source.problem(f"{count} values are announced and {size} bytes are there.", line)
    values = np.frombuffer(data[:size], dtype=dtype).astype(float)
    numbers.check_finite(source, values)
    return values


def _channel(
    source: Source, header: list[str], line: int, count: int, units: FileUnits | None, layout: Layout
) -> tuple[Channel, str, Unit, str]:
    """Name, quantity and place from the header; the unit of the numbers as the file states it, the unit, and a note."""
    node = field(source, header[5], 41, 10, line + 6)
    direction = _DIRECTIONS.get(field(source, header[5], 51, 4, line + 6), "")
    code = field(source, header[8], 0, 10, line + 9)
    unit = header[8][47:67].strip().strip("[]")
    unit = "" if unit.upper() in ("NONE", "UNKNOWN", "") else unit
    name = header[0].strip()
    name = name if name.upper() not in ("NONE", "") else f"node{node}{direction}" if node else f"function_{count}"
    powers = powers_of(code, (field(source, header[8], 10, 5, line + 9), field(source, header[8], 15, 5, line + 9)))
    note = ""
    try:
        quantity = _QUANTITIES.get(code) or guess_quantity(name, unit)
        try:
            known = ordinate(unit, QUANTITIES[quantity], powers, units)
        except InputError:
            if layout.units is None and layout.columns is None and not layout.known:
                raise
            unit, known = "", None
        if known is None:
            known = Unit(1.0, QUANTITIES[quantity], "")
            note = "the unit is not stated for some functions: SI is assumed where the quantity is known"
        elif not unit:
            unit = known.symbol
            note = f"converted from the units of dataset 164: {units.name if units else ''}"
        elif not fits(quantity, known.symbol):
            raise source.problem(f"the header states {quantity} in '{unit}', which do not fit.", line + 9)
        channel = Channel(name[:60], quantity, known.symbol, f"node {node}" if node else "", direction)
        return channel, unit, known, note
    except InputError as problem:
        raise source.problem(str(problem), line + 9) from None


@READERS.register(NAME)
class UFF58(Reader):
    """Universal file format, dataset 58: functions at nodal degrees of freedom, ASCII (58) and binary (58b)."""

    particularity = 80

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
