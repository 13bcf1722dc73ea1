"""Small problems with known truth, shared by the tests of identification. Shapes are few, so compilations are few."""

from functools import cache

import numpy as np

import vibrid as vb

STEP = 0.02


@cache
def motion(key: int = 0) -> vb.Record:
    """Eight seconds of irregular ground motion at 50 Hz, linear between samples."""
    rng = np.random.default_rng(key)
    t = np.arange(0, 8.0001, STEP)
    raw = sum(
        np.sin(2 * np.pi * f * t + p) for f, p in zip(np.linspace(0.4, 3.0, 9), rng.uniform(0, 6.3, 9), strict=True)
    )
    channel = vb.Channel("ground", "ground_acceleration")
    return vb.Record(raw * np.exp(-(((t - 3) / 2.5) ** 2)), [channel], step=STEP, name=f"motion {key}")


TWO = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[vb.Linear(60.0, 0.9), vb.Linear(40.0, 0.7)])
TWO_SENSORS = vb.Sensors(displacement=[0, 1], velocity=[0, 1], acceleration=[0, 1])
TWO_UNKNOWN = ["storeys[*].stiffness", "storeys[*].damping"]
TWO_TRUTH = np.array([60.0, 40.0, 0.9, 0.7])
TWO_GUESS = TWO.replace({"storeys[*].stiffness": np.array([45.0, 50.0]), "storeys[*].damping": np.array([0.6, 1.0])})

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
    return vb.simulation.simulate_reference({"one": ONE, "two": TWO}[which], motion(key))


def two(noise: float = 0.02, key: int = 0, motion_key: int = 0) -> vb.Record:
    return truth("two", motion_key).measure(TWO_SENSORS, noise=noise, key=key)


def one(noise: float = 0.02, key: int = 0, motion_key: int = 0) -> vb.Record:
    return truth("one", motion_key).measure(ONE_SENSORS, noise=noise, key=key)
