"""Plane frames of Euler–Bernoulli elements at any angle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

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

if TYPE_CHECKING:
    from vibrid.structures.assembled import AssembledFields

    class PlaneFrameFields(AssembledFields, Protocol):
        """The fields that beams and frames declare."""

        modulus: Parameter
        area: Parameter
        inertia: Parameter
        density: Parameter


_IN_ELEMENT = re.compile(r"e(\d+)@([-+.\deE]+)")
_DISTANCE = re.compile(r"\s*z\s*=\s*([-+.\deE]+)\s*")  # after the last comma
SECTION_FORCES = ("axial", "shear", "moment")


def number_in(text: str, place: str) -> float:
    """A number inside the name of a place."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"'{place}' names no place: '{text}' is not a number.") from None


class PlaneFrame(Assembled):
    """Base of beams and frames. Further fields that subclasses declare: modulus, area, inertia and density."""

    @property
    def declared(self) -> PlaneFrameFields:
        return cast("PlaneFrameFields", self)

    def coordinates(self) -> np.ndarray:
        """(nodes, 2) in m."""
        raise NotImplementedError

    def _geometry(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (elements,) and rotations (elements, 6, 6)."""
        ends = self.coordinates()[self.connectivity()]
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=1)
        return length, el.beam_rotation(along / length[:, None])

    def stiffness_terms(self) -> list[Any]:
        length, turn = self._geometry()
        back = turn.transpose(0, 2, 1)
        return [
            (self.declared.modulus * self.declared.area, back @ el.axial_stiffness(length) @ turn),
            (self.declared.modulus * self.declared.inertia, back @ el.bending_stiffness(length) @ turn),
        ]

    def mass_terms(self) -> list[Any]:
        length, turn = self._geometry()
        unit = el.beam_mass(length, lumped=self.declared.mass_model == "lumped")
        return [(self.declared.density * self.declared.area, turn.transpose(0, 2, 1) @ unit @ turn)]

    # -- places along elements -------------------------------------------------------------------------------------

    def locate(self, where: str) -> tuple[int, float] | None:
        """Element and fraction along it of a place such as "e2@0.5"; None for a node."""
        match = _IN_ELEMENT.fullmatch(where.strip())
        if match is None:
            return None
        element, fraction = int(match[1]), number_in(match[2], where)
        count = len(self.connectivity())
        if element >= count or not 0 <= fraction <= 1:
            raise InputError(
                f"'{where}' names no place: elements are numbered 0 to {count - 1}, the fraction along one is 0 to 1."
            )
        return element, fraction

    def place_rows(self, where: str) -> np.ndarray:
        at = self.locate(where)
        if at is None:
            return super().place_rows(where)
        element, fraction = at
        length, turn = self._geometry()
        local = el.beam_shapes(fraction, length[element]) @ turn[element]
        return self._spread(element, turn[element, :3, :3].T @ local)

    def _spread(self, element: int, values: np.ndarray) -> np.ndarray:
        """(…, 6) over one element's ends as (…, size) over all nodes."""
        nodes = self.nodes_and_supports()
        out = np.zeros((*values.shape[:-1], nodes.size))
        out[..., nodes.dofs(self.connectivity()[[element]])[0]] = values
        return out

    def rotation_row(self, place: str) -> np.ndarray:
        where, direction = self.nodes_and_supports().split(place)
        if direction not in ("", "rotation"):
            raise InputError(f"A rotation is measured at '{where}' or '{where}.rotation', not at '{place}'.")
        return self.row(f"{where}.rotation")

    def _section(self, where: str, place: str) -> tuple[int, np.ndarray | jax.Array]:
        """The element at a place and the (3, n) rows of u′, v″ and v‴ there."""
        at = self.locate(where)
        if at is None:
            self.nodes_and_supports().number(where)
            raise InputError(
                f"'{place}' is a node, where elements meet; name one of them and the fraction along it, like 'e0@0.0'."
            )
        element, fraction = at
        length, turn = self._geometry()
        rows = self._spread(element, el.beam_strains(fraction, length[element]) @ turn[element])
        return element, self.onto_model(rows)

    def strain_row(self, place: str) -> np.ndarray | jax.Array:
        """Strain along the axis at "e2@0.5,z=0.01": `ε = u′ − z v″`, z in m from the axis, positive to its left."""
        before, comma, last = place.rpartition(",")
        match = _DISTANCE.fullmatch(last) if comma else None
        where = before.rstrip() if match else place
        if match is None and self.nodes_and_supports().removed:
            raise InputError(f"The strain at '{place}' needs the distance from the axis in m: '{place},z=0.005'.")
        distance = number_in(match[1], place) if match else 0.0
        _, rows = self._section(where, place)
        return rows[0] - distance * rows[1]

    def force_row(self, place: str) -> np.ndarray | jax.Array:
        """Force of a section: "e2@0.5.axial" (EA u′, N), "e2@0.5.moment" (EI v″, N m), "e2@0.5.shear" (EI v‴, N)."""
        where, _, kind = str(place).rpartition(".")
        if kind not in SECTION_FORCES:
            raise InputError(f"'{place}' does not state which force: end it with .axial, .shear or .moment.")
        element, rows = self._section(where, place)
        given = self.declared
        stiffness = given.modulus * (given.area if kind == "axial" else given.inertia)
        stiffness = jnp.broadcast_to(stiffness, (len(self.connectivity()),))[element]
        return stiffness * rows[{"axial": 0, "moment": 1, "shear": 2}[kind]]


@STRUCTURES.register("frame")
class Frame2D(PlaneFrame):
    """A plane frame of Euler–Bernoulli elements with rigid joints, at any angle; joints move and rotate.

    Arguments
        nodes: m, (x, y) of each node; y points up.
        elements: pairs of node numbers; an element's axis points from the first to the second.
        modulus: N/m², Young's modulus E; one number, or one for each element (as are the next three).
        area: m², cross-section A.
        inertia: m⁴, second moment I of the section about the axis of bending; 0 for a bar with pinned ends.
        density: kg/m³.
        supports: {node: what it holds}: "fixed" (x, y, rotation), "pinned" (x, y), "roller" (y), or names such as
            ["x", "rotation"].
        masses: further `PointMass`es at nodes, or along elements ("e2@0.5").
        damping: None, `Rayleigh`, `Modal`, or a matrix C in N s/m.
        attachments: laws between places, or between a place and the ground.
        mass_model: "consistent" (default) or "lumped" (half at each end; rotary inertia m L²/78).
        names: names of the nodes, in their order, in place of their numbers ("12.x"); elements keep the numbers.
        ties: `Tie`s: nodes that follow others, as on a rigid floor.
        massless: directions ("rotation") or places ("3.y") without mass: they follow the others as in statics.

    Places are "3.x", "3.y", "3.rotation" at node 3, and "e2@0.5.x" at half the length of element 2. Strain is measured
    at "e2@0.5,z=0.01" (z m from the axis), forces at "e2@0.0.moment", ".shear" and ".axial". Ground motion acts along
    "x" (default) or "y".

    Example
        >>> portal = Frame2D(nodes=[(0, 0), (0, 3), (4, 3), (4, 0)], elements=[(0, 1), (1, 2), (2, 3)], modulus=210e9,
        ...                  area=2e-3, inertia=8e-6, density=7850, supports={0: "fixed", 3: "fixed"})
        >>> modes(portal, 3)
    """

    nodes: tuple[tuple[float, ...], ...] = eqx.field(static=True, converter=as_points)
    elements: tuple[tuple[int, int], ...] = eqx.field(static=True, converter=as_pairs)
    modulus: Parameter = parameter("Young's modulus E", "N/m^2", positive=True)
    area: Parameter = parameter("cross-section A", "m^2", positive=True)
    inertia: Parameter = parameter("second moment I of the section", "m^4", positive=True, zero=True)
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
    directions: ClassVar[tuple[str, ...]] = ("x", "y", "rotation")
    ground_direction: ClassVar[str] = "x"

    def __check_init__(self) -> None:
        for i, point in enumerate(self.nodes):
            if len(point) != 2:
                raise InputError(f"Node {i} of a plane frame needs x and y, not {len(point)} numbers.")
        check_elements(self.coordinates(), self.connectivity(), "element", self.joined_nodes())
        check_per_element(self, len(self.elements), "element", "modulus", "area", "inertia", "density")
        self.check_places()

    def coordinates(self) -> np.ndarray:
        return np.array(self.nodes)

    def connectivity(self) -> np.ndarray:
        return np.array(self.elements, dtype=int).reshape(-1, 2)

    def make_nodes(self) -> Nodes:
        kinds = {"fixed": ("x", "y", "rotation"), "pinned": ("x", "y"), "roller": ("y",)}
        return Nodes(
            len(self.nodes), self.directions, self.supports, kinds, {}, (),
            self.names, self.ties, self.nodes, self.massless,
        )  # fmt: skip
