"""Time axes: cutting, shifting, aligning one record with another, and putting several on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.gaps import bridge
from vibrid.records.record import Record, step_of


@checked
def cut(record: Record, start: float | None = None, end: float | None = None) -> Record:
    """The samples from `start` to `end` seconds, both included; times stay as they were."""
    time = record.time
    first, last = (time[0], time[-1]) if len(time) else (0.0, 0.0)
    slack = 1e-9 * max(1.0, abs(first), abs(last))
    low, high = first if start is None else start, last if end is None else end
    inside = np.flatnonzero((time >= low - slack) & (time <= high + slack))
    if inside.size < 1:
        span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "nothing"
        raise InputError(f"There is nothing between {low} and {high} s in record '{record.name}', which covers {span}.")
    rows = slice(inside[0], inside[-1] + 1)
    note = f"cut from {time[rows][0]:g} to {time[rows][-1]:g} s"
    if record.step is None:
        return record.replace(note, data=record.data[rows], times=time[rows])
    return record.replace(note, data=record.data[rows], start=float(time[rows][0]))


@checked
def shift(record: Record, seconds: float) -> Record:
    """The same samples, `seconds` later."""
    if not np.isfinite(seconds):
        raise InputError(f"A record cannot be shifted by {seconds!r} s.")
    note = f"shifted by {seconds:g} s"
    if record.step is None:
        return record.replace(note, times=record.time + seconds)
    return record.replace(note, start=record.start + seconds)


@checked
def lag(
    record: Record,
    reference: Record,
    channel: str | None = None,
    reference_channel: str | None = None,
    largest: float | None = None,
) -> float:
    """How many seconds later `record` shows what `reference` shows, by the peak of their cross-correlation.

    The peak is refined between samples by a parabola. Both need the same rate; `largest` bounds the search in s.
    """
    return likeness(record, reference, channel, reference_channel, largest)[0]


def likeness(
    record: Record,
    reference: Record,
    channel: str | None = None,
    reference_channel: str | None = None,
    largest: float | None = None,
) -> tuple[float, float]:
    """The lag, and the correlation of the two channels over their common time with the lag taken out (−1 to 1)."""
    if record.clock is not None and reference.clock is not None:
        reference, record = on_one_clock([reference, record])
    if abs(record.rate / reference.rate - 1) > 1e-9:
        raise InputError(
            f"The records are sampled at {record.rate:g} and {reference.rate:g} Hz; resample one of them first."
        )
    a = bridge(record.data[:, [record.index(channel or record.names[0])]])[:, 0]
    b = bridge(reference.data[:, [reference.index(reference_channel or reference.names[0])]])[:, 0]
    a, b = a - a.mean(), b - b.mean()
    if not (np.any(a) and np.any(b)):
        raise InputError("A constant signal cannot be aligned.")

    signed = scipy.signal.correlate(a, b, method="fft")
    similarity = np.abs(signed)
    step = step_of(record)
    lags = scipy.signal.correlation_lags(len(a), len(b)) * step + record.time[0] - reference.time[0]
    if largest is not None:
        similarity = np.where(np.abs(lags) <= largest, similarity, -1.0)
    top = int(np.argmax(similarity))
    offset = 0.0
    if 0 < top < len(lags) - 1 and min(similarity[top - 1], similarity[top + 1]) >= 0:
        before, peak, after = similarity[top - 1 : top + 2]
        curvature = before - 2 * peak + after
        offset = 0.5 * (before - after) / curvature if curvature < 0 else 0.0
    shift_by = top - (len(b) - 1)  # samples by which a is late
    one, other = a[max(shift_by, 0) :], b[max(-shift_by, 0) :]
    count = min(len(one), len(other))
    norm = np.linalg.norm(one[:count]) * np.linalg.norm(other[:count])
    return float(lags[top] + offset * step), float(signed[top] / norm) if norm else 0.0


@checked
def align(
    record: Record,
    reference: Record,
    channel: str | None = None,
    reference_channel: str | None = None,
    largest: float | None = None,
) -> Record:
    """The record shifted in time so that its channel agrees best with the reference's (see `lag`)."""
    delay = lag(record, reference, channel, reference_channel, largest)
    moved = shift(record, -delay)
    return moved.replace(history=(*record.history, f"aligned with '{reference.name}': shifted by {-delay:g} s"))


