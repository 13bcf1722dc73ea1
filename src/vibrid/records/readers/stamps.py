"""Dates and times of day in the cells of a table, made into seconds from the first sample.

2024-05-01T12:00:00.25+02:00, 01.05.2024 12:00:00, 5/1/2024 1:00 PM, 1-May-2024, 12:00:00.5, 34:12.5 (minutes). Where
points stand in a date, the day comes first. Slashes leave the order of day and month open: it is taken from the data
(no month has the number 13) or from the caller; a file that gives other times in the other order is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.clock import UtcClock
from vibrid.records.readers.source import Source

ORDERS = ("dmy", "mdy", "ymd")
"""Orders of day, month and year."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?!\d)")
_NAMED = re.compile(r"(\d{1,2})[- ]([A-Za-z]{3})[a-z]*\.?[- ](\d{4}|\d{2})(?!\d)")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:[.,:](\d{1,9}))?\s*([AaPp]\.?[Mm]\.?)?")
_SHORT = re.compile(r"(\d{1,2}):(\d{2})\s*([AaPp]\.?[Mm]\.?)")
_MINUTES = re.compile(r"(\d{1,3}):(\d{2})[.,](\d{1,9})")
_HALF = re.compile(r"(\d{1,2}):(\d{2})")
_ZONE = re.compile(r"\s*(Z|UTC|GMT|([-+])(\d{2}):?(\d{2})?)", re.I)
_DAY = 86400.0


def looks_like_stamp(text: str) -> bool:
    """Whether a cell begins as a date or a time of day does."""
    text = text.strip()
    return bool(_DATE.match(text) or _NAMED.match(text) or _HALF.match(text))


class StampColumn:
    """The stamps of one column, as numbers; the order of day and month is decided when all are known."""

    def __init__(self, name: str) -> None:
        self.name, self.first = name, ""
        self._rows: list[tuple[float, ...]] = []
        self._kept: list[np.ndarray] = []
        self._separators: set[str] = set()

    def add(self, text: str) -> None:
        """Take the next stamp; InputError where it is none."""
        text = text.strip().strip('"').strip()
        self.first = self.first or text
        self._rows.append(self._parts(text))
        if len(self._rows) >= 10_000:
            self._pack()

    def _pack(self) -> None:
        self._kept.append(np.array(self._rows, dtype=float).reshape(-1, 5))
        self._rows = []

    @property
    def parts(self) -> np.ndarray:
        """(rows, 5): the three numbers of the date (NaN without one), seconds of the day (NaN), seconds of the zone."""
        self._pack()
        self._kept = [np.concatenate(self._kept)]
        return self._kept[0]

    @property
    def separators(self) -> frozenset[str]:
        """The characters between the numbers of the dates; 'name' where the month is a word."""
        return frozenset(self._separators)

    def _parts(self, text: str) -> tuple[float, ...]:
        if not text:
            raise InputError(f"the time is missing in column '{self.name}'.")
        date, rest = (np.nan, np.nan, np.nan), text
        if found := _DATE.match(text):
            self._separators.add(found[2] if len(found[1]) < 3 else "year first")
            date, rest = (float(found[1]), float(found[3]), float(found[4])), text[found.end() :]
        elif found := _NAMED.match(text):
            if found[2].lower() not in _MONTHS:
                raise InputError(f"'{text[:40]}' is no date: there is no month '{found[2]}'.")
            self._separators.add("name")
            month = _MONTHS.index(found[2].lower()) + 1
            date, rest = (float(found[1]), float(month), float(found[3])), text[found.end() :]
        rest = rest.lstrip(" T,")
        seconds, rest = _of_day(rest, text) if rest else (np.nan, "")
        zone = np.nan
        if rest.strip():
            found = _ZONE.fullmatch(rest.rstrip())
            if found is None:
                raise InputError(f"'{text[:40]}' is no date or time that can be read; write 2024-05-01 12:00:00.25.")
            sign = -1.0 if found[2] == "-" else 1.0
            zone = sign * (3600.0 * float(found[3] or 0) + 60.0 * float(found[4] or 0))
        return (*date, seconds, zone)


def _of_day(text: str, whole: str) -> tuple[float, str]:
    """Seconds of the day, and the rest of the text."""
    if found := _CLOCK.match(text):
        hours, minutes, seconds = float(found[1]), float(found[2]), float(f"{found[3]}.{found[4] or 0}")
        half = found[5]
    elif found := _SHORT.match(text):
        hours, minutes, seconds, half = float(found[1]), float(found[2]), 0.0, found[3]
    elif found := _MINUTES.match(text):
        hours, minutes, seconds, half = 0.0, float(found[1]), float(f"{found[2]}.{found[3]}"), None
    elif (found := _HALF.match(text)) and whole != text:
        hours, minutes, seconds, half = float(found[1]), float(found[2]), 0.0, None
    elif _HALF.match(text):
        raise InputError(
            f"'{whole[:40]}' may be hours and minutes or minutes and seconds; write 12:34:00 or 00:12:34, or the time "
            "in seconds."
        )
    else:
        raise InputError(f"'{whole[:40]}' is no date or time that can be read; write 2024-05-01 12:00:00.25.")
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    if (minutes > 59 and not _MINUTES.fullmatch(text)) or seconds >= 61 or hours > 24:
        raise InputError(f"'{whole[:40]}' is no time of a day.")
    return 3600.0 * hours + 60.0 * minutes + seconds, text[found.end() :]


