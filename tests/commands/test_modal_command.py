"""`vibrid modal`: modes of a measured file, beside a project, and the project fitted to them."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from ambient_vibration import TOWER, accelerations, chain

PROJECT = """
title = "tower"

[structure]
kind = "shear-building"
masses = ["20 t", "20 t", "20 t", "20 t", "20 t", "15 t"]
storeys = {law = "linear", count = 6, stiffness = "25 MN/m"}
damping = {kind = "modal", ratios = 0.015}

[[unknown]]
path = "storeys[*].stiffness"
"""
SENSOR = """
[[sensors]]
quantity = "absolute_acceleration"
place = {place}
channel = "c{place}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modal")
    values = accelerations(*chain(**TOWER), seed=3, seconds=400.0, rate=40.0)
    channels = [vb.Channel(f"c{i}", "acceleration") for i in range(6)]
    vb.write_csv(vb.Record(0.01 * values / values.std(), channels, step=1 / 40), folder / "ambient.csv")
    (folder / "tower.toml").write_text(PROJECT + "".join(SENSOR.format(place=i) for i in range(6)), encoding="utf-8")
    return folder


@pytest.fixture
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_modes_of_a_file(vibrid, inside):
    done = vibrid("modal", "ambient.csv", "--report", "m.html", "--figure", "m.png", "--csv", "m.csv", "--lags", 30)
    assert done.exit_code == 0, done.output
    assert "6 modes from 6 channels by SSI" in done.stdout
    rows = list(csv.DictReader((inside / "m.csv").open(encoding="utf-8")))
    right = vb.modes(vb.ShearBuilding(TOWER["masses"], [vb.Linear(k) for k in TOWER["stiffnesses"]]))
    assert [float(row["frequency"]) for row in rows] == pytest.approx(list(right.frequencies), rel=0.01)
    page = (inside / "m.html").read_text(encoding="utf-8")
    assert "Stabilisation diagram" in page and page.count("<animate") > 20 and (inside / "m.png").stat().st_size > 1e4


def test_a_project_is_compared_and_updated(vibrid, inside):
    words = ("modal", "ambient.csv", "--project", "tower.toml", "--lags", 30, "--json")
    beside = json.loads(vibrid(*words).stdout)
    assert [pair["computed"] for pair in beside["pairs"]] == [1, 2, 3, 4, 5, 6]
    assert set(beside["modes"][0]["shape"]) == set("012345")
    fitted = json.loads(vibrid(*words, "--update").stdout)
    for row, right in zip(fitted["parameters"], TOWER["stiffnesses"], strict=True):
        assert abs(row["estimate"] - right) < 4 * row["standard_deviation"] < 0.1 * right
    assert max(abs(pair["difference"]) for pair in fitted["pairs"]) < 0.01 and fitted["model_fits"]


def test_identify_by_the_name_of_the_method(vibrid, inside):
    """The same answer as of `vibrid modal --update`; both are kept in result files."""
    done = vibrid("identify", "tower.toml", "ambient.csv", "--method", "modal-fit", "--save", "t.h5", "--json", "-")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["method"] == "ModalFit" and answer["fits"] and {f["role"] for f in answer["files"]} >= {"record"}
    kept = vb.load_identification("t.h5")
    assert [row["estimate"] for row in answer["parameters"]] == list(kept.estimate)
    words = ("modal", "ambient.csv", "--project", "tower.toml", "--json")
    updated = vibrid(*words, "--update", "--save", "u.h5")
    assert updated.exit_code == 0, updated.output
    np.testing.assert_allclose(vb.load_identification("u.h5").estimate, kept.estimate, rtol=1e-9)
    assert "ask for it with --update" in vibrid(*words, "--save", "u.h5").stderr


def test_fdd_and_era(vibrid, inside):
    done = vibrid("modal", "ambient.csv", "--method", "fdd", "--peaks", "1.4,4.1", "--json")
    assert [round(mode["frequency"]) for mode in json.loads(done.stdout)["modes"]] == [1, 4]
    done = vibrid("modal", "ambient.csv", "--method", "era", "--order", 20)
    assert done.exit_code in (0, 1) and "Traceback" not in done.output  # it is no free decay


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "fft"], "The methods are ssi, fdd, era, frf, not 'fft'."),
        (["--update"], "name it with --project"),
        (["--peaks", "1.2"], "--peaks is no option of the method ssi."),
        (["--method", "fdd", "--peaks", "one"], "--peaks has frequencies in Hz"),
        (["--channels", "c0"], "at least 2 channels"),
        (["--method", "frf"], "no measured excitation"),
        (["--method", "frf", "--highest", "5"], "--highest is no option of the method frf."),
    ],
)
def test_wrong_words_are_told(vibrid, inside, words, said):
    done = vibrid("modal", "ambient.csv", *words)
    assert done.exit_code == 1 and said in done.stderr


