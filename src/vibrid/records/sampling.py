"""Time axes as files state them: even, even with samples missing, or uneven.

An axis is even where every time lies within a thousandth of a step (`JITTER`) of its place: far more than the noise of
a time that was added up step by step, far less than a fit would notice. Times that are printed with few digits, or kept
in single precision, may also be off by that rounding, as long as its unit is at most half a step. A sample that is
missing is never spread over the others.
"""

from __future__ import annotations

import numpy as np

JITTER = 1e-3
"""The part of a step by which the times of an even axis may be off."""

_DOUBLE, _SINGLE = 4 * np.finfo(np.float64).eps, 1.2e-7


def uniform_step(time: np.ndarray) -> float | None:
    """The step of an even time axis; None otherwise."""
    if time.size < 2 or not np.isfinite(time).all() or not np.all(np.diff(time) > 0):
        return None
    return _step(time, np.arange(time.size))


def with_missing(time: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Step, and the place of every sample, of an axis that is even but for missing samples; None otherwise.

    At most as many samples may be missing as there are.
    """
    if time.size < 3 or not np.isfinite(time).all() or not np.all(np.diff(time) > 0):
        return None
    steps = np.diff(time)
    counts = np.round(steps / np.median(steps))
    if counts.min() < 1 or counts.sum() >= 2 * time.size or np.sum(counts == 1) < 2:
        return None
    places = np.concatenate([[0], np.cumsum(counts.astype(int))])
    step = _step(time, places)
    return None if step is None else (step, places)


def on_grid(time: np.ndarray, step: float) -> bool:
    """Whether every time lies at its place on an axis with this step."""
    return bool(np.all(np.abs(time - time[0] - step * np.arange(time.size)) <= JITTER * step + _noise(time)))


def _noise(time: np.ndarray) -> float:
    return _DOUBLE * float(np.abs(time).max(initial=0.0))


def _step(time: np.ndarray, places: np.ndarray) -> float | None:
    """The step for which every time lies at its place, the one with the fewest digits; None where there is none."""
    step = (time[-1] - time[0]) / places[-1]
    candidates = [*dict.fromkeys(float(f"{step:.{digits}g}") for digits in range(1, 13)), step]
    away = time - time[0] - step * places
    if np.abs(away).max() <= _tolerance(time, step):
        unsure = (np.ptp(away) + _noise(time)) / places[-1]  # by which the times leave the step open
        return next(candidate for candidate in candidates if abs(candidate - step) <= unsure)
    rounding, steps, counts = _rounding(time), np.diff(time), np.diff(places)
    if rounding is None:
        return None
    unit = 2.0 * float(rounding.max())
    if steps.min() < 1.999 * unit or np.ptp(steps[counts == 1]) > 1.001 * unit:
        return None  # two neighbouring steps of a rounded even axis differ by one unit at most
    for candidate in candidates:
        away = time - time[0] - candidate * places
        first, last = (away - rounding).max(), (away + rounding).min()  # where the axis may begin
        slack = unit if candidate == step else 1e-3 * unit  # the first and the last time are rounded themselves
        if first <= last + slack and np.abs(steps - candidate * counts).max() <= 1.001 * unit:
            return candidate
    return None


def _tolerance(time: np.ndarray, step: float) -> float:
    tolerance = JITTER * step + _noise(time)
    if np.all(np.abs(time.astype(np.float32) - time) <= 2e-9 * np.abs(time)):
        return min(max(tolerance, _SINGLE * float(np.abs(time).max())), 0.1 * step)
    return tolerance


def _rounding(time: np.ndarray) -> np.ndarray | None:
    """Half a unit of the last digit that the times are written with, in seconds; None when they have many digits."""
    rounding = None
    for decimals in range(7):
        scaled = time * 10**decimals
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-5):
            rounding = np.full(time.size, 0.5 * 10.0**-decimals)
            break
    magnitude = np.floor(np.log10(np.maximum(np.abs(time), 1e-300)))
    for digits in range(4, 8):
        unit = 10.0 ** np.clip(magnitude - digits + 1, -12, None)
        if np.all(np.abs(time / unit - np.round(time / unit)) < 1e-5):
            return 0.5 * unit if rounding is None else np.maximum(rounding, 0.5 * unit)
    return rounding


def looks_like_time(values: np.ndarray) -> bool:
    """Whether an unnamed first column is a time axis: it starts at or near zero and rises in equal steps."""
    step = uniform_step(values) if values.size >= 3 else None
    return step is not None and 0 <= values[0] <= 10 * step + 1e-12
