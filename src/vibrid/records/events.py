"""Events in long records: an earthquake or a truck stands out of what shakes a structure all the time.

R. V. Allen, "Automatic earthquake recognition and timing from single traces", Bulletin of the Seismological Society of
America 68 (1978) 1521–1532: the mean square over a short time, over the usual one before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.record import Record, step_of

MOTIONS = ("acceleration", "absolute_acceleration", "ground_acceleration", "velocity", "ground_velocity")


@checked
@dataclass(frozen=True)
class Trigger:
    """When an event begins and ends.

    Arguments
        short: s over which mean squares are taken; long: s before, whose median is the usual one.
        on: ratio of the two at which an event begins; off: below which it ends.
        before, after: s that are kept beside it; events whose parts overlap are one.
        together: share of the channels, at least one, that must show it.
    """

    short: float = 1.0
    long: float = 60.0
    on: float = 20.0
    off: float = 3.0
    before: float = 10.0
    after: float = 20.0
    together: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.short < self.long and 0 < self.off < self.on and self.before >= 0 and self.after >= 0):
            raise InputError("A trigger has 0 < short < long, 0 < off < on, and parts beside it of 0 s or more.")
        if not 0 < self.together <= 1:
            raise InputError(f"The share of channels that show an event is above 0 and at most 1, not {self.together}.")


@dataclass(frozen=True)
class Event:
    """A part of a record.

    Fields
        begin, end: s, with what is kept beside it; at: s of the first crossing.
        ratio: largest of the mean square over the usual one, of the channel that shows it most.
        peaks: largest absolute value of every channel in the part, its mean taken off.
    """

    begin: float
    end: float
    at: float
    ratio: float
    peaks: dict[str, float]


@checked
def find_events(record: Record, trigger: Trigger | None = None, channels: list[str] | None = None) -> list[Event]:
    """The events of a record, in order of time.

    Arguments
        channels: those that are watched; all accelerations and velocities by default.

    Missing samples count as no motion. Before half of the long time has passed nothing is found: what is usual is not
    known yet.
    """
    trigger = trigger or Trigger()
    names = channels or [c.name for c in record.channels if c.quantity in MOTIONS]
    if not names:
        raise InputError(f"Record '{record.name}' has no acceleration or velocity: name the channels that are watched.")
    step = step_of(record)
    short, long = (max(round(seconds / step), 1) for seconds in (trigger.short, trigger.long))
    if len(record) < long:
        raise InputError(
            f"Record '{record.name}' spans {len(record) * step:.3g} s, less than the {trigger.long:g} s over which the "
            "usual motion is known."
        )
    ratios = np.stack([_ratio(record.data[:, record.index(name)], short, long) for name in names], axis=1)
    count = max(1, int(np.ceil(trigger.together * len(names))))
    ratio = np.sort(ratios, axis=1)[:, -count]
    return [_event(record, trigger, ratios, first, last) for first, last in _spans(ratio, trigger, step)]


def _ratio(values: np.ndarray, short: int, long: int) -> np.ndarray:
    """(samples,) of the mean square over the last `short` samples over the usual one.

    The usual one is the median of such mean squares in the `long` samples before, which an event does not change.
    """
    there = np.isfinite(values)
    centred = np.where(there, values - np.nanmedian(values), 0.0) if there.any() else np.zeros(len(values))
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    counts = np.concatenate([[0], np.cumsum(there)])
    end = np.arange(1, len(values) + 1)
    middle = np.maximum(end - short, 0)
    now = (squares[end] - squares[middle]) / np.maximum(counts[end] - counts[middle], 1)
    edges = np.arange(0, len(values) + 1, short)
    known = np.diff(counts[edges])
    parts = np.where(known >= short / 2, np.diff(squares[edges]) / np.maximum(known, 1), np.nan)
    most = max(round(long / short), 1)
    padded = np.concatenate([np.full(most, np.nan), parts])
    windows = np.lib.stride_tricks.sliding_window_view(padded, most)  # those before part 0, 1, …
    enough = np.isfinite(windows).sum(axis=1) >= most / 2
    usual = np.full(len(windows), np.inf)
    usual[enough] = np.nanmedian(windows[enough], axis=1)
    floor = 1e-12 * max(float(np.max(centred**2, initial=0.0)), 1e-300)
    return now / np.maximum(usual[middle // short], floor)


def _spans(ratio: np.ndarray, trigger: Trigger, step: float) -> list[tuple[int, int]]:
    """(first, last) samples of the events, parts beside them not yet added; those whose parts overlap are one."""
    above = np.flatnonzero(ratio >= trigger.on)
    found: list[tuple[int, int]] = []
    beside = round((trigger.before + trigger.after) / step)
    low = np.flatnonzero(ratio < trigger.off)
    for first in above:
        if found and first <= found[-1][1]:
            continue
        later = low[np.searchsorted(low, first) :]
        last = int(later[0]) if len(later) else len(ratio) - 1
        if found and first - found[-1][1] <= beside:
            found[-1] = (found[-1][0], last)
        else:
            found.append((int(first), last))
    return found


def _event(record: Record, trigger: Trigger, ratios: np.ndarray, first: int, last: int) -> Event:
    step, start = step_of(record), float(record.time[0])
    begin = max(first - round(trigger.before / step), 0)
    end = min(last + round(trigger.after / step), len(record) - 1)
    part = record.data[begin : end + 1]
    peaks = {}
    for name, column, whole in zip(record.names, part.T, record.data.T, strict=True):
        known = np.isfinite(column)
        peaks[name] = float(np.max(np.abs(column[known] - np.nanmedian(whole)))) if known.any() else float("nan")
    return Event(
        start + begin * step, start + end * step, start + first * step, float(ratios[first : last + 1].max()), peaks
    )
