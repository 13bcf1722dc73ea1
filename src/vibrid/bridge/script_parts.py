"""What scripts of several structures have: nodes, masses, springs, ties, damping, permanent loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vibrid.bridge.script_writer import ScriptWriter
from vibrid.core.errors import InputError
from vibrid.structures import Attachment, FiberFrame, Modal, Rayleigh, RayleighRatio
from vibrid.structures.assembled import Assembled

GROUND_TAGS = 100_000
"""Tags of nodes on the ground that springs need begin here."""


def write_nodes(structure: Any, writer: ScriptWriter, size: int) -> list[int]:
    """Nodes and supports; the tag of each: its name where that is a number, otherwise its place from 1."""
    names = structure.names
    tags = [int(name) for name in names] if names and all(n.isdigit() for n in names) else []
    tags = tags if len(set(tags)) == len(structure.nodes) else list(range(1, len(structure.nodes) + 1))
    writer.add("model", "basic", "-ndm", len(structure.nodes[0]), "-ndf", size)
    for tag, point in zip(tags, structure.nodes, strict=True):
        writer.add("node", tag, *point)
    nodes = structure.nodes_and_supports()
    held = np.zeros((nodes.count, size), int)
    for node, kinds in nodes.supports:
        for kind in kinds:
            for direction in nodes.kinds.get(kind, (kind,)):
                held[nodes.number(node), nodes.directions.index(direction)] = 1
    for tag, flags in zip(tags, held, strict=True):
        if flags.any():
            writer.add("fix", tag, *map(int, flags))
    return tags


def write_masses(structure: Any, writer: ScriptWriter, tags: list[int], with_elements: bool) -> None:
    nodes = structure.nodes_and_supports()
    k = len(nodes.directions)
    if with_elements:
        whole = np.asarray(structure._whole_mass())
        mass = np.diag(whole)
        if np.any(whole != np.diag(mass)):
            raise InputError("Masses between nodes are not written for OpenSees; put them on nodes.")
    else:
        mass = np.zeros(nodes.size)
        for point in structure.masses:
            node = nodes.number(point.at) if "@" not in point.at else None
            if node is None:
                raise InputError(
                    f"The mass at '{point.at}' is between nodes, where OpenSees has none; put a node there."
                )
            mass[node * k : (node + 1) * k] += [float(point.inertia(d)) for d in nodes.directions]
    writer.say("masses")
    for tag, own in zip(tags, mass.reshape(-1, k), strict=True):
        if np.any(own):
            writer.add("mass", tag, *own)


def write_attachments(structure: Any, writer: ScriptWriter, tags: list[int], directions: Sequence[str]) -> None:
    nodes = structure.nodes_and_supports()
    attachments: tuple[Attachment, ...] = structure.attachments
    ground: dict[int, int] = {}
    for i, attachment in enumerate(attachments):
        places = [nodes.split(p) for p in (attachment.at, attachment.to) if p is not None]
        if any("@" in where or not direction for where, direction in places):
            raise InputError(f"Attachment {i} is between nodes, where OpenSees has no springs; put a node there.")
        if len({direction for _, direction in places}) > 1:
            raise InputError(f"Attachment {i} joins two directions, which a spring of OpenSees does not.")
        numbers = [nodes.number(where) for where, _ in places]
        material = writer.material(attachment.law, f"attachments[{i}].law")
        if len(numbers) == 1:
            if numbers[0] not in ground:
                ground[numbers[0]] = GROUND_TAGS + len(ground)
                writer.add("node", ground[numbers[0]], *structure.nodes[numbers[0]])
                writer.add("fix", ground[numbers[0]], *[1] * len(directions))
            first = ground[numbers[0]]
        else:
            first = tags[numbers[1]]
        d = directions.index(places[0][1])
        axis = 6 if places[0][1] == "rotation" else d + 1
        writer.element("zeroLength", first, tags[numbers[0]], "-mat", material, "-dir", axis)


def write_ties(structure: Assembled, writer: ScriptWriter, tags: list[int]) -> None:
    nodes = structure.nodes_and_supports()
    for tie in nodes.ties:
        ends = tags[nodes.number(tie.to)], tags[nodes.number(tie.node)]
        if tie.rigid:
            if set(tie.along) != set(nodes.directions) or len(nodes.directions) != 3:
                raise InputError(
                    f"The rigid tie of node {tie.node} leaves a direction free, which OpenSees' rigidLink does not."
                )
            writer.add("rigidLink", "beam", *ends)
        else:
            writer.add("equalDOF", *ends, *(nodes.directions.index(d) + 1 for d in tie.along))


def write_damping(structure: Any, writer: ScriptWriter) -> None:
    damping = structure.damping
    if damping is None:
        return
    if isinstance(damping, RayleighRatio):
        unit = Rayleigh.from_ratios(damping.frequencies, 1.0)
        damping = Rayleigh(unit.mass * damping.ratio, unit.stiffness * damping.ratio)
    if isinstance(damping, Modal):
        if structure.attachments:
            raise InputError(
                "Modal damping is not written for OpenSees beside attachments, which would take part in its modes; "
                "give the structure Rayleigh damping."
            )
        given, count = np.atleast_1d(np.asarray(damping.ratios)), structure.matrices()[0].shape[0]
        ratios = [*given[:count], *[given[-1]] * (count - len(given))]
        writer.say("damping: of every mode before any load")
        writer.add("eigen", "-fullGenLapack", count)
        writer.add("modalDamping", *ratios)
        return
    if not isinstance(damping, Rayleigh):
        raise InputError(f"OpenSees has no damping like {type(damping).__name__}; give the structure Rayleigh damping.")
    writer.say("damping: of the mass and of the stiffness at rest")
    writer.add("rayleigh", damping.mass, 0.0, damping.stiffness, 0.0)


def write_permanent_loads(frame: FiberFrame, writer: ScriptWriter, tags: list[int]) -> None:
    nodes = frame.nodes_and_supports()
    writer.say("permanent loads, applied and held")
    writer.add("timeSeries", "Linear", 1)
    writer.add("pattern", "Plain", 1, 1)
    for load in frame.loads:
        where, direction = nodes.split(load.at)
        values = [float(load.force) * (d == direction) for d in nodes.directions]
        writer.add("load", tags[nodes.number(where)], *values)
    for line in frame.member_loads:
        writer.add("eleLoad", "-ele", line.member + 1, "-type", "-beamUniform", -line.load)
    writer.add("constraints", "Transformation")
    writer.add("numberer", "RCM")
    writer.add("system", "UmfPack")
    writer.add("test", "NormDispIncr", 1e-10, 100)
    writer.add("algorithm", "Newton")
    writer.add("integrator", "LoadControl", 1.0 / frame.load_steps)
    writer.add("analysis", "Static")
    writer.add("analyze", frame.load_steps)
    writer.add("loadConst", "-time", 0.0)
    writer.add("wipeAnalysis")
