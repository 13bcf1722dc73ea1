"""PIDynNet: its parts against finite differences and dense algebra, what it finds, resuming, and fine-tuning."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE_GUESS, ONE_TRUTH, ONE_UNKNOWN, motion, truth
from vibrid.core.errors import VibridError
from vibrid.core.progress import Progress
from vibrid.identification.methods.pidynnet.precondition import factorise
from vibrid.identification.methods.pidynnet.task import RIDGE, WindowLayout, begin_at, make_task, sizes_of
from vibrid.identification.methods.pidynnet.training import with_weights
from vibrid.identification.methods.pidynnet.windows import Windows, around, evaluate, make_networks

FULL = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
METHOD = vb.PIDynNet(hidden=(), softness=(0.1, 0.02))  # the skip path alone compiles soonest


@pytest.fixture(scope="module")
def hysteretic():
    """One Bouc–Wen storey, fully measured, 2 % noise."""
    return vb.identify(ONE_GUESS, truth("one").measure(FULL, noise=0.02), ONE_UNKNOWN, METHOD)


def test_windows_blend_into_one_smooth_function_with_its_derivatives():
    step = 0.01
    w = Windows.over(161, step, 40, 16, bandwidth=6.0, fine=1)
    assert (w.count, w.points) == (5, 216)
    total = np.asarray(w.blend(np.repeat(np.asarray(w.shape[0])[None], w.count, axis=0)))
    np.testing.assert_allclose(total[16:200], 1.0, rtol=1e-12)  # ψ add up to one
    t = step * np.arange(w.points)
    wave = np.sin(9 * t)[:, None] + 0.3 * t[:, None] ** 2
    (y, dy, ddy), _ = (np.asarray(p) for p in evaluate(w, jnp.asarray(w.project(wave)), None))
    inside = slice(30, 185)
    np.testing.assert_allclose(y[inside], wave[inside], atol=2e-3)
    np.testing.assert_allclose(np.gradient(y, step, axis=0)[inside], dy[inside], atol=0.02)
    np.testing.assert_allclose(np.gradient(dy, step, axis=0)[inside], ddy[inside], atol=0.3)


@pytest.mark.parametrize("kind", ["mlp", "convolution"])
def test_networks_beside_the_skip_path_begin_at_zero_and_have_the_derivatives_of_differences(kind):
    step = 0.005
    w = Windows.over(161, step, 80, 32, bandwidth=2.0, fine=1)
    nets = make_networks(kind, jax.random.key(0), w.count, (w.inputs.shape[-1], 3, 1))
    last = nets.weights if kind == "mlp" else nets.kernels
    moved = eqx.tree_at(lambda n: (n.weights if kind == "mlp" else n.kernels)[-1], nets, jnp.ones_like(last[-1]))
    none = jnp.zeros((w.count, w.features, 1))
    both = eqx.filter_jit(lambda nets: evaluate(w, none, nets)[0])
    np.testing.assert_array_equal(both(nets), 0.0)
    y, dy, ddy = np.asarray(both(moved))[..., 0]
    inside = slice(40, 190)
    np.testing.assert_allclose(np.gradient(y, step)[inside], dy[inside], atol=0.01 * np.abs(dy).max())
    np.testing.assert_allclose(np.gradient(dy, step)[inside], ddy[inside], atol=0.02 * np.abs(ddy).max())


def test_readings_at_a_high_rate_are_averaged_as_the_features_are():
    """Ten samples a step: the mean over a step of a wave with the features' own frequencies."""
    step, fine = 0.01, 10
    w = Windows.over(81, step, 40, 16, bandwidth=6.0, fine=fine)
    t = step * np.arange(w.points)
    skip = jnp.asarray(w.project(np.sin(20 * t)[:, None]))
    at, read = (np.asarray(p[0, :, 0]) for p in evaluate(w, skip, None))
    offsets, shares = around(fine)
    mean = sum(s * np.sin(20 * (t + o * step / fine)) for o, s in zip(offsets, shares, strict=True))
    inside = slice(24, 90)
    shrunk = mean[inside] @ np.sin(20 * t)[inside] / np.sum(np.sin(20 * t)[inside] ** 2)
    assert shares.sum() == pytest.approx(1.0) and shrunk < 0.9984
    assert read[inside] @ at[inside] / np.sum(at[inside] ** 2) == pytest.approx(shrunk, abs=1e-4)


