"""KR-α and MKR-α: what their ρ∞ means."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import STRAIGHT, THERMOSTAT, motion

import vibrid as vb
from vibrid.simulation.excitation import Input


def amplification(integrator, omega, dt, ratio=0.0):
    """Largest |eigenvalue| of one step of an undriven oscillator."""
    matrix = step_matrix(integrator, jnp.asarray(omega), jnp.asarray(dt), jnp.asarray(ratio))
    return np.abs(np.linalg.eigvals(matrix)).max()


@eqx.filter_jit
def step_matrix(integrator, omega, dt, ratio):
    model = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(omega**2, 2 * ratio * omega)]).model()
    constants = integrator.prepare(model, dt)
    still = Input(jnp.zeros((1, 1)), 0.0, 1.0, jnp.zeros(1))

    def step(z):
        first = vb.simulation.State(z[:1], z[1:2], z[2:3], model.start())
        notes = model.forces(first.x, first.v, first.s)
        end = integrator.step(model, constants, first._replace(notes=notes), still, dt)
        return jnp.concatenate([end.x, end.v, end.a])

    return jax.jacfwd(step)(jnp.zeros(3))


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.75, 1.0])
@pytest.mark.parametrize("method", [vb.KRAlpha, vb.MKRAlpha])
def test_dissipation_of_the_highest_modes(method, rho):
    """ρ∞ is the factor of the fastest mode; slow modes are hardly damped; no step is unstable."""
    fast = 1e3 if rho == 1 else 1e5  # at ρ∞ = 1 the roots meet on the unit circle and rounding splits them
    np.testing.assert_allclose(amplification(method(rho), fast, 1.0), rho, atol=1e-3)
    assert 0.999 < amplification(method(rho), 0.05, 1.0) <= 1 + 1e-12
    assert all(amplification(method(rho), omega, 1.0, 0.02) <= 1 + 1e-9 for omega in (0.3, 1.0, 3.0, 30.0))


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_the_two_are_equal_at_both_ends(rho):
    np.testing.assert_allclose(vb.KRAlpha(rho).weights(), vb.MKRAlpha(rho).weights(), atol=1e-15)
    assert abs(vb.KRAlpha(0.5).weights()[0] - vb.MKRAlpha(0.5).weights()[0]) > 0.1


def test_weighing_forces_or_displacements():
    """Equal for a linear structure; of the same order, but not equal, for a nonlinear one."""
    linear = STRAIGHT
    by_force, by_displacement = vb.KRAlpha(0.5), vb.KRAlpha(0.5, weigh="displacement")
    record = motion(512)
    one, other = (vb.simulate(linear, record, integrator=i).displacement for i in (by_force, by_displacement))
    np.testing.assert_allclose(one, other, atol=1e-12)
    one, other = (vb.simulate(THERMOSTAT, record, integrator=i).displacement for i in (by_force, by_displacement))
    gap = np.abs(one - other).max() / np.abs(one).max()
    assert 1e-6 < gap < 1e-2
