"""Beams and records that several tests of structures share."""

import numpy as np

import vibrid as vb

SIVA_RATIOS = (0.0069, 0.0052, 0.0014, 0.0017, 0.0044, 0.0038, 0.0042)


def siva_beam(density=7694.0, **changes) -> vb.Beam:
    """The steel cantilever of 15 elements with a tip mass; its damping is given for seven modes."""
    width, thickness = 0.0381, 0.0064
    arguments = {
        "modulus": 180e9,
        "area": width * thickness,
        "inertia": width * thickness**3 / 12,
        "density": density,
        "masses": [vb.PointMass(0.0522, at="tip")],
        "damping": vb.Modal(SIVA_RATIOS),
        "axial": False,
    }
    return vb.Beam(np.linspace(0, 1.524, 16), **(arguments | changes))


def shaking(values, step) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("ground", "ground_acceleration")], step=step, name="test motion")
