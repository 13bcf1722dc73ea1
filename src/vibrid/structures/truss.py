"""Trusses in the plane and in space: bars that carry axial force only."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.structures import elements as el
from vibrid.structures.assembled import Assembled
from vibrid.structures.base import STRUCTURES, Attachment, as_attachments, as_damping
from vibrid.structures.damping import Damping
from vibrid.structures.nodes import (
    Nodes,
    PointMass,
    Tie,
    as_choice,
    as_names,
    as_pairs,
    as_point_masses,
    as_points,
    as_supports,
    as_texts,
    as_ties,
    check_elements,
    check_per_element,
)


@STRUCTURES.register("truss")
class Truss(Assembled):
    """Bars with pinned ends between nodes, in the plane or in space.

    Arguments
        nodes: m, (x, y) or (x, y, z) of each node.
        bars: pairs of node numbers.
        modulus: N/m², Young's modulus E; one number, or one for each bar (as are the next two).
        area: m², cross-section A.
        density: kg/m³.
        supports: {node: what it holds}: "pinned" (or "fixed": every direction), "roller" (the last direction: y in the
            plane, z in space), or names such as ["x"].
        masses: further `PointMass`es at nodes.
        damping: None, `Rayleigh`, `Modal`, or a matrix C in N s/m.
        attachments: laws between places, or between a place and the ground.
        mass_model: "consistent" (default) or "lumped" (half at each end).
        names: names of the nodes, in their order, in place of their numbers ("12.x"); bars keep the numbers.
        ties: `Tie`s: nodes that follow others.
        massless: directions ("y") or places ("3.y") without mass: they follow the others as in statics.

    Places are a node and a direction: "4.y". Strain and element force (N, tension positive) are measured at the number
    of a bar: "7". Ground motion acts along "x" (default), "y" or "z".

    Example
        >>> truss = Truss(nodes=[(0, 0), (4, 0), (2, 3)], bars=[(0, 1), (1, 2), (0, 2)], modulus=200e9, area=1e-4,
        ...               density=7850, supports={0: "pinned", 1: "roller"})
        >>> Sensors(displacement=["2.y"], strain=["0"], element_force=["1", "2"])
    """

    nodes: tuple[tuple[float, ...], ...] = eqx.field(static=True, converter=as_points)
    bars: tuple[tuple[int, int], ...] = eqx.field(static=True, converter=as_pairs)
    modulus: Parameter = parameter("Young's modulus E", "N/m^2", positive=True)
    area: Parameter = parameter("cross-section A", "m^2", positive=True)
    density: Parameter = parameter("density", "kg/m^3", positive=True, zero=True)
    supports: tuple[tuple[str, tuple[str, ...]], ...] = eqx.field(static=True, converter=as_supports, default=())
    masses: tuple[PointMass, ...] = eqx.field(converter=as_point_masses, default=())
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    mass_model: str = eqx.field(
        static=True, converter=as_choice("mass model", "consistent", "lumped"), default="consistent"
    )
    names: tuple[str, ...] = eqx.field(static=True, converter=as_names, default=())
    ties: tuple[Tie, ...] = eqx.field(converter=as_ties, default=())
    massless: tuple[str, ...] = eqx.field(static=True, converter=as_texts, default=())
    ground_direction: ClassVar[str] = "x"

    def __check_init__(self) -> None:
        sizes = {len(point) for point in self.nodes}
        if sizes not in ({2}, {3}):
            raise InputError("The nodes of a truss need x and y, or x, y and z; the same for all.")
        check_elements(np.array(self.nodes), self.connectivity(), "bar", self.joined_nodes())
        check_per_element(self, len(self.bars), "bar", "modulus", "area", "density")
        self.check_places()

    @property  # in a plane or in space, which the nodes decide
    def directions(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return ("x", "y", "z")[: len(self.nodes[0])]

    @property
    def upwards(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.directions[-1]

    def connectivity(self) -> np.ndarray:
        return np.array(self.bars, dtype=int).reshape(-1, 2)

    def make_nodes(self) -> Nodes:
        kinds = {"fixed": self.directions, "pinned": self.directions, "roller": self.directions[-1:]}
        return Nodes(
            len(self.nodes), self.directions, self.supports, kinds, {}, (),
            self.names, self.ties, self.nodes, self.massless,
        )  # fmt: skip

    def _geometry(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (bars,) and unit vectors (bars, k)."""
        ends = np.array(self.nodes)[self.connectivity()]
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=1)
        return length, along / length[:, None]

    def stiffness_terms(self) -> list[Any]:
        length, direction = self._geometry()
        return [(self.modulus * self.area, el.bar_stiffness(direction, length))]

    def mass_terms(self) -> list[Any]:
        length, _ = self._geometry()
        return [(self.density * self.area, el.bar_mass(len(self.directions), length, self.mass_model == "lumped"))]

    def strain_row(self, place: str) -> np.ndarray | jax.Array:
        """Strain of a bar, by its number."""
        bar = self._bar(place)
        length, direction = self._geometry()
        nodes = self.nodes_and_supports()
        row = np.zeros(nodes.size)
        row[nodes.dofs(self.connectivity()[[bar]])[0]] = np.concatenate([-direction[bar], direction[bar]]) / length[bar]
        return self.onto_model(row)

    def force_row(self, place: str) -> np.ndarray | jax.Array:
        """Axial force of a bar in N, tension positive, by its number."""
        stiffness = jnp.broadcast_to(self.modulus * self.area, (len(self.bars),))
        return stiffness[self._bar(place)] * self.strain_row(place)

    def _bar(self, place: str) -> int:
        text = str(place).strip()
        if not text.isdigit() or int(text) >= len(self.bars):
            raise InputError(f"'{place}' is not a bar; bars are numbered 0 to {len(self.bars) - 1}.")
        return int(text)
