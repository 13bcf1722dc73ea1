"""`vibrid identify`, `compare` and `predict`, as a person types them."""

import hashlib
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.commands.training_state import without_its_file
from vibrid.project import load_project

PROJECT = """
title = "two storeys"

[structure]
kind = "shear-building"
masses = [1.0, 0.8]
storeys = [{law = "linear", stiffness = 45.0, damping = 0.8}, {law = "linear", stiffness = 50.0, damping = 0.8}]

[[sensors]]
quantity = "acceleration"
place = [0, 1]

[[sensors]]
quantity = "displacement"
place = 1

[excitation]
synthetic = {seed = 3, duration = 12.0, rate = 50.0, pga = 3.0}
channels = [{column = "ground"}]

[[unknown]]
path = "storeys[*].stiffness"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project, two measured files of the true building, and a broken one."""
    path = tmp_path_factory.mktemp("identify")
    (path / "two.toml").write_text(PROJECT, encoding="utf-8")
    project = load_project(path / "two.toml")
    true = project.structure.replace({"storeys[0].stiffness": 60.0, "storeys[1].stiffness": 40.0})
    for name, seed in (("test.csv", 3), ("other.csv", 4)):
        motion = vb.synthetic_motion(seed, duration=12.0, rate=50.0, pga=3.0)
        response = vb.simulate(true, motion, integrator=vb.RungeKutta4(), substeps=8)
        response.measure(project.sensors, noise=0.02, key=seed).write_csv(path / name)
    (path / "no_unknown.toml").write_text(PROJECT.split("[[unknown]]")[0], encoding="utf-8")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_a_start_from_the_data(folder):
    """`start = "auto"` of a project and `--start` of the command, which comes first; the answer says where it began."""
    poor = PROJECT.replace("stiffness = 45.0", "stiffness = 400.0").replace("stiffness = 50.0", "stiffness = 6.0")
    (folder / "poor.toml").write_text('start = "auto"' + poor, encoding="utf-8")
    words = ("identify", folder / "poor.toml", folder / "test.csv", "--checks", "none", "--json", "-")
    made = run(*words)
    assert made.exit_code == 0, made.output
    answer = json.loads(made.stdout)
    assert answer["started_from"] == "Start: the balance of forces along the measured motion."
    assert [p["estimate"] for p in answer["parameters"]] == pytest.approx([60.0, 40.0], rel=0.01)
    assert json.loads(run(*words, "--start", "given").stdout)["started_from"] is None
    refused = run(*words, "--start", "best")
    assert refused.exit_code == 1 and "start is 'given', 'auto'" in refused.stderr


