"""A filter's estimate that is not what its readings say is moved to the most likely values."""

import dataclasses

import numpy as np
import pytest

import vibrid as vb
from tests.identification.small import ONE_GUESS, ONE_TRUTH, ONE_UNKNOWN, one
from vibrid.identification.checks.consistency import checked_filter
from vibrid.identification.checks.run import checked_result


@pytest.fixture(scope="module")
def filtered():
    """The result of a filter as it is, without checks."""
    problem = vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    return vb.UnscentedKalman().solve(problem)


def away(fit, deviations: float):
    """The same result as if the filter had stopped beside the most likely values."""
    return fit.replace(free=fit.free + deviations * np.sqrt(np.diag(fit.free_covariance)) * np.array([1.0, -1.0, 1.0]))


def test_a_filter_that_stopped_beside_is_moved_and_says_so(filtered):
    exact = vb.TrajectoryFit().solve(dataclasses.replace(filtered.problem))
    lost = away(filtered, 3.0)
    moved = checked_filter(lost)
    assert moved.checks[-1].name == "filter" and moved.checks[-1].numbers["deviations"] > 1.0
    assert np.all(np.abs(moved.estimate - exact.estimate) < 0.1 * exact.deviation)
    assert moved.deviation == pytest.approx(exact.deviation, rel=0.05)
    assert np.all(np.abs(moved.estimate - ONE_TRUTH) < 4.0 * moved.deviation)
    assert any(finding.name == "filter" for finding in checked_result(lost, ()).checks)


def test_a_filter_of_drifting_unknowns_or_an_inexact_model_stays(filtered):
    for name, value in (("parameter_drift", 0.01), ("process_noise", 0.01)):
        lost = away(filtered, 3.0).replace(settings=filtered.settings | {name: value})
        assert checked_filter(lost) is lost


def test_other_methods_stay(filtered):
    other = away(filtered, 3.0).replace(method="TrajectoryFit")
    assert checked_filter(other) is other
