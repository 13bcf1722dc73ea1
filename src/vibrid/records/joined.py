"""Records that follow each other put together: pieces of absolute times on one grid, NaN between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.record import Record, step_of

_PHASE = 0.02  # share of a step by which pieces of one grid may differ
_SAME_RATE = 1e-6
_NANO = 1_000_000_000


@dataclass(frozen=True, eq=False)
class GridPiece:
    """Samples of a channel without a gap: ns of UTC since 1970 of the first, Hz, and the values."""

    channel: str
    start: int
    rate: float
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Pieces on one time axis: ns of UTC of its first sample, (samples, channels) values, NaN where there is none.

    `twice`: samples of each channel that came again with another value; the later piece counts.
    """

    start: int
    rate: float
    channels: tuple[str, ...]
    data: np.ndarray
    twice: dict[str, int]


def grids(pieces: Sequence[GridPiece], most: int) -> list[TimeGrid]:
    """Pieces by rate and phase of sampling, each group on a grid of its own.

    Arguments
        most: numbers of a grid; a longer one is refused.
    """
    groups: list[list[GridPiece]] = []
    for piece in sorted(pieces, key=lambda p: (p.start, p.channel)):
        group = next((g for g in groups if _fits(piece, g[0])), None)
        if group is None:
            groups.append([piece])
        else:
            group.append(piece)
    return [_grid(group, most) for group in groups]


def _fits(piece: GridPiece, first: GridPiece) -> bool:
    """Whether a piece lies on the grid that another one begins."""
    if abs(piece.rate - first.rate) > _SAME_RATE * first.rate:
        return False
    steps = (piece.start - first.start) * first.rate / _NANO
    return abs(steps - round(steps)) < _PHASE


def _grid(group: list[GridPiece], most: int) -> TimeGrid:
    first, rate = group[0].start, group[0].rate
    at = [round((p.start - first) * rate / _NANO) for p in group]
    length = max(a + len(p.values) for a, p in zip(at, group, strict=True))
    channels = tuple(sorted({p.channel for p in group}))
    if length * len(channels) > most:
        raise InputError(
            f"The pieces span {length / rate:.3g} s, {length * len(channels)} numbers, more than the {most} that are "
            "allowed; cut them into parts, or a time in them is damaged."
        )
    data = np.full((length, len(channels)), np.nan)
    twice = dict.fromkeys(channels, 0)
    for start, piece in zip(at, group, strict=True):
        part = data[start : start + len(piece.values), channels.index(piece.channel)]
        there = np.isfinite(piece.values)
        twice[piece.channel] += int(np.sum(np.isfinite(part) & there & (part != piece.values)))
        part[there] = piece.values[there]
    return TimeGrid(first, rate, channels, data, twice)


def join(records: Sequence[Record], name: str = "", most: int = 100_000_000) -> list[Record]:
    """Records with clocks, of any channels, put together: one record for every rate and phase of sampling.

    Arguments
        name: of the results; that of the first record by default.
        most: numbers of a result; a longer one is refused.

    A channel is one by its name; its quantity, unit and place must be the same in all records.
    """
    if not records:
        raise InputError("There is nothing to join.")
    known, pieces = {}, []
    for record in records:
        if record.clock is None:
            raise InputError(f"Record '{record.name}' has no clock: where it belongs is not known.")
        for channel in record.channels:
            if known.setdefault(channel.name, channel) != channel:
                raise InputError(
                    f"Channel '{channel.name}' is described in two ways: {known[channel.name]} and {channel}."
                )
        start = int(record.clock.at(float(record.time[0])).astype(np.int64))
        rate = 1.0 / step_of(record)
        pieces += [GridPiece(n, start, rate, record.data[:, i]) for i, n in enumerate(record.names)]
    clocks = [r.clock for r in records if r.clock is not None]
    bands = [clock.uncertainty for clock in clocks if clock.uncertainty is not None]
    source, uncertainty = clocks[0].source, max(bands) if len(bands) == len(clocks) else None
    title = name or records[0].name
    made = [
        Record(
            grid.data,
            tuple(known[n] for n in grid.channels),
            step=1.0 / grid.rate,
            name=title,
            history=(f"put together from {len(records)} records",),
            clock=UtcClock(np.datetime64(grid.start, "ns"), source, uncertainty),
        )
        for grid in grids(pieces, most)
    ]
    return made if len(made) == 1 else [r.replace(name=f"{title} ({i})") for i, r in enumerate(made, 1)]
