"""The Kalman filters: equal to a peer, positive definite, and the same offline as sample by sample."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE_GUESS, ONE_TRUTH, ONE_UNKNOWN, one
from vibrid.identification import augmented


@pytest.fixture(scope="module")
def problem():
    return vb.identification.make_problem(ONE_GUESS, one(0.02), ONE_UNKNOWN)


def samples(problem, count):
    d = problem.data[0]
    for i in range(1, count):
        yield vb.identification.Sample(d.readings[i], d.present[i], d.drive.samples[i - 1], d.drive.samples[i], d.step)


def test_equals_filterpy(problem):
    kalman = pytest.importorskip("filterpy.kalman")
    method = vb.UnscentedKalman(alpha=1.0, beta=2.0, kappa=0.0)
    belief = method.init(problem)
    step = eqx.filter_jit(method.step)
    size = belief.mean.shape[0]
    now = {}
    move = jax.jit(lambda z, a, b: augmented.move(problem, z, a, b, problem.data[0].step))
    read = jax.jit(lambda z, b: augmented.read(problem, z, b))
    peer = kalman.UnscentedKalmanFilter(
        size,
        2,
        problem.data[0].step,
        lambda z: np.asarray(read(z, now["end"])),
        lambda z, dt: np.asarray(move(z, now["start"], now["end"])),
        kalman.MerweScaledSigmaPoints(size, 1.0, 2.0, 0.0),
    )
    peer.x, peer.P = np.array(belief.mean), np.array(belief.root.T @ belief.root)
    peer.Q = np.diag(np.array(belief.drift) ** 2 * problem.data[0].step)
    peer.R = np.diag(np.array(belief.noise) ** 2)
    for sample in samples(problem, 150):
        now = {"start": sample.before, "end": sample.inputs}
        belief = step(problem, belief, sample)
        peer.predict()
        peer.update(np.asarray(sample.readings))
    np.testing.assert_allclose(belief.mean, peer.x, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(belief.root.T @ belief.root, peer.P, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("method", [vb.UnscentedKalman(passes=1), vb.ExtendedKalman(passes=1)])
def test_online_steps_equal_the_offline_run(problem, method):
    step = eqx.filter_jit(method.step)
    belief = method.init(problem)
    d = problem.data[0]
    belief, _ = method._updated(
        problem,
        belief,
        vb.identification.Sample(d.readings[0], d.present[0], d.drive.samples[0], d.drive.samples[0], d.step),
    )
    for sample in samples(problem, d.samples):
        belief = step(problem, belief, sample)
    fit = method.solve(problem)
    np.testing.assert_allclose(belief.mean[-3:], fit.free, rtol=1e-9)


def test_stays_positive_definite_from_bad_starts():
    for key in range(6):
        bad = ONE_GUESS.replace({"storeys[0].stiffness": [4.0, 400.0][key % 2], "storeys[0].beta": 30.0})
        fit = vb.identify(bad, one(0.05, key), ONE_UNKNOWN, vb.UnscentedKalman(spread=1.0))
        assert np.isfinite(fit.estimate).all() and fit.convergence["smallest_root"] > 0
        assert np.all(np.linalg.eigvalsh(fit.covariance) > 0)


def test_missing_readings_have_no_weight(problem):
    d = problem.data[0]
    method = vb.UnscentedKalman(passes=1)
    belief = method.init(problem)
    nothing = vb.identification.Sample(
        d.readings[5] + 1e6, jnp.zeros(2), d.drive.samples[4], d.drive.samples[5], d.step
    )
    clean = vb.identification.Sample(d.readings[5], jnp.zeros(2), d.drive.samples[4], d.drive.samples[5], d.step)
    np.testing.assert_allclose(method.step(problem, belief, nothing).mean, method.step(problem, belief, clean).mean)


def test_history_carries_a_band(problem):
    fit = vb.UnscentedKalman().solve(problem)
    assert fit.history["estimate"].shape == fit.history["deviation"].shape == (400, 3)
    assert fit.history["deviation"][-1, 0] < fit.history["deviation"][0, 0]
    assert np.all(np.abs(fit.estimate - ONE_TRUTH) < 5 * fit.deviation)


def test_negative_weights_are_refused():
    with pytest.raises(vb.InputError, match="negative covariance weight"):
        vb.UnscentedKalman(alpha=0.1, beta=0.0).weights(5)
