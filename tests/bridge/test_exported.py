"""Exported scripts, as OpenSees itself ran them (`exported.py`), against the structures they were written from."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import vibrid as vb

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from exported import FINE, RESULTS, SCRIPTS, STEP, TWO_COMPONENTS, answer, motion, motion_across
from exported_structures import STRUCTURES
from opensees_import import opensees

STORED = json.loads(RESULTS.read_text())
LOOSE = {"smooth.py": 2e-3, "pinched.py": 1e-6, "building.py": 2e-8}
"""OpenSees moves the state of BoucWen by backward Euler, of order 1 in its step, passes the bend of IMKPinching at the
end of a step, and stops at 1e-10 m the slow iterations that the dashpot with a power of the velocity needs."""
UNDER_LOAD = {"fibre_frame.py"}
"""OpenSees' eigenvalues are those under the permanent loads, with P-Δ and cracked concrete."""
DIRECTIONS = {1: "x", 2: "y", 3: "z", 6: "rotation"}


@pytest.fixture(scope="module")
def structures():
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = STRUCTURES[name]()
        return kept[name]

    return get


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_stored_script_is_what_is_written_today(structures, tmp_path, name):
    """Otherwise the results below would belong to another script: then write and run them again."""
    assert vb.to_opensees(structures(name), tmp_path / name).read_text() == (SCRIPTS / name).read_text()


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


@pytest.mark.parametrize("name", STRUCTURES)
def test_frequencies(structures, name):
    if name in UNDER_LOAD:
        return
    mass, _, stiffness = structures(name).model(()).initial_matrices()
    ours = eigh(np.asarray(stiffness), np.asarray(mass), eigvals_only=True)[:5]
    np.testing.assert_allclose(ours, STORED[name]["eigenvalues"][: len(ours)], rtol=1e-8)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_recorded_motion(structures, name):
    """To 1e-8 of the largest, every node and direction that the script records."""
    structure, refine = structures(name), FINE.get(name, 1)
    across = [motion_across()] if name in TWO_COMPONENTS else []
    channels = [vb.Channel(f"g{d}", "ground_acceleration", direction=d) for d in "xy"[: 1 + len(across)]]
    if isinstance(structure, vb.ShearBuilding | vb.Matrices):
        channels = [vb.Channel("g", "ground_acceleration")]
    ground = vb.Record(np.stack([motion(), *across], axis=1), channels, step=STEP)
    response = vb.simulate(structure, ground, integrator=vb.Newmark(), substeps=refine)
    stored = np.array(STORED[name]["displacement"])
    np.testing.assert_allclose(stored[:, 0], 5 * STEP * np.arange(1, len(stored) + 1), rtol=1e-9)
    rows = list(rows_of(structure, name))
    assert len(rows) == stored.shape[1] - 1 and sum(row is None for row in rows) <= 2
    shift = np.asarray(structure.permanent().x) if getattr(structure, "is_loaded", False) else 0.0
    for row, theirs in zip(rows, stored[:, 1:].T, strict=True):
        if row is None:
            continue
        ours = ((response.displacement + shift) @ row)[5::5]
        size = np.abs(stored[:, 1:]).max()
        assert np.abs(ours - theirs).max() <= LOOSE.get(name, 1e-8) * size


@pytest.mark.opensees
@pytest.mark.parametrize("name", STRUCTURES)
def test_stored_results_are_those_of_opensees(name):
    made = np.array(answer(opensees(), name)["displacement"])
    stored = np.array(STORED[name]["displacement"])
    np.testing.assert_allclose(made, stored, rtol=0, atol=1e-9 * np.abs(stored[:, 1:]).max())
