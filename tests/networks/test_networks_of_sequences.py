"""Networks over sequences, derivatives carried forward, L-BFGS and checkpoints, against NumPy and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.core.errors import VibridError
from vibrid.networks import Checkpoint, Convolution, Dense, QuasiNewton, Recurrent, carried, fingerprint, train
from vibrid.networks.checkpoint import tree_arrays, tree_from

SERIES = np.random.default_rng(0).standard_normal((6, 2))


def test_recurrent_is_long_short_term_memory():
    net = jax.jit(lambda key: Recurrent.make(key, (2, 3, 1)))(jax.random.key(0))
    both, b = np.asarray(net.layers[0].weights), np.asarray(net.layers[0].bias)
    w, u = both[:2], both[2:]

    def sigma(x):
        return 1 / (1 + np.exp(-x))

    h = c = np.zeros(3)
    made = []
    for x in SERIES:
        i, f, g, o = np.split(x @ w + h @ u + b, 4)
        c = sigma(f) * c + sigma(i) * np.tanh(g)
        h = sigma(o) * np.tanh(c)
        made.append(h @ np.asarray(net.output) + np.asarray(net.offset))
    np.testing.assert_allclose(eqx.filter_jit(net)(SERIES), made, rtol=1e-12)
    np.testing.assert_array_equal(net.with_output([2.0], shrink=0.0).output, np.zeros((3, 1)))


def test_convolution_sees_its_neighbours_and_zeros_beyond_the_ends():
    net = jax.jit(lambda key: Convolution.make(key, (2, 4, 3), reach=1))(jax.random.key(1))
    x = SERIES
    for k, (kernel, bias) in enumerate(zip(net.kernels, net.biases, strict=True)):
        kernel = np.asarray(kernel)
        y = sum(np.convolve(x[:, i], kernel[::-1, i, o], "same") * (np.arange(kernel.shape[2]) == o)[:, None]
                for i in range(kernel.shape[1]) for o in range(kernel.shape[2])).T + np.asarray(bias)  # fmt: skip
        x = np.tanh(y) if k == 0 else y
    np.testing.assert_allclose(eqx.filter_jit(net)(SERIES), x, rtol=1e-12)


def test_derivatives_carried_forward_are_those_of_differences():
    weights = jnp.asarray(SERIES.T @ SERIES) / 4, jnp.asarray(SERIES[:2])
    net = Dense(weights, (jnp.zeros(2), jnp.zeros(2)), "tanh", True)

    def inputs(t):
        return jnp.stack([jnp.sin(2 * t), t**2], axis=-1)

    @jax.jit
    def along(t):
        x, first = jax.jvp(inputs, (t,), (jnp.ones_like(t),))
        second = jnp.stack([-4 * jnp.sin(2 * t), jnp.full_like(t, 2.0)], axis=-1)
        return carried(net, x, first, second)

    t, h = jnp.asarray([0.3, 0.9]), 1e-4
    y, dy, ddy = along(t)
    before, _, _ = along(t - h)
    after, _, _ = along(t + h)
    np.testing.assert_allclose(dy, (after - before) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(ddy, (after - 2 * y + before) / h**2, rtol=1e-5)


class Valley(QuasiNewton):
    """Rosenbrock's, from several starts at once."""

    steep: float = eqx.field(static=True, default=100.0)

    def objective(self, x, data):
        return jnp.sum(self.steep * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def precondition(self, slope, data):
        return slope / data


class Starts(eqx.Module):
    one: Valley

    def __call__(self, memory, key, data):
        return jax.vmap(self.one, in_axes=(0, None, None))(memory, key, data)


def test_lbfgs_finds_the_end_of_a_curved_valley_from_every_start():
    one = Valley()
    starts = jnp.asarray([[-1.2, 1.0, 0.5], [3.0, -2.0, 1.0]])
    made = train(Starts(one), jax.vmap(one.start)(starts), jax.random.key(0), 90, block=90, data=jnp.asarray(1000.0))
    np.testing.assert_allclose(made.state.x, np.ones((2, 3)), atol=1e-6)
    assert np.all(np.diff(made.history, axis=0) <= 1e-12)  # never uphill


def test_checkpoint_gives_back_what_was_saved_and_refuses_what_is_not_its_own(tmp_path):
    net = {"layer": jnp.arange(6.0).reshape(2, 3), "name": "text"}
    purpose = fingerprint(SERIES, {"rate": 0.1})
    assert purpose == fingerprint(SERIES.copy(), {"rate": 0.1}) != fingerprint(SERIES + 1e-9, {"rate": 0.1})
    kept = Checkpoint(tmp_path / "training.npz", purpose)
    assert kept.load() is None
    kept.save(tree_arrays(net, "net"), {"step": 7})
    arrays, facts = kept.load()
    assert facts == {"step": 7}
    back = tree_from(arrays, "net", {"layer": jnp.zeros((2, 3)), "name": "text"})
    np.testing.assert_array_equal(back["layer"], net["layer"])
    assert tree_from(arrays, "net", {"layer": jnp.zeros((3, 3))}) is None
    with pytest.raises(VibridError, match="other data or settings"):
        Checkpoint(tmp_path / "training.npz", "another").load()
    np.savez(tmp_path / "evil.npz", facts=np.array({"purpose": ""}, dtype=object))
    with pytest.raises(VibridError, match="not a checkpoint"):
        Checkpoint(tmp_path / "evil.npz").load()
    kept.remove()
    assert kept.load() is None
