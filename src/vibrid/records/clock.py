"""The clock of a record: which instant of UTC its time 0 is, and how well that is known."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError

_ZONE = re.compile(r"(.*?)\s*(Z|UTC|GMT|([-+])(\d{2}):?(\d{2})?)", re.I)
_NANO = 1_000_000_000


@dataclass(frozen=True)
class UtcClock:
    """Where the time axis of a record stands in UTC.

    Arguments
        zero: the instant of time 0: a text with its zone ("2024-05-01T12:00:00.25Z", "2024-05-01 14:00+02:00"), a
            `datetime` with its zone, or a `numpy.datetime64`, which is taken as UTC.
        source: what set the clock: "GPS", "NTP", "header of the file"; empty where it is not known.
        uncertainty: s, within which the instant is right; None where it is not known.
    """

    zero: np.datetime64
    source: str = ""
    uncertainty: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero", as_utc(self.zero))
        if not isinstance(self.source, str):
            raise InputError(f"The source of a clock is a text, such as 'GPS', not {self.source!r}.")
        if self.uncertainty is not None:
            uncertainty = float(self.uncertainty)
            if not (np.isfinite(uncertainty) and uncertainty >= 0):
                raise InputError(f"The uncertainty of a clock is a number of seconds, not {self.uncertainty!r}.")
            object.__setattr__(self, "uncertainty", uncertainty)

    def __str__(self) -> str:
        known = "" if self.uncertainty is None else f" ± {self.uncertainty:g} s"
        return f"{utc_text(self.zero)}{known}{f' ({self.source})' if self.source else ''}"

    def at(self, seconds: float) -> np.datetime64:
        """The instant of a time of the record, to the nanosecond."""
        whole = int(np.floor(seconds))
        return self.zero + np.timedelta64(whole * _NANO + round((seconds - whole) * _NANO), "ns")

    def seconds(self, instant: np.datetime64) -> float:
        """The time of the record at an instant."""
        return seconds_between(self.zero, instant)

    def as_dict(self) -> dict[str, str | float | None]:
        """For files: `UtcClock.from_dict` gives it back."""
        return {"zero": utc_text(self.zero), "source": self.source, "uncertainty": self.uncertainty}

    @classmethod
    def from_dict(cls, content: object) -> UtcClock | None:
        """The clock that `as_dict` wrote; None where it is none."""
        if not isinstance(content, dict):
            return None
        try:
            return cls(content.get("zero"), content.get("source", ""), content.get("uncertainty"))  # pyright: ignore[reportArgumentType]
        except (InputError, TypeError, ValueError):
            return None


def clock_of_text(text: object) -> UtcClock | None:
    """The clock in an attribute of a file, JSON of `as_dict`; None where there is none or it is damaged."""
    try:
        return UtcClock.from_dict(json.loads(text)) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def seconds_between(first: np.datetime64, second: np.datetime64) -> float:
    """Seconds from one instant to another."""
    return float((second - first).astype("m8[ns]").astype(np.int64)) / _NANO


def as_utc(value: object) -> np.datetime64:
    """An instant of UTC as datetime64[ns]; InputError where the zone is not stated."""
    if isinstance(value, np.datetime64):
        made = value.astype("M8[ns]")
        if np.isnat(made):
            raise InputError("The instant of a clock is missing (NaT).")
        return made
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise InputError(f"{value.isoformat()} has no zone: write datetime(…, tzinfo=timezone.utc).")
        return np.datetime64(value.astimezone(datetime.UTC).replace(tzinfo=None), "ns")
    if not isinstance(value, str):
        raise InputError(f"The instant of a clock is a date and a time with a zone, not {value!r}.")
    found = _ZONE.fullmatch(value.strip())
    if found is None:
        raise InputError(f"'{value[:60]}' has no zone: write 2024-05-01T12:00:00Z for UTC, or +02:00 at its end.")
    offset = 3600 * int(found[4] or 0) + 60 * int(found[5] or 0)
    return _plain(found[1], value) - np.timedelta64(-offset if found[3] == "-" else offset, "s")


def utc_text(instant: np.datetime64) -> str:
    """`2024-05-01T12:00:00.25Z`: to the nanosecond, without needless zeros."""
    whole, _, part = str(instant.astype("M8[ns]")).partition(".")
    part = part.rstrip("0")
    return f"{whole}{f'.{part}' if part else ''}Z"


def _plain(text: str, whole: str) -> np.datetime64:
    """A date and time without a zone."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?", text.strip()):
        try:
            return np.datetime64(text.strip().replace(" ", "T"), "ns")
        except ValueError:
            pass
    raise InputError(f"'{whole[:60]}' is no instant; write 2024-05-01T12:00:00.25Z.")