def test_factor_is_the_inverse_of_the_gauss_newton_matrix():
    problem = vb.identification.make_problem(ONE_GUESS, truth("one").measure(FULL, noise=0.02), ONE_UNKNOWN)
    begin, _ = vb.WeakCollocation().begin(problem, Progress())
    piece = begin.pieces[0]
    task = make_task(problem, piece.ground, WindowLayout(window=3.0, bandwidth=1.0), piece.readings, begin.noise)
    still = piece.motion(task.grid.time)
    task, skip = begin_at(task, sizes_of(task, begin.free, still), still)
    task = with_weights(task, begin.noise, 0.1)
    free, shape, cut = jnp.asarray(begin.free), skip.shape, skip.size

    def residuals(x):
        skip, phi = x[:cut].reshape(shape), x[cut:]
        found, read = task.motion(skip, None)
        parts = task.reading_residuals(read), task.equation_residuals(phi, found), task.start_residuals(phi, found)
        return jnp.concatenate([*(jnp.ravel(p) for p in parts), RIDGE * jnp.ravel(skip)])

    x = np.concatenate([np.ravel(skip), begin.free])
    jacobian = np.asarray(jax.jit(jax.jacfwd(residuals))(x))
    dense = jacobian.T @ jacobian
    factor = factorise(task, jnp.asarray(skip), None, free)
    side = jacobian.T @ np.random.default_rng(0).standard_normal(len(jacobian))
    weights, phi = eqx.filter_jit(factor.solve)(side[:cut].reshape(shape[0], -1), side[cut:])
    scale = np.sqrt(np.diag(dense))
    expected = np.linalg.solve(dense / np.outer(scale, scale), side / scale)
    found = np.concatenate([np.ravel(weights), np.ravel(phi)]) * scale
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    covariance = np.linalg.inv(dense / np.outer(scale, scale))[cut:, cut:]
    information = np.asarray(factor.information) / np.outer(scale, scale)[cut:, cut:]
    np.testing.assert_allclose(np.linalg.inv(information), covariance, rtol=1e-4)


def test_finds_a_hysteretic_storey_and_its_hidden_state(hysteretic):
    fit = hysteretic
    assert np.all(np.abs(fit.estimate - ONE_TRUTH) < 4 * fit.deviation)
    assert fit.estimate[0] == pytest.approx(40, rel=0.02)
    assert fit.history["seeds"].shape == (1, 3) and len(fit.convergence["spread_of_seeds"]) == 3
    z = np.asarray(truth("one").states[0])[: len(fit.history["time"]), 0]
    assert np.corrcoef(fit.history["states"][:, 0], z)[0, 1] > 0.995
    assert fit.convergence["equations_met_to"] <= 0.1
    assert np.all(fit.deviation > 0.3 * fit.limits.bound)


def test_training_goes_on_from_its_checkpoint(hysteretic, tmp_path):
    """Ctrl-C in the second stage keeps the first; the next call ends where an undisturbed one does."""

    class Impatient(Progress):
        def stage(self, label, total=None):
            if "to 2 %" in label:
                raise KeyboardInterrupt

    file = tmp_path / "training.npz"
    method = dataclasses.replace(METHOD, checkpoint=str(file))
    record = truth("one").measure(FULL, noise=0.02)
    cut = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, method, progress=Impatient())
    assert cut.cut_short and file.exists() and cut.convergence["equations_met_to"] == 0.1
    whole = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, method)
    assert not whole.cut_short and not file.exists()
    np.testing.assert_allclose(whole.estimate, hysteretic.estimate, rtol=1e-6)


def test_fine_tuning_predicts_what_simulation_does(hysteretic):
    tuned = METHOD.fine_tune(hysteretic, motion(3))
    simulated = hysteretic.predict(motion(3)).displacement[: len(tuned.time), 0]
    assert np.corrcoef(simulated, tuned.displacement[:, 0])[0, 1] > 0.99
    with pytest.raises(VibridError, match="needs the result of PIDynNet"):
        METHOD.fine_tune(hysteretic.replace(history={}), motion(3))


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(VibridError, match="network"):
        vb.PIDynNet(network="transformer")
    with pytest.raises(VibridError, match="must fall"):
        vb.PIDynNet(softness=(0.01, 0.1))
    with pytest.raises(VibridError, match="the method 'pidynnet-as-published'"):
        vb.PIDynNet(rate=1e-3)