def seconds_from(
    source: Source, columns: Mapping[int, StampColumn], order: str | None
) -> tuple[np.ndarray, str, UtcClock | None]:
    """Seconds from the first stamp, a sentence on how it was read, and the clock where dates have a zone; a date and a
    time may stand in two columns."""
    parts = [column.parts for column in columns.values()]
    names = " and ".join(f"'{column.name}'" for column in columns.values())
    both = parts[0]
    for other in parts[1:]:
        both = np.where(np.isnan(both), other, both)
    separators = frozenset().union(*(column.separators for column in columns.values()))
    first = " ".join(column.first for column in columns.values())
    date, clock, zone = both[:, :3], both[:, 3], both[:, 4]
    if np.isnan(zone).any() and not np.isnan(zone).all():
        raise source.problem(f"some times of {names} have a zone and others have none; write it for all or none.")
    shift = np.nan_to_num(zone)
    if np.isnan(date).all():
        return *_within_days(clock - shift, first), None
    if np.isnan(date).any():
        raise source.problem(f"some times of {names} have a date and others have none.")
    clock = np.nan_to_num(clock)
    readings, zeros = {}, []
    for candidate in _orders(separators, order):
        days = _days(date, candidate)
        if days is not None:
            readings[candidate] = (days - days[0]) * _DAY + (clock - shift) - (clock[0] - shift[0])
            zeros.append(_instant(days[0], clock[0] - shift[0]))
    if not readings:
        given = f" in the order {order}" if order else ""
        raise source.problem(f"the dates of {names} ('{first}' first) are no dates of the calendar{given}.")
    times = list(readings.values())
    if any(not np.array_equal(times[0], other) for other in times[1:]):
        raise source.problem(
            f"'{first}' may be {' or '.join(_WORDS[o] for o in readings)}, and the times differ; give `dates`: --dates "
            f"{next(iter(readings))} or --dates {list(readings)[1]} (`dates` under [records] of a project, or in a "
            "sidecar)."
        )
    chosen = next(iter(readings))
    open_order = len(_orders(separators, None)) > 1
    how = "" if not open_order else ", any order of day and month" if len(readings) > 1 else f", {_WORDS[chosen]}"
    stated = not np.isnan(zone).any() and len(set(zeros)) == 1
    clock_of = UtcClock(zeros[0], "dates in the file") if stated else None
    return times[0], f"times from dates in {names}, 0 s is {first}{how}", clock_of


def _instant(days: float, seconds: float) -> np.datetime64:
    """Days from 1970 and seconds from their beginning, to the nanosecond."""
    return np.datetime64(int(days) * 86_400_000_000_000 + round(seconds * 1e9), "ns")


_WORDS = {"dmy": "day before month", "mdy": "month before day", "ymd": "year first"}


def _orders(separators: frozenset[str], given: str | None) -> tuple[str, ...]:
    """The orders that the dates may have."""
    if separators == {"year first"}:
        return ("ymd",)
    if separators == {"name"} or (separators == {"."} and given is None):
        return ("dmy",)
    return ("dmy", "mdy", "ymd") if given is None else (given,)


def _days(date: np.ndarray, order: str) -> np.ndarray | None:
    """Days from 1970, None where a date is not in the calendar."""
    year, month, day = (date[:, order.index(letter)].astype(int) for letter in "ymd")
    year = np.where(year < 100, year + 2000, year)
    if year.min() < 1900 or year.max() > 2200 or month.min() < 1 or month.max() > 12 or day.min() < 1 or day.max() > 31:
        return None
    months = (year - 1970).astype("M8[Y]").astype("M8[M]") + (month - 1)
    days = months.astype("M8[D]") + (day - 1)
    if np.any(days.astype("M8[M]") != months):
        return None
    return days.astype(np.int64).astype(float)


def _within_days(clock: np.ndarray, first: str) -> tuple[np.ndarray, str]:
    """Seconds from times of day; midnight may pass."""
    passed = np.concatenate([[0], np.cumsum(np.diff(clock) < -0.5 * _DAY)])
    note = f"times of day, 0 s is {first}"
    if passed[-1]:
        note += f"; midnight passes {int(passed[-1])} times"
    return clock + passed * _DAY - clock[0], note
