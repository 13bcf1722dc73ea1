"""The commands about records, as a user types them."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from vibrid.commands import records as commands
from vibrid.commands.motions import motions
from vibrid.core.errors import VibridError
from vibrid.records import read_record, synthetic_motion


@pytest.fixture(scope="module")
def app():
    app = typer.Typer()
    app.add_typer(commands.record, name="record")
    app.add_typer(motions, name="motions")
    app.command("spectrum")(commands.spectrum)
    return app


@pytest.fixture
def run(app):
    def call(*words, fails=False):
        result = CliRunner().invoke(app, [str(w) for w in words])
        if fails:
            assert isinstance(result.exception, VibridError), result.output
            return str(result.exception)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.output

    return call


@pytest.fixture
def motion(tmp_path):
    path = tmp_path / "motion.csv"
    synthetic_motion(key=1, duration=10.0, pga=2.0).write_csv(path)
    return path


def test_info_in_words_and_in_json(run, motion):
    text = run("record", "info", motion)
    assert "2000 samples, 200 Hz" in text and "PGA 0.2039 g" in text
    found = json.loads(run("record", "info", motion, "--json"))[0]
    assert found["channels"][0]["intensity"]["pga"] == pytest.approx(2.0)


def test_convert_prepares_and_shows_before_and_after(run, tmp_path):
    time = np.arange(0, 4, 0.01)
    waves = (np.sin(6 * time) + 2.0, 0.3 * np.sin(9 * time) + 0.1 * np.sin(250 * time))
    lines = [";".join(f"{v:.5f}".replace(".", ",") for v in row) for row in zip(time, *waves, strict=True)]
    lines[100] = lines[100].rpartition(";")[0] + ";-9999"
    (tmp_path / "a.csv").write_text("time [s];roof [mm];jack [kN]\n" + "\n".join(lines) + "\n")
    told = run("record", "convert", tmp_path / "a.csv", "-o", tmp_path / "b.csv")
    assert "as read: decimal commas" in told and "check: 'jack': 1 sample is -9999" in told
    steps = ["--missing", "-9999", "--start", "0.5", "--fill", "0.1", "--baseline", "mean", "--filter", ":10"]
    told = run("record", "convert", tmp_path / "a.csv", "-o", tmp_path / "c.csv", "--plot", tmp_path / "c.png", *steps)
    assert "a: cut from 0.5" in told and "filled 1 missing samples" in told and "baseline corrected" in told
    assert "roof rms 0.002" in told and " -> 0.0007" in told and (tmp_path / "c.png").stat().st_size > 1000
    record = read_record(tmp_path / "c.csv")
    assert abs(record["roof"].mean()) < 1e-6 and np.abs(record["jack"]).max() < 400


def test_convert_between_formats(run, motion, tmp_path):
    for name in ("a.h5", "b.nc", "c.csv"):
        run("record", "convert", motion, "-o", tmp_path / name)
        np.testing.assert_array_equal(read_record(tmp_path / name).data, read_record(motion).data)
    run("record", "convert", motion, "-o", tmp_path / "d.csv", "--rate", "50")
    assert read_record(tmp_path / "d.csv").rate == 50
    assert "should end in" in run("record", "convert", motion, "-o", tmp_path / "e.xyz", fails=True)


def test_columns_and_units_on_the_command_line(run, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("".join(f"{i} {2 * i}\n" for i in range(20)))
    words = (
        "--step",
        "0.1",
        "--columns",
        "jack,roof",
        "--units",
        "kN,g",
        "--quantities",
        "load,absolute_acceleration",
        "--json",
    )
    found = json.loads(run("record", "info", path, *words))[0]["channels"]
    assert [c["peak"] for c in found] == pytest.approx([19e3, 38 * 9.80665])


def test_pictures_are_written(run, motion, tmp_path):
    run("record", "plot", motion, "-o", tmp_path / "a.png")
    run("spectrum", motion, "-o", tmp_path / "b.png")
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_spectrum_answers_with_the_librarys_numbers(run, motion, tmp_path):
    found = json.loads(run("spectrum", motion, "--periods", "0.1:2", "--count", "20", "--json"))[0]
    expected = read_record(motion).spectrum(np.geomspace(0.1, 2, 20)).pseudo_acceleration
    np.testing.assert_allclose(found["pseudo_acceleration"], expected)
    run("spectrum", motion, "-o", tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().startswith("period [s],")
    assert "LOW:HIGH" in run("spectrum", motion, "--periods", "1", fails=True)


def test_motions_from_seed_to_suite(run, tmp_path):
    run("motions", "synthesise", "-o", tmp_path / "m.csv", "--count", "5", "--duration", "10")
    files = sorted(tmp_path.glob("m_*.csv"))
    assert len(files) == 5
    found = json.loads(run("motions", "scale", files[0], "--target", "ec8:0.3,C", "--json"))
    assert found["motions"][0]["misfit"] < 1
    paired = json.loads(run("motions", "scale", *files[:2], "--pair", "--target", "asce7:1.0,0.6", "--json"))
    assert len(paired["motions"]) == 1
    text = run(
        "motions",
        "select",
        *files,
        "--target",
        "asce7:1.0,0.6",
        "--count",
        "3",
        "-o",
        tmp_path / "suite",
        "--plot",
        tmp_path / "suite.png",
    )
    assert "suite of 3" in text
    assert len(list((tmp_path / "suite").glob("*.csv"))) == 3 and (tmp_path / "suite.png").exists()
    assert "is not a target" in run("motions", "scale", files[0], "--target", "ec8:x,C", fails=True)


def test_errors_are_messages(run, tmp_path):
    (tmp_path / "roof.csv").write_text("time,a\n0,1\n0.1,2\n")
    answer = run("record", "info", tmp_path / "rof.CSV", fails=True)
    assert answer.endswith(f"there is no such file; did you mean '{tmp_path / 'roof.csv'}'?")


@pytest.mark.parametrize(
    "words",
    [
        ("record", "info"),
        ("record", "convert"),
        ("record", "plot"),
        ("spectrum",),
        ("motions", "scale"),
        ("motions", "select"),
        ("motions", "synthesise"),
    ],
)
def test_every_help_has_an_example(run, words):
    assert "Example" in run(*words, "--help")
