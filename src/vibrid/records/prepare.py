"""Preparing a record for identification: a window, gaps, baseline, filter and rate, with the effect on every channel.

The steps are done in this order: window, filled gaps, baseline, filter, rate. Every channel is treated alike, so that
the excitation and the response of a linear structure stay those of one another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import InputError, nearest
from vibrid.records.baseline import correct_baseline
from vibrid.records.filters import butterworth
from vibrid.records.record import Record

BASELINES = ("mean", "line", "parabola", "velocity")
"""Names of baselines: polynomials of degree 0 to 2, or the velocity correction of accelerations."""


@dataclass(frozen=True)
class Preparation:
    """What is done to a record before it is used.

    start, end: the window in seconds; fill: longest gap in seconds that is bridged by a line; baseline: one of
    `BASELINES`; low, high: corners of a band-pass filter in Hz, order: of that filter; rate: new samples per second.
    """

    start: float | None = None
    end: float | None = None
    fill: float | None = None
    baseline: str | None = None
    low: float | None = None
    high: float | None = None
    order: int = 4
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.baseline is not None and self.baseline not in BASELINES:
            raise InputError(f"There is no baseline called '{self.baseline}'; {nearest(self.baseline, BASELINES)}")

    def __call__(self, record: Record) -> Record:
        """The prepared record; its history has every step and the effect on every channel."""
        before = record
        if self.start is not None or self.end is not None:
            record = before = record.cut(self.start, self.end)
        if self.fill is not None:
            record = record.fill(self.fill)
        if self.baseline == "velocity":
            record = correct_baseline(record, method="velocity")
        elif self.baseline is not None:
            record = correct_baseline(record, BASELINES.index(self.baseline))
        if self.low is not None or self.high is not None:
            record = butterworth(record, self.low, self.high, self.order)
        if self.rate is not None:
            record = record.resample(self.rate)
        return record if record is before else record.replace(f"{EFFECT}{'; '.join(effects(before, record))}")


EFFECT = "effect: "
"""The beginning of the line of a history that compares a record before and after its preparation."""


def effects(before: Record, after: Record) -> list[str]:
    """Root mean square and peak of every channel before and after: `roof rms 0.31 -> 0.30, peak 1.2 -> 1.1 m/s^2`."""
    lines = []
    for channel in after.channels:
        pairs = [(size(before[channel.name]), size(after[channel.name])) for size in (_rms, _peak)]
        rms, peak = (f"{old:.4g} -> {new:.4g}" for old, new in pairs)
        lines.append(f"{channel.name} rms {rms}, peak {peak} {channel.unit}".rstrip())
    return lines


def _rms(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def _peak(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.abs(known).max()) if known.size else float("nan")
