"""Events in files that arrive one after the other: each is found once, also where it goes on in the next file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vibrid.core.errors import InputError, VibridError
from vibrid.identification.result import Identification
from vibrid.monitor.event_fits import EventEstimate, estimate_event
from vibrid.monitor.state import MonitorState, SeenFile
from vibrid.records.events import Event, Trigger, find_events
from vibrid.records.joined import join
from vibrid.records.record import Record, step_of

_LONGEST = 300.0  # s; a longer event is cut there
_REACHED = "events"  # in the state: the instant up to which events were looked for


@dataclass(frozen=True)
class EventWatch:
    """How events are found and what is done with them.

    Arguments
        identify: from the file of a part to a result; None where events are only cut out.
        trigger: when an event begins and ends.
        limit: of the drift of a storey, m; None where none is of interest.
        channels: those that are watched; all accelerations and velocities by default.
    """

    identify: Callable[[Path], Identification] | None = None
    trigger: Trigger = field(default_factory=Trigger)
    limit: float | None = None
    channels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and not self.limit > 0:
            raise InputError(f"The limit of a drift is a length above zero, not {self.limit} m.")

    @property
    def reach(self) -> float:
        """s before a file that are read with it."""
        return self.trigger.long + self.trigger.before + self.trigger.after + _LONGEST


def look_for_events(
    state: MonitorState,
    how: EventWatch,
    files: Sequence[SeenFile],
    read: Callable[[SeenFile], Record],
    final: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> int:
    """Look for events in files that were not looked at yet, and keep what they told; how many there were.

    Arguments
        files: all that are known, with the instants that they cover; read: gives the record of one.
        final: whether an event that lasts to the end of the last file ends there; else the next file goes on with it.
    """
    spans = sorted((f for f in files if f.start is not None and f.finish is not None), key=_finish)
    reached = state.reached(_REACHED)
    new = [f for f in spans if reached is None or _finish(f) > reached]
    count = 0
    for f in new:
        try:
            whole = _with_what_was_before(f, spans, read, how.reach, tell)
            found = _events_of(whole, how)
        except VibridError as problem:
            tell(f"No events were looked for in '{f.name}': {problem}")
            state.reach(_REACHED, _finish(f))
            continue
        for event in found:
            if _pending(whole, event) and not (final and f is new[-1]):
                continue
            made = _taken_in(state, how, whole, event)
            if made is not None:
                tell(str(made))
                count += 1
        state.reach(_REACHED, _finish(f))
    return count


def _with_what_was_before(f: SeenFile, spans: Sequence[SeenFile], read, reach: float, tell) -> Record:
    """The record of a file and of what came in the seconds before it; of the file alone where the clock jumped."""
    low = _nanoseconds(f.start) - round(1e9 * reach)
    near = [g for g in spans if _finish(g) >= low and _nanoseconds(g.start) <= _finish(f)]
    made = join([_since(read(g), low) for g in near], name=Path(f.name).stem)
    if len(made) != 1:
        tell(f"'{f.name}' is on another grid of times than the files before it: events are looked for in it alone.")
        return read(f)
    return made[0]


def _since(record: Record, low: int) -> Record:
    """The part of a record after an instant, in nanoseconds since 1970."""
    assert record.clock is not None
    first = record.clock.seconds(np.datetime64(low, "ns"))
    return record if first <= float(record.time[0]) else record.cut(first, float(record.time[-1]))


def _events_of(whole: Record, how: EventWatch) -> list[Event]:
    """The events of a record; none while it is too short to know what is usual."""
    if len(whole) * step_of(whole) < how.trigger.long:
        return []
    return find_events(whole, how.trigger, None if how.channels is None else list(how.channels))


def _pending(whole: Record, event: Event) -> bool:
    """Whether an event may go on in the next file."""
    last = float(whole.time[-1])
    return event.end >= last - 1.5 * step_of(whole) and last - event.begin < _LONGEST


def _taken_in(state: MonitorState, how: EventWatch, whole: Record, event: Event) -> EventEstimate | None:
    """The event, kept in the state; None where it is there already."""
    assert whole.clock is not None
    at = whole.clock.at(event.at)
    if any(known.begin <= at <= known.end for known in state.events()):
        return None
    made = estimate_event(whole, event, state.path.parent, how.identify, how.limit)
    state.add_event(made)
    return made


def _nanoseconds(instant: np.datetime64 | None) -> int:
    assert instant is not None
    return int(instant.astype("M8[ns]").astype(np.int64))


def _finish(f: SeenFile) -> int:
    return _nanoseconds(f.finish)
