"""Traces of loggers with absolute times, pieces with gaps: one record for every rate and phase of sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.joined import GridPiece, TimeGrid, grids
from vibrid.records.readers.assemble import DOUBT, FileDescription, assemble, stem
from vibrid.records.readers.layout import Column, Layout
from vibrid.records.readers.source import Source
from vibrid.records.record import Record


@dataclass(frozen=True, eq=False)
class LoggerTrace(GridPiece):
    """A piece as the file has it; `direction` of its channel."""

    direction: str = ""


def on_grids(source: Source, traces: Sequence[LoggerTrace], layout: Layout, kind: str, clock: str) -> list[Record]:
    """Records of some pieces; gaps are NaN, and what was found is in the history.

    Arguments
        kind: the format, for the history; clock: what set the times of the pieces.
    """
    try:
        layout.check_names(sorted({t.channel for t in traces}))
        found = grids(traces, source.limits.numbers)
    except InputError as problem:
        raise source.problem(str(problem)) from None
    directions = {t.channel: t.direction for t in traces}
    records = []
    for number, grid in enumerate(found, 1):
        title = layout.name or stem(source)
        own = layout if len(found) == 1 else layout.within(grid.channels)
        title = title if len(found) == 1 else f"{title} ({number})"
        pieces = sum(t.channel in grid.channels for t in traces)
        records.append(_record(source, grid, own, kind, clock, title, directions, pieces))
    return records


def _record(source: Source, grid: TimeGrid, layout: Layout, kind: str, clock: str, title: str, directions, pieces: int):
    about = FileDescription(
        [Column(direction=directions[n]) for n in grid.channels],
        {"step": 1.0 / grid.rate, "start": 0.0},
        name=title,
        clock=UtcClock(np.datetime64(grid.start, "ns"), clock),
    )
    notes = [f"put together from {pieces} pieces"] if pieces > len(grid.channels) else []
    units = [None] * len(grid.channels)
    record = assemble(source, grid.data, grid.channels, units, layout, kind=kind, from_file=about, notes=notes)
    doubts = [
        f"{DOUBT}{n} has {count} samples twice with other values; the later piece counts"
        for n, count in grid.twice.items()
        if count
    ]
    return record.replace(history=(*record.history, *doubts)) if doubts else record
