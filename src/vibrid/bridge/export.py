"""`to_opensees`: a structure as an OpenSees script, in Python or Tcl, in SI units (N, m, s)."""

from __future__ import annotations

import functools
from os import PathLike
from pathlib import Path

import numpy as np

from vibrid.bridge.script_parts import (
    GROUND_TAGS,
    write_attachments,
    write_damping,
    write_masses,
    write_nodes,
    write_permanent_loads,
    write_ties,
)
from vibrid.bridge.script_text import as_python, as_tcl
from vibrid.bridge.script_writer import ScriptWriter
from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.files import write_text
from vibrid.laws.base import Law
from vibrid.structures import (
    Explicit,
    FiberFrame,
    Frame2D,
    Matrices,
    RigidFloorBuilding,
    ShearBuilding,
    Structure,
    Truss,
)


@checked
def to_opensees(structure: Structure, path: str | PathLike[str]) -> Path:
    """Write a structure as an OpenSees script: Python where the file ends in .py, Tcl where it ends in .tcl.

    Units are N, m and s. The script builds the model with its damping and applies permanent loads; with a file of
    ground acceleration and a time step as arguments it runs the motion and records displacements. A law, damping or
    part that OpenSees has not is refused with its path.

    Example
        >>> to_opensees(building, "building.py")        # then: python building.py motion.txt 0.01
    """
    path = Path(path)
    if path.suffix.lower() not in (".py", ".tcl"):
        raise InputError(f"'{path}' should end in .py or .tcl.")
    writer = ScriptWriter()
    _write(structure, writer)
    text = as_python(writer.entries, path.name) if path.suffix.lower() == ".py" else as_tcl(writer.entries, path.name)
    return write_text(path, text)


@functools.singledispatch
def _write(structure: Structure, writer: ScriptWriter) -> None:
    raise InputError(
        f"A {type(structure).__name__} cannot be written for OpenSees; shear buildings, buildings in plan, plane "
        "frames, trusses, fibre frames and matrices can."
    )


# -- structures ----------------------------------------------------------------------------------------------------


@_write.register
def _(building: ShearBuilding, writer: ScriptWriter) -> None:
    writer.add("model", "basic", "-ndm", 1, "-ndf", 1)
    writer.say("floors, from the ground up")
    for i in range(building.floors + 1):
        writer.add("node", i, 0.0)
    writer.add("fix", 0, 1)
    for i, mass in enumerate(np.asarray(building.masses), 1):
        writer.add("mass", i, mass)
    writer.say("storeys")
    for name, law, rows in building.parts():
        floors = np.flatnonzero(np.asarray(rows)[0])
        ends = (0, floors[0] + 1) if len(floors) == 1 else (floors[0] + 1, floors[1] + 1)
        if law.components != 1:
            raise InputError(f"'{name}' has two deformations, which no material of OpenSees has.")
        writer.element("zeroLength", *map(int, ends), "-mat", writer.material(law, name), "-dir", 1, "-doRayleigh", 1)
    for i, attachment in enumerate(building.attachments):
        ends = [0 if p is None else int(np.argmax(building.row(p))) + 1 for p in (attachment.to, attachment.at)]
        writer.element("zeroLength", *ends, "-mat", writer.material(attachment.law, f"attachments[{i}].law"), "-dir", 1)
    if not isinstance(building.damping, Law | tuple):
        write_damping(building, writer)


@_write.register
def _(structure: Matrices, writer: ScriptWriter) -> None:
    """One node for each degree of freedom; every entry of K and of a matrix C is a spring between two nodes, what is
    left of a row a spring to the ground. Springs may be negative: their sum is the matrix."""
    mass, stiffness = (np.asarray(a) for a in structure.matrices())
    count, damping = len(mass), structure.damping
    if mass.ndim == 2 and np.any(mass != np.diag(np.diag(mass))):
        raise InputError("The mass matrix couples degrees of freedom, which no spring of OpenSees does; lump it.")
    if set(structure.ground_axes()) != {""} or np.any(np.asarray(structure.ground()) != 1.0):
        raise InputError(
            "OpenSees moves all nodes of the script with the ground, and 'influence' says otherwise; only matrices of "
            "one direction, with an influence of ones, are written."
        )
    c = np.asarray(damping.values) if isinstance(damping, Explicit) else np.zeros_like(stiffness)
    for what, matrix in (("stiffness", stiffness), ("damping", c)):
        if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-12 * np.abs(matrix).max()):
            raise InputError(f"The {what} matrix is not symmetric, so that no springs of OpenSees form it.")
    writer.add("model", "basic", "-ndm", 1, "-ndf", 1)
    names = structure.names or tuple(map(str, range(count)))
    writer.say(f"degrees of freedom, from node 1: {', '.join(names)}")
    for i in range(count + 1):
        writer.add("node", i, 0.0)
    writer.add("fix", 0, 1)
    for i, own in enumerate(np.diag(mass) if mass.ndim == 2 else mass, 1):
        writer.add("mass", i, own)
    writer.say("entries of the matrices")
    for i in range(count):
        for j in range(i + 1):
            k, eta = (m[i].sum() if i == j else -m[i, j] for m in (stiffness, c))
            if k or eta:
                material = writer.define("Elastic", k, *([eta] if eta else []))
                foot = 0 if i == j else j + 1
                writer.element("zeroLength", foot, i + 1, "-mat", material, "-dir", 1, "-doRayleigh", 1)
    for i, attachment in enumerate(structure.attachments):
        ends = [0 if p is None else int(np.argmax(structure.row(p))) + 1 for p in (attachment.to, attachment.at)]
        writer.element("zeroLength", *ends, "-mat", writer.material(attachment.law, f"attachments[{i}].law"), "-dir", 1)
    if not isinstance(damping, Explicit):
        write_damping(structure, writer)


