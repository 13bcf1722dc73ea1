"""Tracking of the target by an actuator, and its effect on the structure: the indicators J₁ to J₉ of the benchmark
problem for real-time hybrid simulation (Silva, Gomez, Maghareh, Dyke & Spencer 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.errors import InputError


@dataclass(frozen=True)
class Tracking:
    """How well a measured displacement follows its target."""

    delay: float
    """J₁, s: the lag of the largest cross-correlation; positive when the measured displacement is late."""
    error: float
    """J₂: root mean square of the difference over that of the target."""
    peak_error: float
    """J₃: largest difference over the largest target."""
    of_range: float
    """Root mean square of the difference over the range (largest − smallest) of the target."""

    def __repr__(self) -> str:
        return (
            f"delay {1e3 * self.delay:.2f} ms, error {100 * self.error:.2f} % of rms "
            f"({100 * self.of_range:.2f} % of range), peak error {100 * self.peak_error:.2f} %"
        )


@dataclass(frozen=True)
class FloorErrors:
    """Differences of the floors of a hybrid test from a reference, one number per floor, lowest first."""

    error: np.ndarray
    """J₄ … J₆: root mean square of the difference over that of the reference."""
    peak_error: np.ndarray
    """J₇ … J₉: largest difference over the largest reference."""


def tracking(target, measured, step: float, longest: float = 0.2) -> Tracking:
    """Indicators of one signal sampled every `step` seconds; delays up to `longest` seconds either way are looked for.

    The delay is the lag of the largest cross-correlation, a parabola through the three highest values giving parts of a
    sample.
    """
    target, measured = np.asarray(target, float), np.asarray(measured, float)
    if target.shape != measured.shape or target.ndim != 1 or len(target) < 3:
        raise InputError("Tracking compares two histories of one length, of at least three samples.")
    size = np.abs(target).max()
    if size == 0:
        raise InputError("The target never moves, so there is nothing to track.")
    difference = measured - target
    rms = np.sqrt(np.mean(target**2))
    error = np.sqrt(np.mean(difference**2))
    return Tracking(
        _lag(target, measured, round(longest / step)) * step,
        float(error / rms),
        float(np.abs(difference).max() / size),
        float(error / np.ptp(target)),
    )


def _lag(target: np.ndarray, measured: np.ndarray, most: int) -> float:
    correlation = scipy.signal.correlate(measured, target, mode="full")
    middle = len(target) - 1
    most = min(most, middle)
    near = correlation[middle - most : middle + most + 1]
    top = int(np.argmax(near))
    if 0 < top < len(near) - 1:
        left, peak, right = near[top - 1 : top + 2]
        bend = left - 2 * peak + right
        return top - most + (0.5 * (left - right) / bend if bend < 0 else 0.0)
    return float(top - most)


def floor_errors(displacement, reference) -> FloorErrors:
    """Indicators of floor displacements (samples, floors) beside those of a reference of the same shape."""
    displacement, reference = np.asarray(displacement, float), np.asarray(reference, float)
    if displacement.shape != reference.shape:
        raise InputError(
            f"The two responses have the shapes {displacement.shape} and {reference.shape}; they must be equal."
        )
    difference = displacement - reference
    return FloorErrors(
        np.sqrt(np.mean(difference**2, axis=0) / np.mean(reference**2, axis=0)),
        np.abs(difference).max(axis=0) / np.abs(reference).max(axis=0),
    )
