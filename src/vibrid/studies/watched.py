"""What is watched of every run of a study: drifts of storeys, and sensors."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.structures.base import Structure
from vibrid.structures.sensors import Sensor, Sensors
from vibrid.structures.shear import ShearBuilding
from vibrid.studies.kept import StoreyDrift

MOST_WATCHED = 200
"""The most places of one quantity that are kept without being named."""


def refuse_watched_sections(structure: Structure) -> None:
    """Refuse fibre frames whose every step would have to be judged, as `simulate` does after a run."""
    if type(structure).check_states is not Structure.check_states and getattr(structure, "softening", "") != "allow":
        raise Refusal(
            f"A study does not judge the sections of a {type(structure).__name__} step by step: allow them to soften "
            '(softening="allow") and let a limit of drift say what a collapse is.'
        )


def watched_storeys(structure, storeys, heights) -> tuple[StoreyDrift, ...]:
    """The storeys whose drifts are kept: those that are named, else those of a shear building."""
    if storeys is not None:
        if heights is not None:
            raise InputError("Heights are given with the storeys: StoreyDrift(top, bottom, height).")
        names = [s.name for s in storeys]
        if len(set(names)) < len(names):
            raise InputError("A storey is watched twice.")
        return tuple(storeys)
    if not isinstance(structure, ShearBuilding):
        if heights is not None:
            raise InputError("Heights belong to the storeys of a shear building; give storeys=[StoreyDrift(…)] here.")
        return ()
    n = structure.floors
    tall = [None] * n if heights is None else np.broadcast_to(np.asarray(heights, float), (n,)).tolist()
    below = [None, *(str(i) for i in range(n - 1))]
    return tuple(
        StoreyDrift(str(i), bottom, height) for i, (bottom, height) in enumerate(zip(below, tall, strict=True))
    )


def drift_rows(structure: Structure, storeys: Sequence[StoreyDrift]) -> np.ndarray:
    """(storeys, n): drifts are these rows times the displacements."""
    rows = [structure.row(s.top) - (0.0 if s.bottom is None else structure.row(s.bottom)) for s in storeys]
    size = eqx.filter_eval_shape(lambda s: s.matrices()[0], structure).shape[-1] if not rows else 0
    return np.stack(rows) if rows else np.zeros((0, size))


def watched_sensors(structure: Structure, sensors, storeys: Sequence[StoreyDrift]) -> Sensors:
    """Plain sensors: of the places that are named, else the absolute accelerations of all places."""
    if sensors is not None:
        return Sensors([Sensor(s.quantity, s.place, name=s.label) for s in Sensors(sensors)])
    places = [s.top for s in storeys] or structure.places()
    if not 0 < len(places) <= MOST_WATCHED:
        raise InputError(
            f"State what is kept of this {type(structure).__name__}: sensors=Sensors(displacement=[…]), and "
            "storeys=[StoreyDrift(top, bottom, height)] for drifts."
        )
    return Sensors(absolute_acceleration=places)
