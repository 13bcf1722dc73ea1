"""The condition of a measured record: what is wrong or odd in each channel, before anything is computed from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.records.channel import Channel
from vibrid.records.gaps import bridge
from vibrid.records.record import Record

OFFSET, DRIFT = 0.1, 0.3
"""Offset, and change of a straight line over the record, from which on they are told; over the standard deviation."""

NYQUIST = 0.03
"""Share of the power in the highest fifth of the frequencies from which on it is told."""

COARSE = 0.1
"""Resolution over the standard deviation from which on it is told."""

_TOP = 0.8  # the highest fifth begins at this share of half the rate
_WIDE = 30  # samples on either side with which a spike is compared
_BALANCED = ("acceleration", "velocity")  # quantities without a mean in a motion that begins and ends at rest


@dataclass(frozen=True)
class Condition:
    """One channel in numbers, in its unit (SI), and what was found in it.

    Fields
        rate: samples per second; NaN for uneven time stamps.
        missing: number of missing samples; `gap`: the longest gap in s.
        noise: rms of white noise that explains the power near half the rate: not more than this; NaN where unknown.
    """

    channel: Channel
    rate: float
    seconds: float
    samples: int
    missing: int
    gap: float
    peak: float
    deviation: float
    mean: float
    noise: float
    resolution: float
    findings: tuple[Finding, ...]


def conditions(record: Record) -> list[Condition]:
    """The condition of every channel of a record."""
    found = [_condition(record, i) for i in range(len(record.channels))]
    return [_with(c, _twins(record, i)) for i, c in enumerate(found)]


def _with(condition: Condition, more: list[Finding]) -> Condition:
    return Condition(**{**vars(condition), "findings": (*condition.findings, *more)}) if more else condition


def _condition(record: Record, index: int) -> Condition:
    channel, values, time = record.channels[index], record.data[:, index], record.time
    known = np.isfinite(values)
    rate = float("nan") if record.step is None else 1.0 / record.step
    missing, gap = int((~known).sum()), _longest_gap(time, known)
    if not known.any():
        empty = _finding("empty", WRONG, channel, "has no sample at all: leave it out.")
        numbers = (np.nan, np.nan, np.nan, np.nan, np.nan)
        return Condition(channel, rate, record.duration, len(record), missing, gap, *numbers, (empty,))
    y = values[known]
    peak, mean, deviation = float(np.abs(y).max()), float(y.mean()), float(y.std())
    resolution = _resolution(y)
    if np.ptp(y) <= 1e-12 * max(peak, 1e-300):
        dead = _finding("dead", WRONG, channel, f"is dead (constant at {y[0]:.3g}): leave it out, or repair it.")
        numbers = (peak, 0.0, mean, 0.0, resolution)
        return Condition(channel, rate, record.duration, len(record), missing, gap, *numbers, (dead,))
    whole = bridge(values[:, None])[:, 0]
    spikes = _spikes(whole, known, 0.3 * deviation + 3 * resolution)
    stuck = _stuck(channel, whole, time, record, index)
    noise, share = _near_nyquist(_without(whole, spikes)) if record.step is not None else (float("nan"), 0.0)
    findings = [
        *_gaps(channel, missing, len(record), gap),
        *stuck,
        *_clipped(channel, y, resolution),
        *([] if stuck else _baseline(channel, whole)),
        *_coarse(channel, resolution, deviation),
        *_spiky(channel, time[spikes]),
    ]
    if share > NYQUIST:
        findings.append(
            _finding(
                "nyquist",
                ODD,
                channel,
                f"has {100 * share:.2g} % of its power in the highest fifth of the frequencies (to {rate / 2:.3g} Hz): "
                "noise, or motion too fast for the sampling; look at it before a fit.",
            )
        )
    numbers = (peak, deviation, mean, noise, resolution)
    return Condition(channel, rate, record.duration, len(record), missing, gap, *numbers, tuple(findings))


def _finding(name: str, verdict: str, channel: Channel, words: str, **numbers: float) -> Finding:
    return Finding(name, verdict, f"Channel '{channel.name}' {words}", channel.name, 0.0, numbers)


def _longest_gap(time: np.ndarray, known: np.ndarray) -> float:
    """Seconds between the present samples around the longest gap; 0 without one."""
    if known.all() or not known.any():
        return 0.0 if known.all() else float(np.ptp(time))
    step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    there = np.concatenate([[time[0] - step], time[known], [time[-1] + step]])
    return float(np.diff(there).max())


def _gaps(channel: Channel, missing: int, samples: int, gap: float) -> list[Finding]:
    if not missing:
        return []
    verdict = WRONG if missing > samples // 2 else ODD
    words = f"misses {missing} of {samples} samples, at most {gap:.3g} s at once; a fit leaves them out."
    return [_finding("gap", verdict, channel, words, missing=missing, gap=gap)]


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """(first, end) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _stuck(channel: Channel, whole: np.ndarray, time: np.ndarray, record: Record, index: int) -> list[Finding]:
    """A part without any change in which other channels move, or in the middle of the motion."""
    longest = max(_runs(np.diff(whole) == 0.0), key=lambda run: run[1] - run[0], default=(0, 0))
    first, end = longest[0], longest[1] + 1
    if end - first < max(50, 0.05 * len(whole)):
        return []
    others = np.delete(record.data, index, axis=1)
    with np.errstate(invalid="ignore"):
        moving = np.nanstd(others[first:end], axis=0) > 0.1 * np.nanstd(others, axis=0)
    inside = first > 0 and end < len(whole)
    if not (inside or np.any(moving)):
        return []  # quiet before or after the motion, as other channels are
    words = (
        f"is constant from {time[first]:.4g} to {time[end - 1]:.4g} s: it was stuck or disconnected; cut that part off."
    )
    return [_finding("stuck", WRONG, channel, words, start=float(time[first]), end=float(time[end - 1]))]


