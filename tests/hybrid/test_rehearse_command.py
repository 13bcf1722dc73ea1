"""`vibrid hybrid rehearse`, and the judgement at the end of `vibrid hybrid run`."""

import csv
import json
import math

import pytest
from typer.testing import CliRunner

from vibrid.cli import app

PROJECT = """
title = "a split spring"

[structure]
kind = "shear-building"
masses = ["10 t"]
storeys = {law = "linear", count = 1, stiffness = "3 MN/m"}
damping = {kind = "modal", ratios = 0.03}

[excitation]
synthetic = {seed = 3, duration = 3.0, rate = 1024.0, pga = "0.3 g"}

[hybrid]

[[hybrid.experimental]]
name = "spring"
at = 0
"""
VIRTUAL = """device = {kind = "law", law = {law = "linear", stiffness = "1 MN/m"}}
actuator = {dynamics = {kind = "delay", delay = "4 ms"}, stroke = "100 mm"}
compensator = {kind = "polynomial", delay = "4 ms"}
"""
REMOTE = 'device = {kind = "remote", host = "127.0.0.1", port = 9}\n'
STAND_IN = """rehearsal = {device = {kind = "law", law = {law = "linear", stiffness = "1 MN/m"}}, \
actuator = {dynamics = {kind = "delay", delay = "4 ms"}}}
"""


@pytest.fixture
def run(tmp_path):
    def call(devices: str, *options: str):
        path = tmp_path / "test.toml"
        path.write_text(PROJECT + devices, encoding="utf-8")
        return CliRunner().invoke(app, ["hybrid", options[0], str(path), *options[1:]])

    return call


def test_the_command_prints_writes_and_judges(run, tmp_path):
    page = tmp_path / "rehearsal.html"
    shown = run(VIRTUAL, "rehearse", "--runs", "4", "--report", str(page))
    assert shown.exit_code == 0, shown.output
    for text in ("critical [ms]", "without compensation", "margin as planned [ms]", "Judgement: go."):
        assert text in shown.output
    text = page.read_text(encoding="utf-8")
    for heading in ("Judgement", "Responses", "Energy", "Uncertain actuators and specimens", "Numbers"):
        assert f"<h2>{heading}</h2>" in text


def test_json_has_numbers_in_si_units(run, tmp_path):
    shown = run(VIRTUAL, "rehearse", "--runs", "0", "--json", "--csv", str(tmp_path / "tests.csv"))
    content = json.loads(shown.stdout)
    (delay,) = content["delays"]
    assert delay["critical"] == pytest.approx(delay["critical_simulated"], rel=0.01)
    assert delay["critical"] < math.inf and content["judgement"] == "go" and content["scatter"] is None
    assert [test["name"] for test in content["tests"]] == ["moved exactly", "as planned", "without compensation"]
    rows = list(csv.DictReader((tmp_path / "tests.csv").open(encoding="utf-8")))
    assert [float(row["peak"]) for row in rows] == [test["peak"] for test in content["tests"]]


def test_an_external_device_is_not_moved(run):
    refused = run(REMOTE, "rehearse", "--runs", "0")
    assert refused.exit_code != 0 and "'spring' is external" in refused.output and "rehearsal" in refused.output
    assert run(REMOTE + STAND_IN, "rehearse", "--runs", "0").exit_code == 0


def test_a_run_ends_with_the_same_judgement(run):
    late = VIRTUAL.replace('"4 ms"}, stroke', '"9 ms"}, stroke').replace("compensator", "# compensator")
    shown = run(late, "run")
    assert "Judgement: no go." in shown.output and "the tracking error of 'spring' brings in" in shown.output
    content = json.loads(run(VIRTUAL, "run", "--json").stdout)
    assert content["judgement"] == "go" and content["reasons"] == []
