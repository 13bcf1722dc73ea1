"""K-NET and KiK-net (National Research Institute for Earth Science and Disaster Resilience, Japan), ASCII format.

Seventeen header lines, each a label of 18 characters and a value, then counts, eight in a row:

    Sampling Freq(Hz) 100Hz
    Dir.              N-S
    Scale Factor      3920(gal)/6182761

Acceleration in gal is the count times the scale factor. The counts carry the sensor's offset, so their mean is
removed, as the data centre does for the peak in the header.
"""

from __future__ import annotations

import re
from itertools import islice

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock, as_utc
from vibrid.records.readers import numbers
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.strong_motion import Trace, gather
from vibrid.records.record import Record

NAME = "K-NET"
_DELAY = 15  # s, by which the recorders write `Record Time` after the first sample
_ORDER = {"N-S": 1, "NS": 1, "1": 1, "4": 1, "E-W": 2, "EW": 2, "2": 2, "5": 2, "U-D": 3, "UD": 3, "3": 3, "6": 3}


def recognises(source: Source) -> bool:
    head = source.head_lines[:20]
    return any(line.startswith("Scale Factor") for line in head) and any(
        line.startswith(("Origin Time", "Sampling Freq", "Station Code")) for line in head
    )


def read(source: Source, layout: Layout) -> list[Record]:
    return gather(source, traces(source), layout, NAME)


def traces(source: Source) -> list[Trace]:
    """The one component in the file, its mean removed."""
    lines = source.lines()
    values, first = {}, 0
    for index, line in enumerate(islice(lines, 30)):
        values[line[:18].strip()] = (line[18:].strip(), index + 1)
        if line.startswith("Memo"):
            first = index + 1
            break
    else:
        raise source.problem("the header has no line 'Memo.', which ends it.")
    rate = _read(source, values, "Sampling Freq(Hz)", r"([0-9.]+)\s*(?:Hz)?$")[0]
    top, bottom = _read(source, values, "Scale Factor", r"([0-9.]+)\s*\(gal\)\s*/\s*([0-9.]+)")
    length, line = values.get("Duration Time(s)", ("", 0))
    counts = numbers.block(source, lines, first + 1, width=9)
    if not counts.size:
        raise source.problem("there is a header and no numbers.", first)
    expected = numbers.number(length)
    if expected and counts.size < 0.99 * expected * rate:
        raise source.problem(
            f"the header announces {length} s at {rate:g} Hz and {counts.size} values follow: it is cut short.", line
        )
    if expected and counts.size > 1.01 * (expected + 1.0) * rate:  # it is rounded to seconds
        raise source.problem(
            f"the header announces {length} s at {rate:g} Hz and {counts.size} values follow: one is wrong.", line
        )
    counts -= counts.mean()
    counts *= top / bottom
    direction = values.get("Dir.", ("", 0))[0]
    station = values.get("Station Code", ("", 0))[0]
    return [
        Trace(
            number=_ORDER.get(direction, 1),
            values=counts,
            unit="gal",
            step=1.0 / rate,
            clock=f"{station} {values.get('Record Time', ('', 0))[0]}",
            direction=direction,
            title=f"station {station}, origin {values.get('Origin Time', ('', 0))[0]}, mean removed",
            line=first,
            zero=_zero(values.get("Record Time", ("", 0))[0]),
        )
    ]


def _zero(text: str) -> UtcClock | None:
    """The instant of the first sample: 15 s before `Record Time`, which is in Japan Standard Time (UTC+9)."""
    found = re.fullmatch(r"(\d{4})/(\d{2})/(\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)", text.strip())
    if found is None:
        return None
    try:
        told = as_utc(f"{found[1]}-{found[2]}-{found[3]}T{found[4]}+09:00")
    except InputError:
        return None
    return UtcClock(told - np.timedelta64(_DELAY, "s"), "K-NET header")


def _read(source: Source, values: dict, label: str, pattern: str) -> list[float]:
    text, line = values.get(label, (None, None))
    if text is None:
        raise source.problem(f"the header has no line '{label}'.")
    match = re.match(pattern, text)
    groups = match.groups() if match else ()
    values_found = [x for x in map(numbers.number, groups) if x is not None and 0 < x < 1e12]
    if not groups or len(values_found) < len(groups):
        raise source.problem(f"'{label}' is '{text[:40]}', which cannot be understood.", line)
    return values_found


@READERS.register(NAME)
class KNET(Reader):
    """K-NET and KiK-net (Japan), ASCII format."""

    particularity = 50

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
