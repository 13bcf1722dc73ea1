"""Windows of time cut from files that arrive one after the other: pieces without gaps, channels that work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError
from vibrid.modal.channels import chosen_channels
from vibrid.records.record import Record, step_of

_ENOUGH = 0.5  # share of a window that must be there
_LOST = 0.05  # share of its samples that a channel may lack
_DEAD = 1e-6  # scatter of a channel over the median of all, below which it has failed
_SHORTEST_PIECE = 0.05  # share of a window


@dataclass(frozen=True, eq=False)
class WindowPieces:
    """What there is of a window: pieces of equal channels without gaps, means of the environment, and notes."""

    pieces: list[Record]
    environment: np.ndarray
    notes: list[str]


def window_of(
    records: Sequence[Record],
    start: np.datetime64,
    length: float,
    channels: Sequence[str] | None = None,
    environment: Sequence[str] = (),
    without: Sequence[tuple[np.datetime64, np.datetime64]] = (),
) -> WindowPieces:
    """The part of records, in order of time, that lies in a window; what is missing or fails is told.

    Arguments
        length: s.
        channels: those that measure a motion; all that do by default.
        environment: channels whose mean over the window is taken.
        without: (begin, end) in UTC of events, which are left out.
    """
    notes: list[str] = []
    end = start + np.timedelta64(round(length * 1e9), "ns")
    parts, last = [], start
    for record in records:
        if record.clock is None:
            raise InputError(f"Record '{record.name}' has no clock: it is not known to which window it belongs.")
        slack = np.timedelta64(round(0.5e9 * step_of(record)), "ns")
        begins, ends = record.clock.at(float(record.time[0])), record.clock.at(float(record.time[-1]))
        if begins < last - slack and last > start:
            notes.append(
                f"'{record.name}' begins before the one before it ends: the clock jumped, or a file is double."
            )
        low, high = max(begins, last), min(ends, end - slack)
        if high > low:
            parts.append(record.cut(record.clock.seconds(low) - 1e-9, record.clock.seconds(high)))
            last = max(last, ends + 2 * slack)
    covered = sum(part.duration for part in parts)
    surroundings = _means(parts, environment, notes)
    if covered < _ENOUGH * length:
        notes.append(f"{covered:.4g} s of {length:g} s are there: too few for modes.")
        return WindowPieces([], surroundings, notes)
    names = [n for n in chosen_channels(parts[0], channels) if n not in environment]
    working = _working(parts, names, notes)
    chosen = [part.select(working) for part in parts]
    quiet = [_without(part, without) for part in chosen]
    shaken = sum(_lost(after) - _lost(before) for before, after in zip(chosen, quiet, strict=True))
    if shaken:
        notes.append(f"{shaken:.4g} s of events were left out.")
    pieces = [piece for part in quiet for piece in _unbroken(part, _SHORTEST_PIECE * length)]
    whole = sum(piece.duration for piece in pieces)
    if whole < 0.98 * length:
        notes.append(f"{whole:.4g} s of {length:g} s are without gaps, in {len(pieces)} pieces.")
    if whole < _ENOUGH * length or len(working) < 2:
        notes.append("Too few samples or channels for modes.")
        return WindowPieces([], surroundings, notes)
    return WindowPieces(pieces, surroundings, notes)


def _means(parts: Sequence[Record], names: Sequence[str], notes: list[str]) -> np.ndarray:
    """(e,) means of channels of the environment; NaN where there is none."""
    made = np.full(len(names), np.nan)
    for i, name in enumerate(names):
        columns = [part[name] for part in parts if name in part.names]
        known = np.concatenate(columns) if columns else np.zeros(0)
        known = known[np.isfinite(known)]
        if known.size:
            made[i] = known.mean()
        else:
            notes.append(f"'{name}' was not measured.")
    return made


def _working(parts: Sequence[Record], names: Sequence[str], notes: list[str]) -> list[str]:
    """The channels that neither lack many samples nor stand still."""
    there = [name for name in names if all(name in part.names for part in parts)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in there}
    lost = {name: float(np.mean(~np.isfinite(column))) for name, column in columns.items()}
    full = [name for name in there if lost[name] <= _LOST]
    size = {name: float(np.nanstd(columns[name])) for name in full}
    usual = float(np.median(list(size.values()))) if size else 0.0
    working = [name for name in full if size[name] > _DEAD * usual]
    out = [name for name in names if name not in working]
    if out:
        notes.append(f"Left out, because they have failed or were not recorded: {', '.join(out)}.")
    return working


def _without(record: Record, spans: Sequence[tuple[np.datetime64, np.datetime64]]) -> Record:
    """The record with NaN in spans of UTC."""
    assert record.clock is not None
    times, gone = record.time, np.zeros(len(record), bool)
    for begin, end in spans:
        gone |= (times >= record.clock.seconds(begin)) & (times <= record.clock.seconds(end))
    return record.replace(data=np.where(gone[:, None], np.nan, record.data)) if gone.any() else record


def _lost(record: Record) -> float:
    """Seconds without some channel."""
    return float(np.sum(~np.isfinite(record.data).all(axis=1))) * step_of(record)


def _unbroken(record: Record, shortest: float) -> list[Record]:
    """Pieces without missing samples, those that are long enough."""
    known = np.isfinite(record.data).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(int), [0]])))
    step, pieces = step_of(record), []
    for first, last in edges.reshape(-1, 2):
        if (last - first) * step >= shortest:
            pieces.append(record.replace(data=record.data[first:last], start=record.start + step * float(first)))
    return pieces
