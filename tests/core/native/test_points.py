"""Functions of many points within a loop: machine code gives what XLA gives, and filters do not depend on it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from identification.small import ONE_GUESS, ONE_UNKNOWN, one
from test_native import ONE, SPECIAL, TWO, same

import vibrid as vb
from vibrid.core import native
from vibrid.core.native import compiled, machine
from vibrid.core.native import points as module

pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(bool(machine.unavailable()), reason=machine.unavailable() or "-"),
]


@pytest.fixture
def written(monkeypatch):
    """The loops that were made: how many lanes each has."""
    made = []

    def called(scan, lanes):
        loop = real(scan, lanes)

        def run(*arguments):
            results = loop(*arguments)
            made.append(lanes)
            return results

        return run

    real = module._called
    monkeypatch.setattr(module, "_called", called)
    return made


def both(function, shared, points):
    """By machine code, and by XLA."""
    plain = jax.jit(jax.vmap(function, in_axes=(None, 0)))
    return native.parts(lambda s, z: native.each(function, s, z))(shared, points), plain(shared, points)


@pytest.mark.parametrize("names", [ONE, TWO], ids=["one number", "two numbers"])
def test_every_operation(names, written):
    """In vectors, with numbers that are not finite and both zeros."""
    width = 1 if names is ONE else 2
    points = np.array(list(itertools.product(SPECIAL, repeat=width)))

    def function(shared, z):
        return jnp.stack([f(*(shared * z)) * 1.0 for f in names.values()])

    here, there = both(function, np.asarray(1.0), points)
    assert written and set(written) == {len(points)}
    for number, name in enumerate(names):
        print(name)  # shown where the test fails
        same(here[:, number], there[:, number], 1e-13 if name == "cbrt" else 4e-15)


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_what_is_shared_is_computed_once_for_all_points(count, written):
    """Arrays of several axes, results of several axes, and fewer points than a vector has."""
    matrix, points = np.arange(6.0).reshape(2, 3) - 2.0, np.random.default_rng(count).normal(size=(count, 3))

    def function(shared, z):
        matrix, number = shared
        return (jnp.tanh(matrix) @ z)[:, None] * jnp.exp(-number) + matrix * z[0]

    here, there = both(function, (matrix, 0.3), points)
    assert here.shape == (count, 2, 3) and written
    same(here, there, 1e-13)


def test_a_step_that_iterates_is_done_for_one_point_after_another(written):
    def function(shared, z):
        root = jax.lax.while_loop(
            lambda y: jnp.abs(y**3 + y - z[0]) > 1e-13, lambda y: y - (y**3 + y - z[0]) / (3 * y**2 + 1), shared
        )
        return jnp.stack([root, z[1]])

    here, there = both(function, np.asarray(0.5), np.random.default_rng(0).normal(size=(7, 2)))
    assert set(written) == {0}
    same(here, there)


def test_what_cannot_be_machine_code_stays_with_xla(written):
    here, there = both(lambda shared, z: jnp.sort(shared * z), np.asarray(2.0), np.array([[3.0, 1.0, 2.0]]))
    assert not written
    np.testing.assert_array_equal(here, there)


def test_over_a_batch_xla_computes():
    function = lambda shared, z: jnp.sin(shared * z)  # noqa: E731
    factors, points = np.linspace(0.1, 1.0, 3), np.arange(8.0).reshape(4, 2)
    run = jax.jit(jax.vmap(lambda s: native.each(function, s, jnp.asarray(points))))
    same(run(factors), np.sin(factors[:, None, None] * points))


def test_a_derivative_at_a_point(written):
    def function(shared, z):
        return jnp.stack([jnp.tanh(shared @ z), z[0] * z[2], jnp.where(z[1] > 0, z[1] ** 3, z[1])])

    shared, point = np.array([0.5, -0.2, 0.1]), np.array([0.3, -0.4, 1.2])
    value, here = native.parts(lambda s, z: native.value_and_slope(function, s, z))(shared, point)
    assert set(written) == {3}
    same(value, function(shared, point))
    same(here, jax.jacfwd(function, argnums=1)(shared, point))


def test_new_data_are_no_new_machine_code(monkeypatch):
    texts = []
    monkeypatch.setattr(compiled, "registered", lambda text: texts.append(text) or machine.registered(text))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        both(lambda shared, z: shared * z**2, rng.normal(size=2), rng.normal(size=(5, 2)))
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    ("method", "integrator"),
    [(vb.UnscentedKalman(passes=1, spread=0.29), None), (vb.ExtendedKalman(passes=1, spread=0.29), vb.Newmark())],
)
def test_filters_do_not_depend_on_it(method, integrator, monkeypatch, written):
    record, found = one(0.02), {}
    for wanted in ("0", "strict"):
        monkeypatch.setenv("VIBRID_NATIVE", wanted)
        found[wanted] = vb.identify(ONE_GUESS, record, ONE_UNKNOWN, method, integrator=integrator, checks="none")
    assert written
    there, here = found.values()
    np.testing.assert_allclose(here.estimate, there.estimate, rtol=1e-12)
    np.testing.assert_allclose(
        here.covariance, there.covariance, rtol=1e-10, atol=1e-12 * np.abs(there.covariance).max()
    )
    np.testing.assert_allclose(here.history["deviation"], there.history["deviation"], rtol=1e-11)
