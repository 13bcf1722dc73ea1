"""The hybrid test of a project file: what it makes, what it refuses, the command, its view and its report."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.commands.hybrid_run import print_summary
from vibrid.commands.hybrid_view import watching
from vibrid.papers.two_storey import two_storey_building
from vibrid.project import load_project
from vibrid.project.hybrid import top_of
from vibrid.report.hybrid_report import column_base_and_beam_end

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXT = (EXAMPLES / "hybrid.toml").read_text(encoding="utf-8").replace("duration = 20.0", "duration = 2.0")


SIMPLER = {
    'kind = "banded-friction-damper", capacity = "23 kN", seed = 1': 'kind = "law", law = {law = "linear", stiffness = 1e6}',  # noqa: E501
    'kind = "second-order", frequency = 17.7, ratio = 1.0': 'kind = "delay", delay = 0.018',
    'kind = "ats", delay = "15 ms"': 'kind = "polynomial", delay = 0.018',
}
"""A test that compiles sooner."""


@pytest.fixture
def write(tmp_path):
    def make(old: str = "", new: str = "") -> Path:
        assert old in TEXT
        path = tmp_path / "test.toml"
        path.write_text(TEXT.replace(old, new), encoding="utf-8")
        return path

    return make


def test_the_old_name_of_a_companion_answers_with_the_new_one(tmp_path):
    """`listens` named the tested device until 0.1."""
    text = (EXAMPLES / "hybrid-frame.toml").read_text(encoding="utf-8").replace("companion =", "listens =")
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    with pytest.raises(vb.VibridError, match="`listens` is called `companion`"):
        load_project(tmp_path / "p.toml")
    with pytest.raises(vb.InputError, match="`listens` is called `companion`"):
        vb.Modelled(vb.Linear(1.0), at=1, listens="first")
    with pytest.warns(DeprecationWarning, match="Companion"):
        assert vb.hybrid.Heard is vb.hybrid.Companion


def test_a_project_makes_the_same_test_as_python(write):
    plan = load_project(write()).hybrid
    assert plan.watch == "roof" and plan.test.substeps == 1 and plan.test.step == 1 / 1024
    first, second = plan.test.parts
    assert isinstance(first.device, vb.BandedFrictionDamper) and float(first.count) == 4
    assert isinstance(first.actuator.dynamics, vb.hybrid.SecondOrder) and float(first.actuator.noise) == pytest.approx(
        2e-5
    )
    assert float(first.compensator.delay) == 0.015 and first.at == "0" and second.to == "0"
    assert isinstance(second.device.law, vb.LuGre) and second.companion == ""
    frame = load_project(EXAMPLES / "hybrid-frame.toml").hybrid
    assert frame.watch in ("5.x", "6.x", "7.x") and frame.test.substeps == 4 and frame.test.modelled[0].companion


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("substeps = 1 ", "substep = 1 ", "there is no 'substep' in the hybrid test; did you mean 'substeps'"),
        ('capacity = "23 kN"', 'kapacity = "23 kN"', "did you mean 'capacity'"),
        ('kind = "ats"', 'kind = "atz"', "there is no compensator called 'atz'; did you mean 'ats'"),
        ('kind = "second-order"', 'kind = "third-order"', "there is no dynamics called 'third-order'"),
        ('kind = "banded-friction-damper"', 'kind = "banded"', "there is no specimen called 'banded'"),
        ('velocity_limit = "330 mm/s"', 'velocity_limit = "330 mm"', "this number is in m/s"),
        ("at = 1\n", "at = 7\n", "'7' is not a floor of this building"),
        ('kind = "mkr-alpha", dissipation = 0.75}\nsub', 'kind = "newmark"}\nsub', "cannot be moved back"),
        ('name = "second_storey"', 'name = "first_storey"', "Two devices are called 'first_storey'"),
        ('name = "second_storey"', 'name = "second"\ncompanion = "first"', "tested device (`companion` of 'second')"),
        ('name = "second_storey"', 'name = "b"\ncompensator = {kind = "none"}', "there is no 'compensator'"),
    ],
)  # fmt: skip
def test_a_wrong_hybrid_table_is_a_sentence(write, old, new, sentence):
    with pytest.raises(vb.VibridError) as problem:
        load_project(write(old, new))
    assert sentence in str(problem.value)


def test_the_command_records_and_reports(write, tmp_path):
    out, report, project = tmp_path / "out", tmp_path / "test.html", write()
    text = project.read_text(encoding="utf-8")
    for old, new in SIMPLER.items():
        assert old in text
        text = text.replace(old, new)
    project.write_text(text, encoding="utf-8")
    files = ["--out", str(out), "--report", str(report), "--csv", str(tmp_path / "devices.csv")]
    made = CliRunner().invoke(app, ["hybrid", "run", str(project), "--json", *files])
    assert made.exit_code == 0, made.output
    answer = json.loads(made.stdout)
    table = list(csv.DictReader((tmp_path / "devices.csv").open(encoding="utf-8")))
    assert [float(row["force"]) for row in table] == [device["force"] for device in answer["devices"]]
    devices, structure = vb.read_record(out / "devices.h5"), vb.read_record(out / "structure.h5")
    assert {"first_storey.target", "first_storey.force", "second_storey.force"} <= set(devices.names)
    assert len(devices) == 2 * 1024 - 1 and len(structure) == 2 * 1024
    page = report.read_text(encoding="utf-8")
    for heading in ("Loops of the devices", "Tracking", "Histories", "PolynomialExtrapolation"):
        assert heading in page
    assert "http" not in page.replace("http://www.w3.org", ""), "the page needs no network"
    assert answer["peak"] == pytest.approx(np.abs(structure["displacement_roof"]).max(), rel=1e-9)
    assert answer["devices"][0]["tracking"]["error"] < 0.2 and answer["stopped"] == ""
    nothing = CliRunner().invoke(app, ["hybrid", "run", str(EXAMPLES / "beam.toml")])
    assert nothing.exit_code == 1 and "describes no hybrid test" in nothing.stderr
    computed = CliRunner().invoke(app, ["hybrid", "run", str(EXAMPLES / "hybrid.toml"), "--no-c"])
    assert computed.exit_code == 1 and "--no-c is for tests with an external device" in computed.stderr


def test_the_view(write, capsys):
    plan = load_project(write()).hybrid
    with watching(plan.test, plan.watch, "a test") as view:
        for i in range(60):
            x, force = np.array([0.0, 1e-3 * np.sin(0.3 * i)]), np.array([1e3 * i, -5.0])
            warnings = ("3.1 s: 'second' has given 2 J more than it took.",) if i == 30 else ()
            view(vb.hybrid.Glimpse(0.1 * (i + 1), x, force, i // 30, 60, i + 1, warnings))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-1].count("Warning, 3.1 s: 'second' has given 2 J more than it took.") == 1
    said = lines[-1]
    assert said.startswith("6.00 s: roof") and "first_storey +59.00 kN" in said and said.endswith("1 late")
    (_, now, largest, line), tested, _ = view.rows()
    assert now.strip().endswith("mm") and largest == "1.00 mm" and len(line) == 48 and set(line) > {"▁", "█"}
    assert tested[2] == "59.00 kN"
    answer = {"devices": [], "peak": 0.01, "end": 0.0, "timing": "held", "stopped": "", "seconds": 1}
    print_summary("title", "roof", answer | {"computed_by": "C"})
    said = capsys.readouterr().out
    assert "largest displacement of roof: 10.00 mm" in said and "held\nsteps were computed by C" in said


def test_places_of_a_frame():
    frame = two_storey_building()
    assert top_of(frame) == "7.x" and top_of(vb.ShearBuilding([1.0], [vb.Linear(1.0)])) == "roof"
    assert [(m, s) for m, s, _ in column_base_and_beam_end(frame)] == [(0, 0), (4, 0)]
