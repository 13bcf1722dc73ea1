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

from vibrid.records.readers import numbers
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.strong_motion import Trace, gather
from vibrid.records.record import Record

NAME = "COSMOS"
_INTEGERS = re.compile(r"^\s*(\d{1,4})\s+Integer-header values follow on\s+(\d{1,3})\s+lines?(.*)$", re.I)
_REALS = re.compile(r"^\s*(\d{1,4})\s+Real-header values follow on\s+(\d{1,3})\s+lines?(.*)$", re.I)
_DATA = re.compile(r"^\s*(\d{1,9})\s+([a-z.\- ]*?)\s*pts\b[ ,].*?units\s*=\s*([^,(]+).*?Format\s*=?\s*(\(.*)$", re.I)
_UP = {400: "Up", 401: "Down"}


def recognises(source: Source) -> bool:
    return any(_INTEGERS.match(line) for line in source.head_lines[:60])


def read(source: Source, layout: Layout) -> list[Record]:
    return gather(source, traces(source), layout, NAME)


def traces(source: Source) -> list[Trace]:
    """Every component in the file."""
    lines = list(source.lines())
    traces_read, text_start, index = [], 0, 0
    text, integers, reals = [], [], []
    while index < len(lines):
        line = lines[index]
        if block := _INTEGERS.match(line):
            text = lines[text_start:index]
            integers, index = _header(source, lines, index, block)
        elif block := _REALS.match(line):
            reals, index = _header(source, lines, index, block)
        elif (announced := _DATA.match(line)) and integers and reals:
            trace, index = _trace(source, lines, index, announced, text, integers, reals)
            traces_read.append(trace)
        else:
            index += 1
            if re.match(r"^\s*End-of-data", line, re.I):
                text_start = index
    if not traces_read:
        raise source.problem("the headers of a COSMOS file are there and no block of numbers follows.")
    return traces_read


def _header(source: Source, lines: list[str], index: int, block) -> tuple[list[float], int]:
    count, rows = int(block.group(1)), int(block.group(2))
    width = numbers.fortran_width(block.group(3)[block.group(3).find("(") :]) or 8
    if index + rows >= len(lines):
        raise source.problem("the file ends inside its header.", index + 1)
    values = []
    for offset, line in enumerate(lines[index + 1 : index + 1 + rows]):
        for piece in (line[i : i + width] for i in range(0, len(line.rstrip()), width)):
            value = numbers.number(piece)
            if value is None:
                raise source.problem(f"'{piece.strip()[:40]}' is not a number.", index + 2 + offset)
            values.append(value)
    return values[:count], index + 1 + rows


def _trace(source, lines, index, announced, text, integers, reals) -> tuple[Trace, int]:
    count, unit = int(announced.group(1)), announced.group(3).strip().lower()
    if not 1 <= count <= source.limits.numbers:
        raise source.problem(f"{count} is not a possible count of values.", index + 1)
    if "count" in unit:
        raise source.problem("the numbers are digital counts (volume 0); use the V1 or V2 file.", index + 1)
    end = index + 1
    while end < len(lines) and not re.match(r"^\s*End-of-data", lines[end], re.I):
        end += 1
    values = numbers.block(source, lines[index + 1 : end], index + 2, numbers.fortran_width(announced.group(4)), count)
    if values.size != count:
        raise source.problem(f"{count} values are announced and {values.size} follow: it is cut short.", index + 1)
    joined = "\n".join(text)
    place = re.search(r"Location:\s*(.*\S)", joined, re.I)
    azimuth = int(_item(integers, 54))
    number = int(_item(integers, 50))
    chan = re.search(r"Chan\w*\s*(\d{1,3})", joined, re.I)
    clock = " ".join(f"{_item(integers, i):g}" for i in range(40, 46)) + f" {_item(reals, 30):g}"
    station = [line for line in text[1:] if re.search(r"[A-Za-z]", line)]
    return Trace(
        number=number if 0 < number < 1000 else int(chan.group(1)) if chan else 1,
        values=values,
        unit=unit,
        step=_interval(source, reals, count, index + 1),
        clock=clock,
        direction=_UP.get(azimuth, f"{azimuth} deg" if 0 <= azimuth <= 360 else ""),
        location=place.group(1) if place else "",
        title=" ".join(station[0].split()) if station else "",
        line=index + 1,
    ), end + 1


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
