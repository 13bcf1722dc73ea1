"""Models of different kinds, imported, against OpenSees itself (`opensees_references.py`)."""

import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import VibridError

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from beside import CRACKED
from fresh import answer_of
from opensees_import import opensees
from opensees_references import (
    CASES,
    ELSEWHERE,
    FROZEN,
    MODELS,
    REFERENCES,
    STANDS_ON,
    STEP,
    TWO_COMPONENTS,
    motion,
    motion_across,
)

STORED = json.loads(REFERENCES.read_text())
GROUND = vb.Record(np.array(motion()), [vb.Channel("ground", "ground_acceleration", direction="x")], step=STEP)
BOTH = vb.Record(
    np.stack([motion(), motion_across()], axis=1),
    [vb.Channel(f"ground_{d}", "ground_acceleration", direction=d) for d in "xy"],
    step=STEP,
)
KINDS = {
    "portal.py": vb.Frame2D,
    "frame_kip.py": vb.Frame2D,
    "braced.py": vb.Frame2D,
    "braced_partly.py": vb.Frame2D,
    "truss_plane.py": vb.Truss,
    "truss_space.py": vb.Truss,
    "shear_linear.py": vb.ShearBuilding,
    "shear_yielding.py": vb.ShearBuilding,
    "shear_smooth.py": vb.ShearBuilding,
    "isolated.py": vb.Frame2D,
    "tuned_mass.py": vb.Frame2D,
    "consistent.py": vb.Frame2D,
    "two_ways.py": vb.Matrices,
    "building_space.py": vb.Matrices,
    "deep_beams.py": vb.Matrices,
    "offsets.py": vb.Matrices,
    "portal.tcl": vb.Frame2D,
    "storeys.tcl": vb.ShearBuilding,
    "arch.tcl": vb.Truss,
    "pier_fibres.py": vb.FiberFrame,
    "portal_fibres.py": vb.FiberFrame,
    "column_fibres.tcl": vb.FiberFrame,
    "p_delta_fibres.py": vb.FiberFrame,
    "p_delta.tcl": vb.FiberFrame,
    "plan_yielding.py": vb.RigidFloorBuilding,
    "modal_damping.py": vb.Frame2D,
    "modal_storeys.py": vb.ShearBuilding,
}
CONDENSED = {"building_space.py", "deep_beams.py", "offsets.py"}
FORCES = {
    "pier_fibres.py": 1e3,
    "portal_fibres.py": 1.0,
    "column_fibres.tcl": 4448.2216152605,
    "p_delta_fibres.py": 1e3,
}
"""N in the unit of force of fibre frames."""
SMOOTH = {"shear_smooth.py": 2e-3}
"""OpenSees moves the state of BoucWen by backward Euler, of order 1 in its step."""


@pytest.fixture(scope="module")
def imported():
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = vb.from_opensees(MODELS / name, units=CASES[name][0])
        return kept[name]

    return get


@pytest.mark.parametrize("name", CASES)
def test_kind_and_frequencies(imported, name):
    found = imported(name)
    assert type(found.structure) is KINDS[name] and found.native == (name not in CONDENSED)
    periods = [row.structure for row in found.compared if row.what.startswith("period")]
    if name in CRACKED:
        return  # OpenSees' eigenvalues are those under the permanent loads: `test_opensees_beside.py` has them at rest
    theirs = 2 * np.pi / np.sqrt(np.array(STORED[name]["eigenvalues"])[: len(periods)])
    np.testing.assert_allclose(periods, theirs, rtol=1e-8)


def watched(structure, place):
    if isinstance(structure, vb.ShearBuilding):
        return structure.row("roof")
    if isinstance(structure, vb.RigidFloorBuilding):
        return structure.row("roof@4.6,4.3.x")  # node 200
    return structure.row(place)


