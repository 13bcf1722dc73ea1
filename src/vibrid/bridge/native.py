"""From a recorded model to the structure of vibrid that is the same, in SI units; parameters keep their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vibrid.bridge.assembly import AssembledScript, offsets_of, spring_row
from vibrid.bridge.beam_stiffness import basic_stiffness
from vibrid.bridge.description import (
    BarElement,
    BeamElement,
    Element,
    FibreElement,
    ScriptModel,
    SpringElement,
)
from vibrid.bridge.hinges import check_side
from vibrid.bridge.material_numbers import MaterialUse
from vibrid.bridge.materials import first_slope, is_linear, spring_law
from vibrid.bridge.units import ScriptUnits
from vibrid.core.errors import InputError
from vibrid.laws.base import Law
from vibrid.structures import (
    Attachment,
    Explicit,
    Frame2D,
    Modal,
    PointMass,
    Rayleigh,
    Structure,
    Tie,
    Truss,
)

DIRECTIONS = {(1, 1): ("x",), (2, 2): ("x", "y"), (2, 3): ("x", "y", "rotation"), (3, 3): ("x", "y", "z"),
              (3, 6): ("x", "y", "z", "rotation_x", "rotation_y", "rotation_z"), (1, 2): ("x", "y"),
              (2, 1): ("x",), (3, 1): ("x",)}  # fmt: skip
"""Names of the degrees of freedom of a node, by the dimensions of the model and their number."""


class NoCounterpart(InputError):
    """A part that no native structure has; a linear model can still be condensed."""


@dataclass
class Translation:
    """A structure, the path or place that each part of the script became, and what the user should know."""

    structure: Structure
    became: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    """Places of the script that have another name in the structure."""


def place_name(model: ScriptModel, tag: int, direction: int) -> str:
    """The place of a degree of freedom: "12.x"."""
    return f"{tag}.{DIRECTIONS[model.dimensions, model.nodes[tag].size][direction]}"


# -- common parts --------------------------------------------------------------------------------------------------


def used_nodes(model: ScriptModel) -> list[int]:
    """Tags of the nodes of the structure: all but those that are ground to springs alone."""
    needed = {t for e in model.elements.values() if not isinstance(e, SpringElement) for t in e.nodes}
    needed |= {tag for constraint in model.constraints for tag in (constraint.retained, constraint.constrained)}
    return [tag for tag, node in model.nodes.items() if tag in needed or not all(node.fixed)]


def point_masses(model: ScriptModel, units: ScriptUnits) -> list[PointMass]:
    """Masses of the nodes, and of elements with a lumped mass, half at each end."""
    masses = {tag: np.array(model.nodes[tag].mass, float) for tag in model.nodes}
    for element in model.elements.values():
        if isinstance(element, SpringElement):
            continue
        per_length = element.mass
        whole = isinstance(element, BarElement) and model.nodes[element.nodes[0]].size == model.dimensions
        if per_length and not element.consistent and not whole:
            ends = [model.nodes[tag] for tag in element.nodes]
            length = float(np.linalg.norm(np.subtract(ends[1].at, ends[0].at)))
            for tag in element.nodes:
                masses[tag][: model.dimensions] += per_length * length / 2
    made = []
    for tag, mass in masses.items():
        moved = mass[: model.dimensions] * units.mass
        rotary = float(mass[2]) * units.mass * units.length**2 if model.dimensions == 2 and len(mass) == 3 else 0.0
        names = ("x", "y", "z")[: model.dimensions]
        if np.all(moved == moved[0]):
            if moved[0] or rotary:
                made.append(PointMass(moved[0], str(tag), rotary))
            continue
        for name, value in zip(names, moved, strict=True):
            if value:
                made.append(PointMass(value, str(tag), rotary, name))
                rotary = 0.0
    return made


def supports_of(model: ScriptModel, tags: Sequence[int]) -> dict[str, list[str]]:
    found = {}
    for tag in tags:
        node = model.nodes[tag]
        names = DIRECTIONS[model.dimensions, node.size]
        held = [name for name, fixed in zip(names, node.fixed, strict=True) if fixed]
        if held:
            found[str(tag)] = held
    return found


def ties_of(model: ScriptModel) -> list[Tie]:
    made = []
    for constraint in model.constraints:
        names = DIRECTIONS[model.dimensions, model.nodes[constraint.retained].size]
        if constraint.kind == "floor" or (constraint.kind == "beam" and model.dimensions != 2):
            raise NoCounterpart(f"{constraint.where}: a rigid floor in space has no native structure here.")
        along = [names[d - 1] for d in constraint.directions]
        if constraint.kind in ("beam", "rod"):
            along = list(names if constraint.kind == "beam" else names[: model.dimensions])
        made.append(Tie(str(constraint.constrained), str(constraint.retained), along, constraint.kind == "beam"))
    return made


def massless_of(model: ScriptModel, assembled: AssembledScript) -> list[str]:
    """Places without mass; whole directions by their name."""
    mass = assembled.reduced(assembled.mass)
    bare = [assembled.places[dof] for i, dof in enumerate(assembled.independent) if not np.any(mass[i])]
    names = DIRECTIONS[model.dimensions, next(iter(model.nodes.values())).size]
    found = []
    for d, name in enumerate(names):
        own = [place for place in bare if place[1] == d]
        every = [dof for dof in assembled.independent if assembled.places[dof][1] == d]
        if own and len(own) == len(every):
            found.append(name)
        else:
            found += [place_name(model, *place) for place in own]
    return found


def attachments_of(
    model: ScriptModel, assembled: AssembledScript, units: ScriptUnits, without: Sequence[int] = ()
) -> tuple[list, dict[str, str]]:
    """Springs of zero-length elements as laws between places, and the path that each became; `without` are the tags of
    elements that became other parts."""
    made: list[Attachment] = []
    became = {}
    mass = assembled.reduced(assembled.mass)
    light = {assembled.places[dof] for i, dof in enumerate(assembled.independent) if not np.any(mass[i])}
    for element in model.elements.values():
        if not isinstance(element, SpringElement) or element.definition.tag in without:
            continue
        first, last = (model.nodes[tag] for tag in element.nodes)
        for material, direction in element.springs:
            row = spring_row(element, direction, [first, last], model)[first.size :]
            if np.count_nonzero(np.abs(row) > 1e-12) != 1:
                raise NoCounterpart(
                    f"{element.definition.title} is not along an axis of the model; springs here act along x, y or a "
                    "rotation."
                )
            d = int(np.argmax(np.abs(row)))
            law = law_of(model, element, material, spring_use(d >= model.dimensions, units))
            ends = [node for node in (last, first) if not node.fixed[d]]
            if not ends:
                continue  # both ends are ground
            for node in ends:
                if (node.tag, d) in light:
                    raise NoCounterpart(
                        f"{element.definition.title} acts on degree of freedom {d + 1} of node {node.tag}, which has "
                        "no mass; give it a small one (mass)."
                    )
            check_side(model, element, material, bool(row[d] < 0) != (ends[0] is first))
            places = [place_name(model, node.tag, d) for node in ends]
            became[f"element {element.definition.tag}, direction {direction}"] = f"attachments[{len(made)}].law"
            made.append(Attachment(law, places[0], *places[1:]))
    return made, became


def law_of(model: ScriptModel, element: SpringElement, material: int, use: MaterialUse) -> Law:
    """The law of one spring of an element."""
    if is_linear(model, material) and min(first_slope(model, material)) < 0:
        raise NoCounterpart(
            f"{element.definition.title} has the material {material}, whose stiffness or viscosity is negative, as no "
            "law here has; a matrix may."
        )
    return spring_law(model, material, use)


def spring_use(turns: bool, units: ScriptUnits) -> MaterialUse:
    if turns:
        return MaterialUse(units.force * units.length, 1.0, units.time)
    return MaterialUse(units.force, units.length, units.time)


def damping_of(
    model: ScriptModel, assembled: AssembledScript, units: ScriptUnits, notes: list[str], inside: Sequence[int] = ()
) -> Any:
    """Rayleigh as commanded, a matrix where only some elements follow it, or None; `inside` are the tags of springs
    whose stiffness is that of the structure itself."""
    a, *stiffness = model.rayleigh
    b = sum(stiffness)
    every = list(model.elements.values())
    if model.modal:
        loose = any(isinstance(e, SpringElement) and e.definition.tag not in inside for e in every)
        if not any(model.rayleigh) and not loose:
            return modal_of(model, assembled)
        why = "springs take part in the modes" if loose else "rayleigh and modalDamping act together"
        notes.append(f"{model.script}: {why}, so damping is a matrix of numbers, which does not change with parameters")
        return Explicit(damping_matrix(model, assembled, units))
    if not a and not b:
        return None
    own = [e for e in every if not isinstance(e, SpringElement) or e.definition.tag in inside]
    springs = [e for e in every if isinstance(e, SpringElement) and e.definition.tag not in inside]
    follow = [not isinstance(e, BarElement | SpringElement) or e.rayleigh for e in own]
    whole_mass = not a or np.array_equal(assembled.mass, assembled.damped_mass)
    if whole_mass and (not b or (all(follow) and not any(e.rayleigh for e in springs))):
        return Rayleigh(a / units.time, b * units.time)
    if whole_mass and not any(follow) and not any(e.rayleigh for e in springs):
        notes.append(
            f"{model.rayleigh_where}: the stiffness part of rayleigh has no effect: trusses and zero-length elements "
            "follow it only with -doRayleigh 1"
        )
        return Rayleigh(a / units.time, 0.0)
    notes.append(
        f"{model.rayleigh_where}: some elements do not follow rayleigh (-doRayleigh 0), so damping is a matrix of "
        "numbers, which does not change with the parameters"
    )
    return Explicit(damping_matrix(model, assembled, units))


def modal_of(model: ScriptModel, assembled: AssembledScript) -> Modal:
    """The ratios of modalDamping; modes beyond them have none."""
    every = len(assembled.condensed()[2])
    ratios = model.modal[:every]
    if len(ratios) == every and len(set(ratios)) == 1:
        return Modal(ratios[0])
    return Modal(list(ratios) if len(ratios) == every else [*ratios, 0.0])


def damping_matrix(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> np.ndarray:
    """C of Rayleigh and modal damping in SI units over the degrees of freedom with mass."""
    a, *stiffness = model.rayleigh
    c = assembled.rayleigh(a, sum(stiffness))
    if c is None:
        raise InputError(
            f"{model.rayleigh_where}: degrees of freedom without mass are damped otherwise than they are stiff, so "
            "they do not follow the others; give them a small mass, or damp every element (-doRayleigh 1)."
        )
    if model.modal:
        c = c + assembled.modal(model.modal)
    turned = dof_units(model, assembled, units)[assembled.condensed()[2]]
    return c * units.force * units.length * units.time / np.outer(turned, turned)


def dof_units(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> np.ndarray:
    """The unit of each independent degree of freedom in SI: that of length, or 1 of a rotation."""
    return np.array([
        units.length if assembled.places[dof][1] < model.dimensions else 1.0 for dof in assembled.independent
    ])  # fmt: skip


def one_or_each(values: Sequence[float]) -> Any:
    """One number where all are equal."""
    return values[0] if len(set(values)) == 1 else list(values)


# -- frames --------------------------------------------------------------------------------------------------------


def linear_frame(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    notes: list[str] = []
    became: dict[str, str] = {}
    tags = used_nodes(model)
    pairs, moduli, areas, inertias, densities = [], [], [], [], []
    for element in model.elements.values():
        if isinstance(element, SpringElement):
            continue
        e, a, i, density = _beam_numbers(element, model)
        became[f"element {element.definition.tag}"] = f"modulus[{len(pairs)}]"
        pairs.append(tuple(tags.index(tag) for tag in element.nodes))
        moduli.append(e * units.stress)
        areas.append(a * units.length**2)
        inertias.append(i * units.length**4)
        densities.append(density * units.mass / units.length**3)
    attachments, springs = attachments_of(model, assembled, units)
    structure = Frame2D(
        nodes=[tuple(v * units.length for v in model.nodes[tag].at) for tag in tags],
        elements=pairs,
        modulus=moduli,
        area=one_or_each(areas),
        inertia=one_or_each(inertias),
        density=one_or_each(densities),
        supports=supports_of(model, tags),
        masses=point_masses(model, units),
        damping=damping_of(model, assembled, units, notes),
        attachments=attachments,
        names=[str(tag) for tag in tags],
        ties=ties_of(model),
        massless=massless_of(model, assembled),
    )
    return Translation(structure, became | springs, notes)


def _beam_numbers(element: Element, model: ScriptModel) -> tuple[float, float, float, float]:
    """E, A, I and density of an element of a frame; I is 0 for a bar."""
    title = element.definition.title
    if isinstance(element, BarElement):
        if not is_linear(model, element.material) or first_slope(model, element.material)[1]:
            raise NoCounterpart(f"{title} is a bar with a nonlinear or viscous material, which no frame here has.")
        if element.mass and element.consistent:
            raise NoCounterpart(f"{title} has a consistent mass, which a bar in a frame here has not.")
        return first_slope(model, element.material)[0], element.area, 0.0, 0.0
    if isinstance(element, SpringElement):
        raise NoCounterpart(f"{title} is no element of a frame.")
    if not np.allclose(offsets_of(model.transformations[element.transformation], 2), 0.0):
        raise NoCounterpart(f"{title} has rigid offsets, which elements of a frame here have not.")
    if isinstance(element, FibreElement):
        e, a, i = model.sections[element.rule[1]].numbers(3)[:3]
        straight = BeamElement(element.definition, element.nodes, (e, a, i), element.transformation)
        ends = [np.array(model.nodes[tag].at) for tag in element.nodes]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        if not np.allclose(*(basic_stiffness(x, length, model) for x in (element, straight)), rtol=1e-9):
            raise NoCounterpart(f"{title} has too few integration points to be a linear beam; use three or more.")
    else:
        if element.shear is not None:
            raise NoCounterpart(f"{title} deforms in shear, which elements of a frame here do not.")
        if element.release:
            raise NoCounterpart(f"{title} has released ends, which elements of a frame here have not.")
        e, a, i = element.stiffness
    return e, a, i, (element.mass / a if element.consistent else 0.0)


# -- trusses -------------------------------------------------------------------------------------------------------


def linear_truss(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    notes: list[str] = []
    tags = used_nodes(model)
    bars = [e for e in model.elements.values() if isinstance(e, BarElement)]
    consistent = {bar.consistent for bar in bars if bar.mass}
    if len(consistent) > 1:
        raise NoCounterpart(
            f"{model.script}: some bars have a lumped and some a consistent mass; a truss here has one."
        )
    for bar in bars:
        if not is_linear(model, bar.material) or first_slope(model, bar.material)[1]:
            raise NoCounterpart(f"{bar.definition.title} has a nonlinear or viscous material, which no truss here has.")
    attachments, springs = attachments_of(model, assembled, units)
    structure = Truss(
        nodes=[tuple(v * units.length for v in model.nodes[tag].at) for tag in tags],
        bars=[tuple(tags.index(tag) for tag in bar.nodes) for bar in bars],
        modulus=[first_slope(model, bar.material)[0] * units.stress for bar in bars],
        area=one_or_each([bar.area * units.length**2 for bar in bars]),
        density=one_or_each([bar.mass / bar.area * units.mass / units.length**3 for bar in bars]),
        supports=supports_of(model, tags),
        masses=point_masses(model, units),
        damping=damping_of(model, assembled, units, notes),
        attachments=attachments,
        mass_model="consistent" if consistent == {True} else "lumped",
        names=[str(tag) for tag in tags],
        ties=ties_of(model),
        massless=massless_of(model, assembled),
    )
    became = {f"element {bar.definition.tag}": f"modulus[{i}]" for i, bar in enumerate(bars)}
    return Translation(structure, became | springs, notes)
