"""Laws of a study of runs: the bits of each law alone, one curve for each, growing, the project file, refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, Counted, equal
from tests.studies.test_command import PROJECT
from vibrid.cli import app
from vibrid.report.study_plots import plot_stripes
from vibrid.studies import Collapse, Fits, Hunt, fragility

pytest.importorskip("zarr")

BILINEAR = {"storeys[*]": vb.Bilinear(40.0, 0.2, 0.1)}
LAWS = {"hysteretic": {}, "bilinear": BILINEAR}
MOVING = {
    "vary": {"masses[0]": [1.0, 1.2]},
    "levels": [1.0, 8.0],
    "collapse": Collapse(0.4),
    "keep": ("peaks", "energy"),
}


@pytest.fixture(scope="module")
def data():
    return vb.study(BUILDING, MOTIONS[:3], laws=LAWS, **MOVING).run()


def test_runs_of_a_law_are_those_of_a_study_of_it_alone(data):
    assert data.outcome.dims == ("masses[0]", "law", "motion", "level") and "Bilinear" in data.attrs["laws"][1]
    level = vb.study(BUILDING, MOTIONS[:3], **MOVING).measure  # the period of the study's own structure, for all laws
    for name, structure in (("hysteretic", BUILDING), ("bilinear", BUILDING.replace(BILINEAR))):
        alone = vb.study(structure, MOTIONS[:3], intensity=level, **MOVING).run()
        equal(data.sel(law=name).drop_vars(["law", "law_fingerprint"]), alone)
    assert not np.array_equal(data.energy.sel(law="bilinear"), data.energy.sel(law="hysteretic"))


def test_laws_are_added_later(data, tmp_path):
    vb.study(BUILDING, MOTIONS[:3], laws={"bilinear": BILINEAR}, **MOVING).run(tmp_path, Counted())
    counted = Counted()
    grown = vb.study(BUILDING, MOTIONS[:3], laws=LAWS, **MOVING).run(tmp_path, counted)
    assert counted.runs == 2 * 3 * 2 and grown.law.values.tolist() == ["bilinear", "hysteretic"]
    equal(grown.sel(law=data.law), data)
    other = {"bilinear": {"storeys[*]": vb.Bilinear(41.0, 0.2, 0.1)}}
    with pytest.raises(vb.InputError, match="'law' that this study has not"):
        vb.study(BUILDING, MOTIONS[:3], laws=other, **MOVING).run(tmp_path)


def test_one_curve_never_mixes_laws_or_values_of_a_list(data):
    with pytest.raises(vb.InputError, match=r"along 'masses\[0\]' \(1.0, 1.2, …\)"):
        fragility(data)
    with pytest.raises(vb.InputError, match=r"along 'law' \(hysteretic, bilinear, …\): choose one"):
        plot_stripes(data.isel({"masses[0]": 0}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"laws": {}}, "`laws` is empty"),
        ({"laws": {"a": 3.0}}, "The law 'a' is a structure, or a dictionary"),
        ({"laws": {"a": {"storeys[7]": vb.Linear(1.0)}}}, "storeys"),
        ({"laws": {"a": vb.ShearBuilding([1.0], [vb.Linear(1.0)])}}, "other places than the structure"),
        ({"laws": LAWS, "vary": {"storeys[0].beta": [1.0, 2.0]}}, "With the law 'bilinear': .*beta"),
        ({"laws": LAWS, "levels": Hunt(1.0)}, "leave out `vary` and `laws`"),
        ({"laws": LAWS, "fits": Fits(["masses[0]"])}, r"Fits\(…, laws=…\)"),
    ],
)
def test_laws_that_cannot_be_are_refused(given, words):
    with pytest.raises(vb.VibridError, match=words):
        vb.study(BUILDING, MOTIONS[:1], **given)


TABLES = """
[[study.laws]]
name = "hysteretic"

[[study.laws]]
name = "bilinear"
path = "storeys[*]"
law = {law = "bilinear", stiffness = "40 N/m", yield_deformation = "0.2 m", post_yield_ratio = 0.1}
"""


def test_laws_of_a_project_file_and_a_curve_of_one_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in (0, 1):
        MOTIONS[number].write_csv(f"{number}.csv")
    text = PROJECT.replace("scales = [0.5, 2.0]", "levels = [2.0, 8.0, 9.0]\nintensity = 'pga'") + TABLES

    def run(*words):
        return CliRunner().invoke(app, ["study", *words])

    (tmp_path / "p.toml").write_text(text.replace('"bilinear"\npath', '"hysteretic"\npath'))
    assert "two laws are called 'hysteretic'" in run("run", "p.toml", "--out", "ida").stderr
    (tmp_path / "p.toml").write_text(text)
    told = json.loads(run("run", "p.toml", "--out", "ida", "--json").stdout)
    assert told["dimensions"] == {"law": 2, "motion": 2, "level": 3}
    assert [row["law"] for row in told["peaks"]] == ["hysteretic", "bilinear"] * 2
    assert "peak storey drift, bilinear" in run("run", "p.toml", "--out", "ida").stdout
    mixed = run("fragility", "ida")
    assert mixed.exit_code == 1 and "--at 'law=hysteretic'" in mixed.stderr
    words = ["fragility", "ida", "--of", "peak_storey_drift", "--above"]
    one = vb.studies.open_study("ida").sel(law="bilinear")
    drifts = one.peak_storey_drift.max("storey").values
    middle = float(np.median(drifts))
    curve = run(*words, str(middle), "--at", "law=bilinear", "--json")
    events = ((drifts > middle) | (one.outcome.values == 2)).sum(axis=0).tolist()
    assert curve.exit_code == 0 and json.loads(curve.stdout)["events"] == events, curve.stderr
    for at, said in (("law=linear", "has no 'linear'; it has hysteretic, bilinear"), ("lew=a", "did you mean 'law'")):
        assert said in run(*words, "1", "--at", at).stderr
