"""Small problems shared by the simulation tests: two floors, one motion, the same arrays at every step size."""

import numpy as np

import vibrid as vb

SPAN, KNOTS, LENGTH = 6.4, 64, 513  # seconds, intervals of the motion, samples of every run (one compiled shape)

_rng = np.random.default_rng(1)
_knots = np.linspace(0.0, SPAN, KNOTS + 1)
_values = sum(
    np.sin(2 * np.pi * f * _knots + p) for f, p in zip(np.linspace(0.2, 1.2, 8), _rng.uniform(0, 6.28, 8), strict=True)
)
_values = _values * np.sin(np.pi * _knots / SPAN) ** 2


def ground(values, step) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("ground", "ground_acceleration")], step=step, name="test motion")


def motion(steps: int, length: int = LENGTH) -> vb.Record:
    """The motion, piecewise linear between its knots, with `steps` samples in `SPAN` seconds; zero afterwards."""
    step = SPAN / steps
    return ground(np.interp(np.arange(length) * step, _knots, _values, right=0.0), step)


def at_knots(array, steps: int):
    return np.asarray(array)[:: steps // KNOTS][: KNOTS + 1]


LINEAR = vb.ShearBuilding(masses=[2.0, 1.0], storeys=[vb.Linear(60.0, 0.8), vb.Linear(40.0, 0.8)])
THERMOSTAT = vb.ShearBuilding(
    masses=[2.0, 1.0], storeys=[vb.Cubic(60.0, 100.0), vb.Cubic(40.0, 60.0)], damping=vb.Thermostat(0.8, 2.0)
)
CUBIC = THERMOSTAT.replace({"damping.rate": 0.0})  # the same arrays, so that one compiled program serves all three
STRAIGHT = CUBIC.replace({"storeys[*].cubic": 0.0})  # LINEAR, written with the laws of the other two
YIELDING = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Bilinear(40.0, 0.05, 0.1)] * 2, damping=vb.Viscous(0.4))
