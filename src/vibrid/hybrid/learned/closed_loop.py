"""Closed-loop errors: the difference between a hybrid test with a model and the test with the device in its place.

A model that predicts recorded tests well can still drift in a closed loop, where its errors change its motion. So a
model is scored in a virtual test: the same structure and motion, once with a virtual specimen at the modelled place,
once with the model.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from vibrid.core.errors import Divergence, unknown_name
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.device import LoopDevice
from vibrid.hybrid.result import HybridResult
from vibrid.records.record import Record


@dataclass(frozen=True)
class LoopErrors:
    """Differences between two tests."""

    displacement: float  # rms of the watched displacement's error / its range
    force: float  # rms of the modelled force's error / its range, each for its own motion
    residual: float  # m, of the watched displacement, mean of the last second
    drift: float  # m, change of the watched displacement in the last half of the rest after the motion

    @property
    def worst_of(self) -> float:
        """One number for the choice of a model: relative to 3 %, 5 % and 1 mm."""
        parts = (self.displacement / 0.03, self.force / 0.05, self.residual / 1e-3, self.drift / 1e-3)
        return float("inf") if np.isnan(parts).any() else float(np.mean(np.square(parts)) ** 0.5)


def with_device(test: HybridTest, place: str, device: LoopDevice) -> HybridTest:
    """The same test with another device at a modelled place."""
    names = [part.name for part in test.modelled]
    if place not in names:
        raise unknown_name("modelled device", place, names)
    parts = [dataclasses.replace(p, device=device) if p.name == place else p for p in test.modelled]
    return dataclasses.replace(test, modelled=parts)


def loop_errors(found: HybridResult, reference: HybridResult, place: str, watch: str, rest: float) -> LoopErrors:
    """Errors of a test against another with the same motion.

    Arguments
        place: name of the modelled device.
        watch: place of the structure whose displacement is compared.
        rest: s at the end of the motion without any shaking.
    """
    x, x_true = found.displacement(watch), reference.displacement(watch)
    f, f_true = (r.devices[f"{place}.force"] for r in (found, reference))
    rate = 1.0 / float(np.median(np.diff(reference.response.time)))
    last, half = slice(-max(int(rate), 1), None), slice(-max(int(0.5 * rest * rate), 2), None)
    calm = max(int(0.25 * rate), 1)  # a remaining free vibration is no drift
    ends = [np.mean(x[half][:calm]), np.mean(x[half][-calm:])]
    return LoopErrors(
        float(np.sqrt(np.mean((x - x_true) ** 2)) / np.ptp(x_true)),
        float(np.sqrt(np.mean((f - f_true) ** 2)) / np.ptp(f_true)),
        float(abs(np.mean(x[last]) - np.mean(x_true[last]))),
        float(abs(ends[1] - ends[0])),
    )


def run_or_break(test: HybridTest, motion: Record) -> HybridResult | None:
    """The result of a test; None where it diverged."""
    try:
        return test.run(motion)
    except Divergence:
        return None


BROKEN = LoopErrors(*[float("nan")] * 4)
"""Errors of a test that diverged."""
