"""Faults of instruments that the recorded values show by themselves: clipped, stuck, copied and coarse channels.

They are looked for before residuals are tested, which would call a clipped channel one with a wrong gain. The values of
a fit decide what is no fault: a storey that slides has a force with flat tops, two sensors of one motion have the same
readings, and the prediction is then as flat, or the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.identification.problem import Problem
from vibrid.identification.problem_data import Data
from vibrid.records.channel import QUANTITIES
from vibrid.records.condition import Limit, coarse_words, constant_parts, limits_of, moves, resolution_of, twin_of

NAMES = ("clipped", "stuck", "twin", "resolution")
"""Kinds of findings of the recorded values."""

LEFT_OUT = ("clipped", "stuck")
"""Those whose samples a repair leaves out."""

_FLAT = 0.01  # standard deviation of a prediction at a limit, over that of the whole, below which it is flat there
_SAME = 1e-6  # difference of two predictions, over their standard deviation, below which they are the same
_EXACT = 0.1  # misfit over the resolution below which a prediction has the same steps
_APART = 0.3  # distance of a ground motion that is stuck from zero, over the standard deviation
_CURE = "fit.repair() or --repair leaves those samples out."
_UNKNOWN = "the true excitation is not known there, and no repair can find it: "


def recorded_faults(problem: Problem, predictions: Sequence[np.ndarray]) -> list[Finding]:
    """What the recorded values show, what is wrong first. A prediction for each record says what should move."""
    predictions = [np.asarray(y) for y in predictions]
    found = []
    for c in range(len(problem.sensors)):
        found += [*_clipped(problem, predictions, c), *_stuck(problem, predictions, c)]
        found += [*_twin(problem, predictions, c), *_coarse(problem, predictions, c)]
    found += _excitation(problem)
    return sorted(found, key=lambda finding: finding.verdict != WRONG)


def without_lost_samples(problem: Problem, predictions: Sequence[np.ndarray], faults: Sequence[Finding]) -> Problem:
    """The problem without the samples that were clipped or stuck, by the findings of both."""
    labels = [sensor.label for sensor in problem.sensors]
    data = []
    for d, y in zip(problem.data, predictions, strict=True):
        present = np.array(d.present)
        for fault in faults:
            c = labels.index(fault.where)
            lost = _lost(fault.name, _recorded(d, c), np.asarray(y)[:, c])
            present[lost, c] = 0.0
            if not present[:, c].any():
                raise InputError(
                    f"Channel '{fault.where}' of record '{d.name}' is {fault.name} throughout: no repair can help; "
                    "leave the channel or the record out."
                )
        data.append(dataclasses.replace(d, present=jnp.asarray(present)))
    return dataclasses.replace(problem, data=tuple(data))


def _recorded(data: Data, channel: int) -> np.ndarray:
    """The readings of one channel, NaN where they are not used."""
    return np.where(np.asarray(data.present)[:, channel] > 0, np.asarray(data.readings)[:, channel], np.nan)


def _limits(values: np.ndarray, predicted: np.ndarray) -> list[Limit]:
    """The limits at which readings are clipped and their prediction is not flat."""
    least = _FLAT * predicted.std()
    return [limit for limit in limits_of(values) if predicted[limit.samples].std() > least]


def _stuck_parts(values: np.ndarray, predicted: np.ndarray) -> list[tuple[int, int]]:
    """(first, end) of the parts in which readings do not change and their prediction does, beyond their resolution."""
    least = resolution_of(values)
    return [part for part in constant_parts(values) if moves(predicted[:, None], part, least)]


def _lost(name: str, values: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """(samples,) true where a recorder lost the motion."""
    lost = np.zeros(len(values), bool)
    if name == "clipped":
        for limit in _limits(values, predicted):
            lost |= limit.samples
    else:
        for part in _stuck_parts(values, predicted):
            lost[slice(*part)] = True
    return lost


def _clipped(problem: Problem, predictions: list[np.ndarray], c: int) -> list[Finding]:
    sensor = problem.sensors[c]
    limits = [_limits(_recorded(d, c), y[:, c]) for d, y in zip(problem.data, predictions, strict=True)]
    words = _limits_in_words(problem, limits, QUANTITIES[sensor.quantity])
    if not words:
        return []
    said = f"Channel '{sensor.label}' is clipped {words}: the range of the instrument was too small. {_CURE}"
    return [Finding("clipped", WRONG, said, sensor.label, 0.0, _numbers(limits))]


def _limits_in_words(problem: Problem, limits: list[list[Limit]], unit: str) -> str:
    """The limits of the first record that has some, and the number of other records with any."""
    first = next((found for found in limits if found), [])
    return " and ".join(limit.words(unit) for limit in first) + _elsewhere(problem, limits) if first else ""


def _numbers(limits: list[list[Limit]]) -> dict[str, float]:
    every = [limit for found in limits for limit in found]
    return {"level": every[0].level, "samples": int(sum(limit.samples.sum() for limit in every))}


def _elsewhere(problem: Problem, found: Sequence[Sequence]) -> str:
    """The name of the first of several records with a fault, and how many others have it."""
    if len(problem.data) == 1:
        return ""
    where = [d.name for d, faults in zip(problem.data, found, strict=True) if faults]
    others = len(where) - 1
    more = f" and {others} other record{'s' if others > 1 else ''}" if others else ""
    return f" in '{where[0]}'{more}"


def _stuck(problem: Problem, predictions: list[np.ndarray], c: int) -> list[Finding]:
    label = problem.sensors[c].label
    parts = [_stuck_parts(_recorded(d, c), y[:, c]) for d, y in zip(problem.data, predictions, strict=True)]
    words, numbers = _parts_in_words(problem, parts)
    if not words:
        return []
    said = f"Channel '{label}' is constant {words}, where it should move: it was stuck or disconnected. {_CURE}"
    return [Finding("stuck", WRONG, said, label, 0.0, numbers)]


def _parts_in_words(problem: Problem, parts: list[list[tuple[int, int]]]) -> tuple[str, dict[str, float]]:
    """The longest part of the first record that has some, in words and numbers; empty where there are none."""
    for data, found in zip(problem.data, parts, strict=True):
        if found:
            first, end = max(found, key=lambda part: part[1] - part[0])
            start, stop = first * data.step, (end - 1) * data.step
            more = f" and in {len(found) - 1} more part{'s' if len(found) > 2 else ''}" if len(found) > 1 else ""
            words = f"from {start:.4g} to {stop:.4g} s after its beginning{more}{_elsewhere(problem, parts)}"
            return words, {"start": start, "end": stop}
    return "", {}


def _twin(problem: Problem, predictions: list[np.ndarray], c: int) -> list[Finding]:
    """An earlier channel with the same values, of which the model predicts others."""
    label = problem.sensors[c].label
    for d, y in zip(problem.data, predictions, strict=True):
        columns = np.stack([_recorded(d, i) for i in range(c + 1)], axis=1)
        other = twin_of(columns, c)
        if other is None or np.max(np.abs(y[:, c] - y[:, other])) <= _SAME * y[:, c].std():
            continue
        said = (
            f"Channel '{label}' has the same values as '{problem.sensors[other].label}': one of them was copied or "
            "connected twice. Leave the wrong one out, and fit again."
        )
        return [Finding("twin", WRONG, said, label)]
    return []


def _coarse(problem: Problem, predictions: list[np.ndarray], c: int) -> list[Finding]:
    sensor = problem.sensors[c]
    for d, y in zip(problem.data, predictions, strict=True):
        values = _recorded(d, c)
        if not np.isfinite(values).any():  # this sensor was not used in this record
            continue
        resolution, misfit = resolution_of(values), np.sqrt(np.nanmean((values - y[:, c]) ** 2))
        words = coarse_words(resolution, float(np.nanstd(values)), QUANTITIES[sensor.quantity])
        if words and misfit > _EXACT * resolution:
            return [_resolution(f"Channel '{sensor.label}' {words}", sensor.label, resolution)]
    return []


def _resolution(said: str, where: str, resolution: float) -> Finding:
    return Finding("resolution", ODD, said, where, 0.0, {"resolution": resolution})


# -- the excitation ----------------------------------------------------------------------------------------------------


def _excitation(problem: Problem) -> list[Finding]:
    """Faults of the measured excitation. One that a machine imposes has flat tops by intent, and a load may have."""
    names = list(dict.fromkeys(name for d in problem.data for name in d.loads))
    return [finding for name in names for finding in _of_input(problem, *name)]


def _of_input(problem: Problem, quantity: str, place: str) -> list[Finding]:
    if quantity not in ("ground_acceleration", "load"):
        return []
    where, unit, found = " ".join(filter(None, (quantity.replace("_", " "), place))), QUANTITIES[quantity], []
    columns = [_samples(d, (quantity, place)) for d in problem.data]
    limits = [_limits_of_input(values) for values in columns]
    words = _limits_in_words(problem, limits, unit)
    if words:
        cure = "make another record, or take the one of an instrument with a larger range."
        said = f"The excitation '{where}' is clipped {words}: {_UNKNOWN}{cure}"
        found.append(Finding("clipped", WRONG, said, where, 0.0, _numbers(limits)))
    if quantity == "load":
        return found
    parts = [_stuck_parts_of_input(values, d) for values, d in zip(columns, problem.data, strict=True)]
    words, numbers = _parts_in_words(problem, parts)
    if words:
        cure = "cut that part off, or take another record."
        said = f"The excitation '{where}' is constant {words}, while the structure moves: {_UNKNOWN}{cure}"
        found.append(Finding("stuck", WRONG, said, where, 0.0, numbers))
    for values in columns:
        resolution = resolution_of(values)
        words = coarse_words(resolution, float(values.std()), unit)
        if words:
            return [*found, _resolution(f"The excitation '{where}' {words}", where, resolution)]
    return found


def _samples(data: Data, name: tuple[str, str]) -> np.ndarray:
    """The samples of one input of a record; zeros where it has none of this name."""
    if name not in data.loads:
        return np.zeros(data.samples)
    return np.asarray(data.drive.samples)[:, data.loads.index(name)]


def _limits_of_input(values: np.ndarray) -> list[Limit]:
    """Limits that are not rest, of an excitation that was not drawn with straight lines."""
    bent = np.abs(np.diff(values, 2)) > 1e-9 * np.ptp(values)
    bent &= (np.diff(values)[1:] != 0.0) & (np.diff(values)[:-1] != 0.0)
    at_rest = (0.0, values[0], values[-1])
    return [limit for limit in limits_of(values) if limit.level not in at_rest and bent.sum() > limit.samples.sum()]


def _stuck_parts_of_input(values: np.ndarray, data: Data) -> list[tuple[int, int]]:
    """Parts in which a ground motion stays away from rest while readings move."""
    readings = np.stack([_recorded(data, c) for c in range(data.readings.shape[1])], axis=1)
    away = _APART * values.std()
    return [
        part
        for part in constant_parts(values)
        if values[part[0]] != values[0] and abs(values[part[0]]) > away and moves(readings, part)
    ]
