"""A posterior pushed through motions: response bands against the first-order uncertainty of the fit."""

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from tests.studies.small import MOTIONS
from vibrid.cli import app
from vibrid.report.band_plots import history_bands_figure, plot_bands
from vibrid.studies import response_bands

pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def fit():
    building = vb.ShearBuilding([1.0, 1.0], [vb.Linear(40.0), vb.Linear(30.0)], damping=vb.Viscous(0.5))
    data = vb.simulate(building, MOTIONS[0]).measure(vb.Sensors(acceleration=[0, 1]), noise=0.2, key=2)
    unknown = ["storeys[*].stiffness", vb.Unknown("sensors[0].gain", bounds=(0.5, 2.0))]
    return vb.identify(building, data, unknown, integrator=vb.RungeKutta4(), checks="none")


@pytest.fixture(scope="module")
def data(fit):
    return vb.study(fit, [MOTIONS[0], MOTIONS[3]], count=600, key=1).run()


def test_samples_are_those_of_the_fit(fit, data):
    assert data.sizes["sample"] == 600 and "sensors[0].gain" not in data.coords
    drawn = np.stack([data["storeys[0].stiffness"], data["storeys[1].stiffness"]])
    np.testing.assert_allclose(drawn.mean(axis=1), fit.estimate[:2], rtol=0.01)
    np.testing.assert_allclose(np.cov(drawn), fit.covariance[:2, :2], rtol=0.2)


def test_the_band_of_a_drift_is_that_of_first_order(fit, data):
    """Linear structure, small uncertainty: 90 % of the samples lie within ± 1.645 σ of `quantities`."""
    bands = response_bands(data).sel(motion=MOTIONS[0].name)
    known = {q.name: q for q in fit.quantities()}
    for storey in range(2):
        drift = known[f"largest drift of storey {storey + 1}"]
        low, middle, high = bands.peak_storey_drift[:, storey].values
        assert middle == pytest.approx(drift.value, rel=0.02)
        assert (high - low) / 2 == pytest.approx(1.645 * drift.deviation, rel=0.15)
    assert bands.standing == 600 and bands.band.values.tolist() == ["low", "median", "high"]
    axes = plot_bands(response_bands(data))
    assert [t.get_text() for t in axes.get_xticklabels()] == [MOTIONS[0].name, MOTIONS[3].name]


def test_bands_that_cannot_be_are_refused(fit, data):
    with pytest.raises(vb.InputError, match="dimension 'sample'"):
        response_bands(data.isel(sample=0))
    with pytest.raises(vb.InputError, match="leave out `vary`"):
        vb.study(fit, MOTIONS[0], vary={"masses[0]": [1.0]})
    with pytest.raises(vb.InputError, match="gives no uncertainty"):
        vb.study(fit.replace(free_covariance=None), MOTIONS[0])


def test_bands_are_in_the_report(fit, tmp_path):
    """Axes have words and units, both ends of the band are drawn, and a level is told."""
    study = vb.study(fit, [MOTIONS[0], MOTIONS[3]], scales=[1.0, 2.0], keep=("peaks", "channels"), count=40)
    data = study.run()
    text = fit.report(tmp_path / "report.html", bands=data).read_text()
    section = text[text.index('<section id="bands">') :].partition("</section>")[0]
    assert section.count("<figure") == 2 and "2 motions not used in the fit" in section
    assert "90 % of the samples" in section and "factor on the motion 2" in section
    bands = response_bands(data, 0.5).sel(scale=2.0)
    figure = history_bands_figure(bands)
    (ax, *_) = figure.axes
    assert ax.get_ylabel() == "acceleration\n[m/s²]" and figure.axes[-1].get_xlabel() == "time [s]"
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"median", "50 % of the samples"}
    drawn = ax.collections[0].get_paths()[0].vertices[:, 1]
    strongest = int(np.argmax(np.abs(bands.acceleration.sel(band="median")).max(["time", "acceleration_at"]).values))
    at = bands.acceleration.isel(motion=strongest)
    place = int(np.argmax(np.abs(at.sel(band="median")).max("time").values))
    ends = at.isel(acceleration_at=place)
    assert drawn.max() == pytest.approx(float(ends.sel(band="high").max()), rel=1e-6)
    assert drawn.min() == pytest.approx(float(ends.sel(band="low").min()), rel=1e-6)
    peaks = plot_bands(bands)
    assert peaks.get_ylabel() == "largest storey drift [mm]"
    assert [t.get_text() for t in peaks.get_legend().get_texts()] == ["0", "0 to 1"]
    assert history_bands_figure(response_bands(vb.study(fit, MOTIONS[0], count=3).run())) is None
    with pytest.raises(vb.InputError, match="dimension 'sample'"):
        fit.report(tmp_path / "other.html", bands=3)
    assert not (tmp_path / "other.html").exists()


PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0, 1.0]
storeys = [{law = "linear", stiffness = 40.0}, {law = "linear", stiffness = 30.0}]
damping = {law = "viscous", damping = 0.5}

[study]
count = 20
motions = {files = ["other.csv"]}
"""


def test_the_report_of_a_fit_with_its_bands_from_the_command_line(fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MOTIONS[3].write_csv("other.csv")
    fit.save("fit.h5")
    words = ["study", "run", "p.toml", "--out", "bands", "--report", "report.html"]
    (tmp_path / "p.toml").write_text(PROJECT.replace("count = 20\n", ""))
    told = CliRunner().invoke(app, words)
    assert (
        told.exit_code == 1 and "response bands are those of a fit" in told.stderr and not (tmp_path / "bands").exists()
    )
    (tmp_path / "p.toml").write_text(PROJECT.replace("count", 'fit = "fit.h5"\ncount'))
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert '<section id="bands">' in (tmp_path / "report.html").read_text()
