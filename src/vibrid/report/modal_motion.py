"""Shapes that move: pictures of a page in which every mode swings, without any script."""

from __future__ import annotations

import itertools

import numpy as np

from vibrid.modal.geometry import Geometry
from vibrid.modal.measured import MeasuredModes
from vibrid.report.nodes_drawing import DrawingSheet
from vibrid.report.words import Html, escape
from vibrid.structures.assembled import Assembled
from vibrid.structures.base import Structure
from vibrid.structures.modes import StructureModes
from vibrid.structures.pairing import expand_shapes
from vibrid.structures.shear import ShearBuilding

_WIDTH, _HEIGHT, _MOST, _REACH = 150, 170, 12, 18.0
_LINES = 3000  # that move on a page, at most: fewer modes of large structures are drawn
_VIEW = np.array([[np.sqrt(0.75), -np.sqrt(0.75), 0.0], [0.5, 0.5, 1.0]])  # x to the right, y to the left, z up


def moving_shapes(
    modes: MeasuredModes, computed: StructureModes | None = None, geometry: Geometry | None = None
) -> Html:
    """A small picture of each of the first modes, moving between its two ends; on the geometry of the sensors or on the
    structure, where it is known."""
    structure = None if computed is None else computed.structure
    count, dots = min(len(modes), _MOST), slice(None)
    if geometry is not None:
        points, moves, lines = _at_nodes(modes, geometry, count)
    elif computed is not None and isinstance(structure, Assembled):
        points, moves, lines = _on_elements(modes, computed, structure)
        count, dots = min(count, max(_LINES // max(len(lines), 1), 1)), slice(-len(modes.places), None)
    else:
        points, moves, lines = _at_places(modes, structure)
    parts = []
    for i in range(count):
        ends = [points + sign * _REACH * moves[i] / np.abs(moves[i]).max() for sign in (1.0, -1.0)]
        seconds = float(np.clip(2.0 / np.sqrt(modes.frequencies[i]), 0.6, 4.0))
        parts.append(_picture(points, ends, lines, dots, f"{i + 1}: {modes.frequencies[i]:.4g} Hz", seconds))
    return Html(f'<div style="display:flex;flex-wrap:wrap;gap:8px">{"".join(parts)}</div>')


def _at_nodes(modes: MeasuredModes, geometry: Geometry, count: int):
    """Nodes (n, 2) on paper, seen from above a corner, their motion (modes, n, 2), and pairs of nodes to join."""
    low, high = (edge(geometry.positions @ _VIEW.T, axis=0) for edge in (np.min, np.max))
    size, middle = max(float((high - low).max()), 1e-12), 0.5 * (low + high)
    flat = (geometry.positions @ _VIEW.T - middle) / size
    points = np.array([_WIDTH / 2, _HEIGHT / 2 - 8]) + 90.0 * flat * [1.0, -1.0]
    shapes = [dict(zip(modes.places, modes.shapes[:, i], strict=True)) for i in range(count)]
    moves = np.stack([np.real(geometry.shape(shape)) @ _VIEW.T * [1.0, -1.0] for shape in shapes])
    number = {node: i for i, node in enumerate(geometry.nodes)}
    lines = [(number[a], number[b]) for line in geometry.lines for a, b in itertools.pairwise(line)]
    return points, moves, lines


def _on_elements(modes: MeasuredModes, computed: StructureModes, structure: Assembled):
    """Nodes and then measured places (n, 2) on paper, their motion (modes, n, 2), and the nodes of every element.

    The nodes move as the measured shapes are expanded with those of the structure; places as they were measured.
    """
    sheet, nodes = DrawingSheet(structure), structure.nodes_and_supports()
    whole = np.asarray(structure.onto_model(np.eye(nodes.size))) @ expand_shapes(modes, computed)
    moves = whole.reshape(nodes.count, len(structure.directions), -1)[:, : sheet.axes].transpose(2, 0, 1)
    named = [nodes.split(place)[1] or structure.default_direction for place in modes.places]
    ways = np.eye(len(structure.directions))[[structure.directions.index(name) for name in named], : sheet.axes]
    moves = np.concatenate([moves, modes.shapes.T[:, :, None] * ways], axis=1)
    points = np.concatenate([sheet.points, [sheet.at(place) for place in modes.places]])
    points = (points - sheet.low) / max(float((sheet.high - sheet.low).max()), 1e-12)
    flipped = np.array([1.0, -1.0])
    return [30, 140] + 90 * flipped * points, flipped * sheet.flat(moves), [(int(a), int(b)) for a, b in sheet.elements]


def _at_places(modes: MeasuredModes, structure: Structure | None):
    """Places (n, 2) on paper, one above the other, their motion (modes, n, 2), and pairs of places to join."""
    n = len(modes.places)
    height = np.arange(1, n + 1, dtype=float)
    if isinstance(structure, ShearBuilding):  # a sensor on floor 7 is drawn there
        floors = np.array([np.argmax(structure.row(place)) for place in modes.places], float)
        height = (floors + 1.0) * n / structure.model(()).size
    order = np.argsort(height)
    points = np.stack([np.full(n, 75.0), 145 - 115 * height / n], axis=1)
    lines = list(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
    return points, modes.shapes.T[:, :, None] * np.array([1.0, 0.0]), lines


def _picture(points, ends, lines, dots, words: str, seconds: float) -> str:
    def moved(tag: str, names: tuple[str, ...], index: list[int], columns: list[int], style: str) -> str:
        values = [[f"{end[i, c]:.1f}" for end in ends] for i, c in zip(index, columns, strict=True)]
        first = " ".join(f'{name}="{points[i, c]:.1f}"' for name, i, c in zip(names, index, columns, strict=True))
        animated = "".join(
            f'<animate attributeName="{name}" values="{a};{b};{a}" dur="{seconds:.2f}s" repeatCount="indefinite" '
            'calcMode="spline" keyTimes="0;0.5;1" keySplines="0.37 0 0.63 1;0.37 0 0.63 1"/>'
            for name, (a, b) in zip(names, values, strict=True)
        )
        return f"<{tag} {first} {style}>{animated}</{tag}>"

    bars = [
        moved("line", ("x1", "y1", "x2", "y2"), [a, a, b, b], [0, 1, 0, 1], 'stroke="#0072b2" stroke-width="2"')
        for a, b in lines
    ]
    marks = [moved("circle", ("cx", "cy"), [i, i], [0, 1], 'r="3.5" fill="#d55e00"') for i in range(len(points))[dots]]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(words)}">{"".join(bars)}{"".join(marks)}'
        f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 6}" font-size="11" text-anchor="middle">{escape(words)}</text></svg>'
    )
