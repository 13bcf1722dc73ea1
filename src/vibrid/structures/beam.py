"""The straight beam: Euler–Bernoulli elements in a row."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import numpy as np

from vibrid.core.arguments import Numbers, as_floats
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, parameter
from vibrid.structures import elements as el
from vibrid.structures.base import STRUCTURES, Attachment, as_attachments, as_damping
from vibrid.structures.damping import Damping
from vibrid.structures.frame import PlaneFrame, number_in
from vibrid.structures.nodes import Nodes, PointMass, as_choice, as_point_masses, as_supports, check_per_element


@STRUCTURES.register("beam")
class Beam(PlaneFrame):
    """A straight beam of Euler–Bernoulli elements between given positions; a cantilever by default.

    Arguments
        positions: m, where the nodes are along the axis, increasing; elements lie between neighbours.
        modulus: N/m², Young's modulus E; one number, or one for each element (as are the next three). To identify
            bending stiffness element by element, give one value each and name `modulus[0]`, `modulus[1]`, … as
            unknowns, tied in groups where wanted; `inertia[0]`, … where the axial stiffness is to stay.
        area: m², cross-section A.
        inertia: m⁴, second moment I of the section about the axis of bending.
        density: kg/m³.
        supports: {node: what it holds}: "fixed" (all), "pinned" (axial, lateral), "roller" (lateral), or names such as
            ["lateral", "rotation"]. By default {0: "fixed"}; a free beam has {}.
        masses: `PointMass`es at nodes ("tip") or between them ("x=0.7"), with rotary inertia where wanted.
        damping: None, `Rayleigh`, `Modal`, or a matrix C in N s/m.
        attachments: laws between places, or between a place and the ground.
        axial: whether nodes also move along the axis; True by default.
        mass_model: "consistent" (default) or "lumped" (half at each end; rotary inertia m L²/78).

    Places are nodes, "0" … "N" or "tip" for the last, with a direction: "5.lateral" (also plain "5"), "5.rotation",
    "5.axial"; and positions between nodes, by the elements' shape functions: "x=1.25", "x=1.25.rotation". Strain is
    measured at "x=0.1,z=0.003" (z m from the axis), section forces at "x=0.1.moment", ".shear" and ".axial"; where two
    elements meet, in the one that begins there. Ground motion is "lateral" (default) or "axial".

    Example
        >>> beam = Beam(np.linspace(0, 1.524, 16), modulus=180e9, area=2.44e-4, inertia=8.32e-10, density=7694,
        ...             masses=[PointMass(0.0522, at="tip")], attachments=[Attachment(Cubic(1.1e4, 1e8), at="tip")])
        >>> modes(beam, 7)
    """

    positions: tuple[float, ...] = eqx.field(static=True, converter=lambda v: as_floats(v, "positions"))
    modulus: Parameter = parameter("Young's modulus E", "N/m^2", positive=True)
    area: Parameter = parameter("cross-section A", "m^2", positive=True)
    inertia: Parameter = parameter("second moment I of the section", "m^4", positive=True)
    density: Parameter = parameter("density", "kg/m^3", positive=True, zero=True)
    supports: tuple[tuple[str, tuple[str, ...]], ...] = eqx.field(
        static=True, converter=as_supports, default=(("0", ("fixed",)),)
    )
    masses: tuple[PointMass, ...] = eqx.field(converter=as_point_masses, default=())
    damping: Damping | None = eqx.field(converter=as_damping, default=None)
    attachments: tuple[Attachment, ...] = eqx.field(converter=as_attachments, default=())
    axial: bool = eqx.field(static=True, converter=bool, default=True)
    mass_model: str = eqx.field(
        static=True, converter=as_choice("mass model", "consistent", "lumped"), default="consistent"
    )
    directions: ClassVar[tuple[str, ...]] = ("axial", "lateral", "rotation")
    default_direction: ClassVar[str] = "lateral"
    ground_direction: ClassVar[str] = "lateral"
    upwards: ClassVar[str] = ""  # of a tower it is axial, of a bridge lateral

    def __check_init__(self) -> None:
        if len(self.positions) < 2 or not np.all(np.diff(self.positions) > 0):
            raise InputError("The positions of a beam's nodes must increase, and there must be two or more.")
        check_per_element(self, len(self.positions) - 1, "element", "modulus", "area", "inertia", "density")
        self.check_places()

    @property
    def length(self) -> float:
        """m, from the first node to the last."""
        return self.positions[-1] - self.positions[0]

    def coordinates(self) -> np.ndarray:
        return np.stack([self.positions, np.zeros(len(self.positions))], axis=1)

    def connectivity(self) -> np.ndarray:
        first = np.arange(len(self.positions) - 1)
        return np.stack([first, first + 1], axis=1)

    def make_nodes(self) -> Nodes:
        kinds = {"fixed": self.directions, "pinned": ("axial", "lateral"), "roller": ("lateral",)}
        last = len(self.positions) - 1
        removed = () if self.axial else ("axial",)
        return Nodes(last + 1, self.directions, self.supports, kinds, {"tip": last}, removed)

    def locate(self, where: str) -> tuple[int, float] | None:
        """Element and fraction along it of "x=1.25" or "e2@0.5"; None for a node."""
        key, equals, value = where.partition("=")
        if not equals or key.strip() != "x":
            return super().locate(where)
        x = number_in(value, where)
        if not self.positions[0] <= x <= self.positions[-1]:
            first, last = self.positions[0], self.positions[-1]
            raise InputError(f"'{where}' is off the beam, which reaches from {first:g} to {last:g} m.")
        element, fraction = self._elements_at(np.array(x))
        return int(element), float(fraction)

    def _elements_at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.array(self.positions)
        element = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
        return element, (x - nodes[element]) / np.diff(nodes)[element]

    def _section(self, where, place):
        if self.locate(where) is None:
            where = f"x={self.positions[self.nodes_and_supports().number(where)]!r}"
        return super()._section(where, place)

    def lateral_places(self) -> tuple[str, ...]:
        """The node motions that bending involves: "1.lateral", "1.rotation", …"""
        return tuple(name for name in self.nodes_and_supports().names if not name.endswith(".axial"))

    def rows_at(self, x: Numbers, direction: str = "lateral") -> np.ndarray:
        """(…, n): rows of many positions (m) at once, for loads that move; zero where a position is off the beam.

        A load f(t) at x(t) gives the nodal loads `rows_at(x)[t] * f[t]`.
        """
        x = np.asarray(x, dtype=float)
        element, fraction = self._elements_at(x)
        shapes = el.beam_shapes(fraction, np.diff(self.positions)[element])[..., self.directions.index(direction), :]
        shapes = shapes * ((x >= self.positions[0]) & (x <= self.positions[-1]))[..., None]
        nodes = self.nodes_and_supports()
        out = np.zeros((*x.shape, nodes.size))
        np.put_along_axis(out, nodes.dofs(self.connectivity())[element], shapes, axis=-1)
        return out[..., nodes.free]
