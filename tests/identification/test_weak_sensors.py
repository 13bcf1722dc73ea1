"""Soft physics from few readings: accelerometers alone, one quantity alone, few samples in a period."""

from functools import cache

import numpy as np
import pytest

import vibrid as vb
from identification.small import TWO, TWO_GUESS, TWO_TRUTH, TWO_UNKNOWN, motion
from vibrid.core.errors import Divergence
from vibrid.identification.problem import make_problem
from vibrid.identification.smoothing import consistent_motion
from vibrid.identification.weak.banded import factorise, squares
from vibrid.identification.weak.pieces import smooth, spectral_noise, unread
from vibrid.identification.weak.splines import REACH
from vibrid.identification.weak.start import determined

ONLY = {q: vb.Sensors(**{q: [0, 1]}) for q in ("displacement", "velocity", "acceleration")}
HIGHEST = 0.559  # s, the shorter period of TWO
QUICK = {"integrator": vb.RungeKutta4(), "substeps": 2}  # compiles sooner than the exact step


def quake(rate: float, duration: float) -> vb.Record:
    return vb.synthetic_motion(key=4, duration=duration, rate=rate, pga=4.0)


@cache
def oscillator() -> vb.Record:
    building = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(247.0, 0.6)])
    made = vb.simulate(building, quake(100.0, 8.0), integrator=vb.simulation.RungeKutta3(), substeps=40)
    return made.measure(vb.Sensors(acceleration=[0]), noise=0.02, key=0)


@pytest.mark.parametrize("guess", [0.5, 0.8, 1.2, 2.0])
def test_one_accelerometer_finds_the_stiffness_of_an_oscillator(guess):
    """The reported defect: 45 N/m for 247 from a guess 20 % off, and the model was blamed."""
    building = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(247.0 * guess, 0.6)])
    fit = vb.identify(building, oscillator(), ["storeys[0].stiffness"], vb.WeakCollocation(), **QUICK)
    assert fit.estimate[0] == pytest.approx(247.0, rel=2e-3)
    assert abs(fit.estimate[0] - 247.0) < 4 * fit.deviation[0]
    assert fit.convergence["right"] and any("started from a trajectory fit" in w for w in fit.warnings)


@pytest.mark.parametrize("guess", [0.8, 1.2])
def test_accelerometers_alone_find_three_hysteretic_storeys(guess):
    """The reported defect: 1.4e5, 0.9 and 3.2e4 N/m for 2.6e7, 2e7 and 2e7; eleven samples in the shortest period."""
    storey = vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0)
    building = vb.ShearBuilding(masses=[20e3] * 3, storeys=[storey] * 3, damping=vb.Viscous(80e3))
    truth = np.array([26e6, 20e6, 20e6])
    made = vb.simulate(building.replace({"storeys[*].stiffness": truth}), quake(100.0, 8.0), substeps=10)
    data = made.measure(vb.Sensors(acceleration=[0, 1, 2]), noise=0.02, key=0)
    start = building.replace({"storeys[*].stiffness": 20e6 * guess})
    fit = vb.identify(start, data, ["storeys[*].stiffness"], vb.WeakCollocation())
    np.testing.assert_allclose(fit.estimate, truth, rtol=5e-3)
    assert fit.convergence["right"] and np.all(np.abs(fit.estimate - truth) < 4 * fit.deviation)


@cache
def coarse(samples: int):
    """TWO under a smooth motion with so many samples in its shorter period."""
    t, step = np.arange(0, 8.0001, 0.02), HIGHEST / samples
    values = np.interp(np.arange(0, 8.0, step), t, motion().data[:, 0])
    record = vb.Record(values, motion().channels, step=step, name="coarse")
    return vb.simulate(TWO, record, integrator=vb.simulation.RungeKutta3(), substeps=40)