@_write.register
def _(building: RigidFloorBuilding, writer: ScriptWriter) -> None:
    if float(building.incidence):
        raise InputError("OpenSees moves the ground along the axes of the plan: turn the record, not the building.")
    writer.add("model", "basic", "-ndm", 3, "-ndf", 6)
    ends = [(building.split(a.at), None if a.to is None else building.split(a.to)) for a in building.attachments]
    points = list(dict.fromkeys([*(line.at for line in building.lines), *(at[1] for at, _ in ends)]))
    floor = 10 ** len(str(len(points)))  # tags: floor number from 1 times this, plus the number of the point
    writer.say("points of the ground and the floors, above each other, in one plane: springs have no length")
    for level in range(building.floors + 1):
        for i, (x, y) in enumerate(points, 1):
            writer.add("node", level * floor + i, x, y, 0.0)
            writer.add("fix", level * floor + i, *((1,) * 6 if level == 0 else (0, 0, 1, 1, 1, 0)))
    writer.say("centres of mass and rigid floors")
    each = [np.broadcast_to(np.asarray(v), (building.floors,)) for v in (building.masses, building.rotary)]
    centres = [np.broadcast_to(np.asarray(v), (building.floors,)) for v in (building.centre_x, building.centre_y)]
    for level, (mass, rotary, x, y) in enumerate(zip(*each, *centres, strict=True), 1):
        writer.add("node", level * floor, x, y, 0.0)
        writer.add("fix", level * floor, 0, 0, 1, 1, 1, 0)
        writer.add("mass", level * floor, mass, mass, 0.0, 0.0, 0.0, rotary)
        writer.add("rigidDiaphragm", 3, level * floor, *(level * floor + i for i in range(1, len(points) + 1)))
    writer.say("frame lines")
    for i, line in enumerate(building.lines):
        c, s = line.along
        orient = () if line.direction in ("x", "y") else ("-orient", c, s, 0.0, -s, c, 0.0)
        for storey, law in enumerate(line.storeys):
            foot = storey * floor + points.index(line.at) + 1
            material = writer.material(law, f"lines[{i}].storeys[{storey}]")
            along = ("-dir", 2 if line.direction == "y" else 1, *orient)
            writer.element("zeroLength", foot, foot + floor, "-mat", material, *along, "-doRayleigh", 1)
    for i, ((level, point, direction), to) in enumerate(ends):
        if to is not None and to[1:] != (point, direction):
            raise InputError(f"Attachment {i} joins two points or directions, which a spring of OpenSees does not.")
        material = writer.material(building.attachments[i].law, f"attachments[{i}].law")
        number = points.index(point) + 1
        foot = number + (0 if to is None else (to[0] + 1) * floor)
        along = ("-dir", {"x": 1, "y": 2, "rotation": 6}[direction])
        writer.element("zeroLength", foot, number + (level + 1) * floor, "-mat", material, *along)
    write_damping(building, writer)


@_write.register
def _(frame: Frame2D, writer: ScriptWriter) -> None:
    tags = write_nodes(frame, writer, 3)
    count = len(frame.elements)
    each = {
        name: np.broadcast_to(np.asarray(getattr(frame, name)), (count,))
        for name in ("modulus", "area", "inertia", "density")
    }
    lumped = frame.mass_model == "lumped" and bool(np.any(each["density"]))
    write_masses(frame, writer, tags, with_elements=lumped)
    writer.say("elements")
    writer.add("geomTransf", "Linear", 1)
    for i, (a, b) in enumerate(frame.elements):
        e, area, inertia, density = (float(each[name][i]) for name in ("modulus", "area", "inertia", "density"))
        if inertia == 0.0:
            if density and not lumped:
                raise InputError(f"Element {i} is a bar with a consistent mass, which a bar of OpenSees here has not.")
            writer.element("truss", tags[a], tags[b], area, writer.define("Elastic", e), "-doRayleigh", 1)
        elif density and not lumped:  # the inertia of an elasticBeamColumn is applied twice by OpenSees 3.7.1
            writer.add("section", "Elastic", i + 1, e, area, inertia)
            writer.add("beamIntegration", "Legendre", i + 1, i + 1, 3)
            mass = ("-cMass", "-mass", density * area)
            writer.element("dispBeamColumn", tags[a], tags[b], 1, i + 1, *mass)
        else:
            writer.element("elasticBeamColumn", tags[a], tags[b], area, e, inertia, 1)
    write_attachments(frame, writer, tags, ("x", "y", "rotation"))
    write_ties(frame, writer, tags)
    write_damping(frame, writer)


