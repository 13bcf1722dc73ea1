"""Where sensors are: nodes, lines between them, and the node and direction of every place; a small table holds them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem, InputError

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_HEADINGS = ("place", "x", "y", "z", "direction")
_LARGEST = 10_000_000  # bytes of a table


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where modes were measured.

    Fields
        nodes: numbers of the nodes, from 1.
        positions: (nodes, 3) m.
        places: of every measured place its node and the direction (3 numbers) of its sensor.
        lines: chains of nodes that are drawn as lines.
    """

    nodes: tuple[int, ...]
    positions: np.ndarray
    places: Mapping[str, tuple[int, np.ndarray]] = field(default_factory=dict)
    lines: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.positions.shape != (len(self.nodes), 3) or not np.isfinite(self.positions).all():
            raise InputError(f"{len(self.nodes)} nodes need as many positions x, y, z, all finite.")
        if len(set(self.nodes)) < len(self.nodes) or min(self.nodes, default=1) < 1:
            raise InputError("Nodes have numbers from 1, each once.")
        for node in [node for line in self.lines for node in line] + [node for node, _ in self.places.values()]:
            if node not in self.nodes:
                raise InputError(f"Node {node} is used by a line or a place, and has no position.")

    def shape(self, values: Mapping[str, complex]) -> np.ndarray:
        """(nodes, 3): motion of every node from that of places; zero in directions that were not measured."""
        moved = np.zeros((len(self.nodes), 3), complex)
        for place, value in values.items():
            if place not in self.places:
                raise InputError(f"The geometry has no place '{place}'; it has {', '.join(self.places)}.")
            node, direction = self.places[place]
            moved[self.nodes.index(node)] += value * direction
        return moved


def read_geometry(path: str | PathLike[str]) -> Geometry:
    """The geometry of a small table (CSV) with the columns place, x, y, z (m) and direction (x, -x, y, -y, z, -z).

    Places at the same position share a node; the nodes are joined by lines in the order in which they first appear.
    """
    path = Path(path)
    if not path.is_file():
        raise FileProblem(path, "there is no such file.")
    if path.stat().st_size > _LARGEST:
        raise FileProblem(path, f"a table of places has at most {_LARGEST // 1_000_000} MB.")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except UnicodeDecodeError:
        raise FileProblem(path, "this is not a text file in UTF-8.") from None
    if not rows or not set(_HEADINGS) <= set(rows[0]):
        raise FileProblem(path, f"a table of places has the columns {', '.join(_HEADINGS)}, and at least one row.")
    nodes: dict[tuple[float, ...], int] = {}
    places: dict[str, tuple[int, np.ndarray]] = {}
    for line, row in enumerate(rows, 2):
        try:
            position = tuple(float(row[axis]) for axis in "xyz")
        except (TypeError, ValueError):
            raise FileProblem(path, "x, y and z are numbers, in m.", line) from None
        sign, axis = (
            (-1.0, row["direction"][1:]) if (row["direction"] or "").startswith("-") else (1.0, row["direction"])
        )
        if axis not in AXES:
            raise FileProblem(path, f"a direction is x, -x, y, -y, z or -z, not '{row['direction']}'.", line)
        if not row["place"] or row["place"] in places:
            raise FileProblem(path, f"every place has a name of its own; '{row['place']}' is empty or twice.", line)
        places[row["place"]] = nodes.setdefault(position, len(nodes) + 1), sign * np.array(AXES[axis])
    chain = (tuple(nodes.values()),) if len(nodes) > 1 else ()
    return Geometry(tuple(nodes.values()), np.array(list(nodes)), places, chain)