def test_set_ups_are_merged(vibrid, inside):
    whole = vb.read_record("ambient.csv")
    for name, chosen in (("one.csv", ["c1", "c5", "c0", "c2"]), ("two.csv", ["c1", "c5", "c3", "c4"])):
        vb.write_csv(whole.select(chosen), name)
    words = ("modal", "one.csv", "two.csv", "--merge", "poser", "--lags", 30, "--json")
    done = vibrid(*words, "--references", "c1,c5")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    right = vb.modes(vb.ShearBuilding(TOWER["masses"], [vb.Linear(k) for k in TOWER["stiffnesses"]]))
    assert [mode["frequency"] for mode in answer["modes"]] == pytest.approx(list(right.frequencies), rel=0.01)
    assert len(answer["modes"][0]["shape"]) == 6 and answer["method"] == "SSI, PoSER"
    assert "--merge needs --references" in vibrid(*words).stderr


def test_h2_is_an_option_of_frf(vibrid, inside):
    rng = np.random.default_rng(0)
    whole = vb.read_record("ambient.csv")
    load = rng.standard_normal((len(whole), 1))
    motion = np.stack([np.convolve(load[:, 0], h)[: len(whole)] for h in _decays()], axis=1)
    channels = [vb.Channel("f", "load", location=0), *(vb.Channel(f"c{i}", "acceleration") for i in range(2))]
    vb.write_csv(vb.Record(np.concatenate([load, motion], axis=1), channels, step=1 / 40), "shaker.csv")
    for estimator in ("H1", "H2"):
        done = vibrid("modal", "shaker.csv", "--method", "frf", "--estimator", estimator, "--order", 12, "--json")
        assert done.exit_code == 0, done.output
        found = [mode["frequency"] for mode in json.loads(done.stdout)["modes"]]
        assert min(abs(f - 3.0) for f in found) < 0.1
    assert "H1 and H2, not 'H3'" in vibrid("modal", "shaker.csv", "--method", "frf", "--estimator", "H3").stderr
    assert "--estimator is no option" in vibrid("modal", "ambient.csv", "--estimator", "H2").stderr


def test_a_geometry_and_responses_of_a_universal_file(vibrid, inside):
    """Frequency responses are read as they are; shapes move on the nodes of a table or of the file."""
    f = np.linspace(0.05, 15.0, 300)
    s = 2j * np.pi * f[:, None]
    poles = 2 * np.pi * np.array([3.0, 8.0]) * (-0.02 + 1j)
    values = sum(
        np.array([[1.0, g]]) * s**2 / ((s - p) * (s - p.conj())) for p, g in zip(poles, (0.6, -0.8), strict=True)
    )
    (inside / "places.csv").write_text("place,x,y,z,direction\n0,0,0,3,x\n1,0,0,6,x\n", encoding="utf-8")
    outputs = tuple(vb.Channel(f"c{i}", "acceleration", location=i) for i in range(2))
    given = (vb.Channel("f", "load", location="0"),)
    response = vb.modal.FrequencyResponse(f, values[:, :, None], None, given, outputs, "H1")
    vb.modal.write_uff("hammer.uff", geometry=vb.modal.read_geometry("places.csv"), response=response)
    words = ("modal", "hammer.uff", "--method", "frf", "--order", 20)
    done = vibrid(*words, "--geometry", "hammer.uff", "--report", "h.html", "--json")
    assert done.exit_code == 0, done.output
    assert [m["frequency"] for m in json.loads(done.stdout)["modes"]] == pytest.approx([3.0, 8.0], rel=1e-3)
    assert (inside / "h.html").read_text(encoding="utf-8").count("<animate") == 2 * (4 + 2 * 2)
    assert "ask for one with --report" in vibrid(*words, "--geometry", "places.csv").stderr
    assert "--estimator belongs to records" in vibrid(*words, "--estimator", "H2").stderr


def _decays():
    """Two motions of one mode at 3 Hz and another at 8 Hz."""
    time = np.arange(0, 8, 1 / 40)
    modes = [np.exp(-0.02 * 2 * np.pi * f * time) * np.sin(2 * np.pi * f * time) for f in (3.0, 8.0)]
    return [modes[0] + 0.6 * modes[1], 0.7 * modes[0] - 0.8 * modes[1]]
