"""Gradients by the adjoint of a simulation equal those by tangents and finite differences; so does the fit."""

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import Refusal
from vibrid.identification import adjoint
from vibrid.identification.adjoint import (
    AdjointDescent,
    cost_and_gradient,
    refuse_without_adjoint,
    secant,
    uses_adjoint,
)
from vibrid.identification.levenberg import descend, linearised
from vibrid.identification.problem import make_problem

TRUE = 1e6 * np.array([1.2, 0.9, 1.1, 0.8])


def building(stiffness):
    laws = [vb.Bilinear(k, 4e-3, post_yield_ratio=0.1) for k in stiffness]
    return vb.ShearBuilding(masses=np.full(4, 1e3), storeys=laws, damping=vb.Viscous(2e3))


def problem():
    rng, t = np.random.default_rng(1), np.arange(307) * 0.02
    ground = vb.Record(
        2.0 * rng.standard_normal(len(t)) * np.exp(-(((t - 2) / 1.5) ** 2)),
        [vb.Channel("ground", "ground_acceleration")], step=0.02,
    )  # fmt: skip
    sensors = vb.Sensors(acceleration=[1, 3], displacement=[0])
    truth = vb.simulate(building(TRUE), ground, integrator=vb.simulation.Newmark())
    data = truth.measure(sensors, noise=0.02, key=0)
    unknown = [vb.Unknown("storeys[*].stiffness", prior=(1e6, 3e5))]
    return building(np.full(4, 1e6)), data, unknown


@pytest.fixture(scope="module")
def posed():
    structure, data, unknown = problem()
    return make_problem(structure, data, unknown, integrator=vb.simulation.Newmark()).boxed()


def test_gradient_against_tangents_and_finite_differences(posed):
    """Steps by Newton iterations, laws that yield, a record whose length is no square: the checkpoints leave a rest."""
    free, noise = np.array([0.1, -0.05, 0.02, 0.15]), np.array([0.02, 0.03, 1e-4])
    cost, gradient = cost_and_gradient(posed, free, noise)
    wanted, by_tangents, _ = linearised(posed, free).normal_equations(noise)
    np.testing.assert_allclose(cost, wanted, rtol=1e-10)
    np.testing.assert_allclose(gradient, by_tangents, rtol=1e-7, atol=1e-8 * np.abs(by_tangents).max())
    for i in range(4):
        move = 1e-5 * np.eye(4)[i]
        above, below = (cost_and_gradient(posed, free + side * move, noise)[0] for side in (1, -1))
        slope = (above - below) / 2e-5
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


def test_the_minimum_is_that_of_the_jacobian(posed):
    noise = np.array([0.02, 0.03, 1e-4])
    start = posed.start[None]
    wanted = descend(posed, start, noise)
    found = descend(posed, start, noise, evaluate=AdjointDescent(posed).evaluation(noise))
    assert wanted.converged[0]
    assert found.converged[0]
    np.testing.assert_allclose(found.cost[0], wanted.cost[0], rtol=1e-8)
    np.testing.assert_allclose(found.free[0], wanted.free[0], atol=2e-4)


def test_it_is_asked_for(posed, monkeypatch):
    """A simulation that cannot be run backwards is refused with the reason."""
    refuse_without_adjoint(posed)

    def broken(*_):
        raise ValueError("Reverse-mode differentiation does not work for while_loop.\nMore of it.")

    monkeypatch.setattr(adjoint, "_cost_and_gradient", broken)
    with pytest.raises(Refusal, match=r"run backwards \(Reverse-mode .* while_loop\.\); leave out adjoint="):
        refuse_without_adjoint(posed)
    monkeypatch.setattr(adjoint, "_MANY", 2)
    assert not uses_adjoint(posed, None)


def test_many_unknowns_take_it_by_themselves(posed, monkeypatch):
    assert not uses_adjoint(posed, None)
    monkeypatch.setattr(adjoint, "_MANY", len(posed.unknowns))
    assert uses_adjoint(posed, None)
    assert not uses_adjoint(posed, False)


def test_secant_updates_stay_positive_definite():
    """Of a quadratic function they end at its matrix; a step along which the slope falls does not break them."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    true, matrix = root @ root.T + np.eye(5), np.eye(5)
    for _ in range(60):
        step = rng.standard_normal(5)
        matrix = secant(matrix, step, true @ step)
    np.testing.assert_allclose(matrix, true, rtol=0.05, atol=0.05 * np.abs(true).max())
    step = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    bent = secant(matrix, step, -true @ step)
    assert np.linalg.eigvalsh(bent).min() > 0.0
    assert jnp.isfinite(bent).all()
