"""Rows of a model as operations on neighbours: every form equals the full matrix, and programs do not grow."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.simulation.excitation import drive
from vibrid.simulation.run import Kept, run
from vibrid.structures.incidence import Entries, dense_incidence, incidence, rows_of
from vibrid.structures.model import stack_laws

RNG = np.random.default_rng(3)


def chain(size):
    return np.eye(size) - np.eye(size, k=-1)


def scattered(size):
    """Two entries a row, anywhere."""
    rows = np.zeros((size, size))
    for i, row in enumerate(rows):
        row[[(7 * i + 3) % size, (11 * i + 5) % size]] = RNG.normal(size=2)
    return rows


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        (chain(40), "diagonals"),
        (np.vstack([chain(40), np.eye(40)[-1:]]), "diagonals"),
        (chain(40)[5:20], "diagonals"),
        (scattered(60), "picked"),
        (chain(5), "dense"),
        (RNG.normal(size=(30, 30)), "dense"),
    ],
)
def test_every_form_is_the_matrix(rows, form):
    made = incidence(rows_of(rows, rows.shape[1]), rows.shape[1])
    x, f = RNG.normal(size=rows.shape[1]), RNG.normal(size=len(rows))
    assert made.form == form
    np.testing.assert_array_equal(made.dense(), rows)
    np.testing.assert_allclose(made.deform(x), rows @ x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(made.gather(f), rows.T @ f, rtol=0, atol=1e-13)
    chosen, slopes = [1, 4, 0, 2], RNG.normal(size=(2, 2, 2))  # two parts of two components
    wanted = sum(rows[own].T @ slope @ rows[own] for own, slope in zip(([1, 4], [0, 2]), slopes, strict=True))
    np.testing.assert_allclose(made.assemble(chosen, jnp.asarray(slopes)), wanted, rtol=0, atol=1e-12)
    traced = dataclasses.replace(made, weights=jnp.asarray(made.weights))
    np.testing.assert_array_equal(traced.dense(), rows)


def test_entries_are_rows():
    """Repeated places add up, zeros are left out; another length is refused with the part's name."""
    entries = Entries(np.array([[2, 2], [0, 1]]), np.array([[1.0, 2.0], [0.0, -1.0]]), 3)
    np.testing.assert_array_equal(np.asarray(entries), [[0, 0, 3], [0, -1, 0]])
    one, other = rows_of(entries, 3)
    assert (one.columns.tolist(), one.weights.tolist()) == ([2], [3.0])
    assert (other.columns.tolist(), other.weights.tolist()) == ([1], [-1.0])
    with pytest.raises(InputError, match="'spring' needs 1 rows of 4 numbers"):
        stack_laws([("spring", vb.Linear(1.0), Entries(np.array([[0]]), np.ones((1, 1)), 3))], 4)


def building(storeys):
    laws = [vb.BoucWen(stiffness=40.0 + 0.1 * i, beta=2.0, gamma=1.0, post_yield_ratio=0.1) for i in range(storeys)]
    return vb.ShearBuilding(masses=np.ones(storeys), storeys=laws, damping=vb.Viscous(0.5))


def motion(samples=300):
    values = np.sin(0.3 * np.arange(samples)) * np.exp(-(((np.arange(samples) - 120) / 60.0) ** 2))
    return vb.Record(3.0 * values, [vb.Channel("ground", "ground_acceleration")], step=0.02)


@pytest.mark.parametrize("integrator", [vb.RungeKutta4(), vb.Newmark(), vb.CentralDifference()])
def test_a_chain_moves_as_with_a_full_matrix(integrator):
    made, record = building(30), motion()
    assert made.has_many_parts
    response = vb.simulate(made, record, integrator=integrator)
    model = made.model()
    assert model.incidence.form == "diagonals"
    full = dataclasses.replace(model, incidence=dense_incidence(model.incidence.dense()))
    samples = drive(np.asarray(record.data))
    x, _, a, _ = jax.jit(lambda m: run(m, integrator, samples, 0.02, Kept()))(full)
    np.testing.assert_allclose(response.displacement, x, rtol=0, atol=1e-10 * np.abs(x).max())
    np.testing.assert_allclose(response.acceleration, a, rtol=0, atol=1e-10 * np.abs(a).max())


def test_derivatives_of_a_chain():
    """Forward and reverse, against differences."""
    made, samples = building(30), drive(np.asarray(motion(100).data))

    @jax.jit
    def roof(factor):
        model = made.replace({"storeys[3].stiffness": 40.3 * factor, "storeys[20].beta": 2.0 * factor}).model()
        return run(model, vb.RungeKutta4(), samples, 0.02, Kept())[0][-1, -1]

    slope = float(jax.grad(roof)(1.0))
    assert float(jax.jacfwd(roof)(1.0)) == pytest.approx(slope, rel=1e-10)
    assert float(roof(1.0 + 1e-4) - roof(1.0 - 1e-4)) / 2e-4 == pytest.approx(slope, rel=1e-6)


def test_programs_do_not_grow_with_the_storeys():
    samples = drive(np.asarray(motion(100).data))

    def operations(storeys):
        model = building(storeys).built()
        return len(str(jax.make_jaxpr(lambda m: run(m, vb.RungeKutta4(), samples, 0.02, Kept()))(model)).splitlines())

    assert abs(operations(60) - operations(30)) <= 2