@_write.register
def _(truss: Truss, writer: ScriptWriter) -> None:
    tags = write_nodes(truss, writer, len(truss.directions))
    write_masses(truss, writer, tags, with_elements=False)
    writer.say("bars")
    count = len(truss.bars)
    each = {n: np.broadcast_to(np.asarray(getattr(truss, n)), (count,)) for n in ("modulus", "area", "density")}
    for i, (a, b) in enumerate(truss.bars):
        e, area, density = (float(each[name][i]) for name in ("modulus", "area", "density"))
        mass = ("-rho", density * area, "-cMass", 0 if truss.mass_model == "lumped" else 1) if density else ()
        writer.element("truss", tags[a], tags[b], area, writer.define("Elastic", e), *mass, "-doRayleigh", 1)
    write_attachments(truss, writer, tags, truss.directions)
    write_ties(truss, writer, tags)
    write_damping(truss, writer)


@_write.register
def _(frame: FiberFrame, writer: ScriptWriter) -> None:
    tags = write_nodes(frame, writer, 3)
    write_masses(frame, writer, tags, with_elements=True)
    sections = {}
    for number, section in enumerate(frame.sections, 1):
        writer.say(f"section {section.name}")
        sections[section.name] = number
        layers = [(writer.material(law, f"sections[{number - 1}]"), y, a) for law, y, a in section.layers()]
        writer.add("section", "Fiber", number)
        for material, heights, areas in layers:
            for y, area in zip(np.asarray(heights), np.asarray(areas), strict=True):
                writer.add("fiber", y, 0.0, area, material)
    writer.say("members")
    for i, member in enumerate(frame.members):
        along = np.subtract(frame.nodes[member.nodes[1]], frame.nodes[member.nodes[0]])
        first, last = member.offsets[0] * along, -member.offsets[1] * along
        offset = ("-jntOffset", *first, *last) if any(member.offsets) else ()
        writer.add("geomTransf", "PDelta" if member.p_delta else "Linear", i + 1, *offset)
        tag = sections[member.section]
        if member.formulation == "elastic":
            writer.element("elasticBeamColumn", *(tags[n] for n in member.nodes), *_elastic_numbers(frame, i), i + 1)
            continue
        if member.integration == "hinge-radau":
            a, b = np.asarray(frame._hinges(i))
            writer.add("beamIntegration", "HingeRadau", i + 1, tag, a, tag, b, tag)
        else:
            rule = {"gauss-lobatto": "Lobatto", "gauss-legendre": "Legendre"}[member.integration]
            writer.add("beamIntegration", rule, i + 1, tag, member.points)
        kind = {"force": "forceBeamColumn", "displacement": "dispBeamColumn"}[member.formulation]
        more = ("-iter", 100, 1e-12) if member.formulation == "force" else ()
        writer.element(kind, *(tags[n] for n in member.nodes), i + 1, i + 1, *more)
    _leaning(frame, writer, tags)
    write_attachments(frame, writer, tags, ("x", "y", "rotation"))
    write_ties(frame, writer, tags)
    write_damping(frame, writer)
    if frame.is_loaded:
        write_permanent_loads(frame, writer, tags)


def _leaning(frame: FiberFrame, writer: ScriptWriter, tags: list[int]) -> None:
    """Leaning columns as springs of the stiffness −P/h between the ends of a storey."""
    nodes = frame.nodes_and_supports()
    for i, column in enumerate(frame.leaning):
        ends = [nodes.split(place) for place in (column.top, column.bottom) if place is not None]
        if any(direction != "x" for _, direction in ends):
            raise InputError(f"Leaning column {i} is not along x, where its spring of OpenSees would be; take it out.")
        top, *bottom = (nodes.number(where) for where, _ in ends)
        writer.say(f"leaning column {i}: {float(column.load):g} N over {float(column.height):g} m")
        foot = tags[bottom[0]] if bottom else 2 * GROUND_TAGS + i
        if not bottom:
            x, y = frame.nodes[top]
            writer.add("node", foot, x, y - float(column.height))
            writer.add("fix", foot, 1, 1, 1)
        material = writer.define("Elastic", -column.load / column.height)
        writer.element("zeroLength", foot, tags[top], "-mat", material, "-dir", 1, "-doRayleigh", 1)


def _elastic_numbers(frame: FiberFrame, member: int) -> tuple[float, float, float]:
    """A, E and I of an elastic member, whose fibres are of one modulus about their own axis."""
    layers = frame.section_of(frame.members[member]).layers()
    moduli = {float(law.initial_modulus()) for law, _, _ in layers}
    y, a = (np.concatenate([np.asarray(layer[k]) for layer in layers]) for k in (1, 2))
    if len(moduli) > 1 or abs(y @ a) > 1e-9 * (np.abs(y) @ a):
        raise InputError(
            f"Member {member} is elastic with fibres of several moduli, which OpenSees has not; use force."
        )
    return float(a.sum()), moduli.pop(), float(y**2 @ a)
