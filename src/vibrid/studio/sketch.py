"""A structure as a sketch: lines, boxes and places that a page draws, each with the parameters that it stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.structures.assembled import Assembled
from vibrid.structures.base import Structure
from vibrid.structures.rigid_floors import RigidFloorBuilding
from vibrid.structures.sensors import Sensor
from vibrid.structures.shear import ShearBuilding

Item = dict[str, Any]
_OBLIQUE = np.array([[1.0, 0.0], [0.0, 1.0], [0.45, 0.3]])
"""Where x, y and z of a structure in space point on paper (y up; z to the back)."""
MOST_ITEMS = 600
_INSIDE = ("drift", "drift_velocity", "element_force")


def sketch(
    structure: Structure, sensors: Sequence[Sensor] = (), loads: Sequence[tuple[str, str, str]] = ()
) -> dict[str, Any]:
    """Items to draw, y up, in units of about a storey; `match` of an item begins the paths of its parameters.

    loads: (quantity, place or direction, label) of each.

    Each item has an `id`, a `shape` (line, spring, box, ground, support, node), its `label`, and points.
    """
    if isinstance(structure, ShearBuilding | RigidFloorBuilding):
        drawn = _floors(structure)
    elif isinstance(structure, Assembled):
        drawn = _nodes(structure)
    else:
        drawn = _chain(structure)
    items, spot = drawn
    marks = []
    for i, sensor in enumerate(sensors):
        at = spot(sensor.place, sensor.quantity)
        if at is not None:
            marks.append({"id": f"sensors[{i}]", "at": at, "quantity": sensor.quantity, "label": sensor.label})
    pushes = []
    for i, (quantity, where, label) in enumerate(loads):
        at = spot(where, "load") if quantity == "load" else _base(items, quantity)
        if at is not None:
            words = " ".join(filter(None, (quantity.replace("_", " "), where and f"({where})", label and f": {label}")))
            pushes.append({"id": f"loads[{i}]", "at": at, "quantity": quantity, "label": words.replace(" :", ":")})
    return {"items": items[:MOST_ITEMS], "sensors": marks, "loads": pushes, "cut": len(items) > MOST_ITEMS}


def _base(items: Sequence[Item], quantity: str) -> list[float] | None:
    """Below the middle of what is held, where the ground moves; none for other motions."""
    held = [point for item in items if item["shape"] in ("ground", "support") for point in item["points"]]
    if not held or not quantity.startswith("ground"):
        return None
    return [float(np.mean([x for x, _ in held])), float(min(y for _, y in held)) - 0.35]


def _item(name: str, shape: str, points: Any, label: str, match: Sequence[str] = ()) -> Item:
    rounded = np.round(np.asarray(points, float), 4).tolist()
    return {"id": name, "shape": shape, "points": rounded, "label": label, "match": list(match)}


def _floors(building: Any):
    """Floors one above the other; the storeys of each frame line side by side."""
    lines = [(f"lines[{j}].storeys", line.storeys) for j, line in enumerate(getattr(building, "lines", ()))]
    lines = lines or [("storeys", building.storeys)]
    count, bays = len(np.atleast_1d(building.masses)), len(lines)
    width = max(2.4, 1.3 * bays)
    items = [_item("ground", "ground", [[-0.3, 0.0], [width + 0.3, 0.0]], "ground")]
    for i in range(count):
        items.append(_item(f"masses[{i}]", "box", [[0.0, i + 0.9], [width, i + 1.0]], f"floor {i}", [f"masses[{i}]"]))
    for j, (path, storeys) in enumerate(lines):
        for i, law in enumerate(storeys):
            label = f"storey {i}" if bays == 1 else f"line {j}, storey {i}"
            sides = (0.0, width) if bays == 1 else ((j + 0.5) * width / bays,)
            name = f"{path}[{i}]"
            for side, x in enumerate(sides):
                points = [[x, float(i)], [x, i + 0.9]]
                items.append(_item(f"{name}:{side}", "line", points, f"{label}: {_name(law)}", [name]))
    for i, part in enumerate(getattr(building, "attachments", ())):
        try:
            top = int(np.argmax(np.abs(building.row(str(part.at))))) + 1.0
            foot = 0.0 if part.to is None else int(np.argmax(np.abs(building.row(str(part.to))))) + 1.0
        except VibridError:
            continue
        points = [[-0.9 - 0.5 * i, foot], [0.0, top]]
        name = f"attachments[{i}]"
        items.append(_item(name, "spring", points, f"attachment {i}: {_name(part.law)}", [name]))

    def spot(place: str, quantity: str) -> list[float] | None:
        number = re.search(r"\d+", str(place))
        if quantity in _INSIDE and number is not None:
            return [width + 0.3, int(number[0]) + 0.45]
        try:
            floor = np.flatnonzero(np.asarray(building.row(str(place))))
        except VibridError:
            return None
        side = -0.1 if quantity == "load" else width + 0.3
        return [side, float(floor[0] % count) + 0.95] if len(floor) else None

    return items, spot


def _nodes(structure: Any):
    """Elements between nodes, supports, point masses and attachments, scaled to a width or height of four."""
    given = structure.coordinates() if hasattr(structure, "coordinates") else np.array(structure.nodes, float)
    given = np.asarray(given, float)
    if given.shape[1] == 3:  # z is up in space
        given = given[:, [0, 2, 1]] @ _OBLIQUE
    points = (given - given.min(axis=0)) * 4.0 / max(np.ptp(given, axis=0).max(), 1e-12)
    nodes, items = structure.nodes_and_supports(), []
    for i, (a, b) in enumerate(np.asarray(structure.connectivity())):
        match = [f"{name}[{i}]" for name in ("modulus", "area", "inertia", "density", "elements", "members")]
        match += ["modulus", "area", "inertia"]
        items.append(_item(f"element {i}", "line", points[[a, b]], f"element {i}", match))
    items += [_item(f"node {n}", "support", [points[int(n)]], f"support at node {n}") for n in _held(structure)]

    def point(place: str) -> np.ndarray | None:
        try:
            return points[nodes.number(nodes.split(str(place))[0])]
        except (VibridError, ValueError, IndexError):
            return None

    for i, mass in enumerate(structure.masses):
        at = point(mass.at)
        if at is not None:
            items.append(_item(f"masses[{i}]", "node", [at], f"mass {i}", [f"masses[{i}]"]))
    for i, part in enumerate(structure.attachments):
        at = point(part.at)
        if at is not None:
            to = None if part.to is None else point(part.to)
            to = np.add(at, (0.5, -0.5)) if to is None else to
            label = f"attachment {i}: {_name(part.law)}"
            items.append(_item(f"attachments[{i}]", "spring", [at, to], label, [f"attachments[{i}]"]))

    def spot(place: str, quantity: str) -> list[float] | None:
        at = point(place)
        if at is None and str(place).isdigit() and int(place) < len(structure.connectivity()):
            at = points[np.asarray(structure.connectivity())[int(place)]].mean(axis=0)
        if at is None or quantity == "load":
            return None if at is None else [float(at[0]), float(at[1])]
        return [float(at[0]) + 0.12, float(at[1]) + 0.16]

    return items, spot


def _held(structure: Any) -> list[int]:
    supports = getattr(structure, "supports", {})
    names = [pair[0] for pair in supports] if isinstance(supports, tuple) else list(supports)
    return [int(name) for name in names if str(name).isdigit()]


def _chain(structure: Structure):
    """Degrees of freedom in a row; a device alone is one of them."""
    places = list(structure.places())[:30] or ["device"]
    items = [_item("ground", "ground", [[-0.6, 0.0], [len(places) - 0.4, 0.0]], "ground")]
    for i, place in enumerate(places):
        match = ["law"] if hasattr(structure, "law") else [f"mass[{i}]", "stiffness"]
        items.append(_item(f"place {place}", "box", [[i - 0.3, 0.5], [i + 0.3, 0.95]], str(place), match))
        items.append(_item(f"spring {place}", "spring", [[float(i), 0.0], [float(i), 0.5]], str(place), match))

    def spot(place: str, quantity: str) -> list[float] | None:
        known = [i for i, name in enumerate(places) if str(name) == str(place).partition(".")[0]]
        if quantity == "load":
            return [known[0] - 0.3, 0.72] if known else None
        return [known[0] + 0.0, 1.1] if known else [len(places) - 0.5, 1.1]

    return items, spot


def _name(law: Any) -> str:
    """The name of a law in project files."""
    from vibrid.laws.base import LAWS

    try:
        return LAWS.name_of(type(law))
    except (VibridError, KeyError):
        return type(law).__name__
