"""The band of a prediction, and which methods agree, on results whose numbers are set by hand."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.commands.comparison_view import interval_line
from vibrid.identification.agreement import agreements

BUILDING = vb.ShearBuilding([1.0], [vb.Linear(40.0, 0.5)])
SENSORS = vb.Sensors(displacement=[0])


@pytest.fixture(scope="module")
def fit():
    motion = vb.synthetic_motion(1, duration=4.0, rate=50.0, pga=1.0)
    data = vb.simulate(BUILDING, motion).measure(SENSORS, noise=0.05, key=1)
    return vb.identify(
        BUILDING.replace({"storeys[0].stiffness": 38.0}), data, ["storeys[0].stiffness"], sensors=SENSORS
    )


def test_the_band_is_the_change_of_the_reading_with_the_parameter(fit):
    other = vb.synthetic_motion(2, duration=4.0, rate=50.0, pga=1.0)
    found = fit.predict_readings(other)
    k, sigma = fit.estimate[0], fit.deviation[0]
    moved = [
        vb.simulate(BUILDING.replace({"storeys[0].stiffness": k + s}), other).displacement[:, 0] for s in (-1e-3, 1e-3)
    ]
    slope = np.abs(moved[1] - moved[0]) / 2e-3
    np.testing.assert_allclose(found.deviation[:, 0], slope * sigma, atol=1e-3 * slope.max() * sigma)
    assert np.isnan(found.measured).all() and found.table()[0]["measured_peak"] is None
    measured = vb.simulate(BUILDING, other).measure(SENSORS, noise=0.0)
    checked = fit.predict_readings(measured)
    inside = np.abs(checked.measured - checked.values) <= 3 * checked.deviation + 1e-12
    assert inside.mean() > 0.9 and checked.table()[0]["relative_error"] < 0.05
    assert len(checked.plot().axes) == 2


def test_methods_agree_within_two_of_the_larger_deviation(fit):
    def moved(by):
        return fit.replace(free=fit.free + by * np.sqrt(np.diag(fit.free_covariance)))

    near, far = agreements({"a": fit, "b": moved(1.0), "c": moved(-3.0)})[:2]
    assert near.agree == fit.names and far.differ == fit.names
    assert near.largest == pytest.approx(1.0, rel=0.1) and far.largest == pytest.approx(3.0, rel=0.1)
    (unsure,) = agreements({"a": fit.replace(free_covariance=None), "b": fit.replace(free_covariance=None)})
    assert unsure.unknown == fit.names and "no σ" in str(unsure)


def test_intervals_as_characters():
    ends = np.array([[2.0, 1.0, 3.0], [4.0, 3.0, 5.0], [3.0, np.nan, np.nan]])
    assert [interval_line(row, ends, 9) for row in ends] == ["|-o-|    ", "    |-o-|", "    o    "]
    assert interval_line(np.array([1.0, 1.0, 1.0]), np.ones((1, 3)), 3) == " o "
