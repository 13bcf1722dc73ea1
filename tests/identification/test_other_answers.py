"""Several answers to the same data: found, told, saved; and none told where there is one.

The data come from the simulator of benchmarks/trust.py, which no method uses.
"""

import numpy as np
import pytest

import vibrid as vb
from tests.identification.test_data_as_they_are import trust
from vibrid.core.findings import ODD, WRONG
from vibrid.identification.checks.transfer import AboutRest, transfer
from vibrid.identification.problem import make_problem

MASSES = [20e3, 20e3]


def record(stiffness, floors, dashpots, level=0.03, masses=MASSES, seed=4):
    rng = np.random.default_rng(seed)
    ground = trust.shaking(rng, 3.0, 20.0)
    clean = trust.linear_accelerations(masses, stiffness, dashpots, ground)[:, list(floors)]
    readings = clean + level * clean.std(0) * rng.standard_normal(clean.shape)
    sensors = vb.Sensors(absolute_acceleration=list(floors))
    channels = [vb.Channel("ground", "ground_acceleration", direction="x"), *sensors.channels()]
    return vb.Record(np.column_stack([ground, readings]), channels, step=trust.STEP)


def guess(stiffness, damping, masses=MASSES):
    return vb.ShearBuilding(masses, [vb.Linear(k) for k in stiffness], damping=damping)


def roof_alone(method=None):
    """30 and 10 MN/m have the roof motion of 20 and 15 MN/m."""
    stiffness = np.array([30e6, 10e6])
    data = record(stiffness, [1], 0.002 * stiffness)
    return vb.identify(
        guess([27e6, 11e6], vb.Rayleigh(0.0, 0.003)), data, ["storeys[*].stiffness", "damping.stiffness"], method
    )


def test_a_second_answer_is_found_told_and_saved(tmp_path):
    fit = roof_alone()
    assert fit.estimate[:2] == pytest.approx([30e6, 10e6], rel=0.01)
    (other,) = fit.other_answers
    assert other.estimate[:2] == pytest.approx([20e6, 15e6], rel=0.01)
    assert abs(other.log_likelihood) < 0.1 and np.all(other.deviation[:2] < 0.01 * other.estimate[:2])
    finding = fit.checks[0]
    assert finding.name == "another answer" and finding.verdict == WRONG and not fit.model_fits
    assert "These sensors cannot tell the two apart" in str(fit)
    assert "absolute acceleration at '0' would decide" in finding.sentence
    fit.save(tmp_path / "fit.h5")
    again = vb.load_identification(tmp_path / "fit.h5").other_answers
    assert again[0].estimate.tolist() == other.estimate.tolist()
    assert again[0].log_likelihood == other.log_likelihood


def test_two_sensors_at_one_place_are_one_place():
    stiffness = np.array([30e6, 10e6])
    data = record(stiffness, [1], 0.002 * stiffness)
    roof = np.array(data.data)[:, -1]
    other = roof + 0.03 * roof.std() * np.random.default_rng(5).standard_normal(len(roof))
    twice = np.column_stack([np.array(data.data), other])
    sensors = vb.Sensors([vb.Sensor("absolute_acceleration", 1), vb.Sensor("absolute_acceleration", 1, name="second")])
    both = vb.Record(twice, [data.channels[0], *sensors.channels()], step=trust.STEP)
    start = guess([27e6, 11e6], vb.Rayleigh(0.0, 0.003))
    fit = vb.identify(start, both, ["storeys[*].stiffness", "damping.stiffness"], sensors=sensors)
    assert fit.other_answers[0].estimate[:2] == pytest.approx([20e6, 15e6], rel=0.01)


def test_other_methods_tell_it_too():
    fit = roof_alone(vb.ExtendedKalman())
    known = [np.array([30e6, 10e6]), np.array([20e6, 15e6])]
    found = [fit.estimate[:2], *(answer.estimate[:2] for answer in fit.other_answers)]
    assert all(any(np.abs(k / f - 1).max() < 0.05 for f in found) for k in known)


def test_a_sensor_that_decides_leaves_one_answer():
    stiffness = np.array([30e6, 10e6])
    data = record(stiffness, [0], 0.002 * stiffness)
    fit = vb.identify(guess([27e6, 11e6], vb.Rayleigh(0.0, 0.003)), data, ["storeys[*].stiffness", "damping.stiffness"])
    assert not fit.other_answers and not fit.checks and fit.model_fits


def test_what_rests_on_the_form_of_damping_is_said():
    data = record([30e6, 10e6], [1], [6e4, 6e4])
    fit = vb.identify(guess([27e6, 11e6], vb.Viscous(8e4)), data, ["storeys[*].stiffness", "damping.damping"])
    finding = fit.checks[0]
    assert finding.verdict == ODD and "rests on the form of damping alone" in finding.sentence
    assert finding.numbers["storeys[0].stiffness"] == pytest.approx(20e6, rel=0.05)
    assert not fit.other_answers and fit.model_fits


def test_a_better_answer_is_taken():
    """A descent from near the twin ends there; only damping tells that it is the wrong one."""
    data = record([30e6, 10e6], [1], [6e4, 6e4])
    fit = vb.identify(guess([20e6, 15e6], vb.Viscous(8e4)), data, ["storeys[*].stiffness", "damping.damping"])
    assert fit.estimate == pytest.approx([30e6, 10e6, 6e4], rel=0.02)


def test_the_posterior_has_both_answers():
    pytest.importorskip("blackjax")
    fit = roof_alone(vb.Bayes(draws=40, warmup=60))
    share = np.mean(np.abs(fit.samples[:, 0] / 30e6 - 1) < 0.02)
    assert 0.25 < share < 0.75 and np.mean(np.abs(fit.samples[:, 0] / 20e6 - 1) < 0.02) == pytest.approx(1 - share)
    low, high = fit.interval().T
    assert low[0] < 20.2e6 and high[0] > 29.8e6  # the interval covers both


def test_transfer_functions_are_those_of_the_matrices():
    structure = guess([30e6, 10e6], vb.Viscous(8e4))
    sensors = vb.Sensors(absolute_acceleration=[1], displacement=[0], drift=[1], element_force=["storeys[1]"])
    data = record([30e6, 10e6], [0, 1], [8e4, 8e4])
    problem = make_problem(structure, data, ["storeys[*].stiffness"], sensors=vb.Sensors(absolute_acceleration=[0, 1]))
    s = np.array([3.0 + 20.0j, 1.0 + 60.0j])
    experiment = AboutRest.of(problem).experiment
    found = np.asarray(transfer(type(experiment)(structure, tuple(sensors), ()), problem.data[0].loads, s))[:, :, 0]
    k, c, m = trust.chain([30e6, 10e6]), trust.chain([8e4, 8e4]), np.diag(MASSES)
    for value, row in zip(s, found, strict=True):
        x = np.linalg.solve(m * value**2 + c * value + k, -m @ np.ones(2))
        expected = [value**2 * x[1] + 1.0, x[0], x[1] - x[0], 10e6 * (x[1] - x[0])]
        assert row == pytest.approx(np.array(expected), rel=1e-9)
