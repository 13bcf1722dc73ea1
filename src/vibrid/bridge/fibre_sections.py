"""Fibres of the patches and layers of an OpenSees section, in the units of the script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vibrid.core.errors import InputError

Fibre = tuple[float, float, float, int]
"""y, z, area and the tag of the material."""


def patch_fibres(given: Sequence[Any], where: str) -> list[Fibre]:
    """The fibres of `patch`; `given` are its arguments, `where` its line."""
    kind, material = str(given[0]), int(given[1])
    if kind == "rect":
        ny, nz = int(given[2]), int(given[3])
        y1, z1, y2, z2 = (float(v) for v in given[4:8])
        area = abs((y2 - y1) / ny * (z2 - z1) / nz)
        return [
            (y1 + (i + 0.5) * (y2 - y1) / ny, z1 + (j + 0.5) * (z2 - z1) / nz, area, material)
            for i in range(ny)
            for j in range(nz)
        ]
    if kind in ("quad", "quadr"):
        return _quadrilateral(int(given[2]), int(given[3]), [float(v) for v in given[4:12]], material)
    if kind == "circ":
        return _ring(given, material)
    raise InputError(f"{where}: the patch '{kind}' is not understood; use rect, quad or circ.")


def layer_fibres(given: Sequence[Any], where: str) -> list[Fibre]:
    """The fibres of `layer`, bars along a line or an arc."""
    kind, material, count, area = str(given[0]), int(given[1]), int(given[2]), float(given[3])
    if kind == "straight":
        y1, z1, y2, z2 = (float(v) for v in given[4:8])
        shares = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
        at = [(y1 + s * (y2 - y1), z1 + s * (z2 - z1)) for s in shares]
    elif kind == "circ":
        y, z, radius = (float(v) for v in given[4:7])
        ends = [float(v) for v in given[7:9]] if len(given) >= 9 else [0.0, 360.0 - 360.0 / count]
        turns = np.radians(np.linspace(ends[0], ends[1], count))
        at = [(y + radius * np.cos(a), z + radius * np.sin(a)) for a in turns]
    else:
        raise InputError(f"{where}: the layer '{kind}' is not understood; use straight or circ.")
    return [(float(y), float(z), area, material) for y, z in at]


def _quadrilateral(nij: int, njk: int, corners: list[float], material: int) -> list[Fibre]:
    """Cells of a quadrilateral I, J, K, L by bilinear shape functions, each with its area and centroid."""
    points = np.array(corners).reshape(4, 2)

    def at(a: float, b: float) -> Any:
        return np.array([(1 - a) * (1 - b), a * (1 - b), a * b, (1 - a) * b]) @ points

    made: list[Fibre] = []
    for i in range(nij):
        for j in range(njk):
            cell = np.array([at((i + a) / nij, (j + b) / njk) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))])
            area, (y, z) = _polygon(cell)
            made.append((y, z, area, material))
    return made


def _ring(given: Sequence[Any], material: int) -> list[Fibre]:
    """Cells of a ring, each with its area at its centroid."""
    around, radial = int(given[2]), int(given[3])
    y, z, inner, outer = (float(v) for v in given[4:8])
    start, end = (np.radians(float(v)) for v in (given[8:10] if len(given) >= 10 else (0.0, 360.0)))
    turn, thick = (end - start) / around, (outer - inner) / radial
    made: list[Fibre] = []
    for i in range(radial):
        a, b = inner + i * thick, inner + (i + 1) * thick
        area = 0.5 * turn * (b**2 - a**2)
        arm = 2 / 3 * (b**3 - a**3) / (b**2 - a**2) * np.sin(turn / 2) / (turn / 2)
        for j in range(around):
            angle = start + (j + 0.5) * turn
            made.append((float(y + arm * np.cos(angle)), float(z + arm * np.sin(angle)), float(area), material))
    return made


def _polygon(points: Any) -> tuple[float, tuple[float, float]]:
    """Area and centroid of a polygon."""
    x, y = points[:, 0], points[:, 1]
    x1, y1 = np.roll(x, -1), np.roll(y, -1)
    cross = x * y1 - x1 * y
    area = cross.sum() / 2
    centre = ((x + x1) * cross).sum() / (6 * area), ((y + y1) * cross).sum() / (6 * area)
    return float(abs(area)), (float(centre[0]), float(centre[1]))
