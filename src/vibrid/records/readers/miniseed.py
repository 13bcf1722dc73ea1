"""miniSEED (International Federation of Digital Seismograph Networks), versions 2 and 3, read by libmseed (pymseed).

Samples are as recorded, usually counts: neither unit nor quantity stands in the file, so both are the caller's to
state, with a `gain` where they are counts. Needs the extra `vibrid[seismic]`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vibrid.records.readers.layout import Layout
from vibrid.records.readers.on_grid import LoggerTrace, on_grids
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "miniSEED"
_SECOND = re.compile(rb"[0-9 ]{6}[DRQM][ \x00]")
_FORMAT_3 = b"MS\x03"
_NUMBERS = {"i", "f", "d"}


def recognises(source: Source) -> bool:
    return source.head.startswith(_FORMAT_3) or _SECOND.match(source.head) is not None


def read(source: Source, layout: Layout) -> list[Record]:
    found = list(_traces(source, source.content))
    if not found:
        raise source.problem("it holds no samples: only messages, or records without data.")
    return on_grids(source, found, layout, NAME, "miniSEED header")


def _traces(source: Source, content: bytes) -> Iterator[LoggerTrace]:
    """The traces in some records, without gaps."""
    try:
        import pymseed
    except ImportError:
        raise source.problem(
            "miniSEED is read with pymseed, which is not installed: pip install 'vibrid[seismic]'."
        ) from None
    pymseed.configure_logging(max_messages=16)  # kept by the library instead of written to the terminal
    try:
        with pymseed.MS3TraceList.from_buffer(content) as announced:
            total = sum(segment.samplecnt for trace in announced for segment in trace)
        if total > source.limits.numbers:
            raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
        with pymseed.MS3TraceList.from_buffer(content, unpack_data=True) as traces:
            for trace in traces:
                name, direction = _named(pymseed, trace.sourceid)
                for segment in trace:
                    if segment.sampletype not in _NUMBERS or not segment.numsamples:
                        continue
                    if not segment.samprate > 0:
                        raise source.problem(f"'{name}' has the rate {segment.samprate:g} Hz.")
                    values = np.array(segment.np_datasamples, float)
                    yield LoggerTrace(name, int(segment.starttime), float(segment.samprate), values, direction)
    except (pymseed.PymseedError, ValueError, OverflowError) as problem:
        told = " ".join(str(problem).split())[:200]
        raise source.problem(f"its records are damaged or cut short ({told}).") from None


def _named(pymseed, identifier: str) -> tuple[str, str]:
    """`NET.STA.LOC.CHA`, without empty parts, and the direction that the channel's last letter names."""
    try:
        parts = pymseed.sourceid2nslc(identifier)
    except (pymseed.PymseedError, ValueError):
        return re.sub(r"[^\x20-\x7e]", "?", identifier) or "trace", ""
    name = ".".join(part for part in parts if part) or "trace"
    last = parts[-1][-1:]
    return name, last if last in ("Z", "N", "E") else ""


@READERS.register(NAME)
class MiniSEED(Reader):
    """miniSEED, versions 2 and 3: pieces with gaps on one time axis for each rate; the clock is that of the headers."""

    particularity = 120

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
