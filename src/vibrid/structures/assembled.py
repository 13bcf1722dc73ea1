"""Base class of structures of elements between nodes: assembly, supports, places, ground motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import ParameterisedType
from vibrid.structures.base import Structure
from vibrid.structures.elements import assemble
from vibrid.structures.nodes import Nodes, as_supports

if TYPE_CHECKING:
    from vibrid.structures.base import Attachment
    from vibrid.structures.nodes import PointMass

    _Supported = ParameterisedType  # it takes the arguments of the class

    class AssembledFields(Protocol):
        """The fields that every subclass of `Assembled` declares, each with its own default."""

        masses: tuple[PointMass, ...]
        attachments: tuple[Attachment, ...]
        mass_model: str
else:

    class _Supported(ParameterisedType):
        """Lets the nodes of `supports` be numbers and names side by side: {0: "fixed", "tip": "roller"}.

        Equinox sorts the keys of dictionaries among a module's arguments, which such a mixture does not allow.
        """

        def __call__(cls, *values, **named: Any):
            values = [as_supports(v) if isinstance(v, Mapping) else v for v in values]
            named = {k: as_supports(v) if isinstance(v, Mapping) else v for k, v in named.items()}
            return super().__call__(*values, **named)


class Assembled(Structure, metaclass=_Supported):
    """A structure of elements between nodes. Subclasses give the nodes, the elements' terms and the rows of a place.

    Fields that subclasses declare: `masses` (point masses), `attachments` and `mass_model` ("consistent" or "lumped").
    """

    directions: ClassVar[tuple[str, ...]]
    default_direction: ClassVar[str] = ""  # of a place given without one; empty: it must be given
    ground_direction: ClassVar[str]  # of a ground motion given without one
    upwards: ClassVar[str] = "y"  # the direction that points up; empty: not known

    @property
    def declared(self) -> AssembledFields:
        """The structure with its declared fields: a field of the base class would come first among the arguments."""
        return cast("AssembledFields", self)

    def nodes_and_supports(self) -> Nodes:
        raise NotImplementedError

    def connectivity(self) -> np.ndarray:
        """(elements, 2): the nodes at the ends of each element."""
        raise NotImplementedError

    def stiffness_terms(self) -> list[Any]:
        """(factor, unit matrices) whose sum is the stiffness of the elements."""
        raise NotImplementedError

    def mass_terms(self) -> list[Any]:
        raise NotImplementedError

    def place_rows(self, where: str) -> np.ndarray:
        """(directions, size): the motion of a place given without a direction, before supports."""
        nodes = self.nodes_and_supports()
        return nodes.rows(nodes.number(where))

    def check_places(self) -> None:
        """Refuse supports, point masses and attachments at places that do not exist."""
        free = self.nodes_and_supports().free
        for point in self.declared.masses:
            self.place_rows(point.at)
            if point.along and point.along not in self.directions:
                raise unknown_name("direction", point.along, self.directions)
        for i, attachment in enumerate(self.declared.attachments):
            row = self._whole_row(attachment.at) - (0.0 if attachment.to is None else self._whole_row(attachment.to))
            if not np.any(row[free]):
                raise InputError(f"Attachment {i}, at '{attachment.at}', joins places that cannot move.")

    # -- matrices --------------------------------------------------------------------------------------------------

    @eqx.filter_jit
    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        nodes = self.nodes_and_supports()
        free = np.ix_(nodes.free, nodes.free)
        stiffness = assemble(nodes.size, nodes.dofs(self.connectivity()), *self.stiffness_terms())[free]
        mass = self._whole_mass()[free]
        return (jnp.diagonal(mass) if self._mass_is_diagonal() else mass), stiffness

    def _whole_mass(self):
        """M before supports, point masses included."""
        nodes = self.nodes_and_supports()
        mass = assemble(nodes.size, nodes.dofs(self.connectivity()), *self.mass_terms())
        for point in self.declared.masses:
            for direction, row in zip(self.directions, self.place_rows(point.at), strict=True):
                mass = mass + point.inertia(direction) * np.outer(row, row)
        return mass

    def _mass_is_diagonal(self) -> bool:
        on_nodes = all(np.count_nonzero(self.place_rows(p.at)) == len(self.directions) for p in self.declared.masses)
        return self.declared.mass_model == "lumped" and on_nodes

    @eqx.filter_jit
    def ground_inertia(self, direction: str = "") -> jax.Array:
        """M r over free and supported nodes: with a consistent mass the supports move the mass of their neighbours."""
        nodes = self.nodes_and_supports()
        return self._whole_mass()[nodes.free] @ nodes.rigid(self.ground_axis(direction))

    def ground(self, direction: str = "") -> np.ndarray:
        nodes = self.nodes_and_supports()
        return nodes.rigid(self.ground_axis(direction))[nodes.free]

    def ground_axes(self) -> dict[str, str]:
        removed = self.nodes_and_supports().removed
        valid = [d for d in self.directions if d != "rotation" and d not in removed]
        valid.sort(key=lambda d: d != self.ground_direction)
        return {d: ("vertical" if d == self.upwards else "horizontal") if self.upwards else "" for d in valid}

    # -- places ----------------------------------------------------------------------------------------------------

    @property
    def degrees_of_freedom(self) -> tuple[str, ...]:
        """Names of the degrees of freedom of the model, in order; each is a place."""
        return self.nodes_and_supports().names

    def places(self) -> tuple[str, ...]:
        return tuple(name for name in self.degrees_of_freedom if not name.endswith(".rotation"))

    def row(self, place: str) -> np.ndarray:
        return self._whole_row(place)[self.nodes_and_supports().free]

    def carried(self, place: str, direction: str = "") -> float:
        """How far a place, on a support or off it, moves with a unit ground displacement."""
        return float(self._whole_row(place) @ self.nodes_and_supports().rigid(self.ground_axis(direction)))

    def _whole_row(self, place: str) -> np.ndarray:
        where, direction = self.nodes_and_supports().split(place)
        direction = direction or self.default_direction
        rows = self.place_rows(where)
        if not direction:
            examples = " or ".join(f"'{where}.{d}'" for d in self.directions)
            raise InputError(f"'{place}' needs a direction: write {examples}.")
        return rows[self.directions.index(direction)]
