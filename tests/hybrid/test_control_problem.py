"""The control problem for real-time hybrid simulation, and its compensators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid.compensation import TargetMotion
from vibrid.hybrid.control_problem import (
    RATE,
    STIFFNESS,
    control_run,
    criteria,
    nominal_plant,
    perturbed_plants,
    perturbed_runs,
    reference_damping,
    reference_run,
    split,
)
from vibrid.hybrid.model_based import riccati


@pytest.fixture(scope="module")
def ground():
    motion = vb.synthetic_motion(key=3, duration=4.0, rate=100.0, pga=1.4)
    time = np.arange(round(5.0 * RATE)) / RATE
    return np.interp(time, np.arange(len(motion.data)) / 100.0, motion.data[:, 0], right=0.0)


def test_the_reference_has_the_published_damping():
    np.testing.assert_allclose(np.diag(reference_damping(1)), [14084.2757, 14943.6229, 7223.1013], rtol=3e-5)
    s = split(3)
    assert float(s.mass[0, 0] - s.numerical_mass[0, 0]) == pytest.approx(29.13)
    assert float(s.stiffness[0, 0] - s.numerical_stiffness[0, 0]) == pytest.approx(1.19e6)
    with pytest.raises(InputError, match="cases 1, 2, 3, 4"):
        split(5)


def test_the_reference_run_against_an_exact_step(ground):
    mass, damping = 1100.0, reference_damping(2)
    a = np.block([[np.zeros((3, 3)), np.eye(3)], [-STIFFNESS / mass, -damping / mass]])
    b = np.concatenate([np.zeros(3), -np.ones(3)])[:, None]
    discrete = scipy.signal.cont2discrete((a, b, np.eye(6), np.zeros((6, 1))), 1 / RATE)[:2]
    state, history = np.zeros(6), []
    for now in ground[:4096]:
        history.append(state[:3])
        state = discrete[0] @ state + discrete[1][:, 0] * now
    found = np.asarray(reference_run(2, ground[:4096]))
    assert np.abs(found - history).max() < 1e-6 * np.abs(history).max()


def test_the_plant_follows_its_transfer_function():
    """The loop with a command that does not depend on it: a sine of 3 Hz, against position/command of the plant."""

    class Sine(vb.hybrid.Compensator):
        def start(self, constants):
            return jnp.zeros(())

        def command(self, constants, state, target, measured, dt):
            return 0.01 * jnp.sin(2 * jnp.pi * 3.0 * state), state + dt

    run = control_run(1, np.zeros(round(3 * RATE)), Sine())
    time = np.arange(len(run.measured)) / RATE
    ratio = nominal_plant().transfer(2j * np.pi * 3.0)
    wanted = 0.01 * np.imag(ratio * np.exp(2j * np.pi * 3.0 * time))
    late = np.asarray(run.measured)[8192:] - wanted[8192:]
    sensor = np.sqrt(6.25e-14 * RATE)
    held = 0.01 * abs(ratio) * 2 * np.pi * 3.0 * 0.5 / RATE  # a held command is half a step late
    assert np.sqrt(np.mean(late**2)) < np.hypot(1.1 * sensor, held)
    assert abs(ratio) == pytest.approx(0.9416, abs=1e-3)  # 0.976 at 2 Hz, 0.851 at 5 Hz


def test_the_riccati_equation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 1))
    q, r = np.diag([1.0, 0.0, 0.5, 0.0]), 0.3
    wanted = scipy.linalg.solve_discrete_are(a, b, q, np.array([[r]]))
    np.testing.assert_allclose(riccati(jnp.asarray(a), jnp.asarray(b @ b.T / r), jnp.asarray(q)), wanted, rtol=1e-8)


def test_ours_is_ahead_of_an_inverse_and_stable_on_perturbed_plants(ground):
    reference = reference_run(4, ground)
    a, b = nominal_plant().polynomial()
    plain = criteria(control_run(4, ground, vb.hybrid.Inverse(a[1] / b, a[2] / b)), reference)
    model_based = vb.hybrid.ModelBased(nominal_plant(), lead=1.5 / RATE)
    ours = criteria(control_run(4, ground, model_based), reference)
    assert ours["J2"] < plain["J2"] and ours["J4"] < plain["J4"] and ours["J7"] < 0.7 * plain["J7"]
    assert ours["J6"] < 0.5 and ours["J7"] < 0.5  # the split structure with a good actuator is the whole one
    plants = perturbed_plants(3, seed=1)
    assert len({float(p.stiffness) for p in plants}) == 3
    many = [criteria(run, reference)["J2"] for run in perturbed_runs(4, ground, model_based, plants)]
    alone = criteria(control_run(4, ground, model_based, plants[1], seed=2), reference)["J2"]
    assert many[1] == pytest.approx(alone, rel=1e-6) and max(many) < 10.0


def test_without_compensation_the_loop_is_lost(ground):
    reference = reference_run(1, ground)
    assert criteria(control_run(1, ground, vb.hybrid.NoCompensation()), reference)["J4"] > 100
    overflown = control_run(1, ground, vb.hybrid.Inverse(0.3, 0.1))
    assert criteria(overflown, reference)["J2"] == np.inf or criteria(overflown, reference)["J2"] > 50


def test_a_model_based_compensator_needs_a_linear_model():
    with pytest.raises(InputError, match="needs linear dynamics"):
        vb.hybrid.ModelBased(vb.hybrid.PureDelay(0.01))
    with pytest.raises(InputError, match="order from 1 to 3"):
        vb.hybrid.ModelBased(vb.hybrid.FirstOrder(0.01), order=4)


COMPENSATORS = {
    "pi-lead": (vb.hybrid.PhaseLeadPI(0.5, 20.0, 0.018, 1e-3), 0.2),
    "sliding-mode": (vb.hybrid.SlidingMode(1.23e4, 222.0, 1.23e4), 0.35),
    "model-based": (vb.hybrid.ModelBased(vb.hybrid.SecondOrder.with_lag(0.018)), 0.05),
}
"""Each with the share of the error without compensation that it may leave."""


@pytest.mark.parametrize("name", COMPENSATORS)
def test_an_actuator_of_second_order_follows_a_slow_sine(name):
    machine, (compensator, share), h = vb.hybrid.SecondOrder.with_lag(0.018), COMPENSATORS[name], 1 / 1024
    constants, own = machine.prepare(h), compensator.prepare(h)
    time = jnp.arange(4096) * h
    w = 2 * jnp.pi * 1.5

    def step(carry, t):
        actuator, state, y = carry
        target = TargetMotion(0.02 * jnp.sin(w * t), 0.02 * w * jnp.cos(w * t), -0.02 * w**2 * jnp.sin(w * t), 0.0)
        command, state = compensator.command(own, state, target, y, h)
        motion, actuator = machine.follow(constants, actuator, command, h)
        return (actuator, state, motion.e), motion.e

    start = (machine.start(constants), compensator.start(own), jnp.zeros(()))
    _, y = jax.jit(lambda: jax.lax.scan(step, start, time))()
    found = vb.hybrid.tracking(0.02 * np.sin(w * np.asarray(time))[2048:], np.asarray(y)[2048:], h)
    assert found.error < share * abs(1 - machine.transfer(1j * w))
