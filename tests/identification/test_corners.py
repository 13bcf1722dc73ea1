"""Intervals from samples of the likelihood: against closed forms."""

import numpy as np
import pytest

from vibrid.identification.corners import MOST, sampled, widened

COUNT = 400


def squares_of(log_likelihood, size):
    """Sums of squares whose likelihood, of noise of unknown size, is the given one."""
    return lambda rows: np.exp(-2.0 * np.array([log_likelihood(row) for row in rows]) / (COUNT - size))


def test_a_quadratic_misfit_gives_the_covariance_of_the_slopes():
    true = np.array([[0.04, 0.018], [0.018, 0.01]])
    inverse, estimate = np.linalg.inv(true), np.array([3.0, -1.0])
    misfit = squares_of(lambda row: -0.5 * (row - estimate) @ inverse @ (row - estimate), 2)
    for first in (true, 0.1 * true, np.diag([0.2, 0.002])):  # also from a poor first covariance
        made = sampled(misfit, estimate, first, COUNT, np.random.default_rng(0))
        assert made.covariance == pytest.approx(true, rel=0.25)
        assert made.gain == 0.0 and np.array_equal(made.best, estimate)


def test_a_corner_at_the_minimum():
    """ln L = −|θ|/b has no curvature beside its minimum; its second moment is 2 b²."""
    misfit = squares_of(lambda row: -abs(row[0]) / 0.3, 1)
    made = sampled(misfit, np.zeros(1), np.array([[1e-3]]), COUNT, np.random.default_rng(1))
    assert made.covariance[0, 0] == pytest.approx(2.0 * 0.3**2, rel=0.25)


def test_an_estimate_beside_the_best_place():
    """The mean square is counted from the estimate, and the better place is found."""
    misfit = squares_of(lambda row: -0.5 * float(row @ row), 2)
    estimate = np.array([2.0, 0.0])
    made = sampled(misfit, estimate, 0.3 * np.eye(2), COUNT, np.random.default_rng(2))
    assert np.diag(made.covariance) == pytest.approx([5.0, 1.0], rel=0.25)
    assert made.gain == pytest.approx(2.0, abs=0.1) and np.linalg.norm(made.best) < 0.5


def test_what_is_held_or_not_finite():
    """An unknown at its bound stays there; places where the law has no force do not count."""
    size = 0.1
    misfit = squares_of(lambda row: -0.5 * (row[0] / size) ** 2 if row[0] > 0 else np.nan, 1)
    first = np.diag([size**2, 0.0])
    made = sampled(misfit, np.array([0.5 * size, 7.0]), first, COUNT, np.random.default_rng(3))
    assert made.best[1] == 7.0 and np.all(made.covariance[1] == 0.0)
    half = np.sqrt(2.0 / np.pi)  # mean of |normal|
    assert made.covariance[0, 0] == pytest.approx(size**2 * (1.0 - 2.0 * 0.5 * half + 0.25), rel=0.25)
    unknown = sampled(misfit, np.array([0.5 * size, 7.0]), np.diag([MOST**2, 0.0]), COUNT, np.random.default_rng(3))
    assert np.array_equal(unknown.covariance, np.diag([MOST**2, 0.0]))  # what data do not determine is not sampled
    none = sampled(misfit, np.array([0.5, 7.0]), 0.0 * first, COUNT, np.random.default_rng(3))
    assert none.gain == 0.0 and not none.covariance.any()


def test_intervals_are_widened_and_never_narrowed():
    slope, moment = np.diag([1.0, 4.0]), np.array([[3.0, 0.5], [0.5, 1.0]])
    made = widened(2.0 * slope, slope, moment)
    assert np.all(np.linalg.eigvalsh(made - 2.0 * slope) > -1e-12)
    assert np.all(np.linalg.eigvalsh(made - slope - moment) > -1e-12)
    assert widened(slope, slope, 0.5 * slope) == pytest.approx(slope)
