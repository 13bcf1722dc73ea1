"""`vibrid init`: a project file that loads and reads its data, or a sentence that names the option."""

import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.commands import asking, init_shapes
from vibrid.commands import init as command
from vibrid.project import load_project
from vibrid.structures.modes import modes

BEAM = ["--length", "12 m", "--mass", "300 kg/m", "--frequency", "2.5"]
NEEDED = ["--storeys", "2", "--mass", "20 t", "--frequency", "3"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    time = np.arange(0, 2, 0.01)
    rows = np.column_stack([time, np.sin(5 * time), np.cos(5 * time), np.sin(3 * time)])
    body = "\n".join(";".join(f"{v:.4f}".replace(".", ",") for v in row) for row in rows)
    (tmp_path / "my test.csv").write_text(f"Zeit [s];A1 (g);roof acc X (g);table [g]\n{body}\n")

    def call(*arguments, answers=None):
        return CliRunner().invoke(app, ["init", "my test.csv", *arguments], input=answers)

    return call


def test_the_file_loads_and_its_sensors_find_their_channels(run, tmp_path):
    shown = run(*NEEDED, "--sensor", "A1 (g)=0", "--sensor", "roof acc X=roof", "--output", "b.toml")
    assert shown.exit_code == 0, shown.output
    assert "A1: absolute acceleration [m/s^2]" in shown.output and "200 samples, 100 Hz" in shown.output
    assert "The ground motion is 'table', by its name and unit" in shown.output
    assert shown.output.strip().endswith("vibrid identify b.toml --report b.html")
    project = load_project(tmp_path / "b.toml")
    assert [(s.label, s.quantity, s.place) for s in project.sensors] == [
        ("A1", "absolute_acceleration", "0"),
        ("roof acc X", "absolute_acceleration", "roof"),
    ]
    assert project.records()[0].channel("table").quantity == "ground_acceleration"
    frequency = float(modes(project.structure).frequencies[0])
    assert frequency == pytest.approx(3.0, rel=0.01)
    again = run(*NEEDED, "--sensor", "A1=0", "--output", "b.toml")
    assert again.exit_code == 1 and "is not overwritten" in again.output


def test_a_cantilever_has_the_first_frequency_that_was_given(run, tmp_path):
    shown = run(*BEAM, "--sensor", "A1=x=6", "--sensor", "roof acc X=tip")
    assert shown.exit_code == 0, shown.output
    project = load_project(tmp_path / "project.toml")
    assert [(s.label, s.place) for s in project.sensors] == [("A1", "x=6"), ("roof acc X", "tip")]
    assert float(modes(project.structure).frequencies[0]) == pytest.approx(2.5, rel=1e-3)
    assert [str(u.path) for u in project.unknown] == ["modulus", "damping.ratios"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "Give --storeys: number of storeys"),
        (["--storeys", "2"], "Give --mass: mass of a floor"),
        (["--storeys", "2", "--mass", "20 t"], "Give --frequency"),
        (NEEDED, "Give --sensor: the place of at least one channel, as --sensor 'A1=roof'"),
        ([*NEEDED, "--sensor", "roof acc=0"], "--sensor: there is no channel 'roof acc'; did you mean 'roof acc X'?"),
        ([*NEEDED, "--sensor", "A1=7"], "places are floors 0 to 1 and roof, not '7'"),
        ([*NEEDED, "--sensor", "A1"], "written CHANNEL=PLACE"),
        ([*NEEDED, "--ground", "tabel"], "--ground: there is no channel 'tabel'; did you mean 'table'?"),
        (["--storeys", "2", "--mass", "20 kN"], "'kN' measures force; this number is in kg"),
        (["--storeys", "2", "--mass", "1 t,1 t,1 t"], "--mass has 3 values for 2 storeys"),
        (["--structure", "beem"], "no kind of structure called 'beem'; did you mean 'beam'?"),
        (["--structure", "frame"], "begin with a copy of examples/frame.toml"),
        (["--structure", "beam"], "Give --length: length of the cantilever"),
        (["--structure", "beam", "--storeys", "2"], "--storeys does not belong to a beam"),
        ([*BEAM, "--mass", "20 t"], "'t' measures mass; this number is in kg/m"),
        ([*BEAM, "--sensor", "A1=x=12.5"], "x=… up to 12 m from the support, not 'x=12.5'"),
    ],
)
def test_what_is_missing_or_wrong_is_a_sentence_and_writes_nothing(run, tmp_path, given, words):
    shown = run(*given)
    assert shown.exit_code == 1 and words in shown.output
    assert not (tmp_path / "project.toml").exists()


def test_questions_are_asked_at_a_terminal(run, tmp_path, monkeypatch):
    for module in (asking, command, init_shapes):
        monkeypatch.setattr(module, "at_terminal", lambda: True)
    shown = run(answers="shear-building\nmany\n2\n20 kN\n20 t\n\n5\n0\nroof\n")  # three are asked again
    assert shown.exit_code == 0, shown.output
    for wrong in ("not 'many'", "'kN' measures force", "floors 0 to 1 and roof, not '5'"):
        assert wrong in shown.output
    table = tomllib.loads((tmp_path / "project.toml").read_text())
    assert [(s["channel"], s["place"]) for s in table["sensors"]] == [("A1", 0), ("roof acc X", "roof")]
    assert table["structure"]["masses"] == ["20 t", "20 t"]


def test_how_a_file_is_read_is_kept_in_the_project(run, tmp_path):
    rows = "\n".join(f"{0.1 * i:.1f},{i},{-9999 if i == 4 else 2 * i},3,OK" for i in range(20))
    (tmp_path / "my test.csv").write_text(f"time,A1,A2,base,state\n{rows}\n")
    shown = run(*NEEDED, "--sensor", "A1=0", "--drop", "state", "--ground", "base")
    assert shown.exit_code == 1 and "give the units of its columns, as --units g" in shown.output
    reading = ["--drop", "state", "--units", "mm,g,g", "--missing", "-9999", "--ground", "base"]
    shown = run(*NEEDED, "--sensor", "A1=0", "--sensor", "A2=1", *reading)
    assert shown.exit_code == 0, shown.output
    table = tomllib.loads((tmp_path / "project.toml").read_text())
    assert table["records"]["missing"] == [-9999] and table["records"]["drop"] == ["state"]
    assert [(s["quantity"], s["unit"]) for s in table["sensors"]] == [
        ("displacement", "mm"),
        ("absolute_acceleration", "g"),
    ]
    record = load_project(tmp_path / "project.toml").records()[0]
    assert record["A1"][3] == pytest.approx(3e-3) and np.isnan(record["A2"][4])
