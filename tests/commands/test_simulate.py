"""`vibrid simulate` on every example, and on files that cannot be used."""

import json

import numpy as np
import pytest
from example_files import EXAMPLES

import vibrid as vb
from vibrid.project import load_project


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_runs(vibrid, path, tmp_path):
    out, plot = tmp_path / "out.csv", tmp_path / "out.png"
    made = vibrid("simulate", path, "--out", out, "--plot", plot, "--json")
    assert made.exit_code == 0, made.stderr
    answer = json.loads(made.stdout)
    project = load_project(path)
    readings = [c for c in answer["channels"] if c["name"] in {s.label for s in project.sensors}]
    assert len(readings) == len(project.sensors)
    assert all(c["peak"] and np.isfinite(c["peak"]) for c in readings), "something moves at every sensor"
    record = vb.read_record(out)
    for c in answer["channels"]:
        si = vb.records.units.to_si(c["peak"], c["unit"])
        assert np.abs(record[c["name"]]).max() == pytest.approx(abs(si), rel=1e-9)
    assert plot.read_bytes()[:4] == b"\x89PNG" and plot.stat().st_size > 20_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "out.png"]


def test_every_structure_has_an_example():
    kinds = {line for path in EXAMPLES for line in path.read_text().splitlines() if line.startswith("kind = ")}
    assert kinds == {f'kind = "{name}"' for name in vb.structures.STRUCTURES}


def test_the_table_and_hdf5(vibrid, example, tmp_path):
    made = vibrid("simulate", example["shear-building"], "--out", tmp_path / "a.h5")
    assert made.exit_code == 0
    assert "first_storey_drift" in made.stdout and "mm" in made.stdout
    assert "compiling and simulating 4000 samples" in made.stderr, "progress goes to standard error"
    assert "wrote" in made.stdout
    again = vibrid("simulate", example["shear-building"], "--out", tmp_path / "b.h5")
    assert again.exit_code == 0
    first, second = vb.read_record(tmp_path / "a.h5"), vb.read_record(tmp_path / "b.h5")
    np.testing.assert_array_equal(first.data, second.data)


COARSE = """
[structure]
kind = "shear-building"
masses = [1.0]
storeys = [{law = "linear", stiffness = 400.0, damping = 0.8}]

[[sensors]]
quantity = "displacement"
place = 0

[excitation]
synthetic = {seed = 3, duration = 10.0, rate = 50.0, pga = 3.0}

[simulation]
integrator = "newmark"
"""


def test_the_error_of_the_time_step(vibrid, example, tmp_path):
    asked = vibrid("simulate", example["shear-building"])
    assert asked.stdout.splitlines()[-1].startswith("error of the time step: displacement 0.0")
    shares = json.loads(vibrid("simulate", example["shear-building"], "--json").stdout)["step_error"]
    assert not shares.pop("exact") and list(shares) == ["displacement", "velocity", "acceleration"]
    assert 0 < shares["displacement"] < 0.001
    left_out = vibrid("simulate", example["shear-building"], "--no-step-error", "--json")
    assert json.loads(left_out.stdout)["step_error"] is None
    (tmp_path / "coarse.toml").write_text(COARSE)
    assert vibrid("simulate", tmp_path / "coarse.toml").stdout.splitlines()[-1].endswith("; give substeps = 2")
    exact = vibrid("simulate", example["truss"])
    assert "exact for input that is linear between its samples" in exact.stdout


def test_a_long_second_run_is_made_on_request(vibrid, example, monkeypatch):
    monkeypatch.setattr("vibrid.commands.simulate.MOST_WORK", 100)
    assert "error of the time step" not in vibrid("simulate", example["shear-building"]).stdout
    assert "error of the time step" in vibrid("simulate", example["shear-building"], "--step-error").stdout
    assert "error of the time step" in vibrid("simulate", example["truss"]).stdout, "which needs no second run"


def broken(tmp_path, example, old, new):
    path = tmp_path / "broken.toml"
    path.write_text(example["shear-building"].read_text().replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("post_yield_ratio", "post_yeld_ratio", "there is no 'post_yeld_ratio' in a bouc-wen law; did you mean"),
        ('"24 MN/m"', '"24 MN"', "this number is in N/m"),
        ('place = [0, 1, "roof"]', 'place = [0, 1, "loft"]', "'loft' is not a floor of this building"),
        ("synthetic = {", 'file = "nowhere.AT2" #', "nowhere.AT2: there is no such file"),
        ("[excitation]\nsynthetic", "#", "there is no excitation"),
        ("substeps = 2", 'hold = "cubik"', "did you mean 'cubic'"),
        ("rate = 200.0", "rate = 2e9", "An excitation has between 2 and"),
    ],
)
def test_a_wrong_file_is_a_sentence_and_leaves_nothing_behind(vibrid, example, tmp_path, old, new, sentence):
    path = broken(tmp_path, example, old, new)
    made = vibrid("simulate", path, "--out", tmp_path / "out.csv", "--plot", tmp_path / "out.png")
    assert made.exit_code == 1
    assert sentence in made.stderr and "Traceback" not in made.stderr
    assert made.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["broken.toml"]


def test_a_run_that_blows_up_says_when(vibrid, example, tmp_path):
    path = broken(tmp_path, example, "substeps = 2", 'integrator = "central-difference"')
    path.write_text(path.read_text().replace('"20 t"', '"20 kg"'))
    made = vibrid("simulate", path, "--json")
    assert made.exit_code == 1 and "stopped being finite at" in made.stderr and made.stdout == ""


def test_outputs_are_checked_before_work_is_done(vibrid, example, tmp_path):
    made = vibrid("simulate", example["beam"], "--out", tmp_path / "out.xlsx")
    assert made.exit_code == 1 and "should end in .csv, .h5, .hdf5 or .nc" in made.stderr
    assert "simulating" not in made.stderr
    made = vibrid("simulate", example["device"], "--out", tmp_path / "no" / "out.csv")
    assert made.exit_code == 1 and "cannot be written" in made.stderr


def test_files_that_are_not_there(vibrid, tmp_path):
    made = vibrid("simulate", tmp_path / "none.toml")
    assert made.exit_code == 1 and "there is no such file" in made.stderr
