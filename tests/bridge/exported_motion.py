"""The motion that a stored exported script records, by the structure it was written from."""

import re

import numpy as np
from exported import FINE, SCRIPTS, STEP, TWO_COMPONENTS, motion, motion_across
from scipy.linalg import eigh

import vibrid as vb

LOOSE = {"smooth.py": 2e-3, "building.py": 2e-8}
"""OpenSees moves the state of BoucWen by backward Euler, of order 1 in its step, and stops at 1e-10 m the slow
iterations that the dashpot with a power of the velocity needs."""
UNDER_LOAD = {"fibre_frame.py"}
"""OpenSees' eigenvalues are those under the permanent loads, with P-Δ and cracked concrete."""
DIRECTIONS = {1: "x", 2: "y", 3: "z", 6: "rotation"}


def rows_of(structure, name):
    """The motion of each recorded column, from the lists in the script: nodes, and their degrees of freedom."""
    text = (SCRIPTS / name).read_text()
    tags = [int(v) for v in re.search(r"nodes = \[(.*)\]", text)[1].split(",")]
    dofs = [int(v) for v in re.search(r'"-dof", (.*), "disp"', text)[1].split(",")]
    at = {int(m[1]): (float(m[2]), float(m[3])) for m in re.finditer(r"ops.node\((\d+), ([^,)]+), ([^,)]+)", text)}
    for tag in tags:
        for dof in dofs:
            if isinstance(structure, vb.ShearBuilding | vb.Matrices):
                yield structure.row(str(tag - 1))
            elif isinstance(structure, vb.RigidFloorBuilding):
                x, y = at[tag]
                yield structure.row(f"{tag // 10 - 1}@{x!r},{y!r}.{DIRECTIONS[dof]}")
            else:
                node = structure.names.index(str(tag)) if structure.names else tag - 1
                called = structure.names[node] if structure.names else str(node)
                try:
                    yield structure.row(f"{called}.{DIRECTIONS[dof]}")
                except vb.InputError:
                    yield None  # massless: it follows others


def recorded(structure, name) -> np.ndarray:
    """(samples, columns) displacements in m, as the script records them; NaN where a place follows others."""
    refine = FINE.get(name, 1)
    across = [motion_across()] if name in TWO_COMPONENTS else []
    channels = [vb.Channel(f"g{d}", "ground_acceleration", direction=d) for d in "xy"[: 1 + len(across)]]
    if isinstance(structure, vb.ShearBuilding | vb.Matrices):
        channels = [vb.Channel("g", "ground_acceleration")]
    ground = vb.Record(np.stack([motion(), *across], axis=1), channels, step=STEP)
    response = vb.simulate(structure, ground, integrator=vb.Newmark(), substeps=refine)
    shift = np.asarray(structure.permanent().x) if getattr(structure, "is_loaded", False) else 0.0
    moved = (response.displacement + shift)[5::5]
    return np.stack(
        [np.full(len(moved), np.nan) if row is None else moved @ row for row in rows_of(structure, name)], 1
    )


def squares(structure, count: int) -> np.ndarray:
    """ω² before any load, 1/s²."""
    mass, _, stiffness = structure.model(()).initial_matrices()
    return eigh(np.asarray(stiffness), np.asarray(mass), eigvals_only=True)[:count]


def gaps_of(structure, name, answered) -> tuple[float | None, float]:
    """How far frequencies (relative) and recorded motions (over the largest) are from those of OpenSees; None for
    frequencies under load."""
    wanted = np.array(answered["displacement"])[:, 1:]
    moved = recorded(structure, name)
    apart = float(np.nanmax(np.abs(moved - wanted)) / np.abs(wanted).max())
    if name in UNDER_LOAD:
        return None, apart
    ours = squares(structure, min(5, len(answered["eigenvalues"])))
    return float(np.abs(np.sqrt(ours / answered["eigenvalues"][: len(ours)]) - 1.0).max()), apart
