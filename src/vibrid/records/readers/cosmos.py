"""COSMOS strong-motion format, version 1.20 (COSMOS Guidelines and Recommendations, 2001), volumes 0 to 2.

Each channel has lines of text, 100 integers, 100 reals, comments, and then the numbers:

    Corrected acceleration ...  (Format v01.20 with 13 text lines)
     100 Integer-header values follow on  10 lines, Format= (10I8)
     100 Real-header values follow on  17 lines, Format= (6F13.6)
       2 Comment line(s) follow, each starting with a "|":
        7995 acceleration pts, approx  80 secs, units=cm/sec2(04), Format=(8F10.5)
    End-of-data for Chan  1 acceleration
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock, as_utc
from vibrid.records.readers import numbers
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.scan import NumberedLines, after
from vibrid.records.readers.source import Source
from vibrid.records.readers.strong_motion import Trace, gather
from vibrid.records.record import Record

NAME = "COSMOS"
_INTEGERS = re.compile(r"^\s*(\d{1,4})\s+Integer-header values follow on\s+(\d{1,3})\s+lines?(.*)$", re.I)
_REALS = re.compile(r"^\s*(\d{1,4})\s+Real-header values follow on\s+(\d{1,3})\s+lines?(.*)$", re.I)
_END = re.compile(r"\s*End-of-data", re.I)
_TEXT_LINES = 200
_UP = {400: "Up", 401: "Down"}


def recognises(source: Source) -> bool:
    return any(_INTEGERS.match(line) for line in source.head_lines[:60])


def read(source: Source, layout: Layout) -> list[Record]:
    return gather(source, traces(source), layout, NAME)


def traces(source: Source) -> list[Trace]:
    """Every component in the file."""
    lines = NumberedLines(source.lines())
    traces_read, text, integers, reals, above = [], [], [], [], []
    for line in lines:
        if block := _INTEGERS.match(line):
            text, above = above, []
            integers = _header(source, lines, block)
        elif block := _REALS.match(line):
            reals = _header(source, lines, block)
        elif integers and reals and (announced := _announced(line)) is not None:
            traces_read.append(_trace(source, lines, announced, text, integers, reals))
        elif _END.match(line):
            above = []
        elif len(above) < _TEXT_LINES:
            above.append(line)
    if not traces_read:
        raise source.problem("the headers of a COSMOS file are there and no block of numbers follows.")
    return traces_read


class _Announced(NamedTuple):
    """The line above a block of numbers: their count, their unit and their Fortran format."""

    values: int
    unit: str
    format: str


def _announced(line: str) -> _Announced | None:
    """`7995 acceleration pts, approx  80 secs, units=cm/sec2(04), Format=(8F10.5)`; None for any other line."""
    words = line.split(None, 1)
    if len(words) < 2 or not (words[0].isdecimal() and len(words[0]) <= 9):
        return None
    quantity, pts, rest = words[1].lower().partition("pts")
    if not pts or rest[:1] not in (" ", ",") or not all(c.isalpha() or c in ".- \t" for c in quantity):
        return None
    unit, format = after(rest, "units"), after(rest, "format")
    if unit is None or format is None or not unit.startswith("="):
        return None
    unit = unit.removeprefix("=").split(",")[0].split("(")[0].strip().lower()
    format = format.removeprefix("=").strip()
    return _Announced(int(words[0]), unit, format) if unit and format.startswith("(") else None


def _header(source: Source, lines: NumberedLines, block: re.Match[str]) -> list[float]:
    count, rows, first = int(block.group(1)), int(block.group(2)), lines.number
    width = numbers.fortran_width(block.group(3)[block.group(3).find("(") :]) or 8
    values = []
    for line in islice(lines, rows):
        for piece in (line[i : i + width] for i in range(0, len(line.rstrip()), width)):
            value = numbers.number(piece)
            if value is None:
                raise source.problem(f"'{piece.strip()[:40]}' is not a number.", lines.number)
            values.append(value)
    if lines.number < first + rows:
        raise source.problem("the file ends inside its header.", first)
    return values[:count]


def _trace(source: Source, lines: NumberedLines, announced: _Announced, text, integers, reals) -> Trace:
    count, unit, above = announced.values, announced.unit, lines.number
    if not 1 <= count <= source.limits.numbers:
        raise source.problem(f"{count} is not a possible count of values.", above)
    if "count" in unit:
        raise source.problem("the numbers are digital counts (volume 0); use the V1 or V2 file.", above)
    width = numbers.fortran_width(announced.format)
    values = numbers.block(source, lines.until(_END.match), above + 1, width, count)
    values = numbers.counted(source, values, count, above)
    joined = "\n".join(text)
    azimuth = int(_item(integers, 54))
    number = int(_item(integers, 50))
    clock = " ".join(f"{_item(integers, i):g}" for i in range(40, 46)) + f" {_item(reals, 30):g}"
    station = [line for line in text[1:] if re.search(r"[A-Za-z]", line)]
    return Trace(
        number=number if 0 < number < 1000 else _channel_number(joined),
        values=values,
        unit=unit,
        step=_interval(source, reals, count, above),
        clock=clock,
        direction=_UP.get(azimuth, f"{azimuth} deg" if 0 <= azimuth <= 360 else ""),
        location=after(joined, "Location:") or "",
        title=" ".join(station[0].split()) if station else "",
        line=above,
        zero=_zero(integers, reals),
    )


def _zero(integers: list[float], reals: list[float]) -> UtcClock | None:
    """The start of the record, which the headers have in UTC: integers 40 (year), 42 to 45, and real 30 (seconds)."""
    year, month, day, hour, minute = (int(_item(integers, i)) for i in (40, 42, 43, 44, 45))
    second = _item(reals, 30)
    if not (1900 <= year <= 2200 and 0 <= second < 61):
        return None
    try:
        zero = as_utc(f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}Z")
    except InputError:
        return None
    return UtcClock(zero + np.timedelta64(round(second * 1e9), "ns"), "COSMOS header")


def _channel_number(text: str) -> int:
    """The number in `Chan 1`, `Channel 12` or `Chan3`; 1 where there is none."""
    words = text.split()
    for place, word in enumerate(words):
        if word.lower().startswith("chan"):
            behind = word.lower().lstrip("abcdefghijklmnopqrstuvwxyz_")
            following = behind or (words[place + 1] if place + 1 < len(words) else "")
            digits = re.match(r"\d{1,3}", following)
            if digits:
                return int(digits[0])
    return 1


def _item(values: list[float], number: int) -> float:
    """Value of the header by its number in the COSMOS tables (from 1); −999 when it is not there."""
    return values[number - 1] if number <= len(values) and abs(values[number - 1]) < 1e9 else -999.0


def _interval(source: Source, reals: list[float], count: int, line: int) -> float:
    """Sampling interval in s: real value 34 (s), or 62 (ms)."""
    step, length = _item(reals, 34), _item(reals, 35)
    if step > 0 and length > 0 and abs(step * count / 1000 - length) < 0.05 * length:
        step /= 1000  # some networks write milliseconds
    if step <= 0:
        step = _item(reals, 62) / 1000
    if step <= 0:
        raise source.problem("the header gives no sampling interval (real values 34 and 62).", line)
    return step


@READERS.register(NAME)
class COSMOS(Reader):
    """COSMOS strong-motion format, version 1.20 (COSMOS Guidelines and Recommendations, 2001), volumes 0 to 2."""

    particularity = 70

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
