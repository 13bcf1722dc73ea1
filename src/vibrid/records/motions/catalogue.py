"""Candidates for a suite from many files: horizontal components or pairs, each recording once.

Vertical components are left out. One recording under several names, perhaps processed and sampled differently, is
recognised by the correlation of the motions. Components of one record are recognised by their file, or by the event and
station in the text of the file, and by directions at right angles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.records.components import kind_of
from vibrid.records.motions.rotated import same_samples
from vibrid.records.record import Record

_DATE = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?!\d)")
_SAME = 0.85  # correlation of two processings of one recording; other motions reach 0.7
_COPY = 0.995  # the same, where the files state different directions
_RATE, _HIGHEST = 40.0, 8.0  # Hz
_STRONGEST = 6.0  # s
_STRETCHES = np.linspace(0.96, 1.04, 17)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion to choose from: one horizontal component, or the two of a pair; `event` is empty where unknown."""

    records: tuple[Record, ...]
    event: str = ""
    station: str = ""

    @property
    def name(self) -> str:
        return " + ".join(r.name for r in self.records)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The candidates, and a message for everything that was left out."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]


def candidates_from(records: Sequence[Record], pairs: bool = False) -> Catalogue:
    """The candidates among records of ground acceleration; `pairs`: only pairs of horizontal components."""
    notes: list[str] = []
    parts = [part for number, record in enumerate(records) for part in _components(record, number)]
    for part in [p for p in parts if p.is_vertical]:
        notes.append(f"'{part.record.name}' is a vertical component and is left out.")
    parts = _once([p for p in parts if not p.is_vertical], notes)
    if not pairs:
        return Catalogue(tuple(Candidate((p.record,), p.event, p.station) for p in parts), tuple(notes))
    found, single = _paired(parts)
    notes += [f"'{p.record.name}' has no second horizontal component here and is left out." for p in single]
    return Catalogue(tuple(found), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Component:
    record: Record
    file: int
    event: str
    station: str

    @property
    def direction(self) -> str:
        return self.record.channels[0].direction

    @property
    def is_vertical(self) -> bool:
        return kind_of(self.direction) in ("vertical", "downwards")

    @property
    def angle(self) -> float | None:
        """Degrees from north; None where the file does not state it."""
        digits = re.match(r"\d{1,3}(?!\d)", self.direction.strip())
        if digits:
            return float(digits[0])
        word = self.direction.strip().upper().replace("-", "")
        return {"N": 0.0, "NS": 0.0, "S": 180.0, "E": 90.0, "EW": 90.0, "W": 270.0, "X": 0.0, "Y": 90.0}.get(word)


def _components(record: Record, number: int) -> list[_Component]:
    """Every acceleration of a record by itself, as ground acceleration, without missing samples at its ends."""
    event, station = event_and_station(record)
    parts = []
    for channel in record.channels:
        if channel.quantity not in ("ground_acceleration", "absolute_acceleration"):
            continue
        part = record.select([channel.name])
        known = np.flatnonzero(np.isfinite(part.data[:, 0]))
        if known.size and known.size < len(part):
            part = part.cut(float(part.time[known[0]]), float(part.time[known[-1]]))
        name = record.name if len(record.channels) == 1 else f"{record.name} {channel.direction or channel.name}"
        ground = channel.__class__(channel.name, "ground_acceleration", channel.unit, "ground", channel.direction)
        parts.append(_Component(part.replace(channels=(ground,), name=name), number, event, station))
    return parts


def event_and_station(record: Record) -> tuple[str, str]:
    """The date of the event and the station in the text of a file, `Kobe Japan, 1/16/1995, KJMA, 0`; else empty."""
    for line in record.history:
        date = _DATE.search(line)
        if date:
            month, day, year = (int(part) for part in date.groups())
            event = f"{1900 + year if year < 100 else year}-{month:02d}-{day:02d}"
            after = [word.strip() for word in line[date.end() :].split(",")]
            return event, after[1].lower() if len(after) > 1 else ""
    return "", ""


def _once(parts: list[_Component], notes: list[str]) -> list[_Component]:
    """The components without those that are another processing of one before them."""
    kept: list[_Component] = []
    motions: list[np.ndarray] = []
    for part in parts:
        motion = _compared(part.record)
        for other, known in zip(kept, motions, strict=True):
            if part.event and other.event and part.event != other.event:
                continue
            like = _correlation(motion, known)
            apart = part.angle is not None and other.angle is not None and (part.angle - other.angle) % 180 > 1e-6
            if like > (_COPY if apart else _SAME):
                text = f"'{part.record.name}' is the same recording as '{other.record.name}' (correlation {like:.3f})"
                notes.append(f"{text} and is left out.")
                break
        else:
            kept.append(part)
            motions.append(motion)
    return kept


def _compared(record: Record) -> np.ndarray:
    """The motion below 8 Hz, 40 samples a second."""
    time = np.arange(record.time[0], record.time[-1], 1 / _RATE)
    values = record.data[:, 0] - record.data[:, 0].mean()
    if record.step is not None and 0.5 / record.step > _HIGHEST:
        low_pass = scipy.signal.butter(4, _HIGHEST * 2 * record.step, output="sos")
        values = scipy.signal.sosfiltfilt(low_pass, values)
    return np.interp(time, record.time, values)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """The largest correlation of the strongest seconds of one motion with a part of the other, of either sign.

    Two digitisations of one film differ in their time by some per cent: the part may be stretched by that much.
    """
    length = min(int(_STRONGEST * _RATE), len(a), int(0.95 * len(b)))
    energy = np.convolve(a**2, np.ones(length), "valid")
    strong = a[int(energy.argmax()) :][:length]
    best = 0.0
    for stretch in _STRETCHES:
        other = np.interp(np.arange(0.0, len(b) - 1, stretch), np.arange(len(b)), b)
        parts = np.convolve(other**2, np.ones(length), "valid")
        size = np.linalg.norm(strong) * np.sqrt(np.maximum(parts, 1e-3 * (b**2).sum()))
        if np.all(size > 0):
            best = max(best, float(np.abs(scipy.signal.fftconvolve(other, strong[::-1], "valid") / size).max()))
    return best


def _paired(parts: list[_Component]) -> tuple[list[Candidate], list[_Component]]:
    """(pairs, components without a partner)."""
    pairs, left = [], list(parts)
    while left:
        first = left.pop(0)
        second = next((other for other in left if _belong(first, other)), None)
        if second is None:
            pairs.append(first)
            continue
        left.remove(second)
        pairs.append(Candidate(same_samples(first.record, second.record), first.event, first.station))
    return [p for p in pairs if isinstance(p, Candidate)], [p for p in pairs if isinstance(p, _Component)]


def _belong(first: _Component, second: _Component) -> bool:
    """Whether two components are one record's, at right angles."""
    together = first.file == second.file or (
        bool(first.event and first.station) and (first.event, first.station) == (second.event, second.station)
    )
    one, other = first.angle, second.angle
    if one is None or other is None:
        return first.file == second.file
    return together and abs((one - other) % 180 - 90) < 1.0
