"""Profiles of the likelihood: residuals whose profiles are known by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from vibrid.identification.box import Box
from vibrid.identification.elsewhere import UNKNOWN, elsewhere

SAMPLES = 400
RANDOM = np.random.default_rng(7)
SHAPES = RANDOM.standard_normal((3, SAMPLES))
NOISE = RANDOM.standard_normal(SAMPLES)
NOISE -= SHAPES.T @ np.linalg.lstsq(SHAPES.T, NOISE)[0]  # what the shapes explain is at its minimum at zero


def unbounded(p):
    """A problem without bounds, but walls."""
    box = Box(*np.tile([[-40.0], [40.0], [1.5], [np.inf], [40.0]], (1, p)))
    return SimpleNamespace(unknowns=SimpleNamespace(box=lambda: box))


def found(model, covariance):
    """Profiles of `noise + model(free)` about zero."""
    p = len(covariance)
    return elsewhere(lambda free: NOISE + model(free), unbounded(p), np.zeros(p), np.asarray(covariance), np.zeros(p))


def slopes(*sizes):
    """Covariance of a linear model by its slopes."""
    jacobian = SHAPES[: len(sizes)].T * sizes
    return np.linalg.inv(jacobian.T @ jacobian) * (NOISE @ NOISE) / (SAMPLES - len(sizes))


def test_a_linear_model_keeps_its_intervals():
    covariance = slopes(3.0, 5.0)
    made = found(lambda free: free @ (SHAPES[:2] * [[3.0], [5.0]]), covariance)
    np.testing.assert_allclose(made.deviation, np.sqrt(np.diag(covariance)), rtol=0.02)
    assert not made.unseen.any() and made.gain < 1e-6
    widened = made.widened(covariance)
    np.testing.assert_allclose(widened, covariance, rtol=0.05, atol=1e-3 * covariance.max())


def test_a_misfit_that_stays_level_is_told():
    """Beyond a corner next to the estimate the first unknown moves nothing; before it, it is known well."""
    made = found(
        lambda free: np.minimum(free[:, :1] + 0.02, 0.0) * 50.0 * SHAPES[0] + free[:, 1:] * SHAPES[1],
        np.diag([1e-4, 3e-3]),
    )
    assert made.unseen.tolist() == [True, False] and made.deviation[0] == UNKNOWN and made.deviation[1] < 0.1


def test_a_straight_part_of_limited_length_widens_as_far():
    """Level from −0.02 to 0.4: the interval of 2.7 deviations reaches there, and no parameter is called unseen."""

    def model(free):
        off = np.minimum(free[:, :1] + 0.02, 0.0) + np.maximum(free[:, :1] - 0.4, 0.0)
        return 50.0 * off * SHAPES[0] + free[:, 1:] * SHAPES[1]

    made = found(model, np.diag([1e-4, 3e-3]))
    assert not made.unseen.any() and 0.149 < made.deviation[0] < 0.25


def test_the_others_follow_along_a_curved_ridge():
    """Only the product of two unknowns is seen: neither is, however narrow the first variances were."""
    made = found(
        lambda free: (np.exp(free[:, :1] + free[:, 1:2]) - 1.0) * 30.0 * SHAPES[0] + free[:, 2:] * SHAPES[1],
        np.diag([1e-4, 1e-4, 3e-3]),
    )
    assert made.unseen.tolist() == [True, True, False]


def test_a_false_dip_is_left():
    """A second, lower dip 0.35 away, which no step of a descent sees across the hill between them."""

    def model(free):
        x = free[:, :1]
        return (1.0 - np.exp(-((x / 0.05) ** 2)) - 2.0 * np.exp(-(((x - 0.33) / 0.05) ** 2)) + 0.8) * SHAPES[0] + free[
            :, 1:
        ] * SHAPES[1]

    made = found(model, np.diag([1e-4, 3e-3]))
    assert made.gain > 10.0 and made.best[0] == pytest.approx(0.33, abs=0.06)


def test_a_vanished_unknown_begins_again():
    """e^free of an unknown that fell to −30 has no slope; held elsewhere, the other one is explained by it again."""

    def residuals(free):
        return NOISE + (20.0 * free[:, :1] + np.exp(free[:, 1:])) * SHAPES[0]

    start = np.array([0.0, -30.0])
    covariance = np.diag([1.0 / (400.0 * SHAPES[0] @ SHAPES[0]), 1e20])
    made = elsewhere(residuals, unbounded(2), start, covariance, np.array([0.0, 1.0]))
    assert made.deviation[0] > 5.0 * np.sqrt(covariance[0, 0]) and made.unseen[1]
