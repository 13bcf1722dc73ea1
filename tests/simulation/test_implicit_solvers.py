"""Equations of implicit steps in a band and sparse: equal to full matrices, to SciPy, and with right derivatives."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import vibrid as vb
from vibrid.core.banded import solve_bands, vibrid_solve_bands
from vibrid.core.errors import InputError, Refusal
from vibrid.identification.problem import make_problem, predict
from vibrid.simulation import Newmark, implicit
from vibrid.simulation.excitation import drive
from vibrid.simulation.implicit import pattern_for, with_pattern
from vibrid.simulation.run import Readings, run
from vibrid.structures.pattern import Pattern

N = 45


def chain(scale=1.0, count=N):
    laws = [vb.Bilinear(scale * 6e6 * (1 + 0.01 * i), 2e-3, post_yield_ratio=0.1) for i in range(count)]
    return vb.ShearBuilding(masses=np.full(count, 1e3), storeys=laws, damping=vb.Viscous(2e3))


def net(damping=None):
    """A net of 6 by 8 masses with consistent mass, numbered at random, and yielding laws between some of them."""
    path = lambda k: 2 * np.eye(k) - np.eye(k, k=1) - np.eye(k, k=-1)  # noqa: E731
    stiffness = 2e6 * (np.kron(path(6), np.eye(8)) + np.kron(np.eye(6), path(8)))
    order = np.random.default_rng(0).permutation(48)
    law = vb.Bilinear(stiffness=4e6, yield_deformation=1e-3, post_yield_ratio=0.05)
    place = np.argsort(order)
    attachments = [vb.Attachment(law, at=int(place[i]), to=int(place[i + 1])) for i in (0, 9, 18, 27)]
    mass = 1e3 * np.eye(48) + 50.0 * (stiffness != 0)
    return vb.Matrices(
        mass=mass[np.ix_(order, order)], stiffness=stiffness[np.ix_(order, order)],
        damping=damping or vb.Rayleigh(0.4, 1e-3), attachments=attachments,
    )  # fmt: skip


def motion(samples=150, rate=100.0, strength=3.0):
    t = np.arange(samples) / rate
    values = sum(np.sin(2 * np.pi * f * t + f) for f in np.linspace(0.3, 9.0, 12)) * np.sin(np.pi * t / t[-1])
    return vb.Record(strength * values, [vb.Channel("ground", "ground_acceleration")], step=1.0 / rate)


@pytest.mark.parametrize("width", [1, 3])
def test_bands_against_scipy_and_differences(width):
    rng = np.random.default_rng(width)
    n = 9
    full = np.triu(np.tril(rng.standard_normal((n, n)), width), -width) + 4 * np.eye(n)
    bands = np.array([[full[i, i + d] if 0 <= i + d < n else 7.0 for d in range(-width, width + 1)] for i in range(n)])
    right, other = rng.standard_normal((2, n))
    wanted = scipy.linalg.solve(full, right)
    np.testing.assert_allclose(vibrid_solve_bands(jnp.asarray(bands), jnp.asarray(right)), wanted, rtol=1e-12)
    value = lambda b, r: jnp.vdot(jnp.asarray(other), solve_bands(b, r))  # noqa: E731
    by_bands, by_right = jax.grad(value, (0, 1))(jnp.asarray(bands), jnp.asarray(right))
    np.testing.assert_allclose(by_right, scipy.linalg.solve(full.T, other), rtol=1e-11)
    moved, small = rng.standard_normal(bands.shape), 1e-6
    above, below = (value(bands + side * small * moved, right) for side in (1, -1))
    np.testing.assert_allclose(np.sum(by_bands * moved), (above - below) / (2 * small), rtol=1e-7)


def test_sparse_factors_are_of_the_matrix_and_its_transpose():
    rng = np.random.default_rng(0)
    full = np.asarray(scipy.sparse.random(30, 30, 0.1, random_state=1).toarray()) + 5 * np.eye(30)
    pattern = Pattern(*np.nonzero(full), 30, banded=False)
    numbers, right, other = pattern.of_matrix(jnp.asarray(full)), rng.standard_normal(30), rng.standard_normal(30)
    np.testing.assert_allclose(pattern.solve(numbers, jnp.asarray(right)), np.linalg.solve(full, right), rtol=1e-11)
    np.testing.assert_allclose(pattern.times(numbers, jnp.asarray(right)), full @ right, rtol=1e-12)
    np.testing.assert_array_equal(pattern.probed(lambda x: full @ x), numbers)
    back = jax.grad(lambda r: jnp.vdot(jnp.asarray(other), pattern.solve(numbers, r)))(jnp.asarray(right))
    np.testing.assert_allclose(back, np.linalg.solve(full.T, other), rtol=1e-11)
    many = jax.vmap(lambda r: pattern.solve(numbers, r))(jnp.asarray([right, other]))
    np.testing.assert_allclose(many[1], np.linalg.solve(full, other), rtol=1e-11)
    assert pickle.loads(pickle.dumps(pattern)) == pattern
    elsewhere = full.copy()
    elsewhere[tuple(np.argwhere(full == 0)[0])] = 1e-3
    assert np.isnan(pattern.of_matrix(jnp.asarray(elsewhere))).all()  # never silently left out


@pytest.mark.parametrize(
    ("made", "chosen"), [(chain, "a band of 45 unknowns with 1 neighbour"), (net, "full matrices")]
)
def test_steps_are_those_of_full_matrices(made, chosen, monkeypatch):
    monkeypatch.setattr(implicit, "LEAST_CHAIN", N)
    structure, record = made(), motion()
    wanted = vb.simulate(structure, record, integrator=Newmark(solver="full"), modes=None)
    assert "full matrices" in repr(wanted)
    assert chosen in repr(vb.simulate(structure, record, integrator=Newmark(), modes=None))
    slack = max(np.abs(np.asarray(s)).max() for s in jax.tree.leaves(wanted.states))
    assert slack > 1e-4  # laws yield
    for solver in ("banded", "sparse"):
        found = vb.simulate(structure, record, integrator=Newmark(solver=solver), modes=None)
        for name, near in (("displacement", 1e-10), ("velocity", 1e-10), ("acceleration", 1e-9)):
            exact = getattr(wanted, name)
            np.testing.assert_allclose(getattr(found, name), exact, rtol=0, atol=near * np.abs(exact).max())


def test_derivatives_follow_the_implicit_rule():
    """Forwards against full matrices and differences, backwards against forwards; laws yield."""
    count, record = 5, motion(60, 20.0, 8.0)
    driven = drive(record.data, "linear")

    def size_of(solver):
        pattern = pattern_for(chain(0.2, count), Newmark(solver=solver))

        def size(scale):
            structure = chain(scale, count)
            model = with_pattern(structure.model(), pattern)
            readings = Readings(structure.sensor_arrays(model, vb.Sensors(displacement=[count - 1])))
            y = run(model, Newmark(solver=solver), driven, record.step, readings)
            return jnp.sum(y**2)

        return size

    full = jax.jit(size_of("full"))
    wanted = jax.jit(lambda s: jax.jvp(full, (s,), (1.0,)))(0.2)
    for solver in ("banded", "sparse"):
        size = size_of(solver)
        found, back = jax.jit(lambda s, size=size: (jax.jvp(size, (s,), (1.0,)), jax.grad(size)(s)))(0.2)
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
        np.testing.assert_allclose(back, wanted[1], rtol=1e-8)
    above, below = (float(full(0.2 + side * 1e-6)) for side in (1, -1))
    np.testing.assert_allclose(wanted[1], (above - below) / 2e-6, rtol=1e-4)


def test_batches_and_fits_take_the_band(monkeypatch):
    monkeypatch.setattr(implicit, "LEAST_CHAIN", N)
    record, structure = motion(60), chain()
    scales = np.array([1e6, 8e6])
    runs = vb.simulate_many(structure, record, {"storeys[3].stiffness": scales}, integrator=Newmark())
    one = vb.simulate(structure.replace({"storeys[3].stiffness": 8e6}), record, integrator=Newmark(solver="full"))
    peak = np.abs(one.displacement).max()
    np.testing.assert_allclose(runs[0][1], one.displacement, rtol=0, atol=1e-10 * peak)
    data = one.measure(vb.Sensors(displacement=[N - 1]), noise=0.0, key=0)
    problem = make_problem(structure, data, ["storeys[3].stiffness"], integrator=Newmark())
    assert problem.pattern is not None
    assert problem.pattern.banded
    free = problem.unknowns.to_free(np.array([8e6]))
    np.testing.assert_allclose(predict(problem, jnp.asarray(free), 0)[:, 0], one.displacement[:, -1], atol=1e-10 * peak)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="'full', 'banded' or 'sparse', not 'quick'"):
        Newmark(solver="quick")
    with pytest.raises(Refusal, match="not solved 'banded'"):  # a structure whose numbers are not known
        jax.jit(lambda k: pattern_for(chain(k, 3), Newmark(solver="banded")) and k)(1.0)
