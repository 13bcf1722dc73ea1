"""Recorded models of springs alone: a shear building, or masses that laws join."""

from __future__ import annotations

import numpy as np

from vibrid.bridge.assembly import AssembledScript, spring_row
from vibrid.bridge.description import ScriptModel, SpringElement
from vibrid.bridge.hinges import check_side
from vibrid.bridge.native import (
    NoCounterpart,
    Translation,
    damping_matrix,
    damping_of,
    dof_units,
    law_of,
    modal_of,
    place_name,
    spring_use,
)
from vibrid.bridge.units import ScriptUnits
from vibrid.laws.base import Law, Parallel
from vibrid.structures import Attachment, Explicit, Matrices, Modal, Rayleigh, ShearBuilding, Structure


def springs_alone(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    """A shear building where springs form a chain from the ground, otherwise masses joined by laws."""
    notes: list[str] = []
    mass = np.diag(assembled.reduced(assembled.mass)).copy()
    if np.any(assembled.reduced(assembled.mass) != np.diag(mass)) or not np.all(mass > 0):
        bare = [assembled.places[dof] for i, dof in enumerate(assembled.independent) if not mass[i] > 0]
        where = f"node {bare[0][0]} has no mass in degree of freedom {bare[0][1] + 1}" if bare else "masses are coupled"
        raise NoCounterpart(
            f"{model.script}: {where}; in a model of springs alone every free motion needs its own mass."
        )
    turned = dof_units(model, assembled, units)
    mass = mass * units.force * units.length * units.time**2 / turned**2
    joined: dict[tuple[int, ...], list[tuple[str, Law, list[int]]]] = {}
    signed: list[tuple[SpringElement, int, np.ndarray]] = []
    for element in model.elements.values():
        assert isinstance(element, SpringElement)
        ends = [model.nodes[tag] for tag in element.nodes]
        dofs = [assembled.places.index((end.tag, i)) for end in ends for i in range(end.size)]
        for material, direction in element.springs:
            whole = np.zeros(len(assembled.places))
            whole[dofs] += spring_row(element, direction, ends, model)
            row = whole @ assembled.transformation
            moved = np.flatnonzero(np.abs(row) > 1e-12)
            if not len(moved):
                continue
            if len(moved) > 2 or not np.allclose(np.abs(row[moved]), 1.0) or abs(row[moved].sum()) > 1 + 1e-12:
                raise NoCounterpart(f"{element.definition.title} is not along one degree of freedom.")
            turns = turned[moved[0]] == 1.0 and assembled.places[assembled.independent[moved[0]]][1] >= model.dimensions
            law = law_of(model, element, material, spring_use(turns, units))
            signed.append((element, material, row))
            joined.setdefault(tuple(int(i) for i in moved), []).append((str(element.definition.tag), law, _ends(row)))
    names = [place_name(model, *assembled.places[dof]) for dof in assembled.independent]
    every = all(e.rayleigh for e in model.elements.values() if isinstance(e, SpringElement))
    if model.modal and not any(model.rayleigh):
        damping = modal_of(model, assembled)
    elif every and any(model.rayleigh) and not model.modal:
        damping = Rayleigh(model.rayleigh[0] / units.time, sum(model.rayleigh[1:]) * units.time)
    else:
        damping = damping_of(model, assembled, units, notes)
    chain = _chain(joined, len(mass), {name.rpartition(".")[2] for name in names})
    if chain is not None and not isinstance(damping, Explicit):
        storeys = [_together([law for _, law, _ in joined[key]]) for _, key in chain]
        order = [dof for dof, _ in chain]
        for element, material, row in signed:  # a storey counts its upper floor minus its lower one
            upper = max(_ends(row), key=order.index)
            check_side(model, element, material, bool(row[upper] < 0))
        structure: Structure = ShearBuilding(mass[order], storeys, damping=damping)
        became = {f"node {names[dof].partition('.')[0]}": f"floor {i}" for i, dof in enumerate(order)}
        became |= {f"element {tag}": f"storeys[{i}]" for i, (_, key) in enumerate(chain) for tag, *_ in joined[key]}
        return Translation(structure, became, notes, {names[dof]: str(i) for i, dof in enumerate(order)})
    if isinstance(damping, Modal) or (
        every and sum(model.rayleigh[1:])
    ):  # attachments do not follow the damping of matrices
        damping = Explicit(damping_matrix(model, assembled, units))
    for element, material, row in signed:
        check_side(model, element, material, bool(row[_ends(row)[0]] < 0))
    every_spring = [spring for own in joined.values() for spring in own]
    attachments = [(tag, Attachment(law, *(names[i] for i in ends))) for tag, law, ends in every_spring]
    axes = sorted({name.rpartition(".")[2] for name in names} & {"x", "y", "z"})
    influence = {axis: [float(name.endswith(f".{axis}")) for name in names] for axis in axes}
    structure = Matrices(
        mass=mass, stiffness=np.zeros((len(mass),) * 2), damping=damping, names=names, influence=influence or None,
        attachments=[attachment for _, attachment in attachments],
    )  # fmt: skip
    became = {f"element {tag}": f"attachments[{i}].law" for i, (tag, _) in enumerate(attachments)}
    return Translation(structure, became, notes)


def _chain(joined: dict, size: int, directions: set[str]) -> list[tuple[int, tuple[int, ...]]] | None:
    """(degree of freedom, key of its springs) from the ground up, where the springs form one chain."""
    if len(directions) != 1 or len(joined) != size:
        return None
    grounded = [key for key in joined if len(key) == 1]
    if len(grounded) != 1:
        return None
    order, left = [(grounded[0][0], grounded[0])], [key for key in joined if len(key) == 2]
    while left:
        top = order[-1][0]
        following = [key for key in left if top in key]
        if len(following) != 1:
            return None
        key = following[0]
        order.append((key[0] if key[1] == top else key[1], key))
        left.remove(key)
    return order


def _ends(row: np.ndarray) -> list[int]:
    """The degrees of freedom of a spring, the one that lengthens it first."""
    return sorted((int(i) for i in np.flatnonzero(np.abs(row) > 1e-12)), key=lambda i: -row[i])


def _together(laws: list[Law]) -> Law:
    return laws[0] if len(laws) == 1 else Parallel(laws)
