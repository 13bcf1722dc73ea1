"""Shapes that move: pictures of a page in which every mode swings, without any script."""

from __future__ import annotations

import itertools
import re

import numpy as np

from vibrid.modal.geometry import Geometry
from vibrid.modal.measured import MeasuredModes
from vibrid.report.nodes_drawing import DrawingSheet
from vibrid.report.words import Html, escape
from vibrid.structures.assembled import Assembled
from vibrid.structures.modes import StructureModes
from vibrid.structures.shear import ShearBuilding

_WIDTH, _HEIGHT, _MOST, _REACH = 150, 170, 12, 18.0
_VIEW = np.array([[np.sqrt(0.75), -np.sqrt(0.75), 0.0], [0.5, 0.5, 1.0]])  # x to the right, y to the left, z up
_UP = (".y", ".transverse", ".z")


def moving_shapes(
    modes: MeasuredModes, computed: StructureModes | None = None, geometry: Geometry | None = None
) -> Html:
    """A small picture of each of the first modes, moving between its two ends; on the geometry of the sensors or on the
    structure, where it is known."""
    count = min(len(modes), _MOST)
    points, moves, lines = _at_nodes(modes, geometry, count) if geometry is not None else _at_places(modes, computed)
    parts = []
    for i in range(count):
        ends = [points + sign * _REACH * moves[i] / np.abs(moves[i]).max() for sign in (1.0, -1.0)]
        seconds = float(np.clip(2.0 / np.sqrt(modes.frequencies[i]), 0.6, 4.0))
        parts.append(_picture(points, ends, lines, f"{i + 1}: {modes.frequencies[i]:.4g} Hz", seconds))
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


def _at_places(modes: MeasuredModes, computed: StructureModes | None):
    """Places (n, 2) on paper, their motion (modes, n, 2), and pairs of places to join."""
    points, ways, lines = _drawing(modes, computed)
    return points, modes.shapes.T[:, :, None] * ways, lines


def _drawing(modes: MeasuredModes, computed: StructureModes | None):
    """Places (n, 2) on paper, directions of their motion (n, 2), and pairs of places to join."""
    structure = None if computed is None else computed.structure
    n = len(modes.places)
    ways = np.tile([1.0, 0.0], (n, 1))
    if isinstance(structure, Assembled):
        sheet = DrawingSheet(structure)
        raw = np.array([sheet.at(place) for place in modes.places], float)
        low, size = sheet.low, max(float((sheet.high - sheet.low).max()), 1e-12)
        points = np.stack([30 + 90 * (raw[:, 0] - low[0]) / size, 140 - 90 * (raw[:, 1] - low[1]) / size], axis=1)
        for i, place in enumerate(modes.places):
            upward = place.endswith(_UP) or not re.search(r"\.\w+$", place)
            ways[i] = [0.0, -1.0] if upward else [1.0, 0.0]
        return points, ways, list(zip(range(n - 1), range(1, n), strict=True))
    height = np.arange(1, n + 1, dtype=float)
    if isinstance(structure, ShearBuilding):  # a sensor on floor 7 is drawn there
        floors = np.array([np.argmax(structure.row(place)) for place in modes.places], float)
        height = (floors + 1.0) * n / structure.model(()).size
    order = np.argsort(height)
    points = np.stack([np.full(n, 75.0), 145 - 115 * height / n], axis=1)
    return points, ways, list(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))


def _picture(points, ends, lines, words: str, seconds: float) -> str:
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
    dots = [
        moved("circle", ("cx", "cy"), [i, i], [0, 1], 'r="3.5" fill="#d55e00"') for i in range(len(points))
    ]  # fmt: skip
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(words)}">{"".join(bars)}{"".join(dots)}'
        f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 6}" font-size="11" text-anchor="middle">{escape(words)}</text></svg>'
    )
