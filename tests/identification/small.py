"""Small problems with known truth, shared by the tests of identification. Shapes are few, so compilations are few."""

from functools import cache

import numpy as np

import vibrid as vb
from vibrid.conformance.problems import (
    STEP,
    TWO,
    TWO_GUESS,
    TWO_SENSORS,
    TWO_TRUTH,
    TWO_UNKNOWN,
    motion,
    two,
    two_moving,
)

__all__ = [
    "ONE", "ONE_GUESS", "ONE_SENSORS", "ONE_TRUTH", "ONE_UNKNOWN", "STEP", "TWO", "TWO_GUESS", "TWO_SENSORS",
    "TWO_TRUTH", "TWO_UNKNOWN", "motion", "one", "truth", "two",
]  # fmt: skip

ONE = vb.ShearBuilding(
    masses=[1.0], storeys=[vb.BoucWen(stiffness=40.0, beta=6.0, gamma=4.0, exponent=1.0)], damping=vb.Viscous(0.5)
)
ONE_SENSORS = vb.Sensors(displacement=[0], acceleration=[0])
ONE_UNKNOWN = ["storeys[0].stiffness", "storeys[0].beta", "storeys[0].gamma"]
ONE_TRUTH = np.array([40.0, 6.0, 4.0])
ONE_GUESS = ONE.replace({"storeys[0].stiffness": 30.0, "storeys[0].beta": 4.0, "storeys[0].gamma": 6.0})


@cache
def truth(which: str, key: int = 0):
    """The response from the adaptive reference, which no fit uses."""
    return two_moving(key) if which == "two" else vb.simulation.simulate_reference(ONE, motion(key))


def one(noise: float = 0.02, key: int = 0, motion_key: int = 0) -> vb.Record:
    return truth("one", motion_key).measure(ONE_SENSORS, noise=noise, key=key)
