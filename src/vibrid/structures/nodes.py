"""Nodes: their degrees of freedom, the names of these, and which of them the supports hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vibrid.core.arguments import as_entries, as_floats
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import Parameter, Parameterised, parameter


class PointMass(Parameterised):
    """A mass fixed to a place of a beam, frame or truss: at a node ("5", "tip"), or between nodes where they allow it.

    Arguments
        mass: kg, the same in every direction, or in one.
        at: the place, without a direction.
        rotary: kg m², rotary inertia about the node (beams and frames); 0 by default.
        along: the only direction in which the mass moves with the place ("x"); every direction by default.
    """

    mass: Parameter = parameter("point mass", "kg", positive=True, zero=True)
    at: str = eqx.field(static=True, converter=str)
    rotary: Parameter = parameter("rotary inertia", "kg m^2", positive=True, default=0.0)
    along: str = eqx.field(static=True, default="")

    def inertia(self, direction: str) -> jax.Array | float:
        """kg, or kg m² for "rotation": the inertia in a direction of the place."""
        if direction == "rotation":
            return self.rotary
        return self.mass if self.along in ("", direction) else 0.0


def as_point_masses(value: Iterable[PointMass]) -> tuple[PointMass, ...]:
    points = as_entries(value, "point masses")
    for item in points:
        if not isinstance(item, PointMass):
            raise InputError(f"A point mass is written PointMass(mass, at=place), not {item!r}.")
    return points


def as_supports(
    value: Mapping[Any, str | Sequence[str]] | Iterable[tuple[Any, Any]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`{node: "fixed"}` or `{node: ["x", "rotation"]}` in an immutable form."""
    pairs = tuple(value.items()) if isinstance(value, Mapping) else as_entries(value, "supports")
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], str | tuple | list)):
            raise InputError(f'Supports are written {{node: "fixed"}} or {{node: ["x", "y"]}}, not {value!r}.')
    return tuple((str(node), (held,) if isinstance(held, str) else tuple(map(str, held))) for node, held in pairs)


def as_points(value: Iterable[Sequence[float] | np.ndarray]) -> tuple[tuple[float, ...], ...]:
    return tuple(as_floats(point, "coordinates of a node") for point in as_entries(value, "nodes"))


def as_pairs(value: Iterable[Sequence[int] | np.ndarray]) -> tuple[tuple[int, int], ...]:
    pairs = tuple(as_floats(pair, "two node numbers") for pair in as_entries(value, "elements"))
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            raise InputError(f"Element {i} needs two nodes, not {len(pair)}.")
        if any(node != int(node) for node in pair):
            raise InputError(f"Element {i} needs the numbers of its nodes, not {pair}.")
    return tuple((int(a), int(b)) for a, b in pairs)


def as_choice(what: str, *choices: str) -> Callable[[str], str]:
    """A converter that accepts one of a few words."""

    def convert(value):
        if not isinstance(value, str) or value not in choices:
            raise unknown_name(what, value, choices)
        return value

    return convert


def check_elements(coordinates: np.ndarray, elements: np.ndarray, kind: str) -> None:
    """Refuse elements that name no node, have no length, or leave a node unconnected."""
    count = len(coordinates)
    if elements.size == 0:
        raise InputError(f"There is no {kind}; give at least one, as a pair of node numbers.")
    for i, (a, b) in enumerate(elements):
        for node in (a, b):
            if not 0 <= node < count:
                raise InputError(f"{kind.capitalize()} {i} ends at node {node}; nodes are numbered 0 to {count - 1}.")
        if np.linalg.norm(coordinates[b] - coordinates[a]) == 0:
            raise InputError(f"{kind.capitalize()} {i}, from node {a} to node {b}, has no length.")
    alone = sorted(set(range(count)) - set(elements.ravel().tolist()))
    if alone:
        raise InputError(f"Node {alone[0]} belongs to no {kind}; remove it or connect it.")


def check_per_element(owner: Any, count: int, kind: str, *names: str) -> None:
    """Every property is one number, or one number an element."""
    for name in names:
        shape = getattr(owner, name).shape
        if shape not in ((), (count,)):
            raise InputError(f"'{name}' has shape {shape}; give one number, or one for each of the {count} {kind}s.")


@dataclass(frozen=True)
class Nodes:
    """The degrees of freedom of a structure's nodes: `directions` at each node, numbered node by node.

    `kinds` states what "fixed", "pinned" and "roller" hold; `aliases` are further names of nodes ("tip"); `removed`
    are directions that no node has.
    """

    count: int
    directions: tuple[str, ...]
    supports: tuple[tuple[str, tuple[str, ...]], ...]
    kinds: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, int]
    removed: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Degrees of freedom before supports."""
        return self.count * len(self.directions)

    @cached_property
    def free(self) -> np.ndarray:
        """The degrees of freedom that can move, in the numbering before supports."""
        held = np.zeros((self.count, len(self.directions)), dtype=bool)
        for direction in self.removed:
            held[:, self.directions.index(direction)] = True
        for node, names in self.supports:
            for name in names:
                for direction in self.kinds.get(name, (name,)):
                    if direction not in self.directions:
                        raise unknown_name("support", name, (*self.kinds, *self.directions))
                    held[self.number(node), self.directions.index(direction)] = True
        if held.all():
            raise InputError("The supports hold every degree of freedom; nothing can move.")
        return np.flatnonzero(~held.ravel())

    def number(self, name: str) -> int:
        """The number of a node from its name."""
        text = str(name).strip()
        if text in self.aliases:
            return self.aliases[text]
        if text.isdigit() and int(text) < self.count:
            return int(text)
        others = "".join(f"; node {number} is also called '{alias}'" for alias, number in self.aliases.items())
        raise InputError(f"'{name}' is not a node; nodes are numbered 0 to {self.count - 1}{others}.")

    def split(self, place: str) -> tuple[str, str]:
        """("5", "rotation") from "5.rotation"; ("5", "") where no direction is given."""
        text = str(place).strip()
        for direction in self.directions:
            if text.endswith("." + direction):
                if direction in self.removed:
                    raise InputError(f"'{place}' cannot move: this structure has no {direction} motion.")
                return text[: -len(direction) - 1], direction
        tail = text.rpartition(".")[2]
        if tail not in ("", text) and not tail[0].isdigit():
            raise unknown_name("direction", tail, [d for d in self.directions if d not in self.removed])
        return text, ""

    def rows(self, node: int) -> np.ndarray:
        """(directions, size): the motion of a node."""
        k = len(self.directions)
        return np.eye(self.size)[node * k : (node + 1) * k]

    def dofs(self, elements: np.ndarray) -> np.ndarray:
        """(elements, 2k): the degrees of freedom at the ends of each element."""
        k = len(self.directions)
        return (elements[:, :, None] * k + np.arange(k)).reshape(len(elements), 2 * k)

    def rigid(self, direction: str) -> np.ndarray:
        """(size,): every node moved by one in a direction."""
        return np.tile(np.array([d == direction for d in self.directions], float), self.count)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the free degrees of freedom: "1.lateral", "1.rotation", …"""
        k = len(self.directions)
        return tuple(f"{i // k}.{self.directions[i % k]}" for i in self.free)
