"""CSMIP volumes 1 and 2: uncorrected (V1) and corrected (V2) accelerograms, several channels in one file.

Each channel has lines of text, a block of integers, a block of reals, and then one or three blocks of numbers, each
announced by a line such as

     35430 Accelerogram points at 100 pts/sec in units of g.       Format: (8f9.6)
      1138 POINTS OF ACCEL DATA EQUALLY SPACED AT  .020 SEC.  (UNITS: CM/SEC/SEC)

The description is CSMIP report OSMS 85-03. Volume 3 files hold response spectra, not motions, and are refused.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock, as_utc
from vibrid.records.readers import numbers
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.scan import NumberedLines, after, squeezed
from vibrid.records.readers.source import Source
from vibrid.records.readers.strong_motion import Trace, gather
from vibrid.records.record import Record

NAME = "CSMIP"
_FIRST = re.compile(r"^\s*(UN)?CORRECTED\s+ACCELEROGRAM", re.I)
_SPECTRA = re.compile(r"^\s*RESPONSE AND FOURIER AMPLITUDE SPECTRA", re.I)
_DATA = re.compile(
    r"^\s*(\d{1,9})\s+(?:points\s+of\s+(accel|veloc|displ)\w*\.?\s+data|accelerogram\s+points)\b(.*)$", re.I
)
_STEP = re.compile(r"spaced\s+at\s+([0-9.]+(?:E[-+]?\d+)?)\s*sec", re.I)
_RATE = re.compile(r"\bat\s+([0-9.]+)\s*(?:pts|points|samples)\s*/\s*sec", re.I)
_UNIT = re.compile(r"(?:units?(?:\s+of|\s*:|\s+are)|\bin(?!\s+units))\s*([a-z][a-z0-9/^]*)", re.I)
_CHANNEL = re.compile(r"\s*CHAN\s*(\d{1,4})\s*:", re.I)
_STARTED = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4}),? {1,3}(\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?) {0,3}(?:UTC|GMT)\b", re.I
)
_LONGEST_DIRECTION, _HEADER_LINES = 13, 200
_UNITS = {"accel": "cm/s^2", "veloc": "cm/s", "displ": "cm"}


def recognises(source: Source) -> bool:
    return any(_FIRST.match(line) or _SPECTRA.match(line) for line in source.head_lines[:3])


def holds_spectra(source: Source) -> bool:
    """Whether this is a volume 3 file."""
    return any(_SPECTRA.match(line) for line in source.head_lines[:2])


def read(source: Source, layout: Layout) -> list[Record]:
    return gather(source, traces(source), layout, NAME)


def traces(source: Source) -> list[Trace]:
    """Every component in the file."""
    if holds_spectra(source):
        raise source.problem("it holds response spectra (CSMIP volume 3), not a motion.")
    lines, header = NumberedLines(source.lines()), []
    traces_read = []
    for line in lines:
        announced = _DATA.match(line)
        if announced:
            traces_read.append(_trace(source, lines, header, announced))
        elif line.startswith("/&"):
            header = []
        elif len(header) < _HEADER_LINES:
            header.append(line)
    if not traces_read:
        raise source.problem("the header of an accelerogram is there and no block of numbers follows.")
    return traces_read


def _trace(source: Source, lines: NumberedLines, header: list[str], announced: re.Match[str]) -> Trace:
    above = lines.number  # the line that announces the numbers
    count, kind, rest = int(announced.group(1)), (announced.group(2) or "accel").lower(), announced.group(3)
    step, rate = _STEP.search(rest), _RATE.search(rest)
    seconds = numbers.number(step.group(1)) if step else None
    frequency = numbers.number(rate.group(1)) if rate else None
    if frequency:
        seconds = 1.0 / frequency
    if not seconds or not 0 < seconds < 1e6:
        raise source.problem("the line that announces the numbers gives no time step.", above)
    if not 1 <= count <= source.limits.numbers:
        raise source.problem(f"{count} is not a possible count of values.", above)
    unit = _UNIT.search(rest)
    unit = unit.group(1).lower().rstrip("/") if unit else _UNITS[kind]
    width = numbers.fortran_width(rest[rest.find("(", rest.lower().find("format")) :]) if "ormat" in rest else 10
    rows = lines.until(lambda line: line.startswith("/&") or _DATA.match(line))
    values = numbers.block(source, rows, above + 1, width or 10, count)
    values = numbers.counted(source, values, count, above)
    return Trace(values=values, unit=unit, step=seconds, line=above, **_describe(header))


def _describe(header: list[str]) -> dict:
    """Channel number, direction, location, title and clock from the text lines of a channel."""
    text = list(islice((line for line in header if re.search(r"[A-Za-z]", line)), 30))
    joined = "\n".join(text)
    number, direction, location = 1, "", ""
    for line in text:
        channel = _CHANNEL.match(line)
        if channel:
            number, direction = int(channel.group(1)), _direction(line[channel.end() :])
            station = re.search(r"STA CHN: ?(\d{1,4})", squeezed(line), re.I)
            number = int(station.group(1)) if station else number
            location = after(line, "LOCATION:") or ""
            break
    accession = re.search(r"\b\w{3,6}-\w{2,6}-\d{4,6}\.\d+", joined)
    started = after(joined, "Start time:") or ""
    clock = started or (accession.group(0) if accession else "")
    title = squeezed(text[6]) if len(text) > 6 else ""
    for above, line in pairwise(text):
        if re.match(r"\s*CHAN\s*\d", line, re.I):
            title = above.strip().split("   ")[0]
            break
    return {"number": number, "direction": direction, "location": location, "title": title, "clock": clock,
            "zero": _zero(started)}  # fmt: skip


def _zero(text: str) -> UtcClock | None:
    """The start of the record, `10/15/79, 23:16:54.6 UTC`: month, day and year; None in another or no zone."""
    found = _STARTED.search(text)
    if found is None:
        return None
    month, day, year, time = int(found[1]), int(found[2]), int(found[3]), found[4]
    year += 0 if year > 99 else 1900 if year > 30 else 2000
    try:
        return UtcClock(as_utc(f"{year:04d}-{month:02d}-{day:02d}T{time}Z"), "CSMIP header")
    except InputError:
        return None


def _direction(text: str) -> str:
    """The direction that follows the number of a channel, up to two spaces or a parenthesis; empty where it is long."""
    word = text.strip().split("(")[0].split("  ")[0].strip()
    return word if len(word) <= _LONGEST_DIRECTION else ""


@READERS.register(NAME)
class CSMIP(Reader):
    """CSMIP volumes 1 and 2: uncorrected (V1) and corrected (V2) accelerograms, several channels in one file."""

    particularity = 60

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
