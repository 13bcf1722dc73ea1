"""All layers of a device network in one loop give what they give one after the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.hybrid.learned import network as networks
from vibrid.hybrid.learned.network import DeviceNetwork
from vibrid.networks.lstm import LSTM
from vibrid.networks.wavefront import along_stack

CASES = [  # signals of the tested device, width of the first layers, widths of the others, samples, batch, dropout
    (2, 4, (5, 3), 9, (3,), 0.4),
    (0, 4, (4, 4), 8, (), 0.0),
    (0, 3, (2, 5), 2, (2,), 0.4),
    (2, 3, (4,), 1, (2, 2), 0.0),
]


def drawn(shape, key: int, kind=jnp.float64):
    return jnp.asarray(np.random.default_rng(key).standard_normal(shape), kind)


def example(case, kind=jnp.float64):
    """A network with initial states, signals, features and masks."""
    companion, branch, joined, samples, batch, dropout = case
    network = DeviceNetwork.make(
        jax.random.key(1), companion, 3, 2, branch=branch, joined=joined, dropout=dropout, dtype=kind
    )
    start = jax.tree.map(lambda leaf: 0.5 * drawn(leaf.shape, leaf.size, kind), network.start(batch))
    signals = drawn((samples, *batch, companion), 2, kind), drawn((samples, *batch, 3), 3, kind)
    return network, start, signals, network.masks(jax.random.key(4), batch) if dropout else None


def both(monkeypatch, function, *args):
    """The function compiled without and with an accelerator, as far as the networks can see."""
    results = []
    for accelerated in (False, True):
        monkeypatch.setattr(networks, "accelerated", lambda accelerated=accelerated: accelerated)
        results.append(jax.jit(lambda *args: function(*args))(*args))
    return results


def assert_same(pair, tolerance):
    assert jax.tree.structure(pair[0]) == jax.tree.structure(pair[1])
    for a, b in zip(*(jax.tree.leaves(tree) for tree in pair), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def weighed(tree):
    """A number that depends on every element of a tree, each with its own weight."""
    return sum(jnp.sum(leaf * drawn(leaf.shape, 10 + k)) for k, leaf in enumerate(jax.tree.leaves(tree)))


@pytest.mark.parametrize("case", CASES)
def test_outputs_memories_and_gradients_are_those_of_layers_in_turn(case, monkeypatch):
    network, start, signals, masks = example(case)

    def all_of(network, start, signals, masks):
        result = network.along(start, *signals, masks)
        return weighed(result), result

    pair = both(monkeypatch, jax.grad(all_of, (0, 1, 2, 3), has_aux=True), network, start, signals, masks)
    assert_same(pair, 1e-12)
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(pair[1][0][1])) > 1e-6  # of the initial states


def test_an_ensemble_of_networks_and_numbers_of_32_bits(monkeypatch):
    made = [example((0, 3, (2,), 5, (2,), 0.4), jnp.float32) for _ in range(2)]
    scales = jnp.asarray([1.0, 0.7], jnp.float32)
    stacked = jax.tree.map(lambda *leaves: jnp.einsum("k,k...->k...", scales, jnp.stack(leaves)), *made)

    def slopes(network, start, signals, masks):
        return jax.grad(lambda network: weighed(network.along(start, *signals, masks)))(network)

    assert_same(both(monkeypatch, jax.vmap(slopes), *stacked), 2e-5)


def test_parallel_layers_of_unequal_width():
    first = [LSTM.make(jax.random.key(k), 2, width) for k, width in enumerate((3, 5))]
    last = LSTM.make(jax.random.key(2), 8, 4)
    inputs = [drawn((7, 2, 2), k) for k in range(2)]
    states = [layer.start((2,)) for layer in (*first, last)]
    (a, after_a), (b, after_b) = (first[k].along(states[k], inputs[k]) for k in range(2))
    alone, after = last.along(states[2], jnp.concatenate([a, b], axis=-1))
    together = along_stack(first, [last], states, inputs)
    assert_same(((alone, [after_a, after_b, after]), together), 1e-12)


def test_a_turn_of_the_loop_is_one_product(monkeypatch):
    network, start, signals, masks = example(CASES[0])
    monkeypatch.setattr(networks, "accelerated", lambda: True)
    slope = jax.grad(lambda network: weighed(network.along(start, *signals, masks)))
    loops = [e.params["jaxpr"].jaxpr for e in jax.make_jaxpr(slope)(network).eqns if e.primitive.name == "scan"]
    assert [[e.primitive.name for e in loop.eqns].count("dot_general") for loop in loops] == [1, 1]