@pytest.mark.parametrize("quantity", ONLY)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_one_quantity_at_few_samples_in_a_period_is_enough(quantity, noise):
    """As many splines as samples: their equations were singular, and noise drove the dampings to zero for good."""
    data = coarse(14).measure(ONLY[quantity], noise=noise, key=0)
    fit = vb.identify(TWO_GUESS, data, TWO_UNKNOWN, vb.WeakCollocation(), **QUICK)
    assert fit.convergence["right"] and fit.convergence["spacing"] == pytest.approx(HIGHEST / 14)
    np.testing.assert_allclose(fit.estimate[:2], TWO_TRUTH[:2], rtol=0.02)
    assert np.all(np.abs(fit.estimate - TWO_TRUTH) < 4 * fit.deviation + 1e-4 * TWO_TRUTH)


def test_networks_take_few_samples_in_a_period_or_say_how_many_they_need():
    method = vb.PIDynNet(hidden=(), softness=(0.3, 0.1))
    data = coarse(14).measure(ONLY["velocity"], noise=0.02, key=0)
    fit = vb.identify(TWO_GUESS, data, TWO_UNKNOWN, method, **QUICK)
    assert np.all(np.abs(fit.estimate - TWO_TRUTH) < 4 * fit.deviation)
    np.testing.assert_allclose(fit.estimate[:2], TWO_TRUTH[:2], rtol=0.1)
    problem = make_problem(TWO, coarse(8).measure(ONLY["velocity"], noise=0.02), TWO_UNKNOWN, **QUICK)
    with pytest.raises(vb.Refusal, match=r"Give samples at most 0\.0559 s apart"):
        method.layout(problem, problem.start)


def test_accelerations_do_not_determine_a_displacement():
    problems = {q: make_problem(TWO, coarse(14).measure(s, noise=0.05), TWO_UNKNOWN, **QUICK) for q, s in ONLY.items()}
    assert [determined(problems[q]) for q in ONLY] == [True, True, False]
    pieces = [unread(problems["displacement"], 0.04)]
    true = 0.05 * problems["displacement"].signal_size() / np.sqrt(1 + 0.05**2)
    np.testing.assert_allclose(spectral_noise(pieces), true, rtol=0.5)
    np.testing.assert_allclose(smooth(problems["displacement"], pieces)[0], true, rtol=0.5)


def test_a_singular_band_is_damped_and_a_spoilt_one_refused():
    """Rows that touch each weight but not their sums: a matrix with a null space."""
    rough = np.diff(np.eye(REACH + 1), n=2, axis=0)[:, :REACH]
    band = squares(np.broadcast_to(rough, (30, *rough.shape)))
    band[0] -= 1e-13 * band[0]  # as rounding may leave it
    factor = factorise(band)
    assert np.isfinite(factor).all() and (factor[0] > 0).all()
    with pytest.raises(Divergence, match="longer spacing"):
        factorise(np.full_like(band, np.nan))


def test_a_structure_without_stiffness_about_rest_asks_for_a_spacing():
    cubic = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Polynomial([0.0, 0.0, 40.0])] * 2, damping=vb.Viscous(0.8))
    data = vb.simulate(cubic, motion(), substeps=10).measure(ONLY["displacement"], noise=0.01)
    with pytest.raises(vb.Refusal, match="no stiffness about rest"):
        vb.identify(cubic, data, ["storeys[0].coefficients[2]"], vb.WeakCollocation())


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6, 1e12])
def test_consistent_motion_takes_any_ratio_of_noise(ratio):
    """Where displacement is 1e6 times noisier than velocity (in one step), normal equations are singular."""
    t = 1e-3 * np.arange(5000)
    x, v, noise = np.sin(t)[:, None], np.cos(t)[:, None], np.random.default_rng(0).standard_normal((5000, 1))
    deviations = (np.array([0.1 * min(ratio, 1.0)]), np.array([0.1 / max(ratio, 1.0)]))
    smooth_x, smooth_v = consistent_motion(x + deviations[0] * noise, v, deviations, 1e-3)
    assert np.sqrt(np.mean((smooth_x - x) ** 2)) <= 1.01 * deviations[0]
    assert np.isfinite(smooth_v).all()
    if ratio >= 1e6:  # the velocities say how it moves; the noise of displacements is left at the ends alone
        assert np.std((smooth_x - x)[200:-200]) < 0.001 and np.abs(smooth_v - v)[3:-3].max() < 1e-9
