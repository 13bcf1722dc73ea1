"""Fibre frames of a recorded model."""

from __future__ import annotations

import numpy as np

from vibrid.bridge.assembly import AssembledScript, offsets_of, spring_row
from vibrid.bridge.description import BeamElement, FibreElement, ScriptModel, SpringElement
from vibrid.bridge.materials import fibre_material, first_slope, is_linear
from vibrid.bridge.native import (
    NoCounterpart,
    Translation,
    attachments_of,
    damping_of,
    massless_of,
    place_name,
    point_masses,
    supports_of,
    ties_of,
    used_nodes,
)
from vibrid.bridge.units import ScriptUnits
from vibrid.laws import ElasticMaterial
from vibrid.structures import (
    FiberFrame,
    FiberLayer,
    FiberSection,
    FrameMember,
    LeaningColumn,
    MemberLoad,
    PermanentLoad,
    Rayleigh,
)

ITERATIONS = 8
"""Of the state determination in a step: OpenSees iterates to convergence."""


def fibre_frame(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    """The fibre frame; `NoCounterpart` names the part that has none."""
    if model.dimensions != 2:
        raise NoCounterpart(f"{model.script}: fibre frames are plane here.")
    bare = massless_of(model, assembled)
    if bare:
        raise NoCounterpart(
            f"{model.script}: every free motion of a fibre frame needs mass, and '{bare[0]}' has none; give it a "
            "small one, as mass(node, m, m, 1e-3)."
        )
    notes: list[str] = []
    tags = used_nodes(model)
    sections: dict[str, FiberSection] = {}
    members: list[FrameMember] = []
    became: dict[str, str] = {}
    for element in model.elements.values():
        if isinstance(element, SpringElement):
            continue
        became[f"element {element.definition.tag}"] = f"members[{len(members)}]"
        members.append(_member(element, model, units, tags, sections))
    leaning, leaned = _leaning(model, units)
    attachments, springs = attachments_of(model, assembled, units, without=leaned)
    damping = damping_of(model, assembled, units, notes, inside=leaned)
    if isinstance(damping, Rayleigh) and (model.rayleigh[1] or model.rayleigh[3]):
        notes.append(
            f"{model.rayleigh_where}: stiffness-proportional damping follows the current stiffness in the script "
            "(betaK, betaKcomm) and the one before any load here; OpenSees does the same with betaKinit"
        )
    loads, along = _loads(model, units, members)
    structure = FiberFrame(
        nodes=[tuple(v * units.length for v in model.nodes[tag].at) for tag in tags],
        members=members,
        sections=list(sections.values()),
        supports=supports_of(model, tags),
        masses=point_masses(model, units),
        loads=loads,
        member_loads=along,
        leaning=leaning,
        damping=damping,
        attachments=attachments,
        iterations=ITERATIONS,
        softening="allow",
        names=[str(tag) for tag in tags],
        ties=ties_of(model),
    )
    became |= {f"element {tag}": f"leaning[{i}]" for i, tag in enumerate(leaned)}
    became |= {f"section {name}": f"sections[{i}]" for i, name in enumerate(sections)}
    return Translation(structure, became | springs, notes)


def _member(element, model: ScriptModel, units: ScriptUnits, tags: list[int], sections: dict) -> FrameMember:
    title = element.definition.title
    if not isinstance(element, BeamElement | FibreElement):
        raise NoCounterpart(f"{title} stands beside members with fibres or P-Δ, and no fibre frame here has it.")
    transformation = model.transformations[element.transformation]
    nodes = tuple(tags.index(tag) for tag in element.nodes)
    ends = [np.array(model.nodes[tag].at) for tag in element.nodes]
    along = ends[1] - ends[0]
    first, last = offsets_of(transformation, 2) @ along / (along @ along)
    if not np.allclose(offsets_of(transformation, 2), np.outer([first, last], along)):
        raise NoCounterpart(f"{title} has rigid offsets that are not along it.")
    more = {"offsets": (first, -last), "p_delta": transformation.kind == "PDelta"}
    if isinstance(element, BeamElement):
        if element.shear is not None or element.release or (element.mass and element.consistent):
            raise NoCounterpart(f"{title} has shear, released ends or a consistent mass, which no member here has.")
        name = f"element {element.definition.tag}"
        e, a, i = element.stiffness
        height = np.sqrt(i / a) * units.length  # two fibres with the same EA and EI
        layer = FiberLayer(ElasticMaterial(e * units.stress), [-height, height], [0.5 * a * units.length**2] * 2)
        sections[name] = FiberSection(name, [layer])
        return FrameMember(nodes, name, "elastic", **more)
    if element.mass and element.consistent:
        raise NoCounterpart(f"{title} has a consistent mass, which no member with fibres here has.")
    rule = element.rule
    if rule[0] == "HingeRadau":
        if not rule[1] == rule[3] == rule[5]:
            raise NoCounterpart(f"{title} has different sections in its hinges; a member here has one.")
        how = {"integration": "hinge-radau", "hinges": [rule[2] * units.length, rule[4] * units.length]}
    elif rule[0] in ("Lobatto", "Legendre"):
        how = {"integration": f"gauss-{rule[0].lower()}", "points": rule[2]}
    else:
        raise NoCounterpart(
            f"{title} has the integration {rule[0]}; members here have Lobatto, Legendre or HingeRadau."
        )
    name = str(rule[1])
    if name not in sections:
        sections[name] = _section(model, rule[1], units)
    return FrameMember(nodes, name, element.formulation, **how, **more)


def _leaning(model: ScriptModel, units: ScriptUnits) -> tuple[list[LeaningColumn], list[int]]:
    """Springs of a negative stiffness along x, which are leaning columns of the height between their nodes; their
    tags."""
    columns, tags = [], []
    for element in model.elements.values():
        if not isinstance(element, SpringElement) or len(element.springs) != 1:
            continue
        (material, direction), ends = element.springs[0], [model.nodes[tag] for tag in element.nodes]
        stiffness, viscosity = first_slope(model, material)
        if stiffness >= 0 or not is_linear(model, material):
            continue
        row = spring_row(element, direction, ends, model)[ends[0].size :]
        height = abs(ends[1].at[1] - ends[0].at[1])
        if abs(row[0]) != 1.0 or viscosity or not height:
            raise NoCounterpart(
                f"{element.definition.title} has a negative stiffness, which only leaning columns have: springs along "
                "x between nodes of different height."
            )
        bottom, top = sorted(ends, key=lambda node: node.at[1])
        moving = [f"{node.tag}.x" for node in (top, bottom) if not node.fixed[0]]
        columns.append(LeaningColumn(-stiffness * height * units.force, height * units.length, *moving))
        tags.append(element.definition.tag)
    return columns, tags


def _section(model: ScriptModel, tag: int, units: ScriptUnits) -> FiberSection:
    """The fibres by material; those of one height become one."""
    if tag not in model.fibres:
        e, a, i = model.sections[tag].numbers(3)[:3]
        height = np.sqrt(i / a) * units.length
        layer = FiberLayer(ElasticMaterial(e * units.stress), [-height, height], [0.5 * a * units.length**2] * 2)
        return FiberSection(str(tag), [layer])
    by_material: dict[int, dict[float, float]] = {}
    for y, _, area, material in model.fibres[tag].fibres:
        own = by_material.setdefault(material, {})
        own[y] = own.get(y, 0.0) + area
    return FiberSection(
        str(tag),
        [
            FiberLayer(
                fibre_material(model, material, units.stress),
                [y * units.length for y in own],
                [area * units.length**2 for area in own.values()],
            )
            for material, own in by_material.items()
        ],
    )


def _loads(model: ScriptModel, units: ScriptUnits, members: list[FrameMember]):
    """Permanent loads at nodes and along members."""
    order = [tag for tag, e in model.elements.items() if not isinstance(e, SpringElement)]
    loads, along = [], []
    for load in model.permanent:
        if load.along:
            across, *more = load.values
            if any(more):
                raise NoCounterpart(
                    f"{load.where}: element {load.at} has a load along its axis, which is not computed here."
                )
            along.append(MemberLoad(-across * units.force / units.length, order.index(load.at)))
            continue
        for d, value in enumerate(load.values):
            if value and not model.nodes[load.at].fixed[d]:
                factor = units.force * (units.length if d == 2 else 1.0)
                loads.append(PermanentLoad(value * factor, place_name(model, load.at, d)))
    return loads, along
