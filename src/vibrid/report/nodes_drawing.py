"""Beams, frames and trusses drawn from their nodes, elements, supports and places."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.report.drawing_symbols import (
    STEEL,
    UNKNOWN,
    ground,
    law_name,
    sensor_marks,
    shake,
    spring,
    support,
)
from vibrid.report.style import INK
from vibrid.structures.assembled import Assembled

_OBLIQUE = np.array([[1.0, 0.0], [0.0, 1.0], [0.45, 0.3]])
"""Where x, y and z of a structure in space point on paper (y up; z to the back)."""


class DrawingSheet:
    """Nodes and places of a structure as points of the drawing, scaled to a width or height of ten."""

    def __init__(self, structure: Assembled):
        self.structure: Any = structure  # nodes and attachments are those of its class
        given = self.structure.coordinates() if hasattr(structure, "coordinates") else np.array(self.structure.nodes)
        self.axes = given.shape[1]
        given = self.flat(given)
        extent = np.ptp(given, axis=0)
        self.points = (given - given.min(axis=0)) * 10.0 / max(extent.max(), 1e-12)
        self.elements = structure.connectivity()
        self.low = self.points.min(axis=0)
        self.high = self.points.max(axis=0)

    def flat(self, vectors: np.ndarray) -> np.ndarray:
        """(…, 2): vectors along the axes of the structure on paper, not scaled."""
        return vectors[..., [0, 2, 1]] @ _OBLIQUE if self.axes == 3 else vectors  # z is up in space

    def at(self, place: str, on_element: bool = False) -> np.ndarray:
        """The point of a place: a node, a fraction along an element, or the middle of a bar."""
        nodes = self.structure.nodes_and_supports()
        text = re.split(r"\s*,\s*z\s*=", place)[0].strip()
        text = re.sub(r"\.(axial|shear|moment)$", "", text)
        where = nodes.split(text)[0]
        locate = getattr(self.structure, "locate", lambda _: None)
        spot = locate(where)
        if spot is None and on_element and where.isdigit() and not hasattr(self.structure, "locate"):
            spot = (int(where), 0.5)
        if spot is None:
            return self.points[nodes.number(where)]
        first, last = self.points[self.elements[spot[0]]]
        return first + spot[1] * (last - first)


def draw_nodes(ax, structure: Assembled, sensors, unknown, loads) -> None:
    """Draw a structure of elements between nodes."""
    paper = DrawingSheet(structure)
    _elements(ax, paper, unknown)
    _supports(ax, paper)
    for point in paper.structure.masses:
        ax.plot(*paper.at(point.at), "o", color=INK, markersize=11, zorder=4)
        ax.text(*paper.at(point.at), "m", ha="center", va="center", fontsize=7.5, color="white", zorder=5)
    _attachments(ax, paper, unknown)
    spots: dict[tuple, list[str]] = {}
    for s in sensors:
        try:
            at = paper.at(s.place, s.quantity in ("strain", "element_force"))
        except VibridError:
            continue  # the force of an attachment: it has no point of its own
        spots.setdefault(tuple(at), []).append(s.quantity)
    for spot, quantities in spots.items():
        sensor_marks(ax, (spot[0], spot[1] + 0.42), quantities, 0.38, (0.0, 1.0))
    _loads(ax, paper, loads)


def _elements(ax, paper: DrawingSheet, unknown: list[str]) -> None:
    """Elements with their numbers where these are few; those with an unknown parameter in colour."""
    named = {int(m[1]) for path in unknown if (m := re.match(r"(?:modulus|area|inertia|density)\[(\d+)\]", path))}
    named |= {int(m[1]) for path in unknown if (m := re.match(r"members\[(\d+)\]", path))}
    named |= _members_of_sections(paper.structure, unknown)
    every = any(re.fullmatch(r"modulus|area|inertia|density", path) for path in unknown)
    for i, (a, b) in enumerate(paper.elements):
        start, end = paper.points[a], paper.points[b]
        ax.plot(
            *zip(start, end, strict=True),
            color=UNKNOWN if every or i in named else STEEL,
            linewidth=2.4,
            solid_capstyle="round",
            zorder=2,
        )
        if len(paper.elements) <= 20:
            along = (end - start) / max(np.hypot(*(end - start)), 1e-12)
            ax.annotate(
                str(i),
                0.5 * (start + end),
                (9 * along[1], -9 * along[0]),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=7,
                color="#4b5660",
            )
    ax.plot(*paper.points.T, "o", color="white", markeredgecolor=INK, markersize=3.5, markeredgewidth=0.8, zorder=3)


def _members_of_sections(structure, unknown: list[str]) -> set[int]:
    """Members of a fibre frame whose section has an unknown parameter."""
    found = {int(m[1]) for path in unknown if (m := re.match(r"sections\[(\d+)\]", path))}
    names = {structure.sections[i].name for i in found}
    return {i for i, member in enumerate(getattr(structure, "members", ())) if member.section in names}


def _supports(ax, paper: DrawingSheet) -> None:
    nodes = paper.structure.nodes_and_supports()
    for node, names in nodes.supports:
        held = {direction for name in names for direction in nodes.kinds.get(name, (name,))}
        support(ax, paper.points[nodes.number(node)], held, 0.22)


def _attachments(ax, paper: DrawingSheet, unknown: list[str]) -> None:
    for i, a in enumerate(paper.structure.attachments):
        colour = UNKNOWN if any(path.startswith(f"attachments[{i}]") for path in unknown) else STEEL
        start = paper.at(a.at)
        end = start - np.array([0.0, 1.4]) if a.to is None else paper.at(a.to)
        spring(ax, end, start, 0.14, colour)
        if a.to is None:
            ground(ax, end[0] - 0.35, end[0] + 0.35, end[1], 0.22)
        ax.annotate(
            law_name(a.law),
            0.5 * (start + end),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=colour,
        )


def _loads(ax, paper: DrawingSheet, loads) -> None:
    for quantity, place in loads:
        if quantity == "load":
            point = paper.at(place)
            along = np.array([1.2, 0.0]) if place.endswith((".x", ".axial")) else np.array([0.0, 1.2])
            outward = point[0] > 0.5 * (paper.low[0] + paper.high[0]) and along[0] > 0
            tail, head = (point, point + along) if outward else (point - along, point)
            ax.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.3})
            ax.update_datalim([tail, head])
            ax.annotate("load", 0.5 * (tail + head), (5, 5), textcoords="offset points", ha="center", fontsize=8)
        else:
            direction = place or paper.structure.ground_direction
            middle, y = 0.5 * (paper.low[0] + paper.high[0]), paper.low[1] - 1.5
            if direction in ("x", "axial"):
                shake(ax, (middle - 0.9, y), (middle + 0.9, y), f"ground acceleration {direction}", (0, -4))
            else:
                shake(
                    ax, (paper.low[0] - 1.3, paper.low[1] - 0.7), (paper.low[0] - 1.3, paper.low[1] + 0.7), "", (0, 0)
                )
                ax.text(
                    paper.low[0] - 1.5,
                    paper.low[1],
                    f"ground acceleration\n{direction}",
                    ha="right",
                    va="center",
                    fontsize=8,
                )
