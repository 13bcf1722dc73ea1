"""What an error of calibration does to the estimates, against fits to readings with that error."""

import dataclasses

import instruments
import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.identification.checks.calibration import calibration_in_words, moved_by_calibration


@pytest.fixture(scope="module")
def found():
    case, rng = trust.linear_case(4), np.random.default_rng([8, 5])
    readings = case.clean + trust.white(case, rng)
    wrong = readings.copy()
    wrong[:, 0] *= 1.005
    return instruments.identified(case, readings), instruments.identified(case, wrong)


def test_a_small_gain_error_moves_estimates_as_predicted(found):
    fit, with_error = found
    moved = moved_by_calibration(fit, 0.005)
    assert moved.shape == (len(fit.problem.sensors), len(fit.names))
    really = (with_error.free - fit.free) / np.sqrt(np.diag(fit.free_covariance))
    np.testing.assert_allclose(moved[0], really, rtol=0.1, atol=0.05)
    assert np.abs(really).max() > 0.5


def test_the_report_says_what_calibration_does(found, tmp_path):
    fit, _ = found
    said = calibration_in_words(fit)
    assert "1 % in the sensitivity of" in said and "standard deviations" in said
    page = fit.report(tmp_path / "fit.html").read_text()
    assert "What would a sensor that is not quite calibrated do?" in page and "not calibration" in page


def test_the_result_says_it_where_it_matters(found):
    fit, _ = found
    largest = np.abs(moved_by_calibration(fit)).max()
    assert calibration_in_words(fit) in fit.warnings and largest > 1.0
    assert calibration_in_words(fit, least=1.01 * largest) == ""
    assert calibration_in_words(fit.replace(convergence=fit.convergence | {"checks": "none"})) == ""


def test_gains_with_a_prior_count_it(found):
    """The error of calibration that moved the estimates is within intervals that count what is known of the sensors."""
    case, rng = trust.linear_case(4), np.random.default_rng([8, 5])
    readings = case.clean + trust.white(case, rng)
    readings[:, 0] *= 1.01
    known = dataclasses.replace(case, unknown=[*case.unknown, vb.Unknown("sensors[*].gain", prior=(1.0, 0.005))])
    counted, plain = instruments.identified(known, readings), instruments.identified(case, readings)
    count = len(case.true)
    away = np.abs(plain.estimate - case.true) / plain.deviation
    assert away.max() > 2.0
    assert np.abs((counted.estimate[:count] - case.true) / counted.deviation[:count]).max() < away.max()
    assert np.all(counted.deviation[:count] >= 0.99 * plain.deviation)
    assert not any("sensitivity of" in note for note in counted.warnings)
