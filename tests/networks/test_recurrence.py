"""The linear recurrence against a plain loop, and its gradient against finite differences and JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.networks import recurrence as module
from vibrid.networks.recurrence import recurrence


def drawn(kind, samples=37):
    rng = np.random.default_rng(3)
    values = [rng.uniform(-0.9, 0.9, (samples, 2, 3)), rng.normal(size=(samples, 2, 3)), rng.normal(size=(2, 3))]
    if kind is complex:
        values = [v + 1j * rng.uniform(-0.4, 0.4, v.shape) for v in values]
    return [jnp.asarray(v) for v in values]


def looped(a, u, first):
    states = []
    for one, more in zip(a, u, strict=True):
        first = one * first + more
        states.append(first)
    return jnp.stack(states)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("kind", [float, complex])
def test_states_and_gradient_are_those_of_a_loop(kind, parallel, monkeypatch):
    monkeypatch.setattr(module, "accelerated", lambda: parallel)
    a, u, first = drawn(kind)
    assert np.allclose(recurrence(a, u, first), looped(a, u, first), rtol=1e-12)
    weights = jnp.asarray(np.random.default_rng(5).normal(size=a.shape))

    def loss(states_of):
        return lambda *given: jnp.sum(weights * jnp.abs(states_of(*given) ** 2))

    ours, theirs = (jax.grad(loss(f), argnums=(0, 1, 2))(a, u, first) for f in (recurrence, looped))
    for one, other in zip(ours, theirs, strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-12)
    step, at = 1e-6, (4, 1, 2)
    difference = (loss(recurrence)(a.at[at].add(step), u, first) - loss(recurrence)(a.at[at].add(-step), u, first)) / 2
    assert np.real(ours[0][at]) == pytest.approx(float(difference) / step, rel=1e-6)
