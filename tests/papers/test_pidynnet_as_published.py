"""PIDynNet as published: its losses against closed forms, subperiods, resuming, and Algorithm 2."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from identification.small import ONE, ONE_GUESS, ONE_UNKNOWN, motion, truth

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.core.progress import Progress
from vibrid.networks import Dense
from vibrid.papers.pidynnet import as_published, course, losses
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.losses import Learner, Subperiod, latent_as_response, new_learners

FULL = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
SHORT = {"seeds": 2, "width": 8, "layers": 3, "window": 4.0, "iterations": 40, "pretraining": 20,
         "check": 20, "pool": 150, "batch": 60}  # fmt: skip


@pytest.mark.long
def test_as_published_trains_subperiods_in_turn_and_resumes_from_its_checkpoint(tmp_path, monkeypatch):
    record = truth("one").measure(FULL)
    whole = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, PIDynNetAsPublished(**SHORT))
    assert whole.convergence["iterations"] == [40, 40] and whole.history["seeds"].shape == (2, 3)
    assert whole.history["losses"].shape[1:] == (2, 3) and len(whole.history["states"]) == 401
    assert not np.allclose(whole.history["seeds"][0], whole.history["seeds"][1])
    assert any("spread of the initialisations" in w for w in whole.warnings)

    class Impatient(Progress):
        def update(self, done, note=""):
            self.count = getattr(self, "count", 0) + 1
            if self.count == 4:
                raise KeyboardInterrupt

    monkeypatch.setattr(course, "_SAVE_EVERY", 0.0)
    method = PIDynNetAsPublished(**SHORT, checkpoint=str(tmp_path / "training.npz"))
    cut = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, method, progress=Impatient())
    assert cut.cut_short
    again = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, method)
    np.testing.assert_allclose(again.history["seeds"], whole.history["seeds"], rtol=1e-9)


def test_as_published_as_on_an_accelerator_compiles_beside_and_looks_less_often(monkeypatch):
    for module in (course, losses, as_published):
        monkeypatch.setattr(module, "accelerated", lambda: True)
    fit = vb.identify(ONE_GUESS, truth("one").measure(FULL), ONE_UNKNOWN, PIDynNetAsPublished(**SHORT | {"check": 10}))
    assert fit.convergence["iterations"] == [40, 40] and len(fit.history["states"]) == 401
    assert np.unique(fit.history["trace_time"]).size == 2  # one program of four looks a subperiod


@pytest.mark.parametrize("rows_filled_up", [False, True])
def test_the_published_loss_is_the_sum_of_its_three_parts(rows_filled_up, monkeypatch):
    """With networks that are straight lines the derivatives, and so the losses, are known."""
    monkeypatch.setattr(losses, "accelerated", lambda: rows_filled_up)
    problem = vb.identification.make_problem(ONE, truth("one").measure(FULL), ONE_UNKNOWN)
    iteration = PIDynNetAsPublished(**SHORT).iteration(problem)
    lines = Dense((jnp.asarray([[[2.0], [0.5]], [[1.0], [0.0]]]),), (jnp.asarray([[0.1], [0.0]]),), "tanh", True)
    learner = Learner(lines, jnp.ones(3))
    part = Subperiod(
        jnp.asarray([0.0, 0.5]), jnp.asarray([1.0, -1.0]), jnp.asarray([[0.3], [0.7]]), jnp.zeros((2, 1)),
        jnp.zeros((2, 1)), jnp.asarray([[0, 1]]), -jnp.ones((1, 3)), jnp.ones((1, 3)), jnp.full((1, 1), jnp.nan),
        jnp.asarray(4.0),
    )  # fmt: skip
    total, parts = eqx.filter_jit(iteration.loss)(learner, jnp.asarray([1]), part, part.states[0])
    x, v, z, dz = 2 * 0.5 - 0.5 + 0.1, 2 / 4, 0.5, 1 / 4
    rate = v - 6.0 * abs(v) * abs(z) * np.sign(z) - 4.0 * v * abs(z)
    np.testing.assert_allclose(parts[0], x**2 + v**2)
    np.testing.assert_allclose(parts[1], (40.0 * z + 0.5 * v + 1.0 * 0.7) ** 2)
    np.testing.assert_allclose(parts[2], (dz - rate) ** 2)  # the state where it begins is 0, as the network has it
    np.testing.assert_allclose(total, parts[0] + parts[1] + 10 * parts[2])
    blind = PIDynNetAsPublished(**SHORT, ground_input=False).iteration(problem)  # x without its 0.5 a_g
    made, _ = blind.outputs(learner, jnp.arange(2), part)
    np.testing.assert_allclose(made[0][1], 2 * 0.5 + 0.1)


@pytest.mark.parametrize("states", [1, 2, 5])
def test_the_latent_network_begins_as_the_response_network(states):
    learner = new_learners(jax.random.key(0), 3, (2, 4, 4, 2), states, 1)
    networks = latent_as_response(learner.networks, 2, states)
    x = jnp.asarray([0.3, -0.6], jnp.float32)
    before, after = (jax.vmap(jax.vmap(lambda own: own(x)))(own) for own in (learner.networks, networks))
    np.testing.assert_allclose(after[:, 0], before[:, 0], rtol=1e-5)
    np.testing.assert_allclose(after[:, 1, :states], before[:, 0, np.arange(states) % 2], rtol=1e-5)
    assert not np.allclose(before[:, 1, :states], after[:, 1, :states])


@pytest.fixture(scope="module")
def trained():
    method = PIDynNetAsPublished(**SHORT | {"seeds": 1})
    return method, vb.identify(ONE_GUESS, truth("one").measure(FULL), ONE_UNKNOWN, method)


def test_algorithm_2_continues_from_the_trained_weights(trained):
    """No step (rate 0): what the trained networks give at another motion; with steps the equations are met better."""
    method, fit = trained
    still = dataclasses.replace(method, rate=1e-30)
    unmoved = still.fine_tune(fit, motion(3), iterations=2)
    problem = vb.identification.make_problem(ONE_GUESS, truth("one").measure(FULL), ONE_UNKNOWN)
    networks = new_learners(jax.random.key(0), 1, (2, 8, 8, 1), 1, 3)
    alone = jax.tree.map(lambda leaf: leaf[0], networks)
    learner = jax.flatten_util.ravel_pytree(alone)[1](jnp.asarray(fit.history["learner"]))
    ground = motion(3).data[:, 0]
    first = slice(0, 10)
    inputs = np.stack([np.arange(10) / 200, ground[first] / np.abs(ground).max()], axis=1).astype(np.float32)
    response = jax.tree.map(lambda leaf: leaf[0], learner.networks)
    expected = np.array([response(jnp.asarray(row))[0] for row in inputs])
    np.testing.assert_allclose(unmoved.displacement[first, 0], expected, rtol=1e-4, atol=1e-6)
    tuned = method.fine_tune(fit, motion(3), iterations=60)
    assert tuned.left < unmoved.left and len(tuned.time) == len(motion(3)) and problem.unknowns.names == fit.names
    imposed = method.fine_tune(fit, motion(3), iterations=60, imposed=True)
    assert not np.allclose(imposed.displacement, tuned.displacement)
    with pytest.raises(VibridError, match="needs a result of PIDynNetAsPublished"):
        method.fine_tune(fit.replace(history={}), motion(3))


def test_as_published_is_found_by_its_name_and_refuses_what_it_cannot_do():
    method = vb.identification.METHODS["pidynnet-as-published"]()
    assert type(method) is PIDynNetAsPublished
    assert (method.iterations, method.batch, method.pool, method.weights) == (10_000, 500, 1000, (1.0, 1.0, 10.0))
    with pytest.raises(VibridError, match="'batch' must be 1 or more"):
        PIDynNetAsPublished(batch=0)
    prior = [vb.Unknown("storeys[0].stiffness", prior=(40.0, 1.0))]
    with pytest.raises(VibridError, match="an unknown has a prior"):
        vb.identify(ONE_GUESS, truth("one").measure(FULL), prior, method)