@pytest.mark.parametrize("name", CASES)
def test_motion(imported, name):
    """To 1e-8 of the peak at the same step: linear models, and yielding ones with converged iterations too."""
    _, metre, (node, direction), refine = CASES[name]
    structure = imported(name).structure
    ground = BOTH if name in TWO_COMPONENTS else GROUND
    response = vb.simulate(structure, ground, integrator=vb.Newmark(), substeps=refine)
    ours = (response.displacement @ watched(structure, f"{node}.{'xyz'[direction - 1]}"))[::5]
    theirs = np.array(STORED[name]["displacement"]) * metre
    assert np.abs(ours - theirs).max() <= SMOOTH.get(name, 1e-8) * np.abs(theirs).max()
    if name in STANDS_ON:
        shear, wanted = vb.simulation.base_shear(response)[::5], np.array(STORED[name]["base_shear"]) * FORCES[name]
        assert np.abs(shear - wanted).max() <= 1e-8 * np.abs(wanted).max()


@pytest.mark.opensees
@pytest.mark.parametrize("name", CASES)
def test_stored_results_are_those_of_opensees(name):
    opensees()
    made = answer_of("opensees_references", name)
    size = max(map(abs, STORED[name]["displacement"]))
    np.testing.assert_allclose(made["displacement"], STORED[name]["displacement"], rtol=0, atol=1e-9 * size)


def test_models_that_yield_do_yield(imported):
    """Otherwise the tests above would compare linear runs."""
    for name in ("shear_yielding.py", "storeys.tcl", "isolated.py", "two_ways.py", "plan_yielding.py"):
        response = vb.simulate(imported(name).structure, GROUND, integrator=vb.Newmark())
        assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(response.states)) > 1e-4, "plastic deformation in m"


def test_parameters_keep_their_meaning(imported):
    frame = imported("portal.py")
    assert frame.became["element 3"] == "modulus[2]"
    softer = frame.structure.replace({"modulus[2]": 1.05e11})
    assert vb.modes(softer, 1).frequencies[0] < vb.modes(frame.structure, 1).frequencies[0]
    storeys = imported("storeys.tcl")
    assert storeys.became["element 2"] == "storeys[1]" and storeys.became["node 3"] == "floor 2"
    kip, inch = 4448.2216152605, 0.0254
    np.testing.assert_allclose(storeys.structure.storeys[1].stiffness, 170 * kip / inch, rtol=1e-12)
    np.testing.assert_allclose(storeys.structure.storeys[1].yield_deformation, 0.35 * inch, rtol=1e-12)


def test_units_do_not_change_periods(imported):
    other = vb.from_opensees(MODELS / "portal.py", units="kip, in, s")
    np.testing.assert_allclose(
        vb.modes(other.structure).frequencies, vb.modes(imported("portal.py").structure).frequencies, rtol=1e-10
    )
    assert any("check the units" in note for note in other.notes)
    assert not any("check the units" in note for note in imported("portal.py").notes)


def test_modal_damping_keeps_its_ratios(imported):
    assert imported("modal_damping.py").structure.damping.ratios.tolist() == [0.02, 0.05, 0.0]
    assert imported("modal_storeys.py").structure.damping.ratios.tolist() == 0.03


def test_p_delta_matters_where_it_is_compared(imported):
    linear = vb.from_opensees(MODELS / "p_delta.tcl", units="kip, in, s", p_delta="ignore")
    assert type(linear.structure) is vb.Frame2D and any("is taken as Linear" in note for note in linear.notes)
    tops = [
        vb.simulate(s, GROUND, integrator=vb.Newmark()).displacement @ s.row("4.x")
        for s in (imported("p_delta.tcl").structure, linear.structure)
    ]
    assert np.abs(tops[0] - tops[1]).max() > 0.1 * np.abs(tops[0]).max()


