"""A structure given by its matrices."""

from __future__ import annotations

import equinox as eqx
import numpy as np

from vibrid.core.arguments import as_entries, as_floats
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import parameter
from vibrid.structures.base import STRUCTURES, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.damping import Damping


def _as_names(value) -> tuple[str, ...]:
    return tuple(map(str, as_entries(value, "names")))


@STRUCTURES.register("matrices")
class Matrices(Structure):
    """Plain M, K and damping, with laws attached where wanted.

    Arguments
        mass: kg, (n, n) or (n,) for a diagonal.
        stiffness: N/m, (n, n).
        damping: None, `Rayleigh`, `Modal`, or a matrix C in N s/m.
        attachments: laws between degrees of freedom, or between one and the ground.
        influence: (n,) displacement of each degree of freedom for a unit ground displacement; ones by default.
        names: what the degrees of freedom are called; "0", "1", … by default.
    """

    mass: object = parameter("mass matrix M", "kg")
    stiffness: object = parameter("stiffness matrix K", "N/m")
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    influence: tuple[float, ...] | None = eqx.field(
        static=True, default=None, converter=lambda v: None if v is None else as_floats(v, "influence numbers")
    )
    names: tuple[str, ...] = eqx.field(static=True, default=(), converter=_as_names)

    def __check_init__(self):
        n = self.mass.shape[0] if self.mass.ndim else 0
        if n == 0 or self.mass.shape not in ((n,), (n, n)) or self.stiffness.shape != (n, n):
            raise InputError(f"M has shape {self.mass.shape} and K {self.stiffness.shape}; both must be {n} by {n}.")
        for what, value in (("names", self.names), ("influence", self.influence or ())):
            if value and len(value) != n:
                raise InputError(f"'{what}' needs one entry for each of the {n} degrees of freedom.")

    def matrices(self):
        return self.mass, self.stiffness

    def row(self, place):
        n = self.mass.shape[0]
        names = self.names or tuple(str(i) for i in range(n))
        if str(place) not in names:
            raise unknown_name("degree of freedom", place, names)
        return np.eye(n)[names.index(str(place))]

    def ground(self, direction=""):
        n = self.mass.shape[0]
        return np.ones(n) if self.influence is None else np.asarray(self.influence)
