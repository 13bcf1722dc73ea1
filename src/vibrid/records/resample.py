"""Another sampling rate, without aliasing."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.gaps import bridge
from vibrid.records.record import Record

_LARGEST_FACTOR = 2000
_ERROR = "error about"


@checked
def resample(record: Record, rate: float) -> Record:
    """The record at `rate` samples per second.

    Uniform records pass a polyphase filter (linear-phase FIR, Kaiser window with β = 8, cut at 0.9 of the lower
    Nyquist frequency, stop-band about 80 dB down), so nothing above the new Nyquist frequency folds back. Records with
    a time vector are first interpolated by a cubic spline on a uniform grid at least as fine as their median step.
    A gap of missing samples stays missing; the filter uses a straight line across it.
    """
    if not (np.isfinite(rate) and rate > 0):
        raise InputError(f"The sampling rate must be a positive number of samples per second, not {rate!r}.")
    if len(record) < 2:
        raise InputError(f"Record '{record.name}' has {len(record)} samples, too few to resample.")
    if record.step is None:
        return _from_uneven(record, rate)
    ratio = Fraction(rate * record.step).limit_denominator(_LARGEST_FACTOR)
    if abs(float(ratio) / (rate * record.step) - 1) > 1e-9 or ratio.numerator > _LARGEST_FACTOR:
        raise InputError(
            f"The rates {record.rate:g} and {rate:g} samples per second are not in a ratio of whole numbers "
            f"up to {_LARGEST_FACTOR}; choose a rate that is."
        )
    if ratio == 1:
        return record
    gone = np.isnan(record.data)
    data = _polyphase(bridge(record.data), ratio.numerator, ratio.denominator)
    new_count = int(np.floor((len(record) - 1) * float(ratio) + 1e-9)) + 1
    data = data[:new_count]
    if gone.any():
        nearest_old = np.minimum(np.round(np.arange(new_count) / float(ratio)).astype(int), len(record) - 1)
        data[gone[nearest_old]] = np.nan
    return record.replace(
        f"resampled from {record.rate:g} to {rate:g} samples per second (anti-aliased)",
        data=data,
        step=1.0 / rate,
    )


def _polyphase(data: np.ndarray, up: int, down: int) -> np.ndarray:
    """Resample columns; the ends continue by reflection about their end point, so that no step is filtered there."""
    widest = max(up, down)
    half = 24 * widest
    taps = scipy.signal.firwin(2 * half + 1, 0.9 / widest, window=("kaiser", 8.0))
    pad = min(len(data) - 1, -(-half // up) + 1)
    pad -= pad % down  # so that the first sample kept is the record's first
    if pad > 0:
        before = 2 * data[0] - data[pad:0:-1]
        after = 2 * data[-1] - data[-2 : -pad - 2 : -1]
        data = np.vstack([before, data, after])
    out = scipy.signal.resample_poly(data, up, down, axis=0, window=taps, padtype="constant", cval=0.0)
    return out[max(pad, 0) * up // down :]


def _from_uneven(record: Record, rate: float) -> Record:
    time = record.time
    fine = int(max(1, np.ceil(1.0 / (np.median(np.diff(time)) * rate) - 1e-9)))
    step = 1.0 / (rate * fine)
    count = int(np.floor(record.duration / step + 1e-9)) + 1
    if count > 200_000_000 // max(1, len(record.channels)):
        raise InputError(f"Record '{record.name}' would need {count} samples at {rate:g} samples per second.")
    grid = time[0] + step * np.arange(count)
    data = np.empty((count, len(record.channels)))
    for i, column in enumerate(record.data.T):
        known = ~np.isnan(column)
        if known.sum() < 2:
            data[:, i] = np.nan
            continue
        data[:, i] = scipy.interpolate.CubicSpline(time[known], column[known], extrapolate=False)(grid)
        if not known.all():
            nearest_old = np.clip(np.searchsorted(time, grid), 1, len(time) - 1)
            nearest_old -= grid - time[nearest_old - 1] < time[nearest_old] - grid
            data[~known[nearest_old], i] = np.nan
    error = max((_spline_error(time, column) for column in record.data.T), default=0.0)
    how = f"cubic spline, {_ERROR} {100 * error:.2g} %"
    even = record.replace(
        f"interpolated on a uniform grid of {rate * fine:g} samples per second ({how})",
        data=data,
        times=None,
        step=step,
        start=float(time[0]),
    )
    return resample(even, rate) if fine > 1 else even


def interpolation_error(record: Record) -> float:
    """The error of a record that was interpolated from uneven time stamps, relative to its signals; 0 where it was not.

    It is read from the history, where `resample` states it.
    """
    found = [re.search(rf"cubic spline, {_ERROR} ([\d.e+-]+) %", line) for line in record.history]
    return max((float(match[1]) / 100 for match in found if match), default=0.0)


def _spline_error(time: np.ndarray, column: np.ndarray) -> float:
    """Relative error of a cubic spline: that of a spline through every second sample, at the samples between, over 2⁴.

    The error of the spline is of fourth order in the step. Noise counts as well, so the estimate is not too small.
    """
    known = np.flatnonzero(~np.isnan(column))
    if known.size < 8 or not np.ptp(column[known]):
        return 0.0
    coarse, between = known[::2], known[1:-1:2]
    away = scipy.interpolate.CubicSpline(time[coarse], column[coarse])(time[between]) - column[between]
    return float(np.sqrt(np.mean(away**2)) / np.std(column[known]) / 16.0)
