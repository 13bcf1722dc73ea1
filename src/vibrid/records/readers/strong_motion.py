"""Shared by the strong-motion formats: traces of single channels, gathered into records on one time axis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.readers.assemble import build, described_anew, stem
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.record import Channel, Record
from vibrid.records.units import unit_factor

_FREE_FIELD = re.compile(r"^\s*$|ground|free.?field|\bf\.?\s?f\.?\b", re.I)
_MOTIONS = {"m/s^2": "acceleration", "m/s": "velocity", "m": "displacement"}


@dataclass(frozen=True, eq=False)
class Trace:
    """One component of one sensor. `clock` is equal for traces that start together on the same recorder; `zero` is the
    instant of the first sample, where the file states it in a known zone."""

    number: int
    values: np.ndarray
    unit: str
    step: float
    clock: str = ""
    direction: str = ""
    location: str = ""
    title: str = ""
    line: int | None = None
    zero: UtcClock | None = None


def gather(source: Source, traces: Sequence[Trace], layout: Layout, kind: str) -> list[Record]:
    """Records from traces: those with one clock and step share a record, shorter ones end with NaN.

    A free-field sensor (no location, or one that states it) measures ground motion. Velocity and displacement of a
    sensor on a structure are absolute, for which a record has no quantity of its own: they are 'other'.
    """
    groups: dict[tuple, list[Trace]] = {}
    for trace in traces:
        groups.setdefault((trace.clock, round(trace.step, 9)), []).append(trace)
    records, units = [], []
    for index, ((_, _), members) in enumerate(groups.items(), 1):
        members.sort(key=lambda t: t.number)
        longest = max(t.values.size for t in members)
        if longest * len(members) > source.limits.numbers:
            raise source.problem(f"more than {source.limits.numbers} numbers; pass larger `limits` to read it.")
        data = np.full((longest, len(members)), np.nan)
        channels = []
        for i, trace in enumerate(members):
            try:
                factor, symbol, _ = unit_factor(trace.unit)
            except InputError as problem:
                raise source.problem(str(problem), trace.line) from None
            if symbol not in _MOTIONS:
                raise source.problem(
                    f"'{trace.unit}' is not a unit of acceleration, velocity or displacement.", trace.line
                )
            data[: trace.values.size, i] = trace.values * factor
            channels.append(_channel(trace, _MOTIONS[symbol], symbol))
        name = layout.name or stem(source)
        short = sum(t.values.size < longest for t in members)
        history = [f"read from {source.name} ({kind}): {members[0].title}"]
        if short:
            history.append(f"{short} channels end before the longest and are continued with NaN")
        records.append(
            build(
                source,
                data,
                channels,
                {"step": members[0].step, "clock": members[0].zero},
                name if len(groups) == 1 else f"{name} ({index})",
                history,
            )
        )
        units.append([t.unit for t in members])
    return described_anew(source, records, layout, units)


def _channel(trace: Trace, motion: str, symbol: str) -> Channel:
    if _FREE_FIELD.search(trace.location):
        quantity = f"ground_{motion}"
    else:
        quantity = "absolute_acceleration" if motion == "acceleration" else "other"
    return Channel(f"ch{trace.number:02d}_{motion}", quantity, symbol, trace.location or "ground", trace.direction)
