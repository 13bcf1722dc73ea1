"""`vibrid import opensees`: a project file that loads and holds the same structure."""

import json
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from vibrid.project import load_project

MODELS = Path(__file__).resolve().parent / "models"


@pytest.mark.parametrize(
    ("name", "units"),
    [("portal.py", "N, m, s"), ("truss_space.py", "kip, in, s"), ("shear_yielding.py", "kN, m, s"),
     ("isolated.py", "kN, m, s"), ("two_ways.py", "N, mm, s"), ("consistent.py", "N, m, s")],
)  # fmt: skip
def test_the_project_holds_the_structure_exactly(vibrid, tmp_path, name, units):
    out = tmp_path / "p.toml"
    made = vibrid("import", "opensees", MODELS / name, "--units", units, "--out", out, "--json")
    assert made.exit_code == 0, made.stderr
    told = json.loads(made.stdout)
    direct = vb.from_opensees(MODELS / name, units=units)
    read = load_project(out).structure
    assert told["structure"] == type(read).__name__ and told["native"] and told["compared"][0]["unit"] == "kg"
    both = (structure.model(()).initial_matrices() for structure in (read, direct.structure))
    for ours, theirs in zip(*both, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_sensors_unknowns_and_files(vibrid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = vibrid("import", "opensees", MODELS / "portal.py", "test.csv", "--units", "N, m, s", "--sensor", "A1=3.x",
                  "--sensor", "A2=4.x", "--ground", "A0", "--unknown", "modulus[0]", "--unknown",
                  "modulus[2]")  # fmt: skip
    assert made.exit_code == 0 and "period 1" in made.stdout and "wrote project.toml" in made.stdout
    project = load_project("project.toml")
    assert [s.label for s in project.sensors] == ["A1", "A2"] and len(project.unknown) == 2
    assert "element 3: modulus[2]" in Path("project.toml").read_text()
    again = vibrid("import", "opensees", MODELS / "portal.py", "--units", "N, m, s")
    assert again.exit_code == 1 and "exists already and is not overwritten" in again.stderr


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--sensor", "3.x"], "--sensor is written CHANNEL=PLACE"),
        (["--sensor", "A1=7.x"], "no node called '7'"),
        (["--unknown", "modulos[0]"], "modulos"),
        (["--p-delta", "perhaps"], "'refuse' or 'ignore'"),
        (["--model", 4], "there is no model 4"),
        (["--limit", 0], "more than 0 s"),
    ],
)
def test_mistakes_leave_no_file(vibrid, tmp_path, more, sentence):
    out = tmp_path / "p.toml"
    made = vibrid("import", "opensees", MODELS / "portal.py", "--units", "N, m, s", "--out", out, *more)
    assert made.exit_code == 1 and sentence in made.stderr and not out.exists()
