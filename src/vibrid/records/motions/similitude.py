"""Similitude of a model test with added mass: same accelerations, same stresses, smaller lengths.

With Λ = length of the prototype / length of the model, and acceleration and stress equal in both: the artificial-mass
similitude of shaking-table tests (H. G. Harris and G. M. Sabnis, Structural Modeling and Experimental Techniques).

    length Λ    time √Λ    velocity √Λ    acceleration 1    force Λ²    mass Λ²    stiffness Λ    strain, rotation 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.record import Record

_POWERS = {
    "displacement": 1.0,
    "velocity": 0.5,
    "acceleration": 0.0,
    "absolute_acceleration": 0.0,
    "rotation": 0.0,
    "drift": 1.0,
    "drift_velocity": 0.5,
    "strain": 0.0,
    "element_force": 2.0,
    "ground_acceleration": 0.0,
    "ground_velocity": 0.5,
    "ground_displacement": 1.0,
    "load": 2.0,
}


@checked
@dataclass(frozen=True)
class Similitude:
    """Factors from model to prototype for the length factor Λ (4 for a quarter-scale model)."""

    length: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.length) and self.length > 0):
            raise InputError(f"The length factor must be positive, not {self.length!r}.")

    @property
    def time(self) -> float:
        return self.length**0.5

    @property
    def velocity(self) -> float:
        return self.length**0.5

    @property
    def acceleration(self) -> float:
        return 1.0

    @property
    def mass(self) -> float:
        return self.length**2

    @property
    def force(self) -> float:
        return self.length**2

    @property
    def stiffness(self) -> float:
        return self.length

    @property
    def damping(self) -> float:
        """Of a viscous coefficient, force per velocity."""
        return self.length**1.5

    def to_model(self, record: Record) -> Record:
        """A record of the prototype at model scale: time and lengths shrink."""
        return self._scaled(record, -1.0, "to the model")

    def to_prototype(self, record: Record) -> Record:
        """A record of the model at prototype scale."""
        return self._scaled(record, 1.0, "to the prototype")

    def _scaled(self, record: Record, sense: float, where: str) -> Record:
        unknown = [c.name for c in record.channels if c.quantity not in _POWERS]
        if unknown:
            raise InputError(f"The quantity of {', '.join(unknown)} is not known, so no similitude factor is.")
        factors = np.array([self.length ** (sense * _POWERS[c.quantity]) for c in record.channels])
        clock = self.time**sense
        axis = (
            {"step": record.step * clock, "start": record.start * clock}
            if record.step is not None
            else {"times": record.times * clock}
        )
        return record.replace(
            f"similitude {where}, length factor {self.length:g}", data=record.data * factors, clock=None, **axis
        )