def test_identify_writes_answer_report_and_result(folder):
    files = {k: folder / f"out.{k}" for k in ("json", "html", "h5")}
    made = run(
        "identify", folder / "two.toml", folder / "test.csv", "--validate", folder / "other.csv",
        "--json", files["json"], "--report", files["html"], "--save", files["h5"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "storeys[0].stiffness" in made.stdout and "Validation on" in made.stdout
    answer = json.loads(files["json"].read_text())
    values = {p["name"]: p for p in answer["parameters"]}
    assert values["storeys[0].stiffness"]["estimate"] == pytest.approx(60.0, rel=0.01)
    assert values["storeys[1].stiffness"]["unit"] == "N/m" and values["storeys[1].stiffness"]["identifiable"] is True
    assert set(values["storeys[0].stiffness"]) == {
        "name", "unit", "estimate", "standard_deviation", "interval_95", "at_bound", "bounds",
        "cramer_rao_bound", "identifiable",
    }  # fmt: skip
    assert max(answer["validation"][0]["relative_error"].values()) < 0.05
    kept = vb.load_identification(files["h5"]).files
    assert [(f.name, f.role) for f in kept] == [("two.toml", "project"), ("test.csv", "record")]
    assert answer["files"] == [vars(f) for f in kept]
    for file in kept:
        assert file.sha256 == hashlib.sha256((folder / file.name).read_bytes()).hexdigest()
        assert file.sha256 in files["html"].read_text()
    assert files["html"].stat().st_size > 10_000 and "two storeys" in files["html"].read_text()

    pictured = ["--plot", folder / "predicted.png", "--csv", folder / "peaks.csv"]
    predicted = run(
        "predict", files["h5"], folder / "other.csv", "--out", folder / "predicted.csv", "--json", *pictured
    )
    assert predicted.exit_code == 0, predicted.output
    assert (folder / "predicted.png").stat().st_size > 20_000 and "standard_deviation" in (
        folder / "peaks.csv"
    ).read_text()
    peak = json.loads(predicted.stdout)["channels"][1]
    assert abs(peak["measured_peak"] / peak["peak"] - 1) < 0.1 and 0 < peak["standard_deviation"] < 0.05 * abs(
        peak["peak"]
    )
    assert max(json.loads(predicted.stdout)["validation"]["relative_error"].values()) < 0.05
    assert vb.read_record(folder / "predicted.csv").names[0] == "ground"

    motion = vb.read_record(folder / "other.csv").select(["ground"])
    both = [motion.channels[0], vb.Channel("other", "ground_acceleration", direction="E-W")]
    vb.Record(np.repeat(motion.data, 2, axis=1), both, step=motion.step).write_csv(folder / "both.csv")
    refused = run("predict", files["h5"], folder / "both.csv")
    assert refused.exit_code == 1 and "2 channels at once" in refused.output + refused.stderr
    chosen = run("predict", files["h5"], folder / "both.csv", "--drive", "ground", "--out", folder / "chosen.csv")
    assert chosen.exit_code == 0, chosen.output
    one, other = (vb.read_record(folder / f"{name}.csv") for name in ("predicted", "chosen"))
    np.testing.assert_array_equal(one.data, other.data)


def test_the_first_answer_is_told_before_its_checks(folder, monkeypatch):
    made = run("identify", folder / "two.toml", folder / "test.csv")
    assert made.exit_code == 0, made.output
    lines = made.stderr.splitlines()
    first, checking = lines.index("First answer, before its checks:"), lines.index("checking the result ...")
    assert first + 3 == checking, "two unknowns, then the progress of the checks"
    for line, name, value in zip(lines[first + 1 :], ("storeys[0]", "storeys[1]"), (60.0, 40.0), strict=False):
        found = re.fullmatch(rf"  {re.escape(name)}.stiffness: ([\d.]+) ± [\d.]+ N/m", line)
        assert found and float(found[1]) == pytest.approx(value, rel=0.01)
    assert "First answer" not in made.stdout
    monkeypatch.setattr("vibrid.commands.identify.MOST_LINES", 1)
    shortened = run("identify", folder / "two.toml", folder / "test.csv")
    assert "  … 1 more" in shortened.stderr.splitlines() and "stiffness" in shortened.stdout
    for options in (["--json"], ["--checks", "none"]):
        silent = run("identify", folder / "two.toml", folder / "test.csv", *options)
        assert silent.exit_code == 0 and "First answer" not in silent.stderr


def test_json_on_the_screen_is_only_json(folder):
    made = run("identify", folder / "two.toml", folder / "test.csv", "--json", "-", "--hold-out", 0.25)
    answer = json.loads(made.stdout)
    assert answer["fits"] is True and 0 < answer["held_out"] < 0.1


def test_a_fault_is_repaired(folder, tmp_path):
    record = vb.read_record(folder / "test.csv")
    values = np.array(record.data)
    values[:, -1] *= 1.15
    vb.Record(values, record.channels, step=record.step).write_csv(tmp_path / "scaled.csv")
    made = run("identify", folder / "two.toml", tmp_path / "scaled.csv", "--repair")
    assert made.exit_code == 0, made.output
    assert "too large by 1" in made.stdout and "Repaired and fitted again: gain of" in made.stdout
    assert "The model fits" in made.stdout
    clean = run("identify", folder / "two.toml", folder / "test.csv", "--repair")
    assert clean.exit_code == 0 and "there is nothing to repair" in clean.stdout


def test_compare_puts_methods_side_by_side(folder):
    made = run(
        "compare", folder / "two.toml", folder / "test.csv", "--methods", "trajectory,ukf,least-squares", "--plot",
        folder / "compare.png",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "ukf" in made.stdout and "least-squares has no result: LeastSquares cannot solve this" in made.stdout
    assert (folder / "compare.png").stat().st_size > 5_000
    lines = made.stdout.splitlines()
    estimates = [line for line in lines if "±" in line and "|" in line and "o" in line]
    assert len(estimates) == 4 and all("N/m" in line for line in estimates), "two parameters by two methods"
    (row,) = [line.split() for line in lines if line.split()[:1] == ["ukf"] and line.split()[-1] in ("all", "yes")][1:]
    assert row == ["ukf", "all"], "they agree on all parameters"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["two.toml"], "no measured file was given"),
        (["no_unknown.toml", "test.csv"], "nothing is unknown"),
        (["two.toml", "missing.csv"], "missing.csv"),
        (["two.toml", "test.csv", "--method", "trajektory"], "did you mean 'trajectory'"),
        (["two.toml", "test.csv", "--report", "out.docx"], "should end in .html"),
        (["two.toml", "two.toml"], "two.toml"),
    ],
)
def test_mistakes_are_sentences(folder, words, sentence, monkeypatch):
    monkeypatch.chdir(folder)
    made = run("identify", *words)
    assert made.exit_code == 1 and sentence in made.stderr and "Traceback" not in made.output


def test_a_training_is_kept_where_it_is_asked_for(folder, monkeypatch):
    """That a training goes on from its file is tested with the method."""
    asked = []

    def identify(structure, records, unknown, method, **_):
        asked.append(method)
        raise vb.InputError("asked")

    monkeypatch.setattr(vb, "identify", identify)
    for name in ("pidynnet", "trajectory"):
        words = ("identify", folder / "two.toml", folder / "test.csv", "--method", name)
        assert "asked" in run(*words, "--state", folder / "training.npz").output
    assert asked[0].checkpoint == str(folder / "training.npz") and type(asked[1]) is vb.TrajectoryFit
    assert "should end in .npz" in run("identify", folder / "two.toml", "--state", folder / "training.h5").output
    fit = SimpleNamespace(settings={"checkpoint": "training.npz", "steps": 3}, replace=lambda **changes: changes)
    assert without_its_file(fit) == {"settings": {"steps": 3}}
