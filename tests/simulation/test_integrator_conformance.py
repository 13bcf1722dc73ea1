"""Every registered integrator: order, closed forms, energy, derivatives, batches, substeps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import CUBIC, KNOTS, LINEAR, SPAN, STRAIGHT, THERMOSTAT, at_knots, ground, motion

import vibrid as vb
from vibrid.simulation.excitation import drive, inputs_of

NAMES = [name for name in vb.simulation.INTEGRATORS if name != "imposed"]  # "imposed" has a test of its own below
KINDS = ("exact-linear", "kr-alpha", "newmark", "runge-kutta-4")  # one of each way to make a step
NONLINEAR = [name for name in NAMES if name != "exact-linear"]

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


@pytest.fixture(scope="module")
def truths():
    return {
        name: vb.simulation.simulate_reference(b, motion(KNOTS, KNOTS + 1), tolerance=1e-11)
        for name, b in BUILDINGS.items()
    }


BUILDINGS = {"linear": STRAIGHT, "stiffness": CUBIC, "damping": THERMOSTAT}


def errors(name, which, truth, quantity="displacement"):
    exact = getattr(truth, quantity)
    found = []
    for steps in (256, 512):
        response = vb.simulate(BUILDINGS[which], motion(steps), integrator=vb.simulation.INTEGRATORS[name]())
        found.append(np.abs(at_knots(getattr(response, quantity), steps) - exact).max() / np.abs(exact).max())
    return found


def test_every_integrator_states_its_orders():
    assert set(ORDERS) == set(NAMES)


@pytest.mark.parametrize("which", list(BUILDINGS))
@pytest.mark.parametrize("name", NONLINEAR)
def test_order_of_convergence(name, which, truths):
    coarse, fine = errors(name, which, truths[which])
    expected = ORDERS[name][list(BUILDINGS).index(which)]
    assert abs(np.log2(coarse / fine) - expected) < 0.15
    assert fine < {1: 2.5e-2, 2: 6e-3, 3: 1e-4, 4: 1e-6}[expected]
    if which == "linear":
        coarse, fine = errors(name, which, truths[which], "velocity")
        assert abs(np.log2(coarse / fine) - ORDERS[name][3]) < 0.15


@pytest.mark.parametrize("hold", ["linear", "zero"])
def test_exact_linear_is_exact_at_any_step(hold):
    """Samples a quarter of the shortest period apart, and the answer is that of an adaptive solver."""
    coarse = motion(KNOTS, KNOTS + 1)
    truth = vb.simulation.simulate_reference(LINEAR, coarse, hold=hold, tolerance=1e-12)
    response = vb.simulate(LINEAR, coarse, hold=hold)
    for quantity in ("displacement", "velocity", "acceleration"):
        exact = getattr(truth, quantity)
        np.testing.assert_allclose(getattr(response, quantity), exact, rtol=0, atol=1e-10 * np.abs(exact).max())


@pytest.mark.parametrize("name", NAMES)
def test_free_vibration_and_resonance(name):
    """One mass started off its rest and shaken at its undamped frequency; the two closed forms add.

    The velocity of KR-α and MKR-α stands γ dt α₁ a behind the motion: put there at the start, and read from there, it
    gives displacement and velocity to the second order.
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


