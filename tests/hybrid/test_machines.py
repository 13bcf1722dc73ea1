"""Machines, their compensation, and how tracking is measured."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import signal

import vibrid as vb
from vibrid.hybrid.noise import gauss

DT = 1 / 1024


def target_record(x, v=None) -> vb.Record:
    columns, channels = [x], [vb.Channel("x", "imposed_displacement")]
    if v is not None:
        columns.append(v)
        channels.append(vb.Channel("v", "imposed_velocity"))
    return vb.Record(np.stack(columns, axis=1), channels, step=DT, name="target")


@pytest.fixture(scope="module")
def drift() -> vb.Record:
    """The first storey of a two-storey building under a synthetic motion, by SciPy: 0.32 s and 0.12 s, 24 mm."""
    ground = vb.synthetic_motion(3, duration=12.0, rate=1024.0, pga=3.5)
    mass, stiffness = np.diag([8.9e3, 9.1e3]), 9e6 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    damping = 0.3 * mass + 8e-4 * stiffness
    below = [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)]
    state = np.block([[np.zeros((2, 2)), np.eye(2)], below])
    moved = signal.lsim((state, [[0], [0], [-1], [-1]], np.eye(4), np.zeros((4, 1))), ground.data[:, 0], ground.time)[1]
    return target_record(moved[:, 0], moved[:, 2])


def follow(dynamics, target, **more):
    return vb.impose(vb.Linear(1.0), target, vb.Actuator(dynamics, **more))


def benchmark_transfer():
    """The plant of the benchmark, multiplied out by hand: x = Ge Ga [Gsv (u − x) − a₂ s x]."""
    valve, piston, specimen = [1, 425, 1e5], [1, 3.3], [29.12, 114.6, 1.19e6]
    inner = np.polyadd(np.polymul(piston, specimen), [4.23e6, 0])
    return [2.13e13], np.polyadd(np.polymul(valve, inner), [2.13e13])


@pytest.mark.parametrize(
    ("dynamics", "transfer"),
    [
        (vb.hybrid.SecondOrder(12.0, 0.7), ([(24 * np.pi) ** 2], [1, 2 * 0.7 * 24 * np.pi, (24 * np.pi) ** 2])),
        (vb.hybrid.BenchmarkMachine(), benchmark_transfer()),
    ],
    ids=["second", "benchmark"],
)
def test_linear_machines_are_discretised_exactly(drift, dynamics, transfer):
    """Beside SciPy's simulation of the transfer function for commands that move straight between samples."""
    x = drift["x"]
    made = follow(dynamics, target_record(x))["displacement"]
    _, theirs, _ = signal.lsim(transfer, np.concatenate([[0.0], x]), DT * np.arange(len(x) + 1))
    np.testing.assert_allclose(made, theirs[1:], atol=1e-9 * np.abs(x).max())


def test_delay_limits_and_the_sensor(drift):
    x = drift["x"]
    late = follow(vb.hybrid.PureDelay(0.0123), target_record(x))["displacement"]
    time = DT * np.arange(len(x))
    np.testing.assert_allclose(late, np.interp(time - 0.0123, time, x, left=0.0), atol=1e-15)
    step = np.where(np.arange(len(x)) > 10, 0.05, 0.0)
    moved = follow(vb.hybrid.IdealMachine(), target_record(step), velocity_limit=0.1, stroke=0.04)["displacement"]
    assert np.diff(moved).max() == pytest.approx(0.1 * DT) and moved.max() == 0.04
    noisy = follow(vb.hybrid.IdealMachine(), target_record(x), noise=2e-5, quantum=1e-5, seed=4)
    error = noisy["displacement"] - x
    assert error.std() == pytest.approx(np.hypot(2e-5, 1e-5 / 12**0.5), rel=0.03) and abs(error.mean()) < 1e-6
    np.testing.assert_allclose(noisy["displacement"] / 1e-5, np.round(noisy["displacement"] / 1e-5), atol=1e-6)
    np.testing.assert_array_equal(noisy["force"], x, "the specimen is moved, the sensor only looks")
    again = follow(vb.hybrid.IdealMachine(), target_record(x), noise=2e-5, quantum=1e-5, seed=5)
    assert abs(np.corrcoef(error, again["displacement"] - x)[0, 1]) < 0.05
    with pytest.raises(vb.InputError, match="half a second"):
        vb.Actuator(vb.hybrid.PureDelay(0.7))