def test_a_wrong_translation_would_be_found(monkeypatch):
    """The comparison is made with another assembly than the structure's."""
    from vibrid.bridge import native

    given = native._beam_numbers

    def wrong(element, model):
        e, a, i, density = given(element, model)
        return e, a, i * (1 + 1e-6), density

    monkeypatch.setattr(native, "_beam_numbers", wrong)
    with pytest.raises(VibridError, match=r"The stiffness of the translated structure differs .* between '3.x' and"):
        vb.from_opensees(MODELS / "portal.py", units="N, m, s")


def test_notes_say_what_became_of_loads_and_damping(imported):
    assert any("2 permanent loads" in note for note in imported("portal.tcl").notes)
    for name in ("truss_space.py", "braced_partly.py"):
        assert any("matrix of numbers" in note for note in imported(name).notes)
    assert any(
        "condensed to matrices: " in note and "deforms in shear" in note for note in imported("deep_beams.py").notes
    )
    assert "period 1" in repr(imported("portal.py")) and "native" in repr(imported("portal.py"))


def test_condensing_keeps_springs_as_laws():
    """Yielding isolators between places with mass stay what they are; the rest becomes numbers."""
    found = vb.from_opensees(MODELS / "isolated.py", units="kN, m, s", condense=True)
    assert isinstance(found.structure, vb.Matrices) and not found.native and len(found.structure.attachments) == 2
    assert not any(note.startswith("frozen: ") for note in found.notes)
    native = vb.from_opensees(MODELS / "isolated.py", units="kN, m, s").structure
    np.testing.assert_allclose(vb.modes(found.structure).frequencies, vb.modes(native).frequencies, rtol=1e-9)
    every = [[a.law for a in s.attachments if not a.law.is_linear] for s in (found.structure, native)]
    laws = [[(float(law.stiffness), float(law.yield_deformation)) for law in own] for own in every]
    assert len(laws[0]) == 2
    np.testing.assert_allclose(*laws, rtol=1e-12)


@pytest.mark.parametrize(("name", "what"), [("portal_fibres.py", "Steel01"), ("braced_yielding.py", "Steel01")])
def test_what_is_frozen_is_said_and_right_in_its_linear_range(name, what):
    """A tenth of the motion, to 1e-6 of OpenSees with its yielding parts; the whole motion yields."""
    units, metre, (node, _), _ = (CASES | ELSEWHERE)[name]
    found = vb.from_opensees(MODELS / name, units=units, condense=True)
    assert isinstance(found.structure, vb.Matrices) and not found.structure.attachments
    slopes = [note for note in found.notes if note.startswith("frozen: ") and "keeps the first slope" in note]
    assert slopes and all(what in note for note in slopes)
    for share, known, near in ((FROZEN[name], f"{name}, small", True), (1.0, name, False)):
        ground = vb.Record(
            share * np.array(motion()), [vb.Channel("g", "ground_acceleration", direction="x")], step=STEP
        )
        moved = vb.simulate(found.structure, ground, integrator=vb.Newmark()).displacement
        theirs = metre * np.array(STORED[known]["displacement"])
        apart = np.abs((moved @ found.structure.row(f"{node}.x"))[::5] - theirs).max() / np.abs(theirs).max()
        assert apart < 1e-6 if near else apart > 0.05


@pytest.mark.long
def test_springs_beside_matrices_move_as_in_opensees():
    """Far past their yielding; and the same reduced to the floors, where the frame between them is stiff."""
    found = vb.from_opensees(MODELS / "isolated.py", units="kN, m, s", condense=True).structure
    theirs = np.array(STORED["isolated.py"]["displacement"])
    keep = [f"{tag}.{d}" for tag in (11, 12, 21, 22) for d in ("x", "y")] + ["11.rotation", "12.rotation"]
    for structure, limit in ((found, 1e-8), (vb.reduce(found, keep), 1e-2)):
        moved = vb.simulate(structure, GROUND, integrator=vb.Newmark()).displacement @ structure.row("22.x")
        assert np.abs(moved[::5] - theirs).max() < limit * np.abs(theirs).max()
