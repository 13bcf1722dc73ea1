"""A structure given by large sparse matrices, which are never made full."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.memory import refuse_without_memory
from vibrid.structures.base import GROUND, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.constants import ConstantSparse
from vibrid.structures.damping import Damping, Modal, Rayleigh, RayleighRatio
from vibrid.structures.incidence import Entries
from vibrid.structures.matrices import as_influence, as_names
from vibrid.structures.model import Loads, Model, stack_laws


def _as_mass(value: Any) -> ConstantSparse:
    if isinstance(value, ConstantSparse):
        return value
    if scipy.sparse.issparse(value):
        return ConstantSparse(value, "The mass")
    diagonal = np.asarray(value, dtype=float)
    if diagonal.ndim != 1:
        raise InputError("The mass is a sparse matrix of SciPy, or one number for each degree of freedom.")
    return ConstantSparse(scipy.sparse.diags(diagonal), "The mass")


class SparseMatrices(Structure):
    """A structure of thousands of degrees of freedom: M and K as sparse matrices of SciPy, and few laws.

    It is simulated in its lowest modes, found by Lanczos iterations, with static correction and a stated error.

    Arguments
        mass: kg, (n, n) sparse or (n,) for a diagonal; positive definite.
        stiffness: N/m, (n, n) sparse.
        damping: None, `Rayleigh`, `RayleighRatio` or `Modal`.
        influence: (n,) displacement of each degree of freedom for a unit ground displacement; ones by default. For
            ground that moves in several directions one such list each: {"x": [1, 0], "y": [0, 1]}.
        names: names of the degrees of freedom; "0", "1", … by default.
        attachments: laws between places, or between a place and the ground; the damping is then `Rayleigh`,
            `RayleighRatio` or None.

    Example
        >>> bar = SparseMatrices(mass=np.ones(20_000), stiffness=scipy.sparse.diags(...))
        >>> simulate(bar, record).readings(Sensors(acceleration=[10_000]))
    """

    mass: ConstantSparse = eqx.field(static=True, converter=_as_mass)
    stiffness: ConstantSparse = eqx.field(
        static=True, converter=lambda v: v if isinstance(v, ConstantSparse) else ConstantSparse(v, "The stiffness")
    )
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    influence: Any = eqx.field(static=True, default=None, converter=as_influence)
    names: tuple[str, ...] = eqx.field(static=True, default=(), converter=as_names)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())

    def __check_init__(self) -> None:
        n = self.stiffness.size
        if self.mass.size != n:
            raise InputError(f"M has {self.mass.size} rows and K {n}; both must have the same.")
        if not isinstance(self.damping, Rayleigh | RayleighRatio | Modal | None):
            raise InputError("Sparse matrices take Rayleigh, RayleighRatio or Modal damping; others couple the modes.")
        if self.attachments and isinstance(self.damping, Modal):
            raise InputError("Sparse matrices with attachments take Rayleigh damping, which Modal is not, or none.")
        if self.mass.matrix.diagonal().min() <= 0:
            worst = int(self.mass.matrix.diagonal().argmin())
            raise InputError(f"The mass of degree of freedom {worst} is not positive; condense those without mass out.")
        for what, value in (("names", self.names), *((f"influence {d}", v) for d, v in self._influences().items())):
            if len(value) and len(value) != n:
                raise InputError(f"'{what}' needs one entry for each of the {n} degrees of freedom, not {len(value)}.")

    @property
    def size(self) -> int:
        return self.stiffness.size

    def shape_of_model(self, loads: Loads = GROUND) -> Model:
        loads = self.driven_along(loads)
        numbers, columns = (jax.ShapeDtypeStruct((self.size, *more), float) for more in ((), (len(loads),)))
        parts = [(f"attachments[{i}]", a.law, self._entries(a)) for i, a in enumerate(self.attachments)]
        rows, groups, names = stack_laws(parts, self.size)
        return Model(numbers, numbers, None, None, rows, groups, columns, loads, names)  # pyright: ignore[reportArgumentType]

    def _entries(self, attachment: Attachment) -> Entries:
        """The row of an attachment."""
        places = [attachment.at] if attachment.to is None else [attachment.at, attachment.to]
        columns, weights = [[self._number(place) for place in places]], [[1.0, -1.0][: len(places)]]
        return Entries(np.array(columns), np.array(weights), self.size)

    def attached(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """The rows of the attachments (sparse), and their slopes and damping about rest."""
        n, each = self.size, [self._entries(a) for a in self.attachments]
        rows = [scipy.sparse.csr_matrix((e.weights[0], ([0] * e.columns.size, e.columns[0])), (1, n)) for e in each]
        slopes = np.array([float(a.law.initial_stiffness()) for a in self.attachments])
        return (
            scipy.sparse.vstack(rows).tocsr(),
            slopes,
            np.array([float(a.law.initial_damping()) for a in self.attachments]),
        )

    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        n = self.size
        refuse_without_memory(
            f"A structure of {n} degrees of freedom as full matrices", 48.0 * n * n, "simulate it in its modes"
        )
        return jnp.asarray(self.mass.matrix.toarray()), jnp.asarray(self.stiffness.matrix.toarray())

    def row(self, place: str) -> np.ndarray:
        row = np.zeros(self.size)
        row[self._number(str(place))] = 1.0
        return row

    def _number(self, place: str) -> int:
        if self.names:
            if place not in self.names:
                raise unknown_name("degree of freedom", place, self.names[:1000])
            return self.names.index(place)
        if not place.isdigit() or int(place) >= self.size:
            raise InputError(f"'{place}' is not a degree of freedom; they are numbered 0 to {self.size - 1}.")
        return int(place)

    def _influences(self) -> dict[str, tuple[float, ...]]:
        if self.influence is None:
            return {"": (1.0,) * self.size}
        if isinstance(self.influence[0], tuple):
            return dict(self.influence)
        return {"": self.influence}

    def ground_axes(self) -> dict[str, str]:
        if self.influence is None or not isinstance(self.influence[0], tuple):
            return {"": ""}
        return {direction: "" for direction, _ in self.influence}

    def ground(self, direction: str = "") -> np.ndarray:
        return np.asarray(self._influences()[self.ground_axis(direction)])

    def ground_inertia(self, direction: str = "") -> jax.Array:
        return jnp.asarray(self.mass.matrix @ self.ground(direction))
