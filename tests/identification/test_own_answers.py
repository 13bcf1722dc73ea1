"""Methods whose answer is not the least squares of the readings: their intervals are told where they do not hold, and
what they leave over is called no fault of the data."""

import numpy as np
import pytest
import scipy.signal

import vibrid as vb
from tests.identification.small import ONE_GUESS, ONE_UNKNOWN, TWO_GUESS, TWO_UNKNOWN, one, two
from vibrid.identification.checks.consistency import checked_filter, contradicted, most_likely
from vibrid.identification.checks.instruments import Hypothesis, _accepted
from vibrid.identification.checks.numbers import checked_numbers
from vibrid.identification.checks.refit import Correction, as_fitted


def test_an_estimate_that_noise_of_the_motion_biases_is_told_and_no_fault_of_a_channel():
    record = two(0.05, key=1)
    fit = vb.identify(TWO_GUESS, record, TWO_UNKNOWN, "least-squares")
    exact = vb.identify(TWO_GUESS, record, TWO_UNKNOWN)
    assert exact.model_fits and not fit.model_fits
    assert [finding.name for finding in fit.checks if finding.verdict == "wrong"] == ["method"]
    away = np.abs(exact.free - fit.free) / np.sqrt(np.diag(fit.free_covariance))
    assert fit.checks[0].numbers["deviations"] == pytest.approx(away.max(), rel=0.05) and away.max() > 3.0
    assert "intervals do not hold" in fit.checks[0].sentence and "does not fit" not in fit.verdict
    assert f"{exact.estimate[0]:.3g}"[:3] in fit.checks[0].sentence


@pytest.fixture(scope="module")
def exact():
    problem = vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    return vb.TrajectoryFit().solve(problem)


def moved(fit, deviations: float, spread: float = 1.0):
    """The same result as if of another method, beside the most likely values, with other deviations."""
    free = fit.free + deviations * np.sqrt(np.diag(fit.free_covariance)) * np.array([1.0, -1.0, 1.0])
    convergence = {k: v for k, v in fit.convergence.items() if k != "projected_gradient"}
    beside = vb.identification.conclude.conclude(
        fit.problem, vb.WeakCollocation(), free, started=0.0, covariance=spread**2 * fit.free_covariance
    )
    return beside.replace(convergence=convergence)


def test_an_interval_that_holds_the_most_likely_values_stands(exact):
    assert most_likely(exact) is None
    for deviations, spread, told in ((2.0, 1.0, False), (20.0, 1.0, True), (20.0, 15.0, False)):
        fit = moved(exact, deviations, spread)
        least = most_likely(fit)
        np.testing.assert_allclose(least.estimate, exact.estimate, atol=0.1 * exact.deviation.max())
        found = contradicted(fit, checked_numbers(least))
        assert any("do not hold" in finding.sentence for finding in found) == told


def test_a_correction_that_changes_nothing_is_no_fault(exact):
    lost = moved(exact, 20.0)
    before, after = (as_fitted(fit.problem, fit.free, fit.predictions) for fit in (lost, exact))
    every = range(len(exact.problem.sensors))
    nothing = Hypothesis("size", {c: Correction(gain=1.001) for c in every})
    assert after.unlikelihood < before.unlikelihood - 20.0
    assert not _accepted(exact.problem, before, after, nothing)
    assert _accepted(exact.problem, before, after, Hypothesis("size", {c: Correction(gain=-1.0) for c in every}))


def test_noise_with_a_memory_that_samples_of_a_posterior_do_not_count_is_told(exact):
    record, rng = one(0.0), np.random.default_rng(4)
    values = record.data.copy()
    readings = slice(1, None)
    noise = scipy.signal.lfilter([1.0], [1.0, -0.8], rng.standard_normal(values.shape), axis=0)
    values[:, readings] += (0.02 * values.std(axis=0) * noise)[:, readings]
    problem = vb.identification.make_problem(
        ONE_GUESS, vb.Record(values, record.channels, step=record.step), ONE_UNKNOWN
    )
    fit = vb.TrajectoryFit().solve(problem)
    samples = rng.multivariate_normal(fit.estimate, fit.covariance, 50)
    told = [f for f in checked_numbers(fit.replace(samples=samples, method="Bayes")).checks if f.verdict == "wrong"]
    assert "memory" in {f.name for f in told} and all("Bayes does not count" in f.sentence for f in told)
    assert not any(f.verdict == "wrong" for f in checked_numbers(fit).checks)  # least squares count it


def test_intervals_that_innovations_contradict_are_left_out():
    right = vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)
    wrong = vb.identification.make_problem(ONE_GUESS.replace({"masses": [2.0]}), one(0.02), ONE_UNKNOWN)
    filter_ = vb.UnscentedKalman(process_noise=2e-3)
    kept, lost = (checked_filter(filter_.solve(problem)) for problem in (right, wrong))
    assert kept.convergence["innovation_size"] < 1.5 and kept.convergence["innovation_correlation"] < 0.1
    assert kept.free_covariance is not None and not kept.checks
    assert lost.free_covariance is None and np.isnan(lost.deviation).all()
    assert lost.checks[0].verdict == "wrong" and "contradict" in lost.checks[0].sentence
    assert not lost.model_fits
