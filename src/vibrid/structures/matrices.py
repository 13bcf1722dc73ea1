"""A structure given by its matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from vibrid.core.arguments import as_entries, as_floats
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import Parameter, parameter
from vibrid.structures.base import STRUCTURES, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.damping import Damping

if TYPE_CHECKING:
    import xarray


def as_influence(value):
    """One influence vector, or one for each direction, in a form that never changes; None stays None."""
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if value is None or not as_entries(value, "influence numbers"):
        return None
    if isinstance(value[0], tuple) and len(value[0]) == 2 and isinstance(value[0][0], str):
        return tuple((str(direction), as_floats(numbers, "influence numbers")) for direction, numbers in value)
    return as_floats(value, "influence numbers")


def as_names(value) -> tuple[str, ...]:
    return tuple(map(str, as_entries(value, "names")))


@STRUCTURES.register("matrices")
class Matrices(Structure):
    """Plain M, K and damping, with laws attached where wanted.

    Arguments
        mass: kg, (n, n) or (n,) for a diagonal.
        stiffness: N/m, (n, n).
        damping: None, `Rayleigh`, `Modal`, or a matrix C in N s/m.
        attachments: laws between degrees of freedom, or between one and the ground.
        influence: (n,) displacement of each degree of freedom for a unit ground displacement; ones by default. For
            ground that moves in several directions one such list each: {"x": [1, 0], "y": [0, 1]}.
        names: names of the degrees of freedom; "0", "1", … by default.
        influence_factor: of the influence of every degree of freedom in all directions, one number or one for each; 1
            by default. To be identified where it is not known how far the ground carries a point.
    """

    mass: Parameter = parameter("mass matrix M", "kg")
    stiffness: Parameter = parameter("stiffness matrix K", "N/m")
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    influence: tuple[float, ...] | tuple[tuple[str, tuple[float, ...]], ...] | None = eqx.field(
        static=True, default=None, converter=as_influence
    )
    names: tuple[str, ...] = eqx.field(static=True, default=(), converter=as_names)
    influence_factor: Parameter = parameter("factor of the influence", "", default=1.0)

    @classmethod
    @attached
    def from_xarray(cls, dataset: xarray.Dataset) -> Matrices:
        """M, C and K from the variables `mass`, `damping` and `stiffness` of a dataset, as of `to_xarray()`."""
        ...

    def __check_init__(self) -> None:
        n = self.mass.shape[0] if self.mass.ndim else 0
        if n == 0 or self.mass.shape not in ((n,), (n, n)) or self.stiffness.shape != (n, n):
            raise InputError(f"M has shape {self.mass.shape} and K {self.stiffness.shape}; both must be {n} by {n}.")
        if self.influence_factor.shape not in ((), (n,)):
            raise InputError(
                f"'influence_factor' has shape {self.influence_factor.shape}; give one number, or one for each of the "
                f"{n} degrees of freedom."
            )
        self._check_mass()
        vectors = [(f"influence['{d}']" if d else "influence", v) for d, v in self._influences().items()]
        for what, value in (("names", self.names), *vectors):
            if value and len(value) != n:
                raise InputError(f"'{what}' needs one entry for each of the {n} degrees of freedom.")
            if not all(np.isfinite(v) for v in value if not isinstance(v, str)):
                raise InputError(f"'{what}' must be finite numbers.")

    def _check_mass(self) -> None:
        """Refuse a mass that could be moved without force: not symmetric, or not positive in every motion."""
        if isinstance(self.mass, Tracer):
            return
        mass = np.asarray(self.mass)
        mass = np.diag(mass) if mass.ndim == 1 else mass
        if not np.isfinite(mass).all():
            return  # which is reported for every parameter
        size = np.abs(mass).max()
        lowest = float(np.linalg.eigvalsh(0.5 * (mass + mass.T))[0])
        if not lowest > 1e-14 * size or not np.allclose(mass, mass.T, rtol=0.0, atol=1e-6 * size):
            raise InputError(
                f"The mass matrix must be symmetric and positive definite; its smallest eigenvalue is {lowest:g} kg."
            )

    @property
    def size(self) -> int:
        return self.mass.shape[0]

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        return self.mass, self.stiffness

    def row(self, place: str) -> np.ndarray:
        n = self.mass.shape[0]
        names = self.names or tuple(str(i) for i in range(n))
        if str(place) not in names:
            raise unknown_name("degree of freedom", place, names)
        row = np.zeros(n)
        row[names.index(str(place))] = 1.0
        return row

    def _influences(self) -> dict[str, tuple[float, ...]]:
        """The influence vector of each direction of ground motion; one without a name where it has one only."""
        if self.influence is None:
            return {"": (1.0,) * self.mass.shape[0]}
        if isinstance(self.influence[0], tuple):
            return dict(cast("tuple[tuple[str, tuple[float, ...]], ...]", self.influence))
        return {"": cast("tuple[float, ...]", self.influence)}

    def ground_axes(self) -> dict[str, str]:
        return dict.fromkeys(self._influences(), "")

    def ground(self, direction: str = "") -> np.ndarray | jax.Array:
        influence = np.asarray(self._influences()[self.ground_axis(direction)])
        if isinstance(self.influence_factor, Tracer):
            return influence * self.influence_factor
        return influence * np.asarray(self.influence_factor)