@pytest.mark.parametrize("name", NONLINEAR)
def test_energy_balance(name):
    """Work of the ground = kinetic + strain + dissipated energy; what is missing shrinks with the step."""
    missing = []
    for steps in (256, 512):
        record = motion(steps)
        r = vb.simulate(CUBIC, record, integrator=vb.simulation.INTEGRATORS[name]())
        mass, dt = np.array([2.0, 1.0]), record.step
        x, v = r.displacement[: steps + 1], r.velocity[: steps + 1]
        e, w = np.diff(x, axis=1, prepend=0), np.diff(v, axis=1, prepend=0)
        moved = np.diff(x, axis=0)
        pull = -mass * record.data[: steps + 1]
        put_in = np.concatenate([[0.0], np.cumsum(np.sum(0.5 * (pull[1:] + pull[:-1]) * moved, axis=1))])
        lost = 0.8 * np.sum(w**2, axis=1)
        lost = np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]) * dt)])
        strain = np.sum(np.array([60.0, 40.0]) * e**2 / 2 + np.array([100.0, 60.0]) * e**4 / 4, axis=1)
        kinetic = np.sum(mass * v**2 / 2, axis=1)
        missing.append(np.abs(put_in - kinetic - strain - lost).max() / np.abs(put_in).max())
    assert missing[1] < missing[0] / 1.9
    assert missing[1] < (6e-2 if ORDERS[name][3] == 1 else 4e-3)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_through_the_run(name):
    """Forward and reverse derivatives of the whole run, parameters, start and motion, against finite differences."""
    building = LINEAR if name == "exact-linear" else THERMOSTAT
    places = ["masses[1]", "storeys[0].stiffness", "storeys[0].damping" if name == "exact-linear" else "damping.rate"]
    record = motion(KNOTS, KNOTS + 1)
    samples, integrator = jnp.asarray(inputs_of(building, record)), vb.simulation.INTEGRATORS[name]()
    weights = jnp.asarray(np.random.default_rng(0).standard_normal((KNOTS + 1, 2)))

    def read(values):
        model = building.replace(dict(zip(places, values[:3], strict=True))).model()
        start = vb.Initial(values[3] * jnp.ones(2), jnp.zeros(2))
        x, v, a, _ = vb.simulation.run(
            model, integrator, drive(samples * values[4]), record.step, vb.simulation.Everything(), start
        )
        return jnp.sum(weights * (x + 0.1 * v + 0.01 * a))

    values = jnp.array([1.0, 60.0, 2.0 if name != "exact-linear" else 0.8, 0.1, 1.0])
    direction = values * jnp.array([0.7, -1.0, 0.5, 0.9, -0.4])

    @jax.jit
    def every(p):
        """The value, its forward derivative along the direction, and its reverse derivative: one linearisation."""
        value, slope = jax.linearize(read, p)
        return value, slope(direction), jax.linear_transpose(slope, p)(1.0)[0]

    _, forward, reverse = every(values)
    np.testing.assert_allclose(jnp.vdot(reverse, direction), forward, rtol=1e-9)
    h = 1e-5
    numeric = (every(values + h * direction)[0] - every(values - h * direction)[0]) / (2 * h)
    np.testing.assert_allclose(forward, numeric, rtol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_equals_single_runs(name):
    """Over parameters and motions in step."""
    building = LINEAR if name == "exact-linear" else THERMOSTAT
    integrator, record = vb.simulation.INTEGRATORS[name](), motion(512)
    stiffness = np.array([50.0, 60.0, 75.0])
    motions = [record.replace(data=record.data * f) for f in (1.0, -0.5, 0.2)]
    together = vb.simulate_many(building, motions, {"storeys[0].stiffness": stiffness}, integrator=integrator)[0]
    for x, k, own in zip(together, stiffness, motions, strict=True):
        alone = vb.simulate(building.replace({"storeys[0].stiffness": k}), own, integrator=integrator).displacement
        np.testing.assert_allclose(x, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_substeps_are_smaller_steps(name):
    """Four substeps a sample equal a record four times as fine, whose samples lie on straight lines."""
    building, integrator = LINEAR if name == "exact-linear" else THERMOSTAT, vb.simulation.INTEGRATORS[name]()
    fine = vb.simulate(building, motion(512), integrator=integrator)
    coarse = vb.simulate(building, motion(128, 129), integrator=integrator, substeps=4)
    np.testing.assert_allclose(coarse.displacement, fine.displacement[::4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(coarse.acceleration, fine.acceleration[::4], rtol=0, atol=1e-9)


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
