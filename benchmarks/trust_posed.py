"""What a problem to identify is: a structure with unknowns, and its tests from a simulator that no method uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from trust import STEP

import vibrid as vb

GROUND = vb.Channel("ground", "ground_acceleration")


@dataclass(frozen=True)
class Problem:
    """A structure to identify, what is unknown of it, and its tests without noise."""

    guess: vb.structures.Structure
    unknown: list
    true: np.ndarray
    sensors: vb.Sensors
    driven: list[vb.Channel]
    tests: list[tuple[np.ndarray, np.ndarray]]  # inputs and readings of each, (samples, channels)
    level: float  # of the noise, over the standard deviation of a channel

    def records(self, seed: int, excitation: float = 0.0) -> list[vb.Record]:
        """The tests as measured, with white noise of the readings and, where wanted, of the excitation.

        Problems draw their levels, so that no two of them have the same noise.
        """
        rng, found = np.random.default_rng([round(1e12 * self.level), seed]), []
        for inputs, clean in self.tests:
            readings = clean + self.level * clean.std(axis=0) * rng.standard_normal(clean.shape)
            measured = inputs + excitation * inputs.std(axis=0) * rng.standard_normal(inputs.shape)
            channels = [*self.driven, *self.sensors.channels()]
            found.append(vb.Record(np.column_stack([measured, readings]), channels, step=STEP, name="test"))
        return found


def random(kind: int, seed: int) -> tuple[np.random.Generator, float]:
    """Random numbers of one kind of problem, and its noise level."""
    rng = np.random.default_rng([kind, 100 + seed])
    return rng, rng.uniform(0.03, 0.05)
