"""`vibrid study run` on a small project: its table, JSON, going on, and motions that are left out."""

import json

import pytest
from typer.testing import CliRunner

from tests.studies.small import MOTIONS
from vibrid.cli import app
from vibrid.studies import open_study

pytest.importorskip("zarr")

PROJECT = """
title = "two storeys"

[structure]
kind = "shear-building"
masses = [1.0, 1.0]
storeys = {law = "bouc-wen", stiffness = 40.0, beta = 3.0, gamma = 2.0, post_yield_ratio = 0.1, count = 2}
damping = {law = "viscous", damping = 0.5}

[study]
scales = [0.5, 2.0]
collapse = {drift = "0.25 m"}

[study.motions]
files = ["0.csv", "1.csv"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PROJECT)
    MOTIONS[0].write_csv(tmp_path / "0.csv")
    (tmp_path / "1.csv").write_text("nothing\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["study", *words])


def test_a_study_from_the_command_line(folder, monkeypatch):
    refused = run("run", "p.toml", "--out", "ida")
    assert refused.exit_code == 1 and "1.csv" in refused.stderr and "1 others can be read" in refused.stderr
    assert not (folder / "ida").exists()
    made = run("run", "p.toml", "--out", "ida", "--skip-unreadable")
    assert made.exit_code == 0 and "left out: " in made.stderr, made.output
    assert "1 motion × 2 scale: 1 stands, 1 collapsed" in made.stdout and "peak storey drift" in made.stdout
    assert open_study("ida").attrs["project"] == PROJECT
    MOTIONS[3].write_csv(folder / "1.csv")
    grown = json.loads(run("run", "p.toml", "--out", "ida", "--json").stdout)
    assert grown["dimensions"] == {"motion": 2, "scale": 2} and grown["outcomes"]["waiting"] == 0

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("vibrid.studies.Study.run", stopped)
    ended = run("run", "p.toml", "--out", "ida")
    assert ended.exit_code == 130 and "run it again to go on" in ended.stderr


def test_a_project_without_a_study_is_told(folder):
    (folder / "p.toml").write_text(PROJECT.split("[study]")[0])
    done = run("run", "p.toml", "--out", "ida")
    assert done.exit_code == 1 and "describes no study" in done.stderr
    assert run("run", "p.toml", "--out", "ida", "--on", "mars").exit_code == 1
    told = run("fragility", str(folder))
    assert told.exit_code == 1 and "no dataset of a study" in told.stderr


FITS = (
    (PROJECT.split("[study]")[0].replace('"bouc-wen"', '"linear"').replace(", beta = 3.0, gamma = 2.0", "")).replace(
        ", post_yield_ratio = 0.1", ""
    )
    + """
[[sensors]]
quantity = "displacement"
place = [0, 1]

[[unknown]]
path = "storeys[*].stiffness"
start = 36.0

[simulation]
noise = 0.05

[study.motions]
files = ["0.csv"]

[study.fits]
methods = ["trajectory"]
seeds = {first = 3, count = 2}
checks = "none"

[[study.fits.laws]]
name = "linear"

[[study.fits.laws]]
name = "stiffening"
path = "storeys[1]"
law = {law = "polynomial", coefficients = [36.0, 0.0, 5.0]}
unknown = [{path = "storeys[0].stiffness"}]

[[study.fits.sensors]]
name = "top"
channels = ["displacement_1"]
"""
)


def test_a_study_of_fits_from_the_command_line(folder):
    (folder / "p.toml").write_text(FITS)
    made = json.loads(run("run", "p.toml", "--out", "fits", "--json").stdout)
    assert made["dimensions"] == {"motion": 1, "law": 2, "sensors": 1, "method_name": 1, "seed": 2}
    assert made["outcomes"]["estimated"] == 4 and len(made["estimates"]) == 3
    (row,) = [r for r in made["estimates"] if r["law"] == "linear" and r["name"] == "storeys[1].stiffness"]
    assert row["median"] == pytest.approx(40.0, rel=0.1) and row["contain_true_value"] is not None
    data = open_study("fits")
    assert "substeps 4" in data.attrs["simulated_with"] and data.seed.values.tolist() == [3, 4]
    assert "Linear" in data.attrs["laws"][0] and "Polynomial" in data.attrs["laws"][1]
    table = run("run", "p.toml", "--out", "fits")
    assert "stiffening" in table.stdout and "95 % hold" in table.stdout and "4 estimated" in table.stdout


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"displacement_1"', '"displacement_2"', "no sensor of the project called 'displacement_2'"),
        ('path = "storeys[1]"\n', "", "give both, or none"),
        ('path = "storeys[1]"', 'path = "storys[1]"', "storys"),
        ('name = "stiffening"', 'name = "linear"', "two laws are called 'linear'"),
        ("[[unknown]]\npath", "[[initial]]\nvelocity = {0 = 1.0}\n[[unknown]]\npath", "begin at rest"),
        ("methods", 'data = "measured"\nmethods', "leave out one of them"),
        ("count = 2}", "count = 20000000}", "count"),
        ('["trajectory"]', '["trajectri"]', "did you mean 'trajectory'"),
    ],
)
def test_fits_that_cannot_be_are_told_with_their_place(folder, old, new, words):
    text = FITS.replace("[simulation]\nnoise = 0.05\n", "") if "measured" in new else FITS
    (folder / "p.toml").write_text(text.replace(old, new))
    told = run("run", "p.toml", "--out", "fits")
    assert told.exit_code == 1 and words in told.stderr.replace("\n", " "), told.stderr
