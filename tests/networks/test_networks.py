"""Layers, scaling and the training loop against NumPy and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from vibrid.core.errors import VibridError
from vibrid.core.progress import Progress
from vibrid.networks import ChannelScaling, Dense, adam, carried, carried_together, train


def test_dense_is_matrices_and_leaky_rectifiers():
    net = jax.jit(lambda key: Dense.make(key, (3, 64, 5, 2)))(jax.random.key(0))
    x = np.random.default_rng(0).standard_normal((7, 3))
    y = x
    for i, (w, b) in enumerate(zip(net.weights, net.biases, strict=True)):
        assert np.all(np.abs(w) <= 1 / np.sqrt(w.shape[0])) and np.all(np.abs(b) <= 1 / np.sqrt(w.shape[0]))
        y = y @ np.asarray(w) + np.asarray(b)
        y = np.maximum(y, 0.2 * y) if i < 2 else y
    np.testing.assert_allclose(net(x), y, rtol=1e-12)
    np.testing.assert_allclose(net(x[0]), y[0], rtol=1e-12)
    np.testing.assert_allclose(np.std(net.weights[1]), 1 / np.sqrt(3 * 64), rtol=0.1)  # uniform in ± 1/√64


def test_an_ensemble_is_a_vmap():
    def answer(key):
        return Dense.make(key, (2, 4, 1), init="glorot", activation="tanh")(jnp.ones((5, 2)))

    keys = jax.random.split(jax.random.key(1), 3)
    np.testing.assert_allclose(jax.jit(jax.vmap(answer))(keys)[2], jax.jit(answer)(keys[2]), rtol=1e-12)


def test_last_layer_can_have_any_initial_bias():
    net = Dense((jnp.ones((3, 2), jnp.float32),), (jnp.zeros(2, jnp.float32),)).with_output([1.0, -2.0], shrink=0.0)
    np.testing.assert_array_equal(net(jnp.ones(3, jnp.float32)), np.array([1.0, -2.0], np.float32))


def test_scaling_goes_there_and_back_and_keeps_rest_at_zero():
    data = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 10.0, 0.0] + [0.0, 5.0, 0.0]
    rms = ChannelScaling.of(data)
    np.testing.assert_allclose(np.mean(rms(data)[:, :2] ** 2, axis=0), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(rms(np.zeros(3)), 0.0)
    np.testing.assert_allclose(rms.back(rms(data)), data, atol=1e-12)
    plain = ChannelScaling.of(data, symmetric=False)
    np.testing.assert_allclose(np.mean(plain(data)[:, :2], axis=0), 0.0, atol=1e-12)


class Line(eqx.Module):
    """A straight line fitted by Adam: the step of the tests of training."""

    rate: float = eqx.field(static=True, default=0.05)

    def __call__(self, state, key, data):
        w, memory = state
        x, y = data
        loss, slope = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        change, memory = adam(self.rate, 400, 1e-4).update(slope, memory)
        return (optax.apply_updates(w, change), memory), (loss, jax.random.uniform(key))


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    x = np.stack([np.ones(40), rng.standard_normal(40)], axis=1)
    y = x @ [0.5, -1.5] + 0.1 * rng.standard_normal(40)
    return jnp.asarray(x), jnp.asarray(y)


def test_training_reaches_least_squares_and_records_every_step(line):
    start = jnp.zeros(2)
    made = train(Line(), (start, adam(0.05, 400, 1e-4).init(start)), jax.random.key(0), 400, block=40, data=line)
    np.testing.assert_allclose(made.state[0], np.linalg.lstsq(*map(np.asarray, line), rcond=None)[0], atol=1e-4)
    assert made.history[0].shape == (400,) and made.history[0][-1] < made.history[0][0] and not made.cut_short
    assert len(np.unique(made.history[1])) == 400  # every step has a key of its own


def test_interruption_keeps_the_trained_state(line):
    class Impatient(Progress):
        def update(self, done, note=""):
            if done == 80:
                raise KeyboardInterrupt

    start = jnp.zeros(2)
    first = (start, adam(0.05, 400, 1e-4).init(start))
    made = train(Line(), first, jax.random.key(0), 400, block=40, data=line, progress=Impatient())
    assert made.cut_short and made.steps == 80 and len(made.history[0]) == 80
    assert made.history[0][-1] < made.history[0][0]


def test_schedule_falls_from_first_to_last():
    flat, falling = adam(0.1), adam(0.1, 10, 0.001)
    for maker, last in ((flat, 0.1), (falling, 0.001)):
        memory, update = maker.init(jnp.ones(1)), jax.jit(maker.update)
        for _ in range(11):
            change, memory = update(jnp.ones(1), memory)
        np.testing.assert_allclose(-change, last, rtol=1e-6)  # Adam's step on a constant slope is the rate


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dense.make(jax.random.key(0), (3,)), "two widths or more"),
        (lambda: Dense.make(jax.random.key(0), (3, 1), init="glorott"), "did you mean 'glorot'"),
        (lambda: Dense.make(jax.random.key(0), (3, 1), activation="relu"), "no activation called 'relu'"),
        (lambda: train(Line(), None, jax.random.key(0), 0), "at least one step"),
    ],
)
def test_refusals_are_messages(make, words):
    with pytest.raises(VibridError, match=words):
        make()


def test_networks_evaluated_together_have_the_derivatives_of_each():
    keys = jax.random.split(jax.random.key(1), 2)
    each = [Dense.make(k, (2, 5, 5, 5, 3), activation="tanh", skip=True) for k in keys]
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
    x = jnp.asarray([[0.1, 0.4], [0.7, -0.3], [0.2, 0.9]])
    along = jnp.asarray([0.5, -1.5])
    for network, made in zip(each, carried_together(both, x, along), strict=True):
        every = jnp.broadcast_to(along, x.shape)
        np.testing.assert_allclose(made, jnp.stack(carried(network, x, every, 0 * every)), rtol=1e-12, atol=1e-14)
