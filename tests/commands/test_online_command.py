"""`vibrid online` as a person types it: replay, pipe, stop and resume."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vibrid.cli import app

PROJECT = """
[structure]
kind = "device"
law = {law = "masing", stiffness = 4.0, distribution = {kind = "rayleigh", mean = 4.0}, ductility = 2.0, capacity = 12}
[[sensors]]
quantity = "element_force"
place = "device"
channel = "f"
unit = "kN"
[excitation]
channels = [{column = "x", quantity = "imposed_displacement", unit = "mm"}]
cyclic = {amplitudes = [3.0, 8.0, 12.0], frequency = 0.5, cycles = 2, rate = 25.0}
quantity = "imposed_displacement"
[[unknown]]
path = "law.stiffness"
start = 3.0
[method]
name = "online-masing"
window = 40
stride = 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A project and 300 samples of its device, whose stiffness is 4 kN/m (x in mm and f in kN)."""
    import vibrid as vb
    from vibrid.project import load_project

    made = tmp_path_factory.mktemp("online")
    (made / "p.toml").write_text(PROJECT)
    loaded = load_project(made / "p.toml")
    response = vb.simulate(loaded.structure, loaded.excitation())
    x, f = response.part("device")
    rows = [f"{i / 25.0:.2f},{1e3 * a:.9g},{1e-3 * b:.9g}" for i, (a, b) in enumerate(zip(x, f, strict=True))]
    (made / "test.csv").write_text("\n".join(["time [s],x [mm],f [kN]", *rows]) + "\n")
    (made / "lines.txt").write_text("\n".join([*rows[:60], "rubbish", *rows[62:]]) + "\n")
    return made


def online(*arguments, given=None):
    return CliRunner().invoke(app, ["online", *map(str, arguments)], input=given)


def test_a_file_is_replayed_recorded_and_resumed(folder):
    state, out = folder / "state.npz", folder / "run.csv"
    done = online(folder / "p.toml", "--from", folder / "test.csv", "--out", out, "--state", state)
    assert done.exit_code == 0, done.output
    assert "301 samples, the source ended" in done.output and "law.stiffness" in done.output
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 30 and abs(float(rows[-1]["law.stiffness"]) - 4.0) < 0.1
    again = online(folder / "p.toml", "--from", folder / "test.csv", "--state", state, "--resume", "--out", out)
    assert again.exit_code == 0 and "301 samples" in again.output, "all of it has been used"
    assert list(csv.DictReader(out.open())) == rows


def test_a_pipe_with_a_gap_and_rubbish(folder):
    done = online(folder / "p.toml", "--from", "-", "--rate", 25, given=(folder / "lines.txt").read_text())
    assert done.exit_code == 0, done.output
    assert "2 lost" in done.output and "1 refused" in done.output and "no motion" in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "-"], "give --rate"),
        (["--from", "udp://nowhere", "--rate", 10], "names no port"),
        (
            ["--from", "udp://127.0.0.1:0", "--rate", 10, "--timeout", 0.1],
            "No sample arrived: the sender stopped sending",
        ),
        (["--from", "test.csv", "--speed", "fast"], "--speed must be full"),
        (["--from", "test.csv", "--resume"], "--resume needs --state"),
        (["--from", "test.csv", "--method", "trajectory"], "cannot run sample by sample"),
    ],
)
def test_what_cannot_be_is_one_sentence(folder, arguments, words, monkeypatch):
    monkeypatch.chdir(folder)
    done = online("p.toml", *arguments)
    assert words in done.output and "Traceback" not in done.output
