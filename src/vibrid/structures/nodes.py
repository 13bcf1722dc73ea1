"""Nodes: their degrees of freedom, the names of these, and which of them the supports hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import as_entries, as_floats
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.parameters import Parameter, Parameterised, parameter


class Tie(eqx.Module):
    """A node that follows another one.

    Arguments
        node: the node that follows.
        to: the node that it follows.
        along: directions that follow ("x"); the others stay free.
        rigid: whether it is joined by a rigid arm, so that a rotation of `to` moves it too; otherwise each direction
            moves as the same direction of `to`.
    """

    node: str = eqx.field(static=True, converter=str)
    to: str = eqx.field(static=True, converter=str)
    along: tuple[str, ...] = eqx.field(static=True, converter=lambda v: (v,) if isinstance(v, str) else tuple(v))
    rigid: bool = eqx.field(static=True, default=False)


def as_ties(value: Iterable[Tie]) -> tuple[Tie, ...]:
    ties = as_entries(value, "ties")
    for item in ties:
        if not isinstance(item, Tie):
            raise InputError(f"A tie is written Tie(node, to, along=directions), not {item!r}.")
    return ties


def as_names(value: Iterable[str]) -> tuple[str, ...]:
    names = tuple(str(name) for name in as_entries(value, "names of nodes"))
    for name in names:
        if not name or "." in name or "@" in name or names.count(name) > 1:
            raise InputError(f"'{name}' cannot name a node: names are different, not empty, and without '.' and '@'.")
    return names


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


def as_texts(value: Iterable[str] | str) -> tuple[str, ...]:
    """Words, one or several."""
    return (value,) if isinstance(value, str) else tuple(map(str, as_entries(value, "words")))


def as_choice(what: str, *choices: str) -> Callable[[str], str]:
    """A converter that accepts one of a few words."""

    def convert(value):
        if not isinstance(value, str) or value not in choices:
            raise unknown_name(what, value, choices)
        return value

    return convert


def check_elements(coordinates: np.ndarray, elements: np.ndarray, kind: str, joined: Iterable[int] = ()) -> None:
    """Refuse elements that name no node, have no length, or leave a node unconnected; `joined` are nodes that ties or
    attachments connect."""
    count = len(coordinates)
    if elements.size == 0:
        raise InputError(f"There is no {kind}; give at least one, as a pair of node numbers.")
    for i, (a, b) in enumerate(elements):
        for node in (a, b):
            if not 0 <= node < count:
                raise InputError(f"{kind.capitalize()} {i} ends at node {node}; nodes are numbered 0 to {count - 1}.")
        if np.linalg.norm(coordinates[b] - coordinates[a]) == 0:
            raise InputError(f"{kind.capitalize()} {i}, from node {a} to node {b}, has no length.")
    alone = sorted(set(range(count)) - set(elements.ravel().tolist()) - set(joined))
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
    are directions that no node has. `given_names` are names in place of the numbers; `ties` let nodes follow others
    (rigid ones need the `coordinates`); `massless` are directions or places without mass.
    """

    count: int
    directions: tuple[str, ...]
    supports: tuple[tuple[str, tuple[str, ...]], ...]
    kinds: Mapping[str, tuple[str, ...]]
    aliases: Mapping[str, int]
    removed: tuple[str, ...] = ()
    given_names: tuple[str, ...] = ()
    ties: tuple[Tie, ...] = ()
    coordinates: tuple[tuple[float, ...], ...] = ()
    massless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.given_names and len(self.given_names) != self.count:
            raise InputError(f"{len(self.given_names)} names were given for {self.count} nodes; give each node one.")

    @property
    def size(self) -> int:
        """Degrees of freedom before supports."""
        return self.count * len(self.directions)

    @cached_property
    def held(self) -> np.ndarray:
        """(nodes, directions): what the supports hold."""
        held = np.zeros((self.count, len(self.directions)), dtype=bool)
        for direction in self.removed:
            held[:, self.directions.index(direction)] = True
        for node, names in self.supports:
            for name in names:
                for direction in self.kinds.get(name, (name,)):
                    if direction not in self.directions:
                        raise unknown_name("support", name, (*self.kinds, *self.directions))
                    held[self.number(node), self.directions.index(direction)] = True
        return held

    @cached_property
    def free(self) -> np.ndarray:
        """The degrees of freedom that can move, in the numbering before supports."""
        held = self.held
        follows = np.zeros_like(held)
        for tie in self.ties:
            for direction in tie.along:
                if direction not in self.directions:
                    raise unknown_name("direction", direction, self.directions)
                at = self.number(tie.node), self.directions.index(direction)
                if held[at] or follows[at]:
                    raise InputError(
                        f"'{tie.node}.{direction}' is tied to node {tie.to} and is held, or tied, already; do one."
                    )
                follows[at] = True
        if (held | follows).all():
            raise InputError("The supports hold every degree of freedom; nothing can move.")
        return np.flatnonzero(~(held | follows).ravel())

    @cached_property
    def following(self) -> np.ndarray:
        """(size, free): the motion of every degree of freedom from the free ones."""
        return self._sparse_chained[:, self.free].toarray()

    @cached_property
    def chained(self) -> np.ndarray:
        """(size, size): the motion of every degree of freedom from those that follow none; ties may form a chain."""
        return self._sparse_chained.toarray()

    @cached_property
    def _sparse_chained(self) -> Any:
        whole: Any = scipy.sparse.eye(self.size, format="lil")
        for tie in self.ties:
            node, to = (self.number(name) * len(self.directions) for name in (tie.node, tie.to))
            for direction in tie.along:
                d = self.directions.index(direction)
                leaders = {to + d: 1.0}
                if tie.rigid and direction in ("x", "y") and "rotation" in self.directions:
                    arm = np.subtract(self.coordinates[self.number(tie.node)], self.coordinates[self.number(tie.to)])
                    leaders[to + self.directions.index("rotation")] = -arm[1] if direction == "x" else arm[0]
                whole.rows[node + d] = sorted(leaders)
                whole.data[node + d] = [leaders[place] for place in sorted(leaders)]
        whole = whole.tocsc()
        for _ in range(len(self.ties).bit_length()):  # a chain is at most as long as there are ties
            whole = whole @ whole
        return whole

    @cached_property
    def _tied(self) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """The degrees of freedom that follow others, and (places among the free ones, weights) of their leaders: as
        many pairs as one has leaders, with a weight of 0 where it has fewer."""
        others = np.setdiff1d(np.arange(self.size), self.free)
        rows = self._sparse_chained[others][:, self.free].tocsr()
        counts = np.diff(rows.indptr)
        slots = []
        for slot in range(counts.max(initial=0)):
            there = counts > slot
            at = rows.indptr[:-1][there] + slot
            places, weights = np.zeros(len(others), int), np.zeros(len(others))
            places[there], weights[there] = rows.indices[at], rows.data[at]
            slots.append((places, weights))
        return others, slots

    def check_ties(self) -> None:
        """Refuse ties that form a ring."""
        leaders: dict[tuple[int, str], tuple[int, str]] = {}
        for tie in self.ties:
            leaders |= {(self.number(tie.node), along): (self.number(tie.to), along) for along in tie.along}
        for first in leaders:
            place, steps = first, 0
            while place in leaders and steps <= len(leaders):
                place, steps = leaders[place], steps + 1
            if place in leaders:
                raise InputError(
                    f"Ties form a ring at node {first[0]} along {first[1]}: none of these nodes moves by itself; leave "
                    "one tie out."
                )

    def onto_free(self, rows: np.ndarray) -> np.ndarray:
        """Rows over all degrees of freedom as rows over the free ones."""
        free = rows[..., self.free]
        if self.ties:
            others, slots = self._tied
            for places, weights in slots:
                np.add.at(free.T, places, (weights * rows[..., others]).T)
        return free

    def forces_onto_free(self, forces: jax.Array) -> jax.Array:
        """Forces, or rows of a matrix, over all degrees of freedom as those over the free ones."""
        free = forces[self.free]
        if self.ties:
            others, slots = self._tied
            for places, weights in slots:
                free = free.at[places].add((weights * forces[others].T).T)
        return free

    def over_free(self, matrix: jax.Array) -> jax.Array:
        """A matrix over all degrees of freedom as one over the free ones."""
        if not self.ties:
            return matrix[np.ix_(self.free, self.free)]
        return self.forces_onto_free(self.forces_onto_free(jnp.asarray(matrix)).T).T

    @cached_property
    def light(self) -> np.ndarray:
        """Places among the free degrees of freedom that have no mass."""
        chosen = set()
        for text in self.massless:
            where, direction = ("", text) if text in self.directions else self.split(text)
            if not direction:
                raise InputError(
                    f"'{text}' needs a direction: massless are directions, or places such as '3.rotation'."
                )
            own = None if not where else self.number(where)
            k = len(self.directions)
            chosen |= {
                i
                for i, dof in enumerate(self.free)
                if self.directions[dof % k] == direction and own in (None, dof // k)
            }
        if len(chosen) == len(self.free):
            raise InputError("Every degree of freedom is massless; nothing resists acceleration.")
        return np.array(sorted(chosen), dtype=int)

    @cached_property
    def heavy(self) -> np.ndarray:
        """Places among the free degrees of freedom that have mass: the coordinates of the model."""
        return np.setdiff1d(np.arange(len(self.free)), self.light)

    def number(self, name: str) -> int:
        """The number of a node from its name."""
        text = str(name).strip()
        if self.given_names:
            if text not in self.given_names:
                raise unknown_name("node", text, self.given_names)
            return self.given_names.index(text)
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
        return np.eye(k, self.size, node * k)

    def dofs(self, elements: np.ndarray) -> np.ndarray:
        """(elements, 2k): the degrees of freedom at the ends of each element."""
        k = len(self.directions)
        return (elements[:, :, None] * k + np.arange(k)).reshape(len(elements), 2 * k)

    def rigid(self, direction: str) -> np.ndarray:
        """(size,): every node moved by one in a direction."""
        return np.tile(np.array([d == direction for d in self.directions], float), self.count)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the free degrees of freedom with mass: "1.lateral", "1.rotation", …"""
        k = len(self.directions)
        called = self.given_names or tuple(map(str, range(self.count)))
        return tuple(f"{called[i // k]}.{self.directions[i % k]}" for i in self.free[self.heavy])
