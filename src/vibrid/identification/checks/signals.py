"""Factor and delay of one signal against another: measured(t) ≈ gain · predicted(t − delay)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

REACH = 0.25
"""The largest delay that is looked for, in s."""


@dataclass(frozen=True)
class Match:
    """A factor and a delay, and what they leave: rms of the residual over rms of the measured signal, means removed."""

    gain: float
    delay: float
    misfit: float


@dataclass(frozen=True)
class SignalPair:
    """A measured signal and its prediction in one record; `present` marks the samples to be compared."""

    measured: np.ndarray
    predicted: np.ndarray
    present: np.ndarray
    step: float


def plain(pairs: Sequence[SignalPair]) -> Match:
    """The prediction as it is."""
    return _match(pairs, 0.0, 1.0)


def scaled(pairs: Sequence[SignalPair]) -> Match:
    """The prediction with the best factor."""
    return _match(pairs, 0.0, None)


def late(pairs: Sequence[SignalPair], gain: float | None = 1.0, reach: float = REACH) -> Match:
    """The prediction with the best delay, and with the best factor where `gain` is None.

    The delay is searched sample by sample, then refined between samples on a spline through the prediction.
    """
    step = pairs[0].step
    pairs = [pair for pair in pairs if pair.step == step]
    most = max(1, min(round(reach / step), min(len(pair.measured) for pair in pairs) // 4))
    misfits = [_match(pairs, k * step, gain).misfit for k in range(-most, most + 1)]
    best = (int(np.nanargmin(misfits)) - most) * step
    found = scipy.optimize.minimize_scalar(
        lambda delay: _match(pairs, float(delay), gain).misfit,
        bounds=(best - step, best + step),
        method="bounded",
        options={"xatol": 1e-4 * step},
    )
    return _match(pairs, float(found.x), gain)


def _match(pairs: Sequence[SignalPair], delay: float, gain: float | None) -> Match:
    product = power = signal = 0.0
    columns = []
    for pair in pairs:
        moved, keep = _delayed(pair, delay)
        if keep.sum() < 2:
            continue
        m, p = pair.measured[keep], moved[keep]
        m, p = m - m.mean(), p - p.mean()
        product, power, signal = product + m @ p, power + p @ p, signal + m @ m
        columns.append((m, p))
    if not columns or signal == 0.0:
        return Match(float("nan"), delay, float("nan"))
    factor = (product / power if power > 0 else 0.0) if gain is None else gain
    left = sum(float(np.sum((m - factor * p) ** 2)) for m, p in columns)
    return Match(float(factor), delay, float(np.sqrt(left / signal)))


def _delayed(pair: SignalPair, delay: float) -> tuple[np.ndarray, np.ndarray]:
    """The prediction `delay` seconds later, and the samples where it is known and there is a reading."""
    n, shift = len(pair.predicted), delay / pair.step
    keep = np.asarray(pair.present, bool)
    place = np.arange(n) - shift
    keep = keep & (place >= 0) & (place <= n - 1)
    whole = round(shift)
    if abs(shift - whole) < 1e-9:
        return np.roll(pair.predicted, whole), keep
    return scipy.interpolate.CubicSpline(np.arange(n), pair.predicted)(np.clip(place, 0, n - 1)), keep


def advanced(values: np.ndarray, present: np.ndarray, seconds: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Readings as they would have come `seconds` earlier, and which of them are present: the inverse of a delay.

    Shifted in the frequency domain, so that white noise stays white. Missing samples are bridged before, and missing
    in the result.
    """
    n, keep = len(values), np.asarray(present, bool)
    index = np.arange(n)
    bridged = np.interp(index, index[keep], values[keep]) if not keep.all() else values
    padded = np.concatenate([2 * bridged[0] - bridged[:0:-1], bridged, 2 * bridged[-1] - bridged[-2::-1]])
    frequencies = np.fft.rfftfreq(len(padded), step)
    moved = np.fft.irfft(np.fft.rfft(padded) * np.exp(2j * np.pi * frequencies * seconds), len(padded))[
        n - 1 : 2 * n - 1
    ]
    place = np.round(index + seconds / step).astype(int)
    inside = (place >= 0) & (place < n)
    there = np.zeros(n, bool)
    there[inside] = keep[place[inside]]
    return np.where(there, moved, 0.0), there


def at_true_time(values: np.ndarray, present: np.ndarray, clock: float) -> tuple[np.ndarray, np.ndarray]:
    """Readings that came later by `clock` seconds every second, at their true times; and which of them are present."""
    n, keep = len(values), np.asarray(present, bool)
    index = np.arange(n)
    bridged = np.interp(index, index[keep], values[keep]) if not keep.all() else values
    place = index / (1.0 - clock)
    inside = place <= n - 1
    there = inside & keep[np.minimum(np.round(place).astype(int), n - 1)]
    return np.where(there, scipy.interpolate.CubicSpline(index, bridged)(np.minimum(place, n - 1)), 0.0), there
