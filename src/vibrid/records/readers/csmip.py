"""CSMIP volumes 1 and 2: uncorrected (V1) and corrected (V2) accelerograms, several channels in one file.

Each channel has lines of text, a block of integers, a block of reals, and then one or three blocks of numbers, each
announced by a line such as

     35430 Accelerogram points at 100 pts/sec in units of g.       Format: (8f9.6)
      1138 POINTS OF ACCEL DATA EQUALLY SPACED AT  .020 SEC.  (UNITS: CM/SEC/SEC)

The description is CSMIP report OSMS 85-03. Volume 3 files hold response spectra, not motions, and are refused.
"""

from __future__ import annotations

import re

from vibrid.records.readers import numbers
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
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
    lines = list(source.lines())
    traces_read, header, index = [], 0, 0
    while index < len(lines):
        announced = _DATA.match(lines[index])
        if announced:
            trace, index = _trace(source, lines, header, index, announced)
            traces_read.append(trace)
        elif lines[index].startswith("/&"):
            index += 1
            header = index
        else:
            index += 1
    if not traces_read:
        raise source.problem("the header of an accelerogram is there and no block of numbers follows.")
    return traces_read


def _trace(source: Source, lines: list[str], header: int, index: int, announced) -> tuple[Trace, int]:
    count, kind, rest = int(announced.group(1)), (announced.group(2) or "accel").lower(), announced.group(3)
    step, rate = _STEP.search(rest), _RATE.search(rest)
    seconds = numbers.number(step.group(1)) if step else None
    frequency = numbers.number(rate.group(1)) if rate else None
    if frequency:
        seconds = 1.0 / frequency
    if not seconds or not 0 < seconds < 1e6:
        raise source.problem("the line that announces the numbers gives no time step.", index + 1)
    if not 1 <= count <= source.limits.numbers:
        raise source.problem(f"{count} is not a possible count of values.", index + 1)
    unit = _UNIT.search(rest)
    unit = unit.group(1).lower().rstrip("/") if unit else _UNITS[kind]
    end = index + 1
    while end < len(lines) and not (lines[end].startswith("/&") or _DATA.match(lines[end])):
        end += 1
    width = numbers.fortran_width(rest[rest.find("(", rest.lower().find("format")) :]) if "ormat" in rest else 10
    values = numbers.block(source, lines[index + 1 : end], index + 2, width=width or 10, enough=count)
    if values.size != count:
        raise source.problem(f"{count} values are announced and {values.size} follow: it is cut short.", index + 1)
    return Trace(values=values, unit=unit, step=seconds, line=index + 1, **_describe(lines[header:index])), end


def _describe(header: list[str]) -> dict:
    """Channel number, direction, location, title and clock from the text lines of a channel."""
    text = [line for line in header if re.search(r"[A-Za-z]", line)][:30]
    joined = "\n".join(text)
    number, direction, location = 1, "", ""
    for line in text:
        channel = re.search(r"\bCHAN\s*(\d{1,4})\s*:\s*([^\s(][^(]{0,12}?)?(?:\s{2,}|\(|\s*$)", line, re.I)
        if channel and line.lstrip().upper().startswith("CHAN"):
            number, direction = int(channel.group(1)), (channel.group(2) or "").strip()
            station = re.search(r"STA\s+CHN:\s*(\d{1,4})", line, re.I)
            number = int(station.group(1)) if station else number
            place = re.search(r"LOCATION:\s*(.*\S)", line, re.I)
            location = place.group(1) if place else ""
            break
    start = re.search(r"Start time:\s*(.*\S)", joined, re.I)
    accession = re.search(r"\b\w{3,6}-\w{2,6}-\d{4,6}\.\d+", joined)
    clock = start.group(1) if start else accession.group(0) if accession else ""
    title = " ".join(text[6].split()) if len(text) > 6 else ""
    station = re.search(r"\n([^\n]*)\n\s*CHAN\s*\d", joined, re.I)
    title = re.split(r"\s{3,}", station.group(1).strip())[0] if station else title
    return {"number": number, "direction": direction, "location": location, "title": title, "clock": clock}


@READERS.register(NAME)
class CSMIP(Reader):
    """CSMIP volumes 1 and 2: uncorrected (V1) and corrected (V2) accelerograms, several channels in one file."""

    particularity = 60

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
