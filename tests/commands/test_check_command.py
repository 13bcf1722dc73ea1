"""`vibrid check`: everything wrong or odd in one run, with its exit code."""

import json

import numpy as np
import pytest

import vibrid as vb
from vibrid.project import load_project

PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0, 0.8]
storeys = [{law = "linear", stiffness = 50.0, damping = 0.8}, {law = "linear", stiffness = 45.0, damping = 0.8}]

[[sensors]]
quantity = "absolute_acceleration"
place = [0, 1]

[excitation]
synthetic = {seed = 3, duration = 12.0, rate = 50.0, pga = 3.0}
channels = [{column = "ground"}]

[[unknown]]
path = "storeys[*].stiffness"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project, and readings of another building: clean, and with faults made on purpose."""
    path = tmp_path_factory.mktemp("check")
    (path / "two.toml").write_text(PROJECT, encoding="utf-8")
    project = load_project(path / "two.toml")
    true = project.structure.replace({"storeys[0].stiffness": 60.0, "storeys[1].stiffness": 40.0})
    motion = vb.synthetic_motion(3, duration=12.0, rate=50.0, pga=3.0)
    response = vb.simulate(true, motion, integrator=vb.RungeKutta4(), substeps=8)
    clean = response.measure(project.sensors, noise=0.02, key=3)
    clean.write_csv(path / "clean.csv")

    def written(name, change):
        data = clean.data.copy()
        change(data[:, clean.index("absolute_acceleration_0")], data[:, clean.index("absolute_acceleration_1")])
        clean.replace(data=data).write_csv(path / name)

    def gap(first, second):
        first[100:120] = np.nan

    def bad(first, second):
        first[200] += 40.0
        second *= -1.0

    written("gap.csv", gap)
    written("bad.csv", bad)
    clean.select([n for n in clean.names if n != "absolute_acceleration_1"]).write_csv(path / "fewer.csv")
    return path


def test_a_clean_project_gives_the_expected_uncertainty_and_the_next_command(folder, vibrid):
    made = vibrid("check", folder / "two.toml", folder / "clean.csv")
    assert made.exit_code == 0, made.output
    assert "Nothing wrong or odd was found." in made.stdout
    assert "absolute acceleration at 1" in made.stdout and "by name" in made.stdout
    assert "A fit (trajectory) will take about" in made.stdout
    assert "Next: vibrid identify" in made.stdout.splitlines()[-1]


def test_the_expected_uncertainty_is_that_of_the_fit(folder, vibrid):
    answer = json.loads(vibrid("check", folder / "two.toml", folder / "clean.csv", "--json").stdout)
    assert answer["verdict"] == "clean" and answer["findings"] == [] and answer["looked_for_faults"] is True
    project = load_project(folder / "two.toml")
    fit = vb.identify(project.structure, project.read(folder / "clean.csv"), project.unknown, sensors=project.sensors)
    assert [row["name"] for row in answer["expected"]] == list(fit.names)
    for row, deviation in zip(answer["expected"], fit.deviation, strict=True):
        assert 0.3 < row["expected_standard_deviation"] / deviation < 3.0


def test_odd_data_exit_with_1(folder, vibrid):
    made = vibrid("check", folder / "two.toml", folder / "gap.csv")
    assert made.exit_code == 1 and "Odd:\n  1. Channel 'absolute_acceleration_0' misses 20 of" in made.stdout


def test_everything_wrong_is_told_in_one_run_and_exits_with_2(folder, vibrid):
    made = vibrid("check", folder / "two.toml", folder / "bad.csv", folder / "fewer.csv", folder / "none.csv")
    assert made.exit_code == 2
    assert "fewer.csv: there is no channel for the sensor 'absolute_acceleration_1'" in made.stdout
    assert "none.csv: there is no such file" in made.stdout and "has 1 spike (4 s)" in made.stdout
    assert made.stdout.index("Wrong:") < made.stdout.index("Odd:")


def test_polarity_against_the_model_is_told(folder, vibrid):
    answer = json.loads(vibrid("check", folder / "two.toml", folder / "bad.csv", "--json").stdout)
    assert ("sign", "absolute_acceleration_1") in {(f["name"], f["where"]) for f in answer["findings"]}
    assert answer["verdict"] == "wrong"


def test_data_alone_and_an_unreadable_file(folder, vibrid):
    made = vibrid("check", folder / "clean.csv")
    assert made.exit_code == 0 and "Expected" not in made.stdout
    (folder / "text.csv").write_text("no numbers here\n")
    assert vibrid("check", folder / "text.csv").exit_code == 2


def test_mistakes_of_the_project_and_of_the_data_are_told_together(folder, vibrid):
    wrong = PROJECT.replace('"linear", stiffness = 50.0', '"liner", stiffness = 50.0').replace("[*]", "[7]")
    (folder / "wrong.toml").write_text(wrong, encoding="utf-8")
    made = vibrid("check", folder / "wrong.toml", folder / "gap.csv")
    assert made.exit_code == 2
    for words in ("did you mean 'linear'?", "unknown[0].path", "misses 20 of"):
        assert words in made.stdout


def test_what_cannot_be_found_is_told_before_anything_is_measured(folder, vibrid):
    law = '{law = "bouc-wen", stiffness = 50.0, beta = 1.0, gamma = 1.0, count = 2}'
    still = PROJECT.replace("pga = 3.0", "pga = 1e-6").replace(PROJECT.split("storeys = ")[1].split("\n")[0], law)
    (folder / "blind.toml").write_text(still + '\n[[unknown]]\npath = "storeys[0].beta"\n', encoding="utf-8")
    made = vibrid("check", folder / "blind.toml")
    assert made.exit_code >= 1 and "The unknown 'storeys[0].beta'" in made.stdout
    assert "The unknown 'storeys[0].stiffness'" not in made.stdout
    assert "were not compared with the model" in made.stdout and "vibrid simulate" in made.stdout


def test_a_project_for_a_simulation_is_checked_too(folder, vibrid):
    only = PROJECT.split("[[unknown]]")[0]
    (folder / "only.toml").write_text(only, encoding="utf-8")
    assert vibrid("check", folder / "only.toml").exit_code == 0
    (folder / "gone.toml").write_text(
        only.replace(only.split("[excitation]\n")[1], 'file = "gone.AT2"\n'), encoding="utf-8"
    )
    made = vibrid("check", folder / "gone.toml")
    assert made.exit_code == 2 and "gone.AT2" in made.stdout


def test_the_preparation_is_drawn_before_and_after(folder, vibrid, tmp_path):
    table = '\n[records]\nfiles = ["clean.csv"]\nstart = 2.0\nbaseline = "line"\n'
    (folder / "prepared.toml").write_text(PROJECT + table, encoding="utf-8")
    shown = vibrid("check", folder / "prepared.toml", "--plot", tmp_path / "before and after.png")
    assert shown.exit_code < 2 and (tmp_path / "before and after.png").stat().st_size > 10_000
    assert vibrid("check", folder / "two.toml", "--plot", tmp_path / "a.xls").exit_code != 0