def test_noise_is_normal_and_white():
    z = np.asarray(jax.vmap(lambda count: gauss(7, count, 2))(jnp.arange(20000)))
    assert np.abs(z.mean(axis=0)).max() < 0.03 and np.abs(z.std(axis=0) - 1).max() < 0.02
    assert np.abs(np.corrcoef(z.T)[0, 1]) < 0.03 and np.abs(np.corrcoef(z[1:, 0], z[:-1, 0])[0, 1]) < 0.03


def test_extrapolation_and_inverse_are_exact_where_they_should_be(drift):
    delay, t = 0.018, DT * np.arange(len(drift))

    def polynomial(t):
        return 0.3 + 2 * t - 5 * t**2 + 0.4 * t**3

    ideal, cubic = vb.Actuator(), vb.hybrid.PolynomialExtrapolation(delay)
    made = vb.impose(vb.Linear(1.0), target_record(polynomial(t)), ideal, cubic)["command"]
    settled = t > 3 * delay + DT
    np.testing.assert_allclose(made[settled], polynomial(t + delay)[settled], atol=1e-4)  # straight between samples
    omega = 2 * np.pi * 1.3
    x = 0.02 * (1 - np.cos(omega * t))  # at rest at first, as the machine is
    v = 0.02 * omega * np.sin(omega * t)
    machine = vb.hybrid.SecondOrder(20.0, 0.8)
    exact = vb.hybrid.Inverse(2 * 0.8 / (40 * np.pi), 1 / (40 * np.pi) ** 2)
    made = vb.impose(vb.Linear(1.0), target_record(x, v), vb.Actuator(machine), exact)
    alone = vb.impose(vb.Linear(1.0), target_record(x, v), vb.Actuator(machine))
    errors = [vb.hybrid.tracking(m["target"], m["displacement"], DT).error for m in (made, alone)]
    assert errors[0] < 2e-3 < 5e-2 < errors[1]


def test_ats_tracks_from_any_first_guess_and_through_noise(drift):
    """An 18 ms machine: from a third of the motion to less than half a per cent, as the specimen feels it."""
    dynamics = vb.hybrid.SecondOrder.with_lag(0.018)
    lazy = vb.hybrid.tracking(drift["x"], follow(dynamics, drift)["force"], DT)
    assert lazy.error > 0.07 and lazy.delay == pytest.approx(0.018, abs=2e-3)
    for guess in (0.018, 0.0, 0.03):
        machine = vb.Actuator(dynamics, noise=2e-5)
        made = vb.impose(vb.Linear(1.0), drift, machine, vb.hybrid.AdaptiveTimeSeries(guess))
        good = vb.hybrid.tracking(drift["x"], made["force"], DT)
        assert good.error < 0.005 and abs(good.delay) < 1e-4, f"first guess {guess}"


def test_ats_keeps_its_limits(drift):
    """Coefficients that may not move stay; a motion below the threshold teaches nothing."""
    machine = vb.Actuator(vb.hybrid.SecondOrder.with_lag(0.018))
    inverse = vb.impose(vb.Linear(1.0), drift, machine, vb.hybrid.Inverse(0.018, 0.018**2 / 2))
    for change in ({"rate": (0.0, 0.0, 0.0)}, {"threshold": 1.0}):
        held = vb.impose(vb.Linear(1.0), drift, machine, vb.hybrid.AdaptiveTimeSeries(0.018, **change))
        np.testing.assert_allclose(held["force"], inverse["force"], atol=1e-12)


def test_indicators():
    t = DT * np.arange(4096)
    x = np.sin(2 * np.pi * 1.5 * t) * np.exp(-((t - 2) ** 2))
    late = np.interp(t - 0.0113, t, 0.9 * x)
    made = vb.hybrid.tracking(x, late, DT)
    assert made.delay == pytest.approx(0.0113, abs=1e-4)
    assert made.error == pytest.approx(np.sqrt(np.mean((late - x) ** 2) / np.mean(x**2)))
    assert made.peak_error == pytest.approx(np.abs(late - x).max() / np.abs(x).max())
    floors = vb.hybrid.floor_errors(np.stack([1.1 * x, x], axis=1), np.stack([x, x], axis=1))
    np.testing.assert_allclose([floors.error, floors.peak_error], [[0.1, 0.0]] * 2, atol=1e-12)
    with pytest.raises(vb.InputError, match="never moves"):
        vb.hybrid.tracking(0 * x, x, DT)
