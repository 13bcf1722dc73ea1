"""Times of NumPy and JSON files that are instants: `datetime64` (taken as UTC), or texts with their zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock, as_utc
from vibrid.records.readers.source import Source
from vibrid.records.readers.time_axis import TIME_NAME
from vibrid.records.record import Record


def is_time(name: str) -> bool:
    """Whether an array of this name is a time."""
    return TIME_NAME.match(name.rsplit(".", 1)[-1]) is not None


def instants_of(source: Source, name: str, given: np.ndarray | Sequence[object]) -> np.ndarray:
    """(samples,) datetime64[ns]; refused where an instant is missing or a text has no zone."""
    try:
        if isinstance(given, np.ndarray):
            made = given.reshape(-1).astype("M8[ns]")
            if np.isnat(made).any():
                raise InputError("an instant is missing (NaT)")
            return made
        return np.array([as_utc(value) for value in given], "M8[ns]")
    except (InputError, OverflowError, ValueError) as problem:
        raise source.problem(f"'{name[:60]}': {problem}") from None


def seconds_since_first(instants: np.ndarray) -> np.ndarray:
    """(samples,) s."""
    return (instants - instants[0]).astype(np.int64) * 1e-9


def with_clock(records: list[Record], instants: Mapping[str, np.ndarray]) -> list[Record]:
    """Records with the clock of the one time of the file that was instants; as they are where it was not the time."""
    if len(instants) != 1 or len(records) != 1:
        return records
    (times,), (record,) = instants.values(), records
    if len(record) != len(times) or record.time[0] != 0.0:
        return records
    return [record.replace(clock=UtcClock(times[0], "times of the file"))]
