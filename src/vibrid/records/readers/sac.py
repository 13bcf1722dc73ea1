"""SAC binary files (Seismic Analysis Code), header versions 6 and 7, evenly sampled time series.

IRIS, "SAC Data File Format". 70 numbers of 4 bytes, 40 integers and 192 letters, then the samples; version 7 has a
second header of doubles behind them. The quantity (IDEP) may be stated, the unit is not stored: by the manual it is
nanometres and seconds, but many programs write others, so it is asked for.
"""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.readers.assemble import FileDescription, assemble
from vibrid.records.readers.layout import Column, Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

NAME = "SAC"
_HEADER, _FOOTER = 632, 176  # bytes
_DELTA, _BEGIN = 0, 5  # among the numbers
_YEAR, _VERSION, _COUNT, _TYPE, _QUANTITY, _EVEN = 0, 6, 9, 15, 16, 35  # among the integers
_TIME_SERIES = 1
_UNSET = -12345
_QUANTITIES = {6: ("displacement", "nm"), 7: ("velocity", "nm/s"), 8: ("absolute_acceleration", "nm/s²")}


def recognises(source: Source) -> bool:
    return _order(source.head) != "" and source.size >= _HEADER


def _order(head: bytes) -> str:
    """'<' or '>' by which the version of the header is 6 or 7 and its numbers make sense; empty where neither is."""
    if len(head) < _HEADER:
        return ""
    for order in "<>":
        version, even = (int(np.frombuffer(head, order + "i4", 1, 280 + 4 * i)[0]) for i in (_VERSION, _EVEN))
        unused = np.frombuffer(head, order + "i4", 1, 280 + 4 * 39)[0]
        if version in (6, 7) and even in (0, 1) and unused in (_UNSET, 0):
            return order
    return ""


def read(source: Source, layout: Layout) -> list[Record]:
    content, order = source.content, _order(source.head)
    if not order:
        raise source.problem("it has no header of SAC, version 6 or 7.")
    reals = np.frombuffer(content, order + "f4", 70).astype(float)
    whole = np.frombuffer(content, order + "i4", 40, 280).astype(int)
    if whole[_TYPE] != _TIME_SERIES or whole[_EVEN] != 1:
        raise source.problem("it is no evenly sampled time series (IFTYPE, LEVEN): only these are read.")
    count = int(whole[_COUNT])
    if not 1 <= count <= source.limits.numbers or _HEADER + 4 * count > len(content):
        fit = (len(content) - _HEADER) // 4
        raise source.problem(f"its header announces {count} samples, and {fit} fit: cut short.")
    values = np.frombuffer(content, order + "f4", count, _HEADER).astype(float)
    step, begin = reals[_DELTA], reals[_BEGIN]
    if whole[_VERSION] == 7:
        if len(content) < _HEADER + 4 * count + _FOOTER:
            raise source.problem("its second header (version 7) is cut short.")
        doubles = np.frombuffer(content, order + "f8", 2, _HEADER + 4 * count)
        step, begin = float(doubles[0]), float(doubles[1])
    if not (np.isfinite(step) and 0 < step < 1e6 and np.isfinite(begin) and abs(begin) < 1e12):
        raise source.problem(f"its header gives the step {step:g} s and the begin {begin:g} s.")
    begin = 0.0 if begin == _UNSET else begin
    name, direction = _named(content)
    quantity, unit = _QUANTITIES.get(int(whole[_QUANTITY]), (None, ""))
    if quantity is not None and layout.units is None and layout.columns is None:
        raise source.problem(
            f"its header calls it {quantity} and does not store the unit: by SAC's manual it is {unit}, but many "
            f"programs write others. State it: units='m/s^2', or for {unit} columns with unit and gain 1e-9."
        )
    about = FileDescription(
        [Column(quantity=quantity, direction=direction)], {"step": step, "start": begin}, clock=_clock(whole[:6])
    )
    return [assemble(source, values[:, None], [name], [None], layout, kind=NAME, from_file=about)]


def _named(content: bytes) -> tuple[str, str]:
    """`NET.STA.LOC.CHA`, without empty parts, and the direction that the last letter of the channel names."""

    def text(first: int) -> str:
        word = content[440 + first : 448 + first].split(b"\0")[0].decode("ascii", "replace").strip()
        return "" if word.startswith(str(_UNSET)) else "".join(c if c.isprintable() else "?" for c in word)

    parts = [text(168), text(0), text(24), text(160)]  # KNETWK, KSTNM, KHOLE, KCMPNM
    last = parts[3][-1:]
    return ".".join(p for p in parts if p) or "trace", last if last in ("Z", "N", "E") else ""


def _clock(reference: np.ndarray) -> UtcClock | None:
    """The reference time: year, day of the year, hour, minute, second, millisecond; None where it is not set."""
    year, day, hour, minute, second, milli = (int(n) for n in reference)
    if not (1900 <= year <= 2200 and 1 <= day <= 366 and 0 <= hour < 24 and 0 <= minute < 60):
        return None
    if not (0 <= second <= 60 and 0 <= milli < 1000):
        return None
    try:
        begin = np.datetime64(f"{year:04d}-01-01", "ns")
        since = ((day - 1) * 86400 + hour * 3600 + minute * 60 + second) * 1000 + milli
        return UtcClock(begin + np.timedelta64(since, "ms"), "SAC header")
    except InputError:
        return None


@READERS.register(NAME)
class SAC(Reader):
    """SAC binary files, header versions 6 and 7: one evenly sampled trace; its unit is asked for."""

    particularity = 115

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
