"""Recorded commands passed on to OpenSees: its matrices beside those assembled here, and as a structure."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import vibrid as vb
from vibrid.bridge import opensees_beside
from vibrid.bridge.reader import models_of
from vibrid.bridge.scripts import record_script
from vibrid.project import load_project

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from beside import ANSWERS, ASKED, CRACKED, answer
from opensees_import import opensees
from opensees_references import CASES, MODELS, REFERENCES, STEP, motion

STORED = json.loads(ANSWERS.read_text())
MOTIONS = json.loads(REFERENCES.read_text())


@pytest.fixture
def stored(monkeypatch):
    """OpenSees answers as it did; `change` may touch the answer."""

    def use(change=lambda found: found):
        def answers(recording, folder, seconds, state):
            return change(dict(STORED[f"{recording.script} {state}"]))

        monkeypatch.setattr(opensees_beside, "is_installed", lambda: True)
        monkeypatch.setattr(opensees_beside, "answer_of", answers)

    return use


@pytest.mark.parametrize("name", ["braced_partly.py", "plan_yielding.py"])
def test_the_same_matrices_are_said(stored, name):
    stored()
    notes = vb.from_opensees(MODELS / name, units=CASES[name][0], opensees="need").notes
    assert any(note.startswith("OpenSees 3.7.1 makes the same mass, stiffness, damping") for note in notes)


@pytest.mark.parametrize("name", CRACKED)
def test_frequencies_before_any_load(stored, name):
    """Of cracked models `references.json` has those under their loads only."""
    stored()
    found = vb.from_opensees(MODELS / name, units=CASES[name][0], opensees="need")
    assert any(note.startswith("OpenSees 3.7.1 makes the same mass, stiffness, damping") for note in found.notes)
    (recording,) = models_of(record_script(MODELS / name))
    theirs = opensees_beside.ask_opensees(recording, MODELS, 60.0)
    wanted = np.sqrt(eigh(theirs.stiffness, theirs.mass, eigvals_only=True)) / (2 * np.pi)
    ours = vb.modes(found.structure).frequencies
    assert len(ours) >= min(3, len(wanted))
    np.testing.assert_allclose(ours, wanted[: len(ours)], rtol=1e-8)


def test_other_matrices_are_refused(stored):
    """As if vibrid read a command otherwise than OpenSees."""

    def softer(found):
        return found | {"stiffness": found["damping"]}

    stored(softer)
    with pytest.raises(vb.InputError, match=r"OpenSees 3.7.1 has another stiffness between degree of freedom .* off"):
        vb.from_opensees(MODELS / "braced_partly.py", units="kN, m, s")
    vb.from_opensees(MODELS / "braced_partly.py", units="kN, m, s", opensees="off")


def test_what_opensees_does_not_take_is_said(stored):
    stored(lambda found: {"problem": "m.py, line 3: OpenSees does not take 'node 1'"})
    notes = vb.from_opensees(MODELS / "braced_partly.py", units="kN, m, s").notes
    assert any("not compared with OpenSees: m.py, line 3" in note for note in notes)
    with pytest.raises(vb.FileProblem, match=r"not compared with OpenSees: m\.py, line 3"):
        vb.from_opensees(MODELS / "braced_partly.py", units="kN, m, s", opensees="need")


def test_without_opensees():
    assert not any("OpenSees" in n for n in vb.from_opensees(MODELS / "portal.py", units="N, m, s").notes)
    with pytest.raises(vb.FileProblem, match="OpenSeesPy is not installed"):
        vb.from_opensees(MODELS / "portal.py", units="N, m, s", opensees="need")
    with pytest.raises(vb.FileProblem, match="OpenSees makes no matrices of it: OpenSeesPy is not installed"):
        vb.from_opensees(MODELS / "wall.py", units="N, m, s", tangent="rest")
    with pytest.raises(vb.InputError, match=r"line 7: nDMaterial 1 .*--tangent rest"):
        vb.from_opensees(MODELS / "wall.py", units="N, m, s")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"opensees": "perhaps"}, "'auto', 'need' or 'off'"),
        ({"tangent": "now"}, "'rest' or 'loaded'"),
        ({"tangent": "rest", "opensees": "off"}, "come from OpenSees"),
    ],
)
def test_options_that_are_none(given, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        vb.from_opensees(MODELS / "portal.py", units="N, m, s", **given)


def test_elements_of_opensees_become_its_matrices(stored):
    """Frequencies and a motion of a wall of plane elements, to 1e-8 of those of OpenSees."""
    stored()
    found = vb.from_opensees(MODELS / "wall.py", units="N, m, s", tangent="rest")
    assert not found.native and any("frozen: quad, 12 of the elements (1, 2, 3" in note for note in found.notes)
    theirs = np.array(MOTIONS["wall.py"]["eigenvalues"])
    frequencies = vb.modes(found.structure).frequencies
    np.testing.assert_allclose((2 * np.pi * frequencies) ** 2, theirs[: len(frequencies)], rtol=1e-8)
    ground = vb.Record(np.array(motion()), [vb.Channel("g", "ground_acceleration", direction="x")], step=STEP)
    moved = vb.simulate(found.structure, ground, integrator=vb.Newmark()).displacement @ found.structure.row("20.x")
    wanted = np.array(MOTIONS["wall.py"]["displacement"])
    assert np.abs(moved[::5] - wanted).max() <= 1e-8 * np.abs(wanted).max()


def test_slopes_under_the_permanent_loads(stored, vibrid, tmp_path):
    """Cracked concrete: its frequencies are those of OpenSees after gravity, not those at rest."""
    stored()
    pier, out = MODELS / "pier_fibres.py", tmp_path / "p.toml"
    made = vibrid("import", "opensees", pier, "--units", "kN, m, s", "--tangent", "loaded", "-o", out)
    assert made.exit_code == 0 and "its slope under the permanent loads" in made.stdout, made.stderr
    structure = load_project(out).structure
    theirs = np.sqrt(np.array(MOTIONS["pier_fibres.py"]["eigenvalues"])) / (2 * np.pi)
    frequencies = vb.modes(structure).frequencies
    np.testing.assert_allclose(frequencies, theirs[: len(frequencies)], rtol=1e-8)
    at_rest = vb.modes(vb.from_opensees(pier, units="kN, m, s", opensees="off").structure).frequencies
    assert abs(at_rest[0] / frequencies[0] - 1) > 1e-3


@pytest.mark.opensees
@pytest.mark.parametrize(("name", "state"), ASKED)
def test_stored_answers_are_those_of_opensees(name, state):
    opensees()
    assert answer(name, state) == STORED[f"{name} {state}"]


@pytest.mark.opensees
@pytest.mark.parametrize(
    "name", ["portal.tcl", "offsets.py", "consistent.py", "building_space.py", "p_delta_fibres.py"]
)
def test_live_opensees_makes_the_same_matrices(monkeypatch, name):
    opensees()
    monkeypatch.setattr(opensees_beside, "is_installed", lambda: True)
    notes = vb.from_opensees(MODELS / name, units=CASES[name][0], opensees="need").notes
    assert any("makes the same mass, stiffness, damping" in note for note in notes)


@pytest.mark.opensees
def test_a_command_that_live_opensees_does_not_take(monkeypatch, tmp_path):
    opensees()
    monkeypatch.setattr(opensees_beside, "is_installed", lambda: True)
    script = tmp_path / "m.py"
    wrong = "ops.element('quad', 99, 1, 2, 3, 4, 0.1, 'PlaneStress', 7)\n"
    script.write_text((MODELS / "portal.py").read_text() + wrong)
    with pytest.raises(vb.FileProblem, match=r"m.py, line \d+: OpenSees does not take 'element quad 99 1' \(\w"):
        vb.from_opensees(script, units="N, m, s", tangent="rest")
