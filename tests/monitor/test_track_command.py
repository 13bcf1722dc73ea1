"""`vibrid track`: a plan before there are sensors, a folder, the state by itself, the page."""

import json

import numpy as np
import pytest
from test_tracker import LENGTH, measured
from typer.testing import CliRunner

from vibrid.cli import app

PROJECT = """
title = "tower"

[structure]
kind = "shear-building"
masses = ["20 t", "20 t", "20 t", "20 t"]
storeys = [{law = "linear", stiffness = "30 MN/m"}, {law = "linear", stiffness = "28 MN/m"},
           {law = "linear", stiffness = "26 MN/m"}, {law = "linear", stiffness = "24 MN/m"}]
damping = {kind = "modal", ratios = 0.02}

[[unknown]]
path = "storeys[*].stiffness"
""" + "".join(f'\n[[sensors]]\nquantity = "absolute_acceleration"\nplace = {i}\nchannel = "a{i}"\n' for i in range(4))


def vibrid(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tower.toml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "records").mkdir()
    return tmp_path


def test_a_plan_before_there_are_sensors(project):
    done = vibrid("track", "--plan", "--project", "tower.toml", "--environment", "temperature")
    assert done.exit_code == 0 and "storeys[0].stiffness" in done.stdout and "cannot be told apart" in done.stdout
    told = {}
    for scatter in ("0.001", "0.01"):
        made = vibrid("track", "--plan", "--project", "tower.toml", "--scatter", scatter, "--json")
        told[scatter] = [row["smallest_loss"] for row in json.loads(made.stdout)["parameters"]]
    assert np.all(np.array(told["0.01"]) > 3 * np.array(told["0.001"])) and 0 < min(told["0.001"]) < 0.05


def test_a_folder_is_followed_and_reported(project):
    for n in range(24):
        measured(n, [0.2, 0, 0, 0] if n >= 22 else None).write_hdf5(project / "records" / f"{n:04d}.h5")
    common = ("--state", "state", "--project", "tower.toml")
    words = ("track", "records", *common, "--window", LENGTH, "--training", 21, "--environment", "temperature",
             "--lags", 12, "--order", 16, "--horizon", 100)  # fmt: skip
    done = vibrid(*words, "--report", "page.html", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["windows"] == 24 and found["trained"] and found["alarms"][0]["window"] == "2025-01-01T01:13:20Z"
    assert "storeys[0].stiffness lost" in found["alarms"][0]["location"][0] and "ALARM" in done.stderr
    page = (project / "page.html").read_text(encoding="utf-8")
    assert "ALARM since the window of 2025-01-01T01:13:20Z" in page and page.count("<svg") >= 3
    alone = vibrid("track", *common)
    assert alone.exit_code == 0 and "24 windows" in alone.stdout and "ALARM" in alone.stdout
    again = vibrid(*words)
    assert again.exit_code == 0 and "24 windows" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("track", "--plan"), "needs --project"),
        (("track", "records"), "--state names"),
        (("track", "--state", "nowhere"), "no state"),
        (("track", "tower.toml", "--state", "s"), "no folder"),
        (
            ("track", "seedlink://server:18000/XX_BRDG", "--state", "s"),
            "record receive seedlink://server:18000/XX_BRDG",
        ),
        (("track", "mqtt://broker/tower/+", "--state", "s"), "is a stream"),
        (("track", "records", "--state", "s", "--training", "3"), "at least 20"),
        (("track", "records", "--state", "s", "--false-alarms", "2"), "between 0 and 1"),
        (("track", "records", "--state", "s", "--report", "a.txt"), ".html"),
    ],
)
def test_what_is_missing_is_said(project, words, said):
    done = vibrid(*words)
    assert done.exit_code != 0 and said in done.stderr
