"""Noise of the measured excitation: its likelihood against dense algebra, its name among the findings, its repair."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.identification.input_noise import _Evaluation, most_likely, sampled
from vibrid.simulation.excitation import drive

LEVEL = 0.05


def noisy(case, level: float, seed: int, readings: float = 0.02) -> tuple[vb.Record, vb.Sensors]:
    """A record of a case with noise of the excitation and of the readings."""
    rng = np.random.default_rng([6, seed])
    ground = case.ground + level * case.ground.std() * rng.standard_normal(len(case.ground))
    y = case.clean + readings * case.clean.std(axis=0) * rng.standard_normal(case.clean.shape)
    sensors = vb.Sensors(absolute_acceleration=list(case.floors))
    channels = [vb.Channel("ground", "ground_acceleration", direction="x"), *sensors.channels()]
    return vb.Record(np.column_stack([ground, y]), channels, step=trust.STEP), sensors


def small_problem(kind: str):
    rng = np.random.default_rng(3)
    law = vb.Linear(20e6) if kind == "linear" else vb.BoucWen(20e6, beta=80.0, gamma=40.0)
    building = vb.ShearBuilding([2e4, 2e4], [law, law], damping=vb.Viscous(1e5))
    # relative acceleration contains the excitation itself
    sensors = vb.Sensors(absolute_acceleration=[1], displacement=[0], acceleration=[0])
    ground = 0.5 * rng.standard_normal(60)
    record = vb.Record(ground[:, None], [vb.Channel("ground", "ground_acceleration")], step=0.02)
    measured = vb.simulate(building, record).measure(sensors, noise=0.05, key=1)
    data = np.array(measured.data)
    data[[7, 8], 1] = np.nan
    measured = measured.replace(data=data)
    return vb.identification.make_problem(building, measured, ["storeys[*].stiffness"], sensors=sensors)


@pytest.mark.parametrize("kind", ["linear", "hysteretic"])
def test_the_likelihood_is_that_of_dense_algebra(kind):
    problem = small_problem(kind)
    data = problem.data[0]
    free = problem.start + np.array([0.02, -0.03])
    readings, share = np.array([0.05, 3e-5, 0.04]), np.array([0.07])
    value = _Evaluation(problem, sampled(problem)).cost(np.concatenate([free, np.log(readings), np.log(share)]))
    value -= _Evaluation(problem, problem).raised

    def predicted(ground):
        changed = dataclasses.replace(data, drive=drive(ground, problem.hold, problem.substeps))
        return np.asarray(dataclasses.replace(problem, data=(changed,)).predict(jnp.asarray(free)))

    ground, step = np.asarray(data.drive.samples), 1e-5
    columns = []
    for i in range(len(ground)):
        moved = np.zeros_like(ground)
        moved[i] = step
        columns.append((predicted(ground + moved) - predicted(ground - moved)).reshape(-1) / (2 * step))
    response = np.stack(columns, axis=1)
    keep = np.asarray(data.present).reshape(-1) > 0
    covariance = share**2 * response @ response.T + np.diag(np.tile(readings**2, len(ground)))
    residual = (np.asarray(data.readings) - predicted(ground)).reshape(-1)[keep]
    covariance = covariance[np.ix_(keep, keep)]
    dense = 0.5 * (residual @ np.linalg.solve(covariance, residual) + np.linalg.slogdet(covariance)[1])
    assert value == pytest.approx(dense, rel=1e-6 if kind == "linear" else 1e-4)


def test_its_gradient_is_that_of_differences():
    problem = small_problem("hysteretic")
    evaluate = _Evaluation(problem, sampled(problem))
    at = np.concatenate([problem.start + 0.02, np.log([0.05, 3e-5, 0.04]), np.log([0.07])])
    _, gradient, normal = evaluate(at[None])
    for i in range(len(at)):
        ends = [evaluate.cost(at + sign * 1e-5 * np.eye(len(at))[i]) for sign in (1, -1)]
        assert gradient[0, i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-3)
    assert np.all(np.linalg.eigvalsh(normal[0]) > 0)


def test_it_is_named_and_repaired():
    case = trust.linear_case(1)
    record, sensors = noisy(case, LEVEL, 1)
    fit = vb.identify(case.guess, record, case.unknown, sensors=sensors)
    found = {finding.name: finding for finding in fit.checks}["input noise"]
    size = case.ground.std() / np.sqrt(np.mean(np.array(record.data)[:, 0] ** 2))
    assert found.numbers["share"] == pytest.approx(LEVEL * size, rel=0.15)
    assert not fit.model_fits and "noise of the measured excitation" in str(fit)
    again = fit.repair()
    assert again.method == "NoisyInputFit" and again.model_fits
    assert again.noise == pytest.approx(0.02 * case.clean.std(axis=0), rel=0.1)
    assert np.all(np.abs(again.estimate - case.true) < 3.5 * again.deviation)
    assert np.linalg.norm(again.estimate / case.true - 1) < np.linalg.norm(fit.estimate / case.true - 1)
    assert [f.name for f in again.checks] == ["input noise", "repaired"]


@pytest.mark.parametrize("kind", ["white", "memory", "shared"])
def test_noise_of_the_readings_is_not_taken_for_it(kind):
    case = trust.linear_case(1)
    rng = np.random.default_rng(4)
    noise = {"white": trust.white, "memory": trust.autoregressive(0.6)}.get(kind, trust.white)(case, rng)
    if kind == "shared":  # between channels
        noise = noise + 0.05 * case.clean.std(axis=0) * rng.standard_normal((len(noise), 1))
    sensors = vb.Sensors(absolute_acceleration=list(case.floors))
    channels = [vb.Channel("ground", "ground_acceleration", direction="x"), *sensors.channels()]
    record = vb.Record(np.column_stack([case.ground, case.clean + noise]), channels, step=trust.STEP)
    fit = vb.identify(case.guess, record, case.unknown, sensors=sensors)
    assert "input noise" not in [finding.name for finding in fit.checks]


def test_without_noise_of_the_excitation_it_is_the_trajectory_fit():
    problem = small_problem("linear")
    fit = vb.TrajectoryFit().solve(problem)
    found = most_likely(problem.boxed(), problem.boxed().unknowns.to_free(fit.estimate), np.ones(2, bool))
    at = np.asarray(problem.boxed().unknowns.to_physical(jnp.asarray(found.free)))
    assert at == pytest.approx(fit.estimate, abs=0.3 * fit.deviation.max())


def test_an_unknown_delay_is_refused_in_a_sentence():
    case = trust.linear_case(1)
    record, sensors = noisy(case, LEVEL, 1)
    with pytest.raises(vb.Refusal, match="a sensor is delayed"):
        vb.identify(case.guess, record, [*case.unknown, "sensors[0].delay"], "noisy-input", sensors=sensors)
