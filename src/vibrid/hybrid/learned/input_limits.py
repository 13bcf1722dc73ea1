"""The limits of a device model's inputs: how far beyond its training tests it may be moved.

They follow from the sizes that a model has of its training tests, so that every file has them, old ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.features import MotionFeatures

FACTOR = 3.0
"""Limits of displacement, velocity and signals over the largest of the training tests; `conduct` goes as far."""
FORCE = 1.5
"""Limit of the force, in capacities of its direction."""


@dataclass(frozen=True)
class InputLimits:
    """Limits of the inputs and of the force of a device model, for either sign.

    Arguments
        displacement: m.
        velocity: m/s; between two samples the displacement cannot change faster either.
        signals: of the tested device, in their units.
        force: in capacities of its direction. A force beyond it is flagged, not changed.
    """

    displacement: float
    velocity: float
    signals: tuple[float, ...] = ()
    force: float = FORCE

    def __post_init__(self):
        object.__setattr__(self, "signals", tuple(self.signals))
        if not all(0 < limit < float("inf") for limit in (self.displacement, self.velocity, *self.signals, self.force)):
            raise InputError("Limits of a device model must be positive, finite numbers.")

    @classmethod
    def of(cls, features: MotionFeatures, sizes: Sequence[float], middles: Sequence[float] = ()) -> InputLimits:
        """`FACTOR` times the largest values that features and signals were scaled for."""
        largest = [abs(m) + abs(s) for m, s in zip(middles or [0.0] * len(sizes), sizes, strict=True)]
        moved = abs(features.middle) + features.displacement
        return cls(FACTOR * moved, FACTOR * features.velocity, tuple(FACTOR * size for size in largest))
