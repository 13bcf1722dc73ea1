"""Recorded models of rigid floors (rigidDiaphragm) that springs join: a building in plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.bridge.assembly import AssembledScript, spring_row
from vibrid.bridge.description import ScriptModel, SpringElement
from vibrid.bridge.hinges import check_side
from vibrid.bridge.native import (
    NoCounterpart,
    Translation,
    damping_matrix,
    damping_of,
    law_of,
    modal_of,
    place_name,
    spring_use,
)
from vibrid.bridge.units import ScriptUnits
from vibrid.laws.base import Law, Parallel
from vibrid.structures import Attachment, Explicit, FrameLine, Rayleigh, RigidFloorBuilding

_MOTIONS = (0, 1, 5)
"""x, y and the rotation about z among the degrees of freedom of a node in space."""


def rigid_floors(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    """A building whose floors are rigid and whose storeys are springs between points above each other."""
    floor_of = _floors(model, assembled)
    levels = _levels(model, floor_of)
    lines, attachments, became, damped = _springs(model, units, floor_of, levels)
    masses, rotary, centres = _masses(assembled, list(levels), model, units)
    building = RigidFloorBuilding(
        masses, rotary, lines, centre_x=centres[:, 0], centre_y=centres[:, 1], attachments=attachments
    )
    places = {}
    for tag, level in levels.items():
        x, y = (float(v) * units.length for v in model.nodes[tag].at[:2])
        places |= {place_name(model, tag, d): f"{level}@{x!r},{y!r}.{name}" for d, name in ((0, "x"), (1, "y"))}
        places[place_name(model, tag, 5)] = f"{level}.rotation"
        became[f"node {tag}"] = f"floor {level}"
    notes: list[str] = []
    damping = _damping(model, assembled, units, building, places, notes, damped)
    return Translation(building.replace({"damping": damping}) if damping else building, became, notes, places)


def _floors(model: ScriptModel, assembled: AssembledScript) -> dict[int, int]:
    """The retained node of the floor of each node on one."""
    floor_of = {}
    for constraint in model.constraints:
        if constraint.kind != "floor" or constraint.normal != 3:
            raise NoCounterpart(
                f"{constraint.where}: only horizontal rigid floors (rigidDiaphragm 3) are in a building."
            )
        floor_of |= {constraint.retained: constraint.retained, constraint.constrained: constraint.retained}
    free = {assembled.places[dof] for dof in assembled.independent}
    wanted = {(tag, d) for tag in set(floor_of.values()) for d in _MOTIONS}
    odd = sorted(free ^ wanted)
    if odd:
        node, direction = odd[0]
        raise NoCounterpart(
            f"{model.script}: in a building of rigid floors x, y and the rotation of each floor are free and nothing "
            f"else; degree of freedom {direction + 1} of node {node} is {'free' if odd[0] in free else 'held'}."
        )
    return floor_of


def _springs_of(model: ScriptModel):
    for element in model.elements.values():
        assert isinstance(element, SpringElement)
        first, last = (model.nodes[tag] for tag in element.nodes)
        if not np.allclose(first.at[:2], last.at[:2], rtol=0.0, atol=1e-9):
            raise NoCounterpart(f"{element.definition.title} joins points that are not above each other.")
        for material, direction in element.springs:
            row = spring_row(element, direction, [first, last], model)[last.size :]
            yield element, material, row


def _levels(model: ScriptModel, floor_of: dict[int, int]) -> dict[int, int]:
    """The number of each floor from the ground up, by its retained node."""
    joined = [spring[0] for spring in _springs_of(model)]
    frame = [element for element in joined if element.rayleigh] or joined
    pairs = {tuple(floor_of.get(tag) for tag in element.nodes) for element in frame}
    levels: dict[int, int] = {}
    below: int | None = None
    while len(levels) < len(set(floor_of.values())):
        above = {b for a, b in pairs if a == below} | {a for a, b in pairs if b == below}
        above -= {None, *levels}
        if len(above) != 1:
            raise NoCounterpart(
                f"{model.script}: springs do not join the floors one above the other, from the ground up."
            )
        below = above.pop()
        assert below is not None
        levels[below] = len(levels)
    return levels


@dataclass(frozen=True, eq=False)
class _Spring:
    """A spring between two floors; −1 is the ground."""

    element: SpringElement
    material: int
    row: np.ndarray  # (6,) its deformation from the motion of its second end
    storeys: tuple[int, int]
    law: Law

    @property
    def name(self) -> str:
        return f"element {self.element.definition.tag}"

    @property
    def turns(self) -> bool:
        return not np.any(np.abs(self.row[:2]) > 1e-12)

    def line(self, model: ScriptModel, units: ScriptUnits) -> tuple[tuple[float, float], str | float]:
        """Point and direction of the frame line that it may belong to."""
        row = self.row
        c, s = row[:2] if row[0] > 1e-12 or (abs(row[0]) <= 1e-12 and row[1] > 0) else -row[:2]  # laws are symmetric
        direction = "x" if abs(s) <= 1e-12 else "y" if abs(c) <= 1e-12 else float(np.degrees(np.arctan2(s, c)))
        x, y = model.nodes[self.element.nodes[0]].at[:2]
        return (float(x) * units.length, float(y) * units.length), direction

    def check_side(self, model: ScriptModel, turned: bool) -> None:
        """Refuse a law of two sides that would act the other way round: `turned`, or along a reversed axis."""
        way = self.row[np.flatnonzero(np.abs(self.row) > 1e-12)[0]]
        check_side(model, self.element, self.material, turned != bool(way < 0))


def _between(model: ScriptModel, units: ScriptUnits, floor_of: dict[int, int], levels: dict[int, int]):
    """Springs that resist motions of rigid floors."""
    for element, material, row in _springs_of(model):
        first, last = (levels[floor_of[tag]] if tag in floor_of else -1 for tag in element.nodes)
        acts = {d for d in range(6) if abs(row[d]) > 1e-12}
        if first == last or acts <= {2, 3, 4}:
            continue  # within one rigid floor, on the ground, or in a direction that floors do not move in
        if acts != {5} and not acts <= {0, 1}:
            raise NoCounterpart(
                f"{element.definition.title} acts in an inclined direction; frame lines are horizontal."
            )
        law = law_of(model, element, material, spring_use(acts == {5}, units))
        yield _Spring(element, material, row, (first, last), law)


def _springs(model: ScriptModel, units: ScriptUnits, floor_of: dict[int, int], levels: dict[int, int]):
    """Frame lines, other springs as attachments, what each element became, and whether the lines alone are damped.

    A frame line has springs in every storey from the ground to its top. Where some springs follow `rayleigh` and others
    do not, the others are devices, as `to_opensees` writes them.
    """
    springs = list(_between(model, units, floor_of, levels))
    framed = any(spring.element.rayleigh for spring in springs)
    lines: dict[tuple, dict[int, list[_Spring]]] = {}
    for spring in springs:
        steps = spring.storeys[1] - spring.storeys[0]
        if not spring.turns and abs(steps) == 1 and spring.element.rayleigh == framed:
            lines.setdefault(spring.line(model, units), {}).setdefault(max(spring.storeys), []).append(spring)
    lines = {key: by_storey for key, by_storey in lines.items() if sorted(by_storey) == list(range(len(by_storey)))}
    made, became = [], {}
    for (at, direction), by_storey in lines.items():
        storeys = [by_storey[i] for i in range(len(by_storey))]
        for i, own in enumerate(storeys):
            for spring in own:
                spring.check_side(model, spring.storeys[0] > spring.storeys[1])
                became[spring.name] = f"lines[{len(made)}].storeys[{i}]"
        laws = [own[0].law if len(own) == 1 else Parallel([spring.law for spring in own]) for own in storeys]
        made.append(FrameLine(laws, at, direction))
    inside = {id(spring) for by_storey in lines.values() for own in by_storey.values() for spring in own}
    devices = [spring for spring in springs if id(spring) not in inside]
    became |= {spring.name: f"attachments[{i}].law" for i, spring in enumerate(devices)}
    damped = framed and not any(spring.element.rayleigh for spring in devices)
    return made, [_attachment(model, units, spring) for spring in devices], became, damped


def _attachment(model: ScriptModel, units: ScriptUnits, spring: _Spring) -> Attachment:
    """A spring between a point of a floor and the same point of another, or of the ground."""
    (x, y), direction = spring.line(model, units)
    if spring.turns:
        direction = "rotation"
    elif not isinstance(direction, str):
        raise NoCounterpart(
            f"{spring.element.definition.title} belongs to no frame line with springs in every storey from the ground "
            f"up, and acts at {direction:g}° from x; single devices act in x, y or as rotations."
        )
    point = "" if spring.turns or (x, y) == (0.0, 0.0) else f"@{x!r},{y!r}"
    foot, top = (None if level < 0 else f"{level}{point}.{direction}" for level in spring.storeys)
    spring.check_side(model, top is None)
    return Attachment(spring.law, *((foot,) if top is None else (top, foot)))


def _masses(assembled: AssembledScript, floors: list[int], model: ScriptModel, units: ScriptUnits):
    """Mass, rotary inertia and centre of every floor from the lowest up, in SI units."""
    mass = assembled.reduced(assembled.mass)
    index = {assembled.places[dof]: i for i, dof in enumerate(assembled.independent)}
    masses, rotary, centres = [], [], []
    for tag in floors:
        own = [index[tag, d] for d in _MOTIONS]
        block = mass[np.ix_(own, own)]
        m = block[0, 0]
        if not m > 0 or not np.isclose(m, block[1, 1], rtol=1e-12) or block[0, 1]:
            raise NoCounterpart(f"{model.script}: the floor of node {tag} needs one mass, the same in x and y.")
        arm = np.array([block[1, 2], -block[0, 2]]) / m
        inertia = block[2, 2] - m * (arm @ arm)
        if not inertia > 0:
            raise NoCounterpart(f"{model.script}: the floor of node {tag} needs a rotary inertia about z.")
        masses.append(m * units.mass)
        rotary.append(inertia * units.mass * units.length**2)
        centres.append((np.array(model.nodes[tag].at[:2]) + arm) * units.length)
    return np.array(masses), np.array(rotary), np.array(centres)


def _damping(
    model, assembled, units, building: RigidFloorBuilding, places: dict[str, str], notes: list[str], damped: bool
):
    if not any(model.rayleigh) and not model.modal:
        return None
    if model.modal and not any(model.rayleigh) and not building.attachments:
        return modal_of(model, assembled)
    if not model.modal and damped:
        return Rayleigh(model.rayleigh[0] / units.time, sum(model.rayleigh[1:]) * units.time)
    damping = None if building.attachments else damping_of(model, assembled, units, notes)
    if isinstance(damping, Rayleigh):
        return damping
    names = [place_name(model, *assembled.places[dof]) for dof in assembled.independent]
    rows = np.stack([building.row(places[name]) for name in names])
    return Explicit(rows.T @ damping_matrix(model, assembled, units) @ rows)
