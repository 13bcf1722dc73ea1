"""The corrected recipe: outputs and derivatives, information, and that it identifies where the published one fails."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.core.progress import SILENT
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.corrected import PIDynNetCorrected
from vibrid.papers.pidynnet.systems import at_rate, cubic, measured, synthetic
from vibrid.simulation import simulate

SHORT = {"seeds": 1, "window": 2.5, "width": 16, "layers": 3, "iterations": 300, "pretraining": 300, "batch": 126,
         "pool": 126, "check": 100, "tolerance": 0.0}  # fmt: skip


@pytest.fixture(scope="module")
def two_floors():
    case = cubic(2, known_damping=True)
    ground = at_rate(synthetic().cut(8.0, 10.5), 50.0, 2.5)
    return case, measured(case, simulate(case.building, ground, substeps=4), 0.0)


@pytest.fixture(scope="module")
def prepared(two_floors):
    """Training of two floors before its first iteration."""
    case, record = two_floors
    problem = vb.identification.make_problem(case.guess, record, case.unknown)
    method = PIDynNetCorrected(**SHORT)
    iteration = method.iteration(problem)
    return iteration, method.training(iteration, 0, SILENT, None)


def test_the_derivatives_are_those_of_the_motion_in_time(prepared):
    """Displacements of the networks, differenced along the record, are their velocities and accelerations."""
    iteration, training = prepared
    part = training.part()
    fine = dataclasses.replace(part, time=jnp.asarray([0.4, 0.4 + 1e-4, 0.4 + 2e-4]))
    still = fine.scales._replace(ground=jnp.zeros((3, 3, 2)))
    fine = dataclasses.replace(fine, scales=still)
    learner = jax.tree.map(lambda leaf: leaf[0].astype(float), training.course.state.learner)
    (x, v, a), (z, dz) = eqx.filter_jit(iteration.outputs)(learner, jnp.arange(3), fine)
    step = 1e-4 * float(part.duration)
    np.testing.assert_allclose((x[2] - x[0]) / (2 * step), v[1], rtol=1e-4)
    np.testing.assert_allclose((v[2] - v[0]) / (2 * step), a[1], rtol=1e-4)
    np.testing.assert_allclose((z[2] - z[0]) / (2 * step), dz[1], rtol=1e-4)


def test_the_true_motion_and_unknowns_have_no_residual(two_floors, prepared):
    """Measured drifts are y_1 and d_2, and the equations hold for the true motion at the true values."""
    case, _ = two_floors
    iteration, training = prepared
    part, (x, v, a) = training.part(), training.motion
    share = jnp.asarray(1.0 + np.log(case.truth / np.asarray(iteration.problem.unknowns.start)))
    np.testing.assert_allclose(iteration.theta(share), case.truth)
    y = x + np.asarray(part.scales.ground[0])
    np.testing.assert_allclose(part.scales.q, np.stack([y[:, 0], x[:, 1] - x[:, 0]], axis=1), atol=1e-12)
    drifts = np.diff(np.asarray(v), prepend=0.0, axis=1)
    grown = np.concatenate([np.zeros((1, 2)), np.cumsum(drifts[1:] ** 2 + drifts[:-1] ** 2, axis=0)])
    damping = np.array([1.5, 1.875]) + 10 * 0.02 / 2 * grown  # the trapezoidal rule
    at = jnp.arange(len(x))
    outputs = (jnp.asarray(x), jnp.asarray(v), jnp.asarray(a)), (jnp.asarray(damping), jnp.zeros((len(x), 2)))
    dynamic, _ = iteration.residuals(share, outputs, at, part)
    wrong, _ = iteration.residuals(jnp.ones(3), outputs, at, part)
    assert jnp.std(dynamic) < 0.003 and jnp.std(wrong) > 0.1


def test_two_floors_are_identified_where_the_published_recipe_fails(two_floors):
    case, record = two_floors
    fits = {
        cls: vb.identify(case.guess, record, case.unknown, cls(**SHORT, **settings))
        for cls, settings in ((PIDynNetCorrected, {"warm_up": 200}), (PIDynNetAsPublished, {}))
    }
    errors = {cls: case.mean_error(fit.estimate) for cls, fit in fits.items()}
    assert errors[PIDynNetCorrected] < 3.0 < errors[PIDynNetAsPublished]


def test_subperiods_are_held_by_the_information_of_those_before(two_floors):
    case, record = two_floors
    problem = vb.identification.make_problem(case.guess, record, case.unknown)
    method = PIDynNetCorrected(**SHORT | {"window": 1.25})
    training = method.training(method.iteration(problem), 0, SILENT, None)
    first = training.part()
    assert not np.any(first.more[1])
    training.course.shares.append(np.ones((2, 1, 3)))
    training.end(first)
    anchor, information = training.part().more
    np.testing.assert_array_equal(anchor, training.course.state.learner.share)
    assert np.all(np.asarray(information) > 0)


def test_the_corrected_recipe_has_a_name_and_no_algorithm_2():
    method = vb.identification.METHODS["pidynnet-corrected"]()
    assert type(method) is PIDynNetCorrected and not method.ground_input
    with pytest.raises(VibridError, match=r"fit\.predict"):
        method.fine_tune(None, None)