def _clipped(channel: Channel, y: np.ndarray, resolution: float) -> list[Finding]:
    """Several flat tops at the largest or smallest value."""
    slack = max(0.5 * resolution, 1e-9 * float(np.ptp(y)))
    if resolution > 0.05 * float(np.ptp(y)):
        return []
    found = []
    for side, level in (("above", float(y.max())), ("below", float(y.min()))):
        runs = [run for run in _runs(np.abs(y - level) <= slack) if run[1] - run[0] >= 3]
        count = sum(end - first for first, end in runs)
        if len(runs) >= 2 and count >= 8:
            found.append((side, level, count))
    if not found:
        return []
    where = " and ".join(f"{side} at {level:.4g} ({count} samples)" for side, level, count in found)
    words = f"is clipped {where}: the range of the instrument was too small; those samples are wrong."
    return [_finding("clipped", WRONG, channel, words, level=found[0][1], samples=found[0][2])]


def _baseline(channel: Channel, whole: np.ndarray) -> list[Finding]:
    """Offset or drift of a quantity that has none."""
    if not channel.quantity.endswith(_BALANCED):
        return []
    x = np.linspace(-0.5, 0.5, len(whole))
    slope, mean = np.polynomial.polynomial.polyfit(x, whole, 1)[::-1]
    left = float(np.std(whole - mean - slope * x))
    found = []
    if abs(mean) > OFFSET * left:
        words = f"has an offset of {mean:.3g} {channel.unit}, {100 * abs(mean) / left:.2g} % of its motion"
        cure = ": subtract it (baseline), or name its offset as unknown."
        found.append(_finding("offset", ODD, channel, words.rstrip() + cure, offset=float(mean)))
    if abs(slope) > DRIFT * left:
        words = f"drifts by {slope:.3g} {channel.unit} over the record, {100 * abs(slope) / left:.2g} % of its motion"
        found.append(_finding("drift", ODD, channel, words.rstrip() + ": correct its baseline.", drift=float(slope)))
    return found


