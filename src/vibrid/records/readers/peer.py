"""PEER strong-motion files: AT2 (acceleration), VT2 (velocity), DT2 (displacement), old and NGA headers.

Four header lines, then numbers in free or fixed columns, row by row:

    PEER NGA STRONG MOTION DATABASE RECORD
    Kobe Japan, 1/16/1995, KJMA, 0
    ACCELERATION TIME SERIES IN UNITS OF G
    NPTS=   7500, DT=   .0200 SEC

Older files write the last line as `4096    0.0100    NPTS, DT`.
"""

from __future__ import annotations

import re
from itertools import chain, islice

from vibrid.core.errors import InputError
from vibrid.records.readers import numbers
from vibrid.records.readers.assemble import build, described_anew, stem
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.scan import in_brackets, squeezed
from vibrid.records.readers.source import Source
from vibrid.records.record import Channel, Record
from vibrid.records.units import unit_factor

NAME = "PEER"
_HEADER_LINES = 12
# in lines with single spaces, so that no white space can be divided in many ways
_EQUALS = re.compile(r"NPTS ?= ?([0-9.]+) ?,? ?DT ?= ?([0-9.EeDd+-]+|)", re.I)
_TRAILING = re.compile(r"([0-9]+) ([0-9.EeDd+-]+) NPTS ?, ?DT", re.I)
_COUNT = re.compile(r"NPTS ?= ?([0-9]{1,12})", re.I)
_UNIT = re.compile(r"UNITS (?:OF|ARE|IN|:) ?\(? ?([A-Za-z][A-Za-z0-9/^*]*)", re.I)
_QUANTITIES = {
    "acceleration": ("ground_acceleration", "m/s^2"),
    "velocity": ("ground_velocity", "m/s"),
    "displacement": ("ground_displacement", "m"),
}


def recognises(source: Source) -> bool:
    return any(re.search(r"\bNPTS\b", line, re.I) for line in source.head_lines[:12])


def read(source: Source, layout: Layout) -> list[Record]:
    lines = source.lines()
    head = list(islice(lines, _HEADER_LINES))
    header, count, step = _count_line(source, head)
    quantity, unit = _quantity(source, head[:header], header)
    width = None
    for line in head[:header]:
        width = width or (numbers.fortran_width(line) if re.search(r"\d\s*[FE]\s*\d+\.\d", line, re.I) else None)
    values = numbers.block(source, chain(head[header + 1 :], lines), header + 2, width=width or 15, count=count)
    if values.size != count:
        what = "the file is cut short" if values.size < count else "the header is wrong"
        raise source.problem(f"NPTS states {count} values and {values.size} follow: {what}.", header + 1)
    step = layout.step if step is None else step
    if step is None:
        raise source.problem("the header gives no time step DT; give `step`.", header + 1)
    title = head[1].strip() if header >= 2 else ""
    channel = Channel("ground", quantity, location="ground", direction=_component(title))
    factor = unit_factor(unit)[0]
    history = [f"read from {source.name} ({NAME}, {count} values in {unit}): {title}"]
    name = layout.name or stem(source)
    values *= factor
    record = build(source, values[:, None], [channel], {"step": step}, name, history)
    return described_anew(source, [record], layout, [[unit]])


def _component(title: str) -> str:
    """The component at the end of a title: 90 of `Kobe, 1/16/1995, KJMA, 90 (CUE)`; empty where there is none."""
    bracketed = in_brackets(title)
    _, comma, word = (title if bracketed is None else bracketed[0]).rpartition(",")
    return word.strip() if comma and re.fullmatch(r"[A-Za-z0-9+-]{1,6}", word.strip()) else ""


def _count_line(source: Source, lines: list[str]) -> tuple[int, int, float | None]:
    """Index of the line with NPTS and DT, and both numbers."""
    lines = [squeezed(line) for line in lines]
    for index, line in enumerate(lines):
        match = _EQUALS.search(line) or _TRAILING.match(line)
        if match:
            count, step = numbers.number(match.group(1)), numbers.number(match.group(2))
            if count is None or not 1 <= count <= source.limits.numbers or count != int(count):
                raise source.problem(f"NPTS is '{match.group(1)}', which is not a count of values.", index + 1)
            if match.group(2) and (step is None or not 0 < step < 1e6):
                raise source.problem(f"DT is '{match.group(2)}', which is not a time step.", index + 1)
            return index, int(count), step
    for index, line in enumerate(lines):
        match = _COUNT.search(line)
        if match:
            return index, int(match.group(1)), None
    raise source.problem("the header names NPTS but not the number of values.")


def _quantity(source: Source, header: list[str], line: int) -> tuple[str, str]:
    """Quantity and unit from the header: 'ACCELERATION TIME SERIES IN UNITS OF G', 'The units are (g)'."""
    text = squeezed(" ".join(header))
    word = re.search(r"\b(ACCELERATION|VELOCITY|DISPLACEMENT) TIME", text, re.I)
    match = _UNIT.search(text)
    if match is None:
        raise source.problem("the header does not state the unit of the numbers (UNITS OF G).", max(line, 1))
    unit = match.group(1).lower()
    try:
        symbol = unit_factor(unit)[1]
    except InputError as problem:
        raise source.problem(str(problem), max(line, 1)) from None
    for name, (quantity, expected) in _QUANTITIES.items():
        if word is not None and word.group(1).lower() == name:
            if symbol != expected:
                raise source.problem(f"the header states {name} in '{unit}', which do not fit.", max(line, 1))
            return quantity, unit
        if word is None and symbol == expected:
            return quantity, unit
    raise source.problem(f"'{unit}' is not a unit of acceleration, velocity or displacement.", max(line, 1))


@READERS.register(NAME)
class PEER(Reader):
    """PEER strong-motion files: AT2 (acceleration), VT2 (velocity), DT2 (displacement), old and NGA headers."""

    particularity = 40

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
