"""A project in MN/m answers in MN/m; every number of a file or of JSON stays SI with its unit."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.project import load_project
from vibrid.project.display_units import given_units
from vibrid.report.html import report_page

PROJECT = """
[structure]
kind = "shear-building"
masses = ["2 t", "2 t"]
storeys = [{law = "linear", stiffness = "3 MN/m", damping = "20 kN s/m"}, {law = "linear", stiffness = "2500 kN/m"}]
[[sensors]]
quantity = "absolute_acceleration"
place = [0, 1]
[[unknown]]
path = "storeys[*].stiffness"
[[unknown]]
path = "storeys[0].damping"
bounds = ["1 N s/mm", "900 N s/mm"]
[simulation]
noise = 0.02
[excitation]
synthetic = {duration = 4.0, rate = 100.0, seed = 1}
"""


def test_the_units_of_a_file():
    given = given_units({"structure": {"a": ["3 MN/m", "4 MN/m", "2 kN/m", "5", "word"], "b": {"c": "2 t"}}})
    assert given.of_structure == {"N/m": "MN/m", "kg": "t"} and not given.of_unknowns
    assert given_units({"unknown": [{"path": ["a", "b"], "bounds": [None, "3 mm"]}]}).of_unknowns == {
        "a": "mm", "b": "mm",
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("units")
    (made / "p.toml").write_text(PROJECT)
    project = load_project(made / "p.toml")
    true = project.structure.replace({"storeys[0].stiffness": 3.2e6})
    response = vb.simulate(true, project.excitation())
    response.measure(project.sensors, noise=0.02, key=1).write_csv(made / "test.csv")
    return made


@pytest.mark.long
def test_answers_in_the_units_of_the_project(folder):
    words = ["identify", str(folder / "p.toml"), str(folder / "test.csv"), "--save", str(folder / "fit.h5")]
    text = CliRunner().invoke(app, words).stdout
    line = next(line for line in text.splitlines() if line.startswith("storeys[0].stiffness"))
    value, band = map(float, line.split()[1:3])
    assert line.endswith("[MN/m]") and abs(value - 3.2) < 3 * band and len(line.split()[1]) <= 7
    assert any(line.startswith("storeys[0].damping") and line.endswith("[N s/mm]") for line in text.splitlines())
    fit = vb.load_identification(folder / "fit.h5")
    assert fit.display_units["storeys[1].stiffness"] == "MN/m" and line in str(fit)
    row = fit.table()[0]
    assert row["unit"] == "N/m" and row["estimate"] == pytest.approx(3.2e6, rel=0.02)
    assert row["display"]["estimate"] == pytest.approx(row["estimate"] / 1e6)
    assert row["display"]["text"] == f"{line.split()[1]} ± {line.split()[2]} MN/m"
    assert json.loads(json.dumps(row)) and np.allclose(
        row["display"]["interval_95"], np.array(row["interval_95"]) / 1e6
    )
    page = report_page(fit)
    assert f"<b>{line.split()[1]}</b>" in page and "MN/m" in page


def test_a_unit_of_another_kind_is_not_shown(folder):
    from vibrid.identification.display import checked_units, factor_of

    assert factor_of("MN/m", "N/m") == pytest.approx(1e6) and factor_of("mm", "N/m") is None
    assert checked_units({"k": "mm", "x": "m", "k2": 3, "c": ""}, ("k", "k2", "c"), ("N/m",) * 3) == {}
