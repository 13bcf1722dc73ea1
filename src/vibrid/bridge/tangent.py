"""A model as the matrices that OpenSees itself makes of it: at rest, or under the permanent loads of the script.

For parts that have no counterpart here (shells, walls, bearings) and for the slopes of a loaded state.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from vibrid.bridge.assembly import constraint_matrix
from vibrid.bridge.comparison import Compared
from vibrid.bridge.description import ScriptModel
from vibrid.bridge.native import Translation, place_name
from vibrid.bridge.opensees_beside import OpenSeesMatrices, ask_opensees
from vibrid.bridge.recording import Recording
from vibrid.bridge.units import ScriptUnits
from vibrid.core.errors import FileProblem, InputError
from vibrid.structures import Explicit, Matrices

_SHOWN = 6


def tangent_matrices(
    recording: Recording, model: ScriptModel, folder: Path, units: ScriptUnits, state: str, seconds: float
) -> tuple[Translation, list[Compared]]:
    """Matrices over the degrees of freedom with mass, and their mass and periods beside those of all equations.

    Arguments
        state: "rest" or "loaded".
    """
    found = ask_opensees(recording, folder, seconds, state)
    if isinstance(found, str):
        raise FileProblem(folder / recording.script, f"OpenSees makes no matrices of it: {found}.")
    places = [(node.tag, i) for node in model.nodes.values() for i in range(node.size)]
    _, independent = constraint_matrix(model, places)
    free = [places[i] for i in independent]
    if len(free) != len(found.mass):
        raise InputError(
            f"{recording.script}: OpenSees {found.version} has {len(found.mass)} equations, and the recorded nodes "
            f"and constraints {len(free)}; elements that add equations of their own are not understood."
        )
    order = np.ix_(*[found.order(free, model)] * 2)
    turned = np.array([units.length if d < model.dimensions else 1.0 for _, d in free])
    scale = units.force * units.length / np.outer(turned, turned)
    mass = found.mass[order] * scale * units.time**2
    damping, stiffness = found.damping[order] * scale * units.time, found.stiffness[order] * scale
    _check_symmetry(recording, stiffness)
    heavy, follows = _statics(recording, mass, damping, stiffness, free)
    axes = ("x", "y", "z")[: model.dimensions]
    rigid = {axis: np.array([float(direction == d) for _, direction in free]) for d, axis in enumerate(axes)}
    moved = {axis: row[heavy] for axis, row in rigid.items() if np.any(row[heavy])}
    m, c, k = mass[np.ix_(heavy, heavy)], follows.T @ damping @ follows, follows.T @ stiffness @ follows
    structure = Matrices(
        m, 0.5 * (k + k.T), names=[place_name(model, *free[i]) for i in heavy],
        influence={axis: row.tolist() for axis, row in moved.items()} or None, damping=Explicit(c) if c.any() else None,
    )  # fmt: skip
    rows = [
        Compared(f"mass moving in {axis}", float(rigid[axis] @ mass @ rigid[axis]), float(row @ m @ row), "kg")
        for axis, row in moved.items()
    ]
    theirs, ours = _periods(mass, stiffness)[:_SHOWN], _periods(m, k)[:_SHOWN]
    rows += [Compared(f"period {i}", a, b, "s") for i, (a, b) in enumerate(zip(theirs, ours, strict=False), 1)]
    return Translation(structure, {}, _notes(model, found, state)), rows


def _statics(recording: Recording, mass, damping, stiffness, free) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of freedom with mass, and how all follow them where the others follow as in statics."""
    heavy = np.flatnonzero(np.abs(mass).max(axis=0, initial=0.0) > 0)
    if not len(heavy):
        raise InputError(f"{recording.script}: the model has no mass that can move; give its nodes a mass.")
    light = np.setdiff1d(np.arange(len(mass)), heavy)
    follows = np.zeros((len(mass), len(heavy)))
    follows[heavy] = np.eye(len(heavy))
    if len(light):
        inner = stiffness[np.ix_(light, light)]
        if np.linalg.cond(inner) > 1e14:
            node, direction = free[light[int(np.abs(np.linalg.svd(inner)[2][-1]).argmax())]]
            raise InputError(
                f"{recording.script}: degree of freedom {direction + 1} of node {node} has neither mass nor stiffness; "
                "fix it or connect it."
            )
        follows[light] = -np.linalg.solve(inner, stiffness[np.ix_(light, heavy)])
        if np.abs((damping @ follows)[light]).max() > 1e-9 * max(np.abs(damping).max(), 1e-300):
            raise InputError(
                f"{recording.script}: degrees of freedom without mass are damped otherwise than they are stiff, so "
                "they do not follow the others; give them a small mass."
            )
    return heavy, follows


def _check_symmetry(recording: Recording, stiffness: np.ndarray) -> None:
    size = np.abs(stiffness).max()
    if np.abs(stiffness - stiffness.T).max() > 1e-8 * size:
        raise InputError(
            f"{recording.script}: the stiffness of OpenSees is not symmetric (a material of several directions that "
            "flows?), which matrices here have to be."
        )


def _periods(mass: np.ndarray, stiffness: np.ndarray) -> list[float]:
    """The longest periods, s: 1/ω² are the eigenvalues of M φ = λ K φ, also where M is singular."""
    lowest = eigh(stiffness, eigvals_only=True)[0]
    if lowest <= 0.0:
        return []  # not stable, or free to move
    values = eigh(mass, stiffness, eigvals_only=True)[::-1]
    return [float(2 * np.pi * np.sqrt(v)) for v in values if v > 1e-14 * values[0]]


def _notes(model: ScriptModel, found: OpenSeesMatrices, state: str) -> list[str]:
    """What was frozen, by kind of element, and the materials that are not linear."""
    when = "under the permanent loads" if state == "loaded" else "before any load"
    notes = [f"every part is a number of OpenSees {found.version}, its slope {when}"]
    kinds: dict[str, list[int]] = {}
    definitions = [element.definition for element in model.elements.values()]
    for definition in [*definitions, *(d for d in model.foreign if d.what == "element")]:
        kinds.setdefault(definition.kind, []).append(definition.tag)
    for kind, tags in kinds.items():
        shown = ", ".join(map(str, tags[:6])) + (", …" if len(tags) > 6 else "")
        notes.append(f"frozen: {kind}, {len(tags)} of the elements ({shown})")
    others = [d for d in model.foreign if d.what != "element"]
    bent = [m for m in (*model.materials.values(), *others) if m.kind not in ("Elastic", "ElasticIsotropic")]
    notes += [f"frozen: {m.title} keeps its slope" for m in bent]
    if model.modal:
        notes.append("modalDamping is not part of these matrices: give the structure damping of its own")
    return notes
