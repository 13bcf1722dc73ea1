"""A linear model as matrices: assembled from the recorded commands, degrees of freedom without mass condensed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.bridge.assembly import AssembledScript, spring_row
from vibrid.bridge.description import BarElement, FibreElement, ScriptModel, SpringElement
from vibrid.bridge.hinges import check_side
from vibrid.bridge.materials import first_slope, is_linear, spring_law
from vibrid.bridge.native import Translation, damping_matrix, damping_of, dof_units, place_name, spring_use
from vibrid.bridge.units import ScriptUnits
from vibrid.core.errors import InputError
from vibrid.structures import Attachment, Explicit, Matrices


@dataclass(frozen=True)
class Joined:
    """A nonlinear spring between degrees of freedom with mass, which stays a law beside the matrices."""

    element: SpringElement
    material: int
    direction: int
    row: np.ndarray  # over the independent degrees of freedom


def joined_springs(model: ScriptModel, assembled: AssembledScript) -> list[Joined]:
    """The nonlinear springs that a condensed model keeps: along one degree of freedom, between places with mass, not
    deformed by permanent loads before the motion."""
    heavy = set(map(int, assembled.condensed()[2]))
    found = []
    for element in model.elements.values():
        if not isinstance(element, SpringElement) or model.permanent:
            continue
        ends = [model.nodes[tag] for tag in element.nodes]
        dofs = [assembled.places.index((end.tag, i)) for end in ends for i in range(end.size)]
        for material, direction in element.springs:
            whole = np.zeros(len(assembled.places))
            whole[dofs] += spring_row(element, direction, ends, model)
            row = whole @ assembled.transformation
            moved = np.flatnonzero(np.abs(row) > 1e-12)
            along = 0 < len(moved) <= 2 and np.allclose(np.abs(row[moved]), 1.0) and abs(row[moved].sum()) < 1 + 1e-12
            if along and heavy >= set(map(int, moved)) and not is_linear(model, material):
                found.append(Joined(element, material, direction, row))
    return found


def frozen_parts(model: ScriptModel, assembled: AssembledScript) -> list[str]:
    """Elements whose law is not linear and that cannot stay laws: in matrices they keep the slope they have at rest."""
    kept = {(j.element.definition.tag, j.material) for j in joined_springs(model, assembled)}
    found = []
    for element in model.elements.values():
        tags: list[int] = []
        if isinstance(element, BarElement):
            tags = [element.material]
        elif isinstance(element, SpringElement):
            tags = [material for material, _ in element.springs]
        elif isinstance(element, FibreElement):
            sections = {element.rule[1]} if len(element.rule) == 3 else {element.rule[i] for i in (1, 3, 5)}
            tags = sorted({m for s in sections if s in model.fibres for *_, m in model.fibres[s].fibres})
        for tag in dict.fromkeys(t for t in tags if not is_linear(model, t)):
            if (element.definition.tag, tag) in kept:
                continue
            kind = model.materials[tag].kind
            found.append(f"{element.definition.title} keeps the first slope of material {tag} ({kind})")
    return found


def condense(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    """Matrices over the degrees of freedom with mass; those without follow them as in statics, which is exact."""
    names = [place_name(model, *assembled.places[dof]) for dof in assembled.independent]
    mass, stiffness, heavy = assembled.condensed()
    dashpots = assembled.reduced(assembled.dashpots)
    light = np.setdiff1d(np.arange(len(names)), heavy)
    if np.any(dashpots[light]):
        raise InputError(
            f"{model.script}: a dashpot acts on a degree of freedom without mass ({names[light[0]]} is one); give it a "
            "small mass."
        )
    turned = dof_units(model, assembled, units)[heavy]
    scale = units.force * units.length / np.outer(turned, turned)
    joined = joined_springs(model, assembled)
    attachments, became, dashpots = [], {}, dashpots[np.ix_(heavy, heavy)]
    for spring in joined:
        slope, viscosity = first_slope(model, spring.material)
        row = spring.row[heavy]
        stiffness = stiffness - slope * np.outer(row, row)
        dashpots = dashpots - viscosity * np.outer(row, row)
        ends = sorted(np.flatnonzero(np.abs(row) > 1e-12), key=lambda dof, row=row: -row[dof])
        turns = assembled.places[assembled.independent[heavy[ends[0]]]][1] >= model.dimensions
        check_side(model, spring.element, spring.material, bool(row[ends[0]] < 0))
        law = spring_law(model, spring.material, spring_use(turns, units))
        title = f"element {spring.element.definition.tag}, direction {spring.direction}"
        became[title] = f"attachments[{len(attachments)}].law"
        attachments.append(Attachment(law, *(names[heavy[end]] for end in ends)))
    damping = _damping(model, assembled, units, dashpots * scale * units.time, bool(joined))
    axes = {}
    for d, axis in enumerate(("x", "y", "z")[: model.dimensions]):
        rigid = np.array([float(direction == d) for _, direction in assembled.places])
        pushed = (assembled.transformation.T @ assembled.mass @ rigid)[heavy]
        moved = rigid[list(assembled.independent)][heavy]
        if not np.allclose(pushed, mass @ moved, rtol=1e-12, atol=1e-12 * np.abs(mass).max()):
            raise InputError(
                f"{model.script}: elements with a consistent mass (-cMass) or rigid floors end at supports, whose "
                "motion matrices alone do not have; use a lumped mass."
            )
        if np.any(moved):
            axes[axis] = moved.tolist()
    structure = Matrices(
        mass * scale * units.time**2, stiffness * scale, names=[names[i] for i in heavy], influence=axes or None,
        damping=damping, attachments=attachments,
    )  # fmt: skip
    return Translation(structure, became, [f"frozen: {text}" for text in frozen_parts(model, assembled)])


def _damping(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits, dashpots: np.ndarray, joined: bool):
    """Rayleigh damping where it follows all of M and K; otherwise, and beside laws, a matrix."""
    whole = (
        not joined
        and np.array_equal(assembled.mass, assembled.damped_mass)
        and np.array_equal(assembled.stiffness, assembled.damped)
    )
    if not np.any(dashpots) and whole:
        return damping_of(model, assembled, units, [])
    c = damping_matrix(model, assembled, units) + dashpots
    return Explicit(c) if np.any(c) else None
