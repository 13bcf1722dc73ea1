"""What an event in a stream told: its peaks, the parameters of the nonlinear structure, the drifts that it caused.

The largest drift of a storey is that of the fitted structure, D with the standard deviation σ_D of its parameters. The
chance that it passed a limit L is Φ((D − L)/σ) with σ² = σ_D² + (ε D)², where ε is the share of the worst channel that
the fit leaves unexplained if the model does not fit, and 0 if it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from vibrid.core.errors import InputError, VibridError
from vibrid.core.files import make_folder
from vibrid.identification.result import Identification
from vibrid.monitor.series import Series
from vibrid.records.clock import as_utc, utc_text
from vibrid.records.events import Event
from vibrid.records.record import Record

FOLDER = "events"
"""Folder of the state in which the parts that were cut out are kept."""
_DRIFT = "largest drift of "


@dataclass(frozen=True)
class DriftEstimate:
    """The largest drift of a storey in an event: m, its standard deviation, and the chance that it passed the limit."""

    place: str
    value: float
    deviation: float
    chance: float | None


@dataclass(frozen=True)
class EventEstimate:
    """An event of a stream.

    Fields
        at: UTC at which it was noticed; begin, end: of the part that was cut out.
        ratio: largest of the mean square over the usual one; peaks: by channel, in its unit.
        parameters: (value, standard deviation) of every unknown; empty where the event was not identified.
        fits: whether the model explains it; None where that was not found out.
        drifts: of the storeys; limit: m, None where none was stated.
        seconds: that the identification took; file: of the part, in the state; notes: sentences.
    """

    at: np.datetime64
    begin: np.datetime64
    end: np.datetime64
    ratio: float
    peaks: Mapping[str, float]
    parameters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fits: bool | None = None
    drifts: tuple[DriftEstimate, ...] = ()
    limit: float | None = None
    seconds: float = 0.0
    file: str = ""
    notes: tuple[str, ...] = ()

    @property
    def chance(self) -> float | None:
        """Of the storey that passed the limit most likely; None without a limit or without drifts."""
        chances = [drift.chance for drift in self.drifts if drift.chance is not None]
        return max(chances) if chances else None

    def __str__(self) -> str:
        peaks = {name: peak for name, peak in self.peaks.items() if np.isfinite(peak)}
        words = [f"EVENT of {utc_text(self.at)}, {_seconds(self.end - self.begin):.0f} s."]
        if self.drifts:
            worst = max(self.drifts, key=lambda drift: drift.value)
            known = f" ± {2e3 * worst.deviation:.2g}" if np.isfinite(worst.deviation) else ""
            words.append(f"Largest drift {1e3 * worst.value:.3g}{known} mm in {worst.place}.")
            if self.limit is not None and self.chance is not None:
                words.append(f"It passed {1e3 * self.limit:g} mm with a probability of {100 * self.chance:.3g} %.")
        elif peaks:
            largest = max(peaks, key=lambda name: peaks[name])
            words.append(f"Largest value {peaks[largest]:.3g} ({largest}).")
        return " ".join([*words, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        """For the state and for JSON: `EventEstimate.from_dict` gives it back."""
        made = asdict(self) | {name: utc_text(getattr(self, name)) for name in ("at", "begin", "end")}
        drifts = [asdict(drift) | {"deviation": _number(drift.deviation)} for drift in self.drifts]
        return made | {
            "chance": self.chance,
            "peaks": {name: _number(peak) for name, peak in self.peaks.items()},
            "parameters": {name: [value, _number(s)] for name, (value, s) in self.parameters.items()},
            "drifts": drifts,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> EventEstimate:
        """The event that `as_dict` wrote."""
        known = {name: content[name] for name in ("ratio", "fits", "limit", "seconds", "file")}
        known |= {name: as_utc(content[name]) for name in ("at", "begin", "end")}
        return cls(
            **known,
            peaks={name: _value(v) for name, v in content["peaks"].items()},
            parameters={name: (float(v), _value(s)) for name, (v, s) in content["parameters"].items()},
            drifts=tuple(
                DriftEstimate(**drift | {"deviation": _value(drift["deviation"])}) for drift in content["drifts"]
            ),
            notes=tuple(content["notes"]),
        )


def estimate_event(
    whole: Record,
    event: Event,
    folder: Path,
    identify: Callable[[Path], Identification] | None = None,
    limit: float | None = None,
) -> EventEstimate:
    """Cut an event out, keep it as a file, and identify it; what goes wrong is a note, and never an error.

    Arguments
        whole: a record with a clock, in which the event was found.
        folder: of the state.
        identify: from the file of the part to a result, by `vibrid.identify` with all that is known of the structure.
        limit: of the drift of a storey, m.
    """
    clock = whole.clock
    if clock is None:
        raise InputError(f"Record '{whole.name}' has no clock: it is not known when the event was.")
    began, at = time.perf_counter(), clock.at(event.at)
    name = utc_text(at)[:19].replace("-", "").replace(":", "") + "Z"
    path = make_folder(folder / FOLDER) / f"{name}.h5"
    part = whole.cut(event.begin, event.end).replace(name=name)
    part.write_hdf5(path)
    made = {
        "at": at, "begin": clock.at(event.begin), "end": clock.at(event.end), "ratio": float(event.ratio),
        "peaks": event.peaks, "limit": limit, "file": f"{FOLDER}/{path.name}",
    }  # fmt: skip
    if identify is None:
        return EventEstimate(**made)
    try:
        fit = identify(path)
    except VibridError as problem:
        return EventEstimate(**made, notes=(f"It was not identified: {problem}",))
    drifts = drifts_of(fit, limit)
    notes = () if drifts or limit is None else ("This kind of structure has no drifts of storeys.",)
    if not fit.model_fits:
        notes += (f"The model does not explain it: {fit.verdict}",)
    parameters = {row["name"]: (float(row["estimate"]), _value(row["standard_deviation"])) for row in fit.table()}
    seconds = time.perf_counter() - began
    return EventEstimate(**made, parameters=parameters, fits=bool(fit.model_fits), drifts=drifts, seconds=seconds,
                         notes=notes)  # fmt: skip


def drifts_of(fit: Identification, limit: float | None = None) -> tuple[DriftEstimate, ...]:
    """The largest drift of every storey of a fitted shear building, and the chance that it passed a limit in m."""
    left = 0.0 if fit.model_fits else max((f.relative for f in fit.fits if np.isfinite(f.relative)), default=1.0)
    found = []
    for quantity in fit.quantities():
        if not quantity.name.startswith(_DRIFT):
            continue
        deviation = float(np.hypot(quantity.deviation, left * quantity.value))
        chance = None if limit is None else chance_beyond(quantity.value, deviation, limit)
        found.append(DriftEstimate(quantity.name.removeprefix(_DRIFT), float(quantity.value), deviation, chance))
    return tuple(found)


def chance_beyond(value: float, deviation: float, limit: float) -> float | None:
    """Φ((value − limit)/deviation); None where the deviation is not known."""
    if not np.isfinite(deviation):
        return None
    if deviation == 0:
        return float(value > limit)
    return float(scipy.special.ndtr((value - limit) / deviation))


def event_series(events: Sequence[EventEstimate]) -> Series:
    """The parameters of events over time: one row for each that was identified, NaN where it lacks a parameter."""
    there = [event for event in events if event.parameters]
    names = tuple(dict.fromkeys(name for event in there for name in event.parameters))
    values, deviations = np.full((2, len(there), len(names)), np.nan)
    for row, event in enumerate(there):
        for column, name in enumerate(names):
            value, deviation = event.parameters.get(name, (np.nan, np.nan))
            if value > 0:
                values[row, column], deviations[row, column] = value, deviation
    starts = np.array([event.at for event in there], "M8[ns]")
    return Series(starts, names, values, deviations, np.zeros((len(there), 0)))


def _seconds(span: np.timedelta64) -> float:
    return float(span / np.timedelta64(1, "ns")) * 1e-9


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _value(number: float | None) -> float:
    return float("nan") if number is None else float(number)
