"""Tests of a device as arrays of one shape, for training and scores of a network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vibrid.hybrid.learned.samples import DeviceSample, Numbers, Setting


class Histories(NamedTuple):
    """Tests stacked, the shorter ones filled up at their end with rest that does not count."""

    sample: DeviceSample  # (tests, samples, …)
    setting: Setting  # (tests, …)
    force: Numbers  # (tests, samples) N, measured
    counts: Numbers  # (tests, samples) 1 where a sample counts
    size: Numbers  # (tests,) N, range of the measured force: errors are taken relative to it

    @property
    def tests(self) -> int:
        return self.force.shape[0]

    @property
    def samples(self) -> int:
        return self.force.shape[1]


class DeviceTest(NamedTuple):
    """One test at the rate of a model."""

    name: str
    x: np.ndarray  # (samples,) m
    v: np.ndarray
    force: np.ndarray  # N
    companion: np.ndarray  # (samples, signals)
    capacity: tuple[float, float]
    weight: float = 1.0  # in a training


def stack(tests: list[DeviceTest], multiple: int = 1) -> Histories:
    """All tests stacked; their common length is a multiple of `multiple`."""
    longest = max(len(t.x) for t in tests)
    length = -(-longest // multiple) * multiple

    def filled(values, last: bool):
        values = np.asarray(values, np.float32)
        more = length - len(values)
        end = values[-1:] if last else np.zeros_like(values[-1:])
        return np.concatenate([values, np.repeat(end, more, axis=0)])

    sample = DeviceSample(
        np.stack([filled(t.x, True) for t in tests]),
        np.stack([filled(t.v, False) for t in tests]),
        np.stack([filled(t.companion, True) for t in tests]),
    )
    setting = Setting(
        np.array([t.capacity for t in tests], np.float32), np.array([t.force[:20].mean() for t in tests], np.float32)
    )
    force = np.stack([filled(t.force, True) for t in tests])
    counts = np.stack([filled(np.ones(len(t.x)), False) for t in tests])
    size = np.array([np.ptp(t.force) for t in tests], np.float32)
    return Histories(sample, setting, force, counts, size)
