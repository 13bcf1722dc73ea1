"""A posterior pushed through motions: response bands against the first-order uncertainty of the fit."""

import numpy as np
import pytest

import vibrid as vb
from tests.studies.small import MOTIONS
from vibrid.report.study_plots import plot_bands
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
