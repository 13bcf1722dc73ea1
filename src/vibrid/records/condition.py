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

_CROWDED = 4  # times more samples than in the levels next to it, of a level at which a signal is clipped
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
    resolution = resolution_of(values)
    if np.ptp(y) <= 1e-12 * max(peak, 1e-300):
        dead = _finding("dead", WRONG, channel, f"is dead (constant at {y[0]:.3g}): leave it out, or repair it.")
        numbers = (peak, 0.0, mean, 0.0, resolution)
        return Condition(channel, rate, record.duration, len(record), missing, gap, *numbers, (dead,))
    whole = bridge(values[:, None])[:, 0]
    spikes = _spikes(whole, known, 0.3 * deviation + 3 * resolution)
    stuck = _stuck(channel, time, record, index)
    noise, share = _near_nyquist(_without(whole, spikes)) if record.step is not None else (float("nan"), 0.0)
    findings = [
        *_gaps(channel, missing, len(record), gap),
        *stuck,
        *_clipped(channel, values),
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


def _spread(columns: np.ndarray) -> np.ndarray:
    """Standard deviation of every column; 0 where it has no sample."""
    known = np.isfinite(columns)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, columns, 0.0).sum(axis=0) / count
    return np.sqrt(np.sum(np.where(known, columns - mean, 0.0) ** 2, axis=0) / count)


def constant_parts(values: np.ndarray) -> list[tuple[int, int]]:
    """(first, end) of every part without any change that is 5 % of a signal or longer, and at least 50 samples."""
    least = max(50, 0.05 * len(values))
    parts = [(first, end + 1) for first, end in _runs(np.diff(values) == 0.0)]
    return [(first, end) for first, end in parts if end - first >= least]


def moves(columns: np.ndarray, part: tuple[int, int], least: float = 0.0) -> bool:
    """Whether a column moves in a part of the time, by a tenth of its standard deviation and by `least`."""
    return bool(np.any(_spread(columns[slice(*part)]) > np.maximum(0.1 * _spread(columns), least)))


def _stuck(channel: Channel, time: np.ndarray, record: Record, index: int) -> list[Finding]:
    """The longest part without any change in which other channels move, or in the middle of the motion."""
    values, others = record.data[:, index], np.delete(record.data, index, axis=1)
    parts = [p for p in constant_parts(values) if (p[0] > 0 and p[1] < len(values)) or moves(others, p)]
    if not parts:
        return []  # quiet before or after the motion, as other channels are
    first, end = max(parts, key=lambda part: part[1] - part[0])
    start, stop = float(time[first]), float(time[end - 1])
    words = f"is constant from {start:.4g} to {stop:.4g} s: it was stuck or disconnected; cut that part off."
    return [_finding("stuck", WRONG, channel, words, start=start, end=stop)]


@dataclass(frozen=True)
class Limit:
    """A value beyond which a recorder kept nothing.

    Fields
        side: "above" or "below".
        level: the value.
        samples: (samples,) true where the signal lies at it.
    """

    side: str
    level: float
    samples: np.ndarray

    def words(self, unit: str) -> str:
        """The limit in words, such as "above at 2.5 m/s^2 (30 samples)"."""
        return f"{self.side} at {with_unit(self.level, unit, 4)} ({int(self.samples.sum())} samples)"


def with_unit(value: float, unit: str, digits: int = 3) -> str:
    """A number and its unit, if it has one."""
    return f"{value:.{digits}g} {unit}".rstrip()


def limits_of(values: np.ndarray) -> list[Limit]:
    """The sides on which a signal is clipped: several flat tops at the largest or smallest value.

    Where the values lie on a grid, flat tops are no wonder: they must be more, and hold many more samples than the
    levels next to them. Where one side is clipped, fewer samples tell that the other is.
    """
    known = np.isfinite(values)
    y, quantum = values[known], resolution_of(values)
    wide = float(np.ptp(y)) if len(y) else 0.0
    if quantum > 0.05 * wide or not wide:
        return []
    levels, counts = np.unique(y, return_counts=True)
    sides = (("above", levels[-1], counts[-3:-1]), ("below", levels[0], counts[1:3]))
    flat = [np.abs(y - level) <= max(0.5 * quantum, 1e-9 * wide) for _, level, _ in sides]
    told = [_is_limit(at, float(beside.mean()), quantum) for at, (_, _, beside) in zip(flat, sides, strict=True)]
    if any(told) and not quantum:
        told = [bool(at.sum() > 1) for at in flat]
    found = []
    for at, (side, level, _), is_limit in zip(flat, sides, told, strict=True):
        if is_limit:
            samples = np.zeros(len(values), bool)
            samples[known] = at
            found.append(Limit(side, float(level), samples))
    return found


def _is_limit(at: np.ndarray, beside: float, quantum: float) -> bool:
    """Whether the samples at the last level of a signal are too many, beside those of the levels next to it."""
    lengths = [end - first for first, end in _runs(at)]
    flat = [length for length in lengths if length >= 3]
    enough = len(flat) >= 2 and sum(flat) >= 8 if quantum else len(lengths) >= 2 and len(flat) >= 1
    return bool(enough and at.sum() > _CROWDED * beside)


def _clipped(channel: Channel, values: np.ndarray) -> list[Finding]:
    limits = limits_of(values)
    if not limits:
        return []
    where = " and ".join(limit.words(channel.unit) for limit in limits)
    words = f"is clipped {where}: the range of the instrument was too small; those samples are wrong."
    return [_finding("clipped", WRONG, channel, words, level=limits[0].level, samples=int(limits[0].samples.sum()))]


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


def resolution_of(values: np.ndarray) -> float:
    """The step between the values of a signal, where they lie on a grid; 0 where they do not."""
    y = values[np.isfinite(values)]
    levels = np.unique(y)
    if len(levels) < 2 or len(levels) > 0.5 * len(y):
        return 0.0
    steps = np.diff(levels)
    quantum = float(steps[steps > 1e-9 * np.ptp(y)].min(initial=np.inf))
    if not np.isfinite(quantum):
        return 0.0
    multiples = steps / quantum
    return quantum if np.all(np.abs(multiples - np.round(multiples)) < 0.02 * np.maximum(multiples, 1.0)) else 0.0


def coarse_words(resolution: float, deviation: float, unit: str) -> str:
    """What a coarse resolution means, in words; "" where it is fine enough."""
    if resolution <= COARSE * deviation:
        return ""
    return (
        f"has a resolution of {with_unit(resolution, unit)}, {100 * resolution / deviation:.2g} % of its motion: like "
        f"noise of {with_unit(resolution / np.sqrt(12), unit, 2)}; a smaller range of the instrument would see more."
    )


def _coarse(channel: Channel, resolution: float, deviation: float) -> list[Finding]:
    words = coarse_words(resolution, deviation, channel.unit)
    return [_finding("resolution", ODD, channel, words, resolution=resolution)] if words else []


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


def twin_of(data: np.ndarray, index: int) -> int | None:
    """The first earlier column with the same values, where they move."""
    y = data[:, index]
    if not _spread(y[:, None])[0]:
        return None
    return next((i for i in range(index) if np.array_equal(y, data[:, i], equal_nan=True)), None)


def _twins(record: Record, index: int) -> list[Finding]:
    """An earlier channel with the same values."""
    other = twin_of(record.data, index)
    if other is None:
        return []
    words = f"has the same values as '{record.channels[other].name}': one of them was copied or connected twice."
    return [_finding("twin", WRONG, record.channels[index], words)]
