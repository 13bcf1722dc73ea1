"""Small problems with known parameters, for the conformance of methods. Few shapes, so few compilations."""

from __future__ import annotations

from functools import cache

import numpy as np

from vibrid.laws.linear import Linear
from vibrid.records.record import Channel, Record
from vibrid.simulation.reference import simulate_reference
from vibrid.structures.sensors import Sensors
from vibrid.structures.shear import ShearBuilding

STEP = 0.02


@cache
def motion(key: int = 0) -> Record:
    """Eight seconds of irregular ground motion at 50 Hz, linear between samples."""
    rng = np.random.default_rng(key)
    t = np.arange(0, 8.0001, STEP)
    raw = sum(
        np.sin(2 * np.pi * f * t + p) for f, p in zip(np.linspace(0.4, 3.0, 9), rng.uniform(0, 6.3, 9), strict=True)
    )
    channel = Channel("ground", "ground_acceleration")
    return Record(raw * np.exp(-(((t - 3) / 2.5) ** 2)), [channel], step=STEP, name=f"motion {key}")


TWO = ShearBuilding(masses=[1.0, 0.8], storeys=[Linear(60.0, 0.9), Linear(40.0, 0.7)])
TWO_SENSORS = Sensors(displacement=[0, 1], velocity=[0, 1], acceleration=[0, 1])
TWO_UNKNOWN = ["storeys[*].stiffness", "storeys[*].damping"]
TWO_TRUTH = np.array([60.0, 40.0, 0.9, 0.7])
TWO_GUESS = TWO.replace({"storeys[*].stiffness": np.array([45.0, 50.0]), "storeys[*].damping": np.array([0.6, 1.0])})


@cache
def two_moving(key: int = 0):
    """The response of the two floors from the adaptive reference, which no fit uses."""
    return simulate_reference(TWO, motion(key))


def two(noise: float = 0.02, key: int = 0, motion_key: int = 0) -> Record:
    """Readings of the sensors on the two floors, with noise."""
    return two_moving(motion_key).measure(TWO_SENSORS, noise=noise, key=key)