def _resolution(y: np.ndarray) -> float:
    """The step between the values of a channel, where they lie on a grid; 0 where they do not."""
    levels = np.unique(y)
    if len(levels) < 2 or len(levels) > 0.5 * len(y):
        return 0.0
    steps = np.diff(levels)
    quantum = float(steps[steps > 1e-9 * np.ptp(y)].min(initial=np.inf))
    if not np.isfinite(quantum):
        return 0.0
    multiples = steps / quantum
    return quantum if np.all(np.abs(multiples - np.round(multiples)) < 0.02 * np.maximum(multiples, 1.0)) else 0.0


def _coarse(channel: Channel, resolution: float, deviation: float) -> list[Finding]:
    if resolution <= COARSE * deviation:
        return []
    share = 100 * resolution / deviation
    words = f"has a resolution of {resolution:.3g} {channel.unit}, {share:.2g} % of its motion: like noise of "
    words += f"{resolution / np.sqrt(12):.2g} {channel.unit}; a smaller range of the instrument would see more."
    return [_finding("resolution", ODD, channel, words, resolution=resolution)]


def _spikes(whole: np.ndarray, known: np.ndarray, least: float) -> np.ndarray:
    """Places of single samples far from the cubic through their neighbours, compared with the samples around them.

    `least` is the smallest distance of a spike.
    """
    if len(whole) < 2 * _WIDE:
        return np.zeros(0, int)
    cubic = (4 * (whole[1:-3] + whole[3:-1]) - whole[:-4] - whole[4:]) / 6
    inner = np.abs(whole[2:-2] - cubic)
    usual = scipy.ndimage.median_filter(inner, size=2 * _WIDE + 1, mode="mirror")
    away = np.pad(inner, 2)
    far = known & (away > 15 * np.pad(usual, 2) + least)
    tops = [first + int(np.argmax(away[first:end])) for first, end in _runs(far)]
    return np.array(tops if len(tops) <= max(20, 0.01 * len(whole)) else [], dtype=int)


def _without(whole: np.ndarray, spikes: np.ndarray) -> np.ndarray:
    """The signal with straight lines in place of spikes."""
    kept = np.setdiff1d(np.arange(len(whole)), spikes)
    return np.interp(np.arange(len(whole)), kept, whole[kept])


def _spiky(channel: Channel, times: np.ndarray) -> list[Finding]:
    if not len(times):
        return []
    named = ", ".join(f"{t:.4g} s" for t in times[:3]) + (" …" if len(times) > 3 else "")
    words = f"has {len(times)} spike{'s' if len(times) > 1 else ''} ({named}): mark such samples as missing, or filter."
    return [_finding("spike", ODD, channel, words, count=len(times), first=float(times[0]))]


def _near_nyquist(whole: np.ndarray) -> tuple[float, float]:
    """rms of white noise with the power of the highest fifth of the frequencies, and the share of that power."""
    y = scipy.signal.detrend(whole)
    power = np.abs(np.fft.rfft(y * scipy.signal.windows.tukey(len(y), 0.1))) ** 2
    top = slice(int(_TOP * len(power)), None)
    share = float(power[top].sum() / power[1:].sum()) if power[1:].any() else 0.0
    quiet = float(np.median(power[top]) / np.log(2))  # of noise, whatever single frequencies stand above it
    return float(y.std() * np.sqrt(min(quiet * len(power) / power[1:].sum(), 1.0))), share


def _twins(record: Record, index: int) -> list[Finding]:
    """An earlier channel with the same values."""
    y = record.data[:, index]
    for other in range(index):
        same = np.array_equal(y, record.data[:, other], equal_nan=True)
        if same and np.nanstd(y) > 0:
            words = (
                f"has the same values as '{record.channels[other].name}': one of them was copied or connected twice."
            )
            return [_finding("twin", WRONG, record.channels[index], words)]
    return []
