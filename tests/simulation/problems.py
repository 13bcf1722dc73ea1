"""Small problems shared by the simulation tests: those of the conformance checks, and one that yields."""

import vibrid as vb
from vibrid.conformance.integrator import (
    CUBIC,
    KNOTS,
    LINEAR,
    SPAN,
    STRAIGHT,
    THERMOSTAT,
    at_knots,
    ground,
    motion,
)

YIELDING = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Bilinear(40.0, 0.05, 0.1)] * 2, damping=vb.Viscous(0.4))

__all__ = [
    "CUBIC",
    "KNOTS",
    "LINEAR",
    "SPAN",
    "STRAIGHT",
    "THERMOSTAT",
    "YIELDING",
    "at_knots",
    "ground",
    "motion",
]
