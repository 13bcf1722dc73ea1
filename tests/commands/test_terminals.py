"""Terminals that are not UTF-8, narrow ones, pipes without colours: help and output of every command."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from every_command import COMMANDS, ROOT
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.commands.output import print_table
from vibrid.commands.plain_words import plain

C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENCODINGS = {"cp1252": {"PYTHONIOENCODING": "cp1252"}, "ascii": C_LOCALE}
PROJECT = """
title = "Prüfstand σ ± 2"
[structure]
kind = "shear-building"
masses = ["2 t"]
storeys = [{ law = "linear", stiffness = "3 MN/m", damping = "20 kN s/m" }]
[excitation.synthetic]
duration = "2 s"
rate = 100
pga = "2 m/s^2"
seed = 1
[[sensors]]
quantity = "absolute_acceleration"
place = 0
"""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_help_of_every_command(encoding, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    for words in [(), ("record",), ("motions",), ("hybrid",), *COMMANDS]:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr("sys.stdout", stream)
        with contextlib.suppress(SystemExit):
            ROOT.main([*words, "--help"], "vibrid")
        stream.flush()
        text = stream.buffer.getvalue().decode(encoding)
        assert "Usage" in text and "\x1b" not in text, words
        assert max(map(len, text.splitlines())) < 80, words


def run(folder: Path, encoding: str, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONIO", "PYTHONUTF8"))}
    environment |= ENCODINGS[encoding] | {"NO_COLOR": "1", "COLUMNS": "60"}
    return subprocess.run(
        [sys.executable, "-m", "vibrid", *arguments], cwd=folder, capture_output=True, env=environment, timeout=300
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_files_in_a_folder_with_an_umlaut_and_a_blank(tmp_path, encoding):
    folder = tmp_path / "Prüfstand 1"
    folder.mkdir()
    old, new = folder / "mess ung ü σ.csv", folder / f"{'sehr_' * 12}langer Name ± ü.csv"
    old.write_text("time [s],a [m/s^2]\n0,1\n0.01,2\n0.02,3\n", encoding="utf-8")
    made = run(folder, encoding, "record", "convert", old, "-o", new)
    assert made.returncode == 0, made.stderr
    text = made.stdout.decode(encoding)
    assert (
        ("Prüfstand 1" if encoding == "cp1252" else "Pr??fstand 1") in text
        and "3 samples" in text
        and new.stat().st_size
    )


def test_output_where_only_ascii_is_shown(tmp_path):
    project = tmp_path / "project.toml"
    project.write_text(PROJECT, encoding="utf-8")
    made = CliRunner(charset="ascii").invoke(app, ["simulate", str(project)])
    text = made.stdout_bytes.decode("ascii")
    assert "Pr?fstand sigma +- 2" in text and "absolute acceleration" in text


def test_json_loses_nothing_where_only_ascii_is_shown(tmp_path):
    project = tmp_path / "project.toml"
    project.write_text(PROJECT, encoding="utf-8")
    made = CliRunner(charset="ascii").invoke(app, ["simulate", str(project), "--json"])
    assert json.loads(made.stdout_bytes.decode("ascii"))["title"] == "Prüfstand σ ± 2"


def test_an_error_in_ascii():
    made = CliRunner(charset="ascii").invoke(app, ["simulate", "prüfung–σ.toml"])
    assert made.exit_code == 1 and "pr?fung-sigma.toml: there is no such" in made.stderr_bytes.decode("ascii")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("σ ± k₁ – 2 × 10⁶ …", "sigma +- k1 - 2 x 10^6 ..."),
        ("ΔΘς µm ≤ ‖θ̂‖", "DeltaThetasigma um <= ||theta?||"),
        ("Prüfung 橋", "Pr?fung ?"),
    ],
)
def test_plain_words(text, words):
    assert "".join(map(plain, text)) == words


def test_a_table_in_a_narrow_terminal_loses_nothing(monkeypatch, capsys):
    headings = ["parameter", "estimate", "± 2σ", "true value", "unit"]
    row = ["storeys[0].post_yield_ratio_of_the_device", "2.6005e+07", "2.3e+04", "2.60012e+07", "N/m"]
    monkeypatch.setenv("COLUMNS", "60")
    print_table("Piped", headings, [row], right=("estimate",))
    piped = capsys.readouterr().out.splitlines()
    assert any(all(cell in line for cell in row) for line in piped)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    print_table("Narrow", headings, [row], right=("estimate",))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60 and all(any(cell in line for line in lines) for cell in row)
