"""Base class of structures of elements between nodes: assembly, supports, places, ground motion."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import ParameterisedType
from vibrid.structures.base import Structure
from vibrid.structures.elements import assemble
from vibrid.structures.nodes import Nodes, as_supports
from vibrid.structures.support_motion import check_supports, moved_supports, pseudo_static

if TYPE_CHECKING:
    from vibrid.structures.base import Attachment
    from vibrid.structures.model import Loads
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

    def make_nodes(self) -> Nodes:
        raise NotImplementedError

    def nodes_and_supports(self) -> Nodes:
        return self._nodes

    @cached_property
    def _nodes(self) -> Nodes:
        """Made once: places are looked up hundreds of times."""
        return self.make_nodes()

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

    def joined_nodes(self) -> set[int]:
        """Nodes that ties or attachments connect to others."""
        nodes = self.nodes_and_supports()
        tied = [name for tie in nodes.ties for name in (tie.node, tie.to)]
        places = [p for a in self.declared.attachments for p in (a.at, a.to) if p is not None]
        attached = [where for where, _ in map(nodes.split, places) if "@" not in where and "=" not in where]
        return {nodes.number(name) for name in (*tied, *attached)}

    def check_places(self) -> None:
        """Refuse supports, point masses and attachments at places that do not exist."""
        nodes = self.nodes_and_supports()
        nodes.check_ties()
        for point in self.declared.masses:
            self.place_rows(point.at)
            if point.along and point.along not in self.directions:
                raise unknown_name("direction", point.along, self.directions)
        for i, attachment in enumerate(self.declared.attachments):
            row = self._whole_row(attachment.at) - (0.0 if attachment.to is None else self._whole_row(attachment.to))
            if not np.any(nodes.onto_free(row)):
                raise InputError(f"Attachment {i}, at '{attachment.at}', joins places that cannot move.")
            for place in filter(None, (attachment.at, attachment.to)):
                self.row(place)
        if len(nodes.light):
            self._check_massless(nodes)

    def _check_massless(self, nodes: Nodes) -> None:
        """Refuse massless degrees of freedom that have mass, or that nothing holds."""
        mass, stiffness = nodes.over_free(self._whole_mass()), self._free_stiffness()
        if isinstance(mass, Tracer) or isinstance(stiffness, Tracer):
            return
        k = len(self.directions)
        called = nodes.given_names or tuple(map(str, range(nodes.count)))
        names = [f"{called[i // k]}.{self.directions[i % k]}" for i in nodes.free[nodes.light]]
        moved = np.abs(np.asarray(mass)[nodes.light]).max(axis=1)
        if moved.any():
            raise InputError(f"'{names[int(moved.argmax())]}' is called massless and has mass; do one of both.")
        inner = np.asarray(stiffness)[np.ix_(nodes.light, nodes.light)]
        scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        values, vectors = np.linalg.eigh(inner / np.outer(scale, scale))
        if not values[0] > 1e-13:
            loose = names[int(np.abs(vectors[:, 0]).argmax())]
            raise InputError(f"'{loose}' has neither mass nor stiffness; hold it, connect it or give it a mass.")

    @property
    def size(self) -> int:
        return len(self.nodes_and_supports().heavy)

    # -- matrices --------------------------------------------------------------------------------------------------

    @eqx.filter_jit
    def matrices(self) -> tuple[jax.Array, jax.Array | None]:
        nodes = self.nodes_and_supports()
        mass, stiffness = nodes.over_free(self._whole_mass()), self._free_stiffness()
        if len(nodes.light):
            heavy = np.ix_(nodes.heavy, nodes.heavy)
            across = stiffness[np.ix_(nodes.heavy, nodes.light)]
            mass, stiffness = mass[heavy], stiffness[heavy] + across @ self._static_motion()
        return (jnp.diagonal(mass) if self._mass_is_diagonal() else mass), stiffness

    def _free_stiffness(self) -> jax.Array:
        """K over the free degrees of freedom, those without mass included."""
        nodes = self.nodes_and_supports()
        return nodes.over_free(assemble(nodes.size, nodes.dofs(self.connectivity()), *self.stiffness_terms()))

    def _static_motion(self) -> jax.Array:
        """(light, heavy): the motion of the degrees of freedom without mass from that of the others, without load.

        It holds with Rayleigh damping too, `C = a M + b K`: there they follow x + b v as they follow x.
        """
        nodes, stiffness = self.nodes_and_supports(), self._free_stiffness()
        inner = stiffness[np.ix_(nodes.light, nodes.light)]
        return -jnp.linalg.solve(inner, stiffness[np.ix_(nodes.light, nodes.heavy)])

    def onto_model(self, rows: np.ndarray) -> np.ndarray | jax.Array:
        """Rows over all degrees of freedom as rows over those of the model."""
        nodes = self.nodes_and_supports()
        rows = nodes.onto_free(rows)
        if not np.any(rows[..., nodes.light]):
            return rows[..., nodes.heavy]
        return rows[..., nodes.heavy] + rows[..., nodes.light] @ self._static_motion()

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
        arms = any(tie.rigid for tie in self.nodes_and_supports().ties)
        return self.declared.mass_model == "lumped" and on_nodes and not arms

    @eqx.filter_jit
    def ground_inertia(self, direction: str = "") -> jax.Array:
        """M r over free and supported nodes: with a consistent mass the supports move the mass of their neighbours."""
        nodes = self.nodes_and_supports()
        moved = self._whole_mass() @ pseudo_static(self, self.ground_axis(direction))
        return nodes.forces_onto_free(moved)[nodes.heavy]

    def ground(self, direction: str = "") -> np.ndarray | jax.Array:
        nodes = self.nodes_and_supports()
        return pseudo_static(self, self.ground_axis(direction))[nodes.free][nodes.heavy]

    def ground_axis(self, direction: str = "") -> str:
        """The direction of ground motion for a name: one of `ground_axes`, a name in files for it, or supports that
        move by themselves ("0.x", "0,3.x")."""
        if moved_supports(self.nodes_and_supports(), direction) is None:
            return super().ground_axis(direction)
        where, _, along = direction.rpartition(".")
        return f"{','.join(name.strip() for name in where.split(','))}.{along}"

    def driven_along(self, loads: Loads) -> tuple[tuple[str, str], ...]:
        inputs = super().driven_along(loads)
        check_supports(self, inputs)
        return inputs

    def moves_supports_apart(self, loads: Loads) -> bool:
        return any(quantity == "ground_acceleration" and "." in place for quantity, place in self.driven_along(loads))

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
        nodes = self.nodes_and_supports()
        row = nodes.onto_free(self._whole_row(place))
        if np.any(row[nodes.light]):
            raise InputError(f"'{place}' has no mass and follows other places; nothing can be measured or act there.")
        return row[nodes.heavy]

    def carried(self, place: str, direction: str = "") -> np.ndarray | jax.Array:
        """How far a place, on a support or off it, moves with a unit ground displacement."""
        return self._whole_row(place) @ pseudo_static(self, self.ground_axis(direction))

    def _whole_row(self, place: str) -> np.ndarray:
        where, direction = self.nodes_and_supports().split(place)
        direction = direction or self.default_direction
        rows = self.place_rows(where)
        if not direction:
            examples = " or ".join(f"'{where}.{d}'" for d in self.directions)
            raise InputError(f"'{place}' needs a direction: write {examples}.")
        return rows[self.directions.index(direction)]
