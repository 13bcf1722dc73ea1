"""The commands of the README from a logger's file to a report, on a file made here."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app

README = Path(__file__).parents[2] / "README.md"


def commands() -> list[str]:
    """The commands of the README's section on one's own data."""
    text = README.read_text(encoding="utf-8")
    if "## Your own data" not in text:
        pytest.skip("the README is not beside the tests")
    section = text.split("## Your own data")[1].split("\n## ")[0]
    return [line for line in re.findall(r"```\n(.*?)```", section, re.S)[0].splitlines() if line]


def write_tower(path: Path) -> None:
    """Table and two floors of a building in g, as a logger with decimal commas and a row of units writes them."""
    storeys = [vb.Linear(stiffness=stiffness) for stiffness in (26e6, 19e6)]
    tower = vb.ShearBuilding(masses=[20e3] * 2, storeys=storeys, damping=vb.Modal(0.03))
    motion = vb.synthetic_motion(key=4, duration=10.0, rate=100.0, pga=3.0)
    data = vb.simulate(tower, motion).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.02, key=0)
    rows = [
        ";".join(f"{value:.5f}".replace(".", ",") for value in (time, *(row / 9.80665)))
        for time, row in zip(data.time, data.data, strict=True)
    ]
    path.write_text("Site A\n\nTime;table;A1;A2\ns;g;g;g\n" + "\n".join(rows) + "\n", encoding="utf-8")


def test_from_a_file_to_a_report_in_at_most_five_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tower(tmp_path / "tower.csv")
    lines = commands()
    assert 1 < len(lines) <= 5
    shown = last = ""
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "vibrid"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        shown, last = shown + result.output, result.output
    assert "as read: decimal commas" in shown and "The model fits" in shown
    first, second, ratio = (
        float(re.search(rf"{re.escape(name)}\s+(\S+)", last)[1])
        for name in ("storeys[0].stiffness", "storeys[1].stiffness", "damping.ratios")
    )
    assert (first, second, ratio) == (
        pytest.approx(26, rel=0.01),  # MN/m, the unit that `init` wrote
        pytest.approx(19, rel=0.01),
        pytest.approx(0.03, rel=0.05),
    )
    assert (tmp_path / "tower.html").stat().st_size > 10_000
