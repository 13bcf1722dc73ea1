"""Every registered integrator: order, closed forms, energy, derivatives, batches, substeps."""

import jax.numpy as jnp
import numpy as np
import pytest
from problems import KNOTS, LINEAR, SPAN, ground, motion

import vibrid as vb
from vibrid.conformance.integrator import CHECKS, IntegratorExample

NAMES = [name for name in vb.simulation.INTEGRATORS if name != "imposed"]  # "imposed" has a test of its own below
KINDS = ("exact-linear", "kr-alpha", "newmark", "runge-kutta-4")  # one of each way to make a step

# Orders of the displacement on a linear structure, with nonlinear stiffness, and with damping that changes; and of the
# velocity. KR-α and MKR-α take the velocity half a step late: order 1, which the displacement feels through damping.
ORDERS = {
    "central-difference": (2, 2, 2, 2),
    "exact-linear": (None, None, None, None),
    "kr-alpha": (2, 2, 1, 1),
    "mkr-alpha": (2, 2, 1, 1),
    "newmark": (2, 2, 2, 2),
    "runge-kutta-3": (3, 3, 3, 3),
    "runge-kutta-4": (4, 4, 4, 4),
}


EXAMPLES = {name: IntegratorExample(vb.simulation.INTEGRATORS[name](), ORDERS[name]) for name in NAMES}
FOR_ONE_OF_EACH = {"batch_equals_single_runs", "substeps_are_smaller_steps"}
PAIRS = [(check, name) for check, name in CHECKS.pairs(EXAMPLES) if check.name not in FOR_ONE_OF_EACH or name in KINDS]


def test_every_integrator_states_its_orders():
    assert set(ORDERS) == set(NAMES)


@pytest.mark.parametrize(("check", "name"), PAIRS, ids=[f"{check.name}-{name}" for check, name in PAIRS])
def test_integrator_meets_the_requirement(check, name):
    check(EXAMPLES[name])


@pytest.mark.parametrize("hold", ["linear", "zero"])
def test_exact_linear_is_exact_at_any_step(hold):
    """Samples a quarter of the shortest period apart, and the result is that of an adaptive solver."""
    coarse = motion(KNOTS, KNOTS + 1)
    truth = vb.simulation.simulate_reference(LINEAR, coarse, hold=hold, tolerance=1e-12)
    response = vb.simulate(LINEAR, coarse, hold=hold)
    for quantity in ("displacement", "velocity", "acceleration"):
        exact = getattr(truth, quantity)
        np.testing.assert_allclose(getattr(response, quantity), exact, rtol=0, atol=1e-10 * np.abs(exact).max())


@pytest.mark.parametrize("name", NAMES)
def test_free_vibration_and_resonance(name):
    """One mass started off its rest and shaken at its undamped frequency; the two closed forms add.

    The velocity of KR-α and MKR-α lags the motion by γ dt α₁ a: with this lag at the start, and corrected for it at the
    end, displacement and velocity are of second order.
    """
    omega, ratio, x0, v0, pull, dt = 2 * np.pi, 0.03, 0.2, -0.5, 0.4, 0.005
    building = vb.ShearBuilding(masses=[3.0], storeys=[vb.Linear(3.0 * omega**2, 2 * ratio * omega * 3.0)])
    integrator = vb.simulation.INTEGRATORS[name]()
    lag = 0.0
    if isinstance(integrator, vb.KRAlpha):
        lag = float(integrator.weights()[3] * integrator.prepare(building.model(), dt)["velocity"][0, 0])
    begin = v0 - lag * (-2 * ratio * omega * v0 - omega**2 * x0)
    t = np.arange(1201) * dt
    record, start = ground(pull * np.sin(omega * t), dt), vb.Initial(jnp.array([x0]), jnp.array([begin]))
    found = vb.simulate(building, record, integrator=integrator, start=start)
    damped = omega * np.sqrt(1 - ratio**2)
    steady = pull / (2 * ratio * omega**2)  # x = steady · cos ωt at resonance
    rate = -ratio * omega + 1j * damped
    swing = np.exp(rate * t) * (x0 - steady - 1j * (v0 + ratio * omega * (x0 - steady)) / damped)
    x = steady * np.cos(omega * t) + swing.real
    v = -steady * omega * np.sin(omega * t) + (rate * swing).real
    bound = 2e-4 if name in ("exact-linear", "runge-kutta-3", "runge-kutta-4") else 8e-3  # the linear hold leaves 1e-4
    assert np.abs(found.displacement[:, 0] - x).max() < bound * np.abs(x).max()
    assert np.abs(found.velocity[:, 0] + lag * found.acceleration[:, 0] - v).max() < bound * np.abs(v).max()


def test_imposed_motion_moves_only_the_law():
    """A device in a testing machine: bilinear loop energy from the recorded force."""
    t = np.linspace(0.0, 6 * np.pi, 6001)
    record = vb.Record(0.2 * np.sin(t), [vb.Channel("stroke", "imposed_displacement")], step=t[1])
    response = vb.simulate(vb.Device(vb.Bilinear(40.0, 0.05, 0.1)), record)
    e, f = response.part("device")
    np.testing.assert_allclose(e, record.data[:, 0], rtol=1e-15)
    energy = np.sum(0.5 * (f[4001:] + f[4000:-1]) * np.diff(e[4000:]))
    np.testing.assert_allclose(energy, 4 * 0.9 * 40.0 * 0.05 * 0.15, rtol=1e-5)


def test_span_of_the_problems():
    """The shortest period of the linear building is several times the coarsest step used for orders."""
    model = LINEAR.model()
    m, _, k, _ = model.linear()
    fastest = np.sqrt(np.linalg.eigvals(np.linalg.solve(m, k)).real.max())
    assert 2 * np.pi / fastest > 20 * SPAN / 256