@checked
def synchronise(records: Sequence[Record], rate: float | None = None, span: str = "common", name: str = "") -> Record:
    """Several records on one time axis, as one record.

    rate: samples per second of the result; the highest rate among the records when not given. Records at another rate
    are resampled (anti-aliased); offsets of a fraction of a sample are removed by a cubic spline.
    span: 'common' keeps the time that all cover, 'whole' covers all of them with NaN where one has nothing.
    Channel names that occur twice are preceded by the name of their record.
    """
    records = list(records)
    if not records:
        raise InputError("There is nothing to synchronise.")
    if span not in ("common", "whole"):
        raise InputError(f"`span` is 'common' or 'whole', not {span!r}.")
    if rate is None:
        rate = max(r.rate if r.step else 1.0 / float(np.median(np.diff(r.time))) for r in records)
    records = [r.resample(rate) for r in on_one_clock(records)]
    starts, ends = [r.time[0] for r in records], [r.time[-1] for r in records]
    first, last = (max(starts), min(ends)) if span == "common" else (min(starts), max(ends))
    if last <= first:
        raise InputError("The records do not overlap in time; use span='whole' or shift them first.")
    count = int(np.floor((last - first) * rate + 1e-6)) + 1
    grid = first + np.arange(count) / rate
    names = [n for r in records for n in r.names]
    columns, channels = [], []
    for number, r in enumerate(records, 1):
        columns.append(_on_grid(r, grid))
        alone = r.name and [s.name for s in records].count(r.name) == 1
        label = r.name if alone else f"{r.name or 'record'} {number}"
        for c in r.channels:
            channels.append(replace(c, name=f"{label}: {c.name}") if names.count(c.name) > 1 else c)
    history = [f"{r.name}: {line}" for r in records for line in r.history]
    history.append(f"synchronised {len(records)} records at {rate:g} samples per second ({span} span)")
    return Record(
        np.hstack(columns),
        tuple(channels),
        step=1.0 / rate,
        start=float(first),
        name=name or " + ".join(r.name for r in records),
        history=tuple(history),
        files=tuple(dict.fromkeys(file for r in records for file in r.files)),
        clock=records[0].clock,
    )


def on_one_clock(records: Sequence[Record]) -> list[Record]:
    """Records whose times count from one instant: that of the first, where all have a clock."""
    clocks = [r.clock for r in records]
    if all(clock is None for clock in clocks):
        return list(records)
    if any(clock is None for clock in clocks):
        named = ", ".join(f"'{r.name}'" for r in records if r.clock is None)
        raise InputError(
            f"{named} has no clock, while others count from an instant of UTC: give it one, "
            "record.replace(clock=UtcClock(…)), or leave out those of all, record.replace(clock=None)."
        )
    first = records[0].clock
    assert first is not None
    worst = max((c.uncertainty for c in clocks if c is not None and c.uncertainty is not None), default=None)
    source = ", ".join(dict.fromkeys(c.source for c in clocks if c is not None and c.source))
    common = UtcClock(first.zero, source, worst)
    moved = [(r, first.seconds(r.clock.zero)) for r in records if r.clock is not None]
    return [(shift(r, by) if by else r).replace(clock=common) for r, by in moved]


def _on_grid(record: Record, grid: np.ndarray) -> np.ndarray:
    position = (grid - record.time[0]) * record.rate
    whole = np.round(position).astype(int)
    out = np.full((len(grid), len(record.channels)), np.nan)
    inside = (whole >= 0) & (whole < len(record))
    if np.all(np.abs(position - whole) < 1e-3):
        out[inside] = record.data[whole[inside]]
        return out
    inside &= (position >= -1e-9) & (position <= len(record) - 1 + 1e-9)
    smooth = scipy.interpolate.CubicSpline(np.arange(len(record)), bridge(record.data))(position[inside])
    smooth[np.isnan(record.data)[np.clip(whole[inside], 0, len(record) - 1)]] = np.nan
    out[inside] = smooth
    return out
