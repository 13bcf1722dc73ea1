"""Parts of the studio: thinning, changes of the text, templates, sketches, the tail of a journal."""

import base64
import itertools
import json
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError, VibridError
from vibrid.hybrid import Recorder
from vibrid.project import load_project
from vibrid.records.record import Channel
from vibrid.structures.base import STRUCTURES
from vibrid.studio.calculating import Desk
from vibrid.studio.editing import edited
from vibrid.studio.sketch import sketch
from vibrid.studio.tails import MOST_NEW, EstimatesTail, JournalTail
from vibrid.studio.templates import building, merged, template, template_names
from vibrid.studio.thin import as_json, extremes

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("count", [0, 1, 80, 81, 1000, 10_007])
def test_thinning_loses_no_peak(count):
    values = np.random.default_rng(count).standard_normal(count)
    values[count // 3 : count // 3 + 5] = np.nan
    places, kept = extremes(values, 40)
    assert len(kept) <= 80 and np.all(np.diff(places) >= 0)
    assert np.array_equal(kept, values[places], equal_nan=True)
    if np.isfinite(values).any():
        assert np.nanmax(kept) == np.nanmax(values) and np.nanmin(kept) == np.nanmin(values)


def test_every_part_keeps_its_own_extremes():
    """Against a loop: a spike in any part is there."""
    values = np.random.default_rng(0).standard_normal(1003)
    places, kept = extremes(values, 50)
    edges = np.linspace(0, 1003, 51).astype(int)
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        assert sorted(kept[2 * i : 2 * i + 2]) == [values[a:b].min(), values[a:b].max()]
        assert all(a <= p < b for p in places[2 * i : 2 * i + 2])
    assert as_json(np.array([1.23456789, np.nan, np.inf])) == [1.23457, None, None]


TEXT = """# a comment
title = "t"

[structure]
kind = "shear-building"   # of two floors
masses = {value = "20 t", count = 2}
storeys = {law = "linear", count = 2, stiffness = "10 MN/m"}

[[unknown]]
path = "storeys[*].stiffness"
"""


def test_changes_keep_comments_and_say_the_same_as_the_page():
    text = edited(
        TEXT,
        [
            {"do": "expand", "at": ["structure", "storeys"]},
            {"do": "set", "at": ["structure", "storeys", 1, "stiffness"], "value": 9e6},
            {"do": "expand", "at": ["structure", "masses"]},
            {"do": "set", "at": ["structure", "masses", 0], "value": "21 t"},
            {"do": "append", "at": ["unknown"], "value": {"path": "masses[0]"}},
            {"do": "set", "at": ["method"], "value": {"name": "ukf"}},
            {"do": "set", "at": ["records"], "value": {"files": ["a.csv"]}},
            {"do": "set", "at": ["sensors"], "value": [{"channel": "A", "quantity": "drift", "place": 0}]},
        ],
    )
    assert "# a comment" in text and "# of two floors" in text
    data = tomllib.loads(text)
    assert data["structure"]["storeys"] == [
        {"law": "linear", "stiffness": "10 MN/m"},
        {"law": "linear", "stiffness": 9e6},
    ]
    assert data["structure"]["masses"] == ["21 t", "20 t"] and data["sensors"][0]["channel"] == "A"
    assert [u["path"] for u in data["unknown"]] == ["storeys[*].stiffness", "masses[0]"]
    less = edited(text, [{"do": "remove", "at": ["unknown", 0]}, {"do": "remove", "at": ["nowhere", "x"]}])
    assert [u["path"] for u in tomllib.loads(less)["unknown"]] == ["masses[0]"]


@pytest.mark.parametrize(
    "change",
    [
        {"do": "run", "at": ["title"]},
        {"do": "set", "at": [], "value": 1},
        {"do": "set", "at": ["structure", "storeys", 7, "x"], "value": 1},
        {"do": "set", "at": ["title"], "value": None},
        {"do": "set", "at": "title", "value": 1},
    ],
    ids=str,
)
def test_what_cannot_be_changed_is_refused_in_a_sentence(change):
    with pytest.raises(InputError):
        edited(TEXT, [change])
    with pytest.raises(InputError, match="not valid TOML"):
        edited("a = ", [{"do": "remove", "at": ["a"]}])


def test_every_registered_structure_has_a_template_that_is_its_example():
    assert set(STRUCTURES) == set(template_names())
    for name in template_names():
        assert template(name) == (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no structure"):
        template("../../etc/passwd")
    of_a_plugin = {
        "name": "mast",
        "parameters": [{"name": "k", "meaning": "stiffness", "unit": "N/m", "required": True}],
    }
    assert tomllib.loads(template("mast", [of_a_plugin]))["structure"] == {"kind": "mast", "k": 1.0}


def test_a_few_answers_make_a_project_and_keep_what_was_measured(tmp_path):
    text = building({"storeys": "3", "mass": "20 t", "frequency": "2.5", "title": "tower"})
    old = 'title = "mine"\n[[sensors]]\nquantity = "displacement"\nplace = "roof"\n[records]\nfiles = ["a.csv"]\n'
    (tmp_path / "p.toml").write_text(merged(text, old))
    project = load_project(tmp_path / "p.toml")
    assert project.title == "mine" and project.sensors[0].place == "roof" and len(project.structure.storeys) == 3
    assert vb.modes(project.structure).frequencies[0] == pytest.approx(2.5, rel=0.01)
    assert merged(text, "not = [toml") == text
    for wrong, words in (({"storeys": "x"}, "number"), ({"kind": "truss"}, "template"), ({}, "storeys")):
        with pytest.raises(InputError, match=words):
            building(wrong)


@pytest.mark.parametrize("name", sorted(STRUCTURES))
def test_every_structure_is_drawn_with_parts_that_have_parameters(name):
    project = load_project(EXAMPLES / f"{name}.toml")
    drawn = sketch(project.structure, project.sensors or ())
    json.dumps(drawn, allow_nan=False)
    ids = [item["id"] for item in drawn["items"]]
    assert len(ids) == len(set(ids)) and any(item["match"] for item in drawn["items"])
    assert all(len(point) == 2 for item in drawn["items"] for point in item["points"])
    assert drawn["sensors"] and len(drawn["sensors"]) <= len(project.sensors)


@pytest.mark.parametrize(
    "name, loads",
    [
        ("shear-building", ["ground acceleration: synthetic"]),
        ("truss", ["ground acceleration (y): synthetic"]),
        ("beam", ["load (1.lateral): cyclic"]),
        ("unknown-load", ["load (2): cyclic", "load (2): unknown"]),
        ("device", []),
    ],
)
def test_what_moves_a_structure_is_drawn(name, loads):
    said = Desk().answer({"what": "describe", "project": str(EXAMPLES / f"{name}.toml")})
    assert [load["label"] for load in said["sketch"]["loads"]] == loads
    assert not any("UnknownLoad" in path for path in said["unknown"]) and said["light"]


def test_unknowns_that_share_a_value_are_one_entry(tmp_path):
    """So that the page removes the entry that was unticked, and not another."""
    path = tmp_path / "p.toml"
    path.write_text(TEXT + '\n[[unknown]]\npath = ["masses[0]", "masses[1]"]\n[[unknown]]\npath = "damping.ratios"\n')
    path.write_text(
        path.read_text().replace("[[unknown]]", 'damping = {kind = "modal", ratios = 0.02}\n[[unknown]]', 1)
    )
    said = Desk().answer({"what": "describe", "project": str(path)})
    assert said["problems"] == []
    assert said["unknowns"] == [["storeys[*].stiffness"], ["masses[0]", "masses[1]"], ["damping.ratios"]]


def unpacked(trace):
    """Indices and values of a trace, as the page reads them."""
    return tuple(np.frombuffer(base64.b64decode(trace[k]), kind) for k, kind in (("places", "<i4"), ("values", "<f4")))


def test_the_desk_describes_simulates_and_refuses(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text((EXAMPLES / "shear-building.toml").read_text(encoding="utf-8"))
    desk = Desk()
    said = desk.answer({"what": "describe", "project": str(path)})
    json.dumps(said, allow_nan=False)
    assert said["problems"] == [] and said["title"] == "three-storey hysteretic building"
    values = {row["path"]: row["value"] for row in said["parameters"]}
    assert values["storeys[0].stiffness"] == pytest.approx(24e6) and values["masses[2]"] == pytest.approx(20e3)
    assert said["modes"][0]["frequency"] == pytest.approx(float(vb.modes(load_project(path).structure).frequencies[0]))
    made = desk.answer({"what": "simulate", "project": str(path), "values": {"storeys[0].stiffness": 30e6}})
    project = load_project(path)
    expected = vb.simulate(
        project.structure.replace({"storeys[0].stiffness": 30e6}), project.excitation(), **project.simulation.arguments
    ).measure(vb.Sensors(project.sensors).noiseless())
    for trace in made["traces"]:
        assert trace["peak"] == pytest.approx(float(np.abs(expected[trace["label"]]).max()), rel=1e-9)
        places, values = unpacked(trace["computed"])
        assert np.abs(values).max() == pytest.approx(trace["peak"], rel=1e-6)
        np.testing.assert_allclose(values, expected[trace["label"]][places], rtol=1e-5, atol=1e-6 * trace["peak"])
    assert made["step"] == project.excitation().step and made["measured"] is None
    path.write_text("[structure]\nkind = 'shear-bilding'\n")
    assert any("shear-building" in line for line in desk.answer({"what": "describe", "project": str(path)})["problems"])
    with pytest.raises(InputError, match="no question"):
        desk.answer({"what": "import os"})


def test_what_was_measured_is_beside_the_computed_once(tmp_path):
    """Gaps are kept as gaps; a slider that moves is not sent again what does not change."""
    text = building({"storeys": "1", "mass": "20 t", "frequency": "2", "title": "tower"})
    drive = vb.synthetic_motion(key=2, duration=4.0, rate=50.0, pga=1.0)
    made = np.sin(np.arange(len(drive)))
    made[7] = np.nan
    cells = ["" if np.isnan(value) else f"{value:.6f}" for value in made]
    rows = [f"{t:.2f},{a:.6f},{b}" for t, a, b in zip(drive.time, drive.data[:, 0], cells, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["time [s],ground [m/s^2],roof [m/s^2]", *rows]) + "\n")
    (tmp_path / "p.toml").write_text(
        text + '[[sensors]]\nchannel = "roof"\nquantity = "absolute_acceleration"\nplace = "roof"\n'
        '[excitation]\nchannels = [{column = "ground"}]\n[records]\nfiles = ["a.csv"]\n'
    )
    desk, question = Desk(), {"what": "simulate", "project": str(tmp_path / "p.toml")}
    places, values = unpacked(desk.answer(question)["traces"][0]["measured"])
    np.testing.assert_allclose(values, made[places], atol=1e-6)
    assert np.isnan(values).sum() == 1
    moved = desk.answer({**question, "measured": False, "values": {"storeys[0].stiffness": 4e6}})
    assert "measured" not in moved["traces"][0] and moved["measured"] is not None


def test_predictions_of_runs_are_those_of_their_results(tower_fits):
    """Two results under another record, whose columns are not those of the project."""
    results = {str(i): str(tower_fits / f"result-{i}.h5") for i in (1, 2)}
    question = {"what": "predict", "project": str(tower_fits / "tower.toml"), "results": results}
    said = Desk().answer({**question, "record": str(tower_fits / "other.csv")})
    json.dumps(said, allow_nan=False)
    (sensor,) = said["sensors"]
    assert sensor["label"] == "absolute_acceleration_roof" and "measured" not in sensor
    motion = vb.read_record(tower_fits / "other.csv")
    for run, path in zip(sensor["runs"], results.values(), strict=True):
        fit = vb.load_identification(path)
        expected = fit.predict(motion).readings(vb.Sensors(fit.experiment.sensors).noiseless())[:, 0]
        places, values = unpacked(run["computed"])
        np.testing.assert_allclose(values, expected[places], rtol=1e-5, atol=1e-6 * np.abs(expected).max())
        assert abs(run["peak"]) == pytest.approx(np.abs(expected).max()) and 0 < run["band"] < abs(run["peak"])
    assert sensor["runs"][0]["peak"] != sensor["runs"][1]["peak"]
    named = Desk().answer({**question, "record": str(tower_fits / "other.csv"), "drive": "ground"})
    assert named["sensors"][0]["runs"][0]["peak"] == sensor["runs"][0]["peak"] and named["read"] == "driven by ground"
    with pytest.raises(VibridError, match="no channel"):
        Desk().answer({**question, "record": str(tower_fits / "other.csv"), "drive": "UD"})


def test_a_sensor_is_placed_where_none_stands(tower_fits):
    """Its mark is on the drawing, and the bounds with it are told."""
    said = Desk().answer({"what": "place", "project": str(tower_fits / "tower.toml"), "count": 1})
    assert [s["place"] for s in said["sensors"]] == ["0"] and len(said["marks"]) == 1
    described = Desk().answer({"what": "describe", "project": str(tower_fits / "tower.toml")})
    assert said["marks"][0]["at"] != described["sketch"]["sensors"][0]["at"]
    assert {b["name"] for b in said["bounds"]} == {"storeys[0].stiffness", "storeys[1].stiffness"}


def test_the_schema_tells_every_law_with_units_and_meaning():
    kinds = Desk().answer({"what": "schema"})
    assert {law["name"] for law in kinds["law"]} >= set(vb.laws.LAWS) - {"commanded"}
    assert {s["name"] for s in kinds["structure"]} == set(STRUCTURES)
    bouc = next(law for law in kinds["law"] if law["name"] == "bouc-wen")
    stiffness = next(p for p in bouc["parameters"] if p["name"] == "stiffness")
    assert stiffness["unit"] == "N/m" and "stiffness" in stiffness["meaning"] and stiffness["required"]


def test_the_tail_of_a_journal_gives_every_row_once(tmp_path):
    """Looks at any moments, also after more rows than the ring holds; rows are those that were added."""
    recorder = Recorder(tmp_path / "test.h5", [Channel("a", "displacement"), Channel("b", "element_force")], step=0.001)
    tail, seen = JournalTail(recorder.journal), []
    added = 0
    for burst in (3, 0, 200, 511, 512, 513, 1, 2600, 40):
        for _ in range(burst):
            recorder.add(0.001 * added, [added, -added])
            added += 1
        if burst > 500:
            until = time.monotonic() + 10
            while recorder._journal.rows < added - 512 and time.monotonic() < until:
                time.sleep(0.01)  # what left the ring is in a block once the writer has had its turn
        seen.append(tail.news())
    rows = np.concatenate([part for part in seen if part is not None])
    recorder.close()
    assert rows[:, 1].tolist() == list(range(added)) and np.array_equal(rows[:, 2], -rows[:, 1])
    assert tail.channels == ["a", "b"] and tail.units == ["m", "N"]
    assert JournalTail(tmp_path / "none.journal").news() is None


def test_the_tail_of_estimates_waits_for_whole_lines(tmp_path):
    path = tmp_path / "estimates.csv"
    tail = EstimatesTail(path)
    assert tail.news() is None
    path.write_text("time,k,sd k\n0,1,0.5\n1,2")
    assert tail.news().tolist() == [[0.0, 1.0, 0.5]]
    with path.open("a") as stream:
        stream.write(",0.25\n")
    assert tail.news().tolist() == [[1.0, 2.0, 0.25]] and tail.channels == ["k", "sd k"]


def test_a_long_test_is_watched_in_bounded_memory(tmp_path):
    """What a look gives does not grow with what has passed, and nothing of it is kept."""
    recorder = Recorder(tmp_path / "test.h5", [Channel("a", "displacement")], step=0.001)
    tail = JournalTail(recorder.journal)
    sizes = []
    for start in range(0, 150_000, 30_000):
        for i in range(start, start + 30_000):
            recorder.add(0.001 * i, [i])
        sizes.append(len(tail.news()))
    held = sum(value.nbytes for value in vars(tail).values() if isinstance(value, np.ndarray))
    recorder.close()
    assert max(sizes) <= MOST_NEW and held == 0
