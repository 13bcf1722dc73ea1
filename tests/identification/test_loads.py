"""Unknown loads: the smoother against dense least squares, and answers whose truth is known."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError, Refusal
from vibrid.identification.identifiability import identifiability
from vibrid.identification.known_frequencies import KnownFrequencies
from vibrid.identification.loads.checks import refuse_unanswerable
from vibrid.identification.loads.estimate import Weights
from vibrid.identification.loads.online import LoadFilter, run_filter
from vibrid.identification.loads.recursion import PENALTIES
from vibrid.identification.loads.regularisation import CRITERIA, choose_weights
from vibrid.identification.loads.smoother import deviations, factorise, filtered, smoothed
from vibrid.identification.loads.solution import solve_loads, system_at

STEP, SAMPLES, FINER = 0.02, 300, 10
TIME = np.arange(SAMPLES) * STEP
CHAIN = vb.ShearBuilding([2.0, 1.5, 1.0], [vb.Linear(900.0, 2.0), vb.Linear(700.0, 1.5), vb.Linear(500.0, 1.0)])
TRUTH = np.array([900.0, 700.0, 500.0])
GUESS = CHAIN.replace({"storeys[*].stiffness": np.array([600.0, 900.0, 700.0])})
SENSORS = vb.Sensors(acceleration=[0, 2], displacement=[1])
UNKNOWN = ["storeys[*].stiffness", vb.UnknownLoad("2")]


def load(t):
    return 30.0 * np.sin(7.0 * t) * np.exp(-(((t - 2.5) / 1.5) ** 2)) + 12.0 * np.sin(2.0 * t + 0.4)


@cache
def truth(structure: str = "chain"):
    """Readings of a simulation with ten times finer steps."""
    fine = np.arange((SAMPLES - 1) * FINER + 1) * STEP / FINER
    record = vb.Record(load(fine), [vb.Channel("load", "load", "N", "2")], step=STEP / FINER, name="load")
    return vb.simulate(CHAIN, record)


def measured(noise: float, sensors=SENSORS, key: int = 0) -> vb.Record:
    y = truth().readings(sensors)[::FINER]
    y = y + noise * y.std(axis=0) * np.random.default_rng(key).standard_normal(y.shape)
    return vb.Record(y, vb.Sensors(sensors).channels(), step=STEP, name="chain")


@cache
def joint(noise: float = 0.02):
    return vb.identify(GUESS, measured(noise), UNKNOWN, vb.JointLoads())


def dense(system, noise, spread, first, samples, y, present=None):
    """Least squares for first state and innovations by one big matrix; loads and their covariance."""
    a, g, c = (np.asarray(m) for m in (system.transition, system.drive, system.output))
    m, r = a.shape[-1], g.shape[-1]
    width = m + (samples - 1) * r
    states = np.zeros((samples, m, width))
    states[0, :, :m] = np.diag(first)
    for k in range(samples - 1):
        states[k + 1] = a[0] @ states[k]
        states[k + 1][:, m + k * r : m + (k + 1) * r] += g[0] * spread
    rows = np.einsum("ym,kmw->kyw", c[0], states) / noise[None, :, None]
    keep = np.ones(y.shape, bool) if present is None else present.astype(bool)
    matrix = np.concatenate([rows[keep], np.eye(width)])
    right = np.concatenate([(y / noise)[keep], np.zeros(width)])
    solution = np.linalg.lstsq(matrix, right, rcond=None)[0]
    pick = states[:, system.size : system.size + r]
    covariance = np.linalg.inv(matrix.T @ matrix)
    band = np.sqrt(np.einsum("krw,wv,krv->kr", pick, covariance, pick, optimize=True))
    return pick @ solution, band, np.sum((matrix @ solution - right) ** 2)


@pytest.mark.parametrize(
    ("hold", "penalty", "gaps"),
    [
        ("linear", "size", False),
        ("zero", "difference", False),
        ("cubic", "second-difference", False),
        ("linear", "size", True),
    ],
)
def test_the_smoother_is_dense_least_squares(hold, penalty, gaps):
    short = 80
    data = measured(0.02).cut(end=TIME[short - 1] + 0.5 * STEP)
    problem = vb.identification.make_problem(CHAIN, data, [vb.UnknownLoad("2")], hold=hold)
    system = system_at(problem, problem.start, 0, penalty)
    rng = np.random.default_rng(0)
    y, present = rng.standard_normal((short, 3)), np.ones((short, 3))
    if gaps:
        present = (rng.uniform(size=(short, 3)) > 0.3).astype(float)
    noise, spread = np.array([0.3, 0.2, 0.01]), np.array([4.0])
    first = np.r_[0.05 * np.ones(system.size), 6.0 * np.ones(system.transition.shape[-1] - system.size)]
    expected, band, cost = dense(system, noise, spread, first, short, y, present)
    system = system.masked(present)
    factors = factorise(system, noise, spread, first, short)
    white, past = filtered(system, factors, jnp.asarray((y * present)[:, :, None]))
    found = np.asarray(smoothed(system, factors, white, past))[:, :, 0]
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(deviations(system, factors), band, rtol=1e-6)
    assert float(jnp.vdot(white, white)) == pytest.approx(cost, rel=1e-9)
    assert set(PENALTIES) == {"size", "difference", "second-difference"}


def test_gains_that_settled_serve_the_rest_of_a_long_record():
    problem = vb.identification.make_problem(CHAIN, measured(0.0), [vb.UnknownLoad("2")])
    system = system_at(problem, problem.start, 0, "size")
    first = np.r_[np.zeros(6), 20.0]
    y = jnp.asarray(np.tile(np.asarray(problem.data[0].readings), (6, 1)))[:, :, None]
    noise = 0.02 * problem.signal_size()
    short = factorise(system, noise, [20.0], first, len(y), settled=1e-12)
    whole = factorise(system, noise, [20.0], first, len(y), settled=0.0)
    assert short.entries < 0.7 * len(y)
    a, b = (smoothed(system, f, *filtered(system, f, y)) for f in (short, whole))
    np.testing.assert_allclose(a, b, atol=1e-8 * float(jnp.abs(b).max()))


def test_parameters_and_load_are_found_with_bands_that_hold():
    fit = joint()
    assert np.all(np.abs(fit.estimate - TRUTH) < 4 * fit.deviation) and np.all(fit.deviation < 0.03 * TRUTH)
    found = fit.loads[0]
    assert found.error(load(TIME))[0] < 8.0
    inside = np.abs(found["2"] - load(TIME)) < 2 * found.deviation[:, 0]
    assert 0.88 < inside.mean() <= 1.0
    assert fit.convergence["relative_noise"] == pytest.approx(0.02, rel=0.2)
    assert fit.model_fits and fit.convergence["converged"]
    assert "Loads of 'chain'" in str(fit)


def test_information_with_loads_eliminated_is_less_than_with_loads_known():
    fit = joint()
    known = measured(0.02)
    channels = [vb.Channel("load", "load", "N", "2"), *known.channels]
    with_load = vb.Record(np.column_stack([load(TIME), known.data]), channels, step=STEP, name="known")
    sure = identifiability(vb.identification.make_problem(CHAIN, with_load, UNKNOWN[:1]), np.zeros(3), fit.noise)
    assert np.all(fit.limits.bound > sure.bound)


def test_reconstruction_where_no_sensor_was():
    other = vb.Sensors(displacement=[2], acceleration=[1])
    made = joint().reconstruct(other)
    true = truth().readings(other)[::FINER]
    size = (made.values - true)[1:] / made.deviation[1:]
    assert np.all(np.sqrt(np.mean(size**2, axis=0)) < 1.8)  # errors of one seed hang together in time
    assert np.linalg.norm(made["displacement_2"] - true[:, 0]) < 0.05 * np.linalg.norm(true[:, 0])


def test_a_saved_answer_keeps_its_loads(tmp_path):
    joint().save(tmp_path / "fit.h5")
    back = vb.load_identification(tmp_path / "fit.h5")
    np.testing.assert_array_equal(back.loads[0].values, joint().loads[0].values)
    assert back.loads[0].names == ("2",) and back.problem.unknown_loads == ("2",)
    other = vb.Sensors(displacement=[2])
    np.testing.assert_allclose(back.reconstruct(other).deviation, joint().reconstruct(other).deviation, rtol=1e-6)


def test_a_load_in_the_record_is_not_peeked_at():
    y = measured(0.02)
    channels = [vb.Channel("load", "load", "N", "2"), *y.channels]
    told = vb.Record(np.column_stack([0 * TIME + 1e6, y.data]), channels, step=STEP, name="chain")
    problem = vb.identification.make_problem(GUESS, told, UNKNOWN)
    assert not np.any(np.asarray(problem.data[0].drive.samples))


def test_a_known_load_beside_an_unknown_one_and_an_unknown_start():
    y = measured(0.01)
    push = 5.0 * np.cos(3.0 * TIME)
    channels = [vb.Channel("push", "load", "N", "0")]
    extra = vb.simulate(CHAIN, vb.Record(push, channels, step=STEP, name="push"))
    data = np.column_stack([push, y.data + extra.readings(SENSORS)])
    record = vb.Record(data[60:], [*channels, *y.channels], step=STEP, name="later")  # it moves already
    found = vb.find_loads(CHAIN, record, "2", initial="unknown")
    late = slice(20, None)
    assert np.linalg.norm(found.values[late, 0] - load(TIME)[60:][late]) < 0.08 * np.linalg.norm(load(TIME)[60:])


@pytest.mark.parametrize("weight", [*CRITERIA[1:], 15.0])
def test_every_choice_of_weight_finds_the_load(weight):
    found = vb.find_loads(CHAIN, measured(0.05), "2", weight=weight)
    assert found.error(load(TIME))[0] < 20.0
    if weight == 15.0:
        assert found.weights.spread[0] == 15.0


def test_stated_noise_and_prior_leave_nothing_to_choose():
    size = truth().readings(SENSORS)[::FINER].std(axis=0)
    sensors = vb.Sensors([vb.Sensor(s.quantity, s.place, noise=0.02 * z) for s, z in zip(SENSORS, size, strict=True)])
    problem = vb.identification.make_problem(
        CHAIN, measured(0.02), [vb.UnknownLoad("2", deviation=20.0)], sensors=sensors
    )
    choice = choose_weights(problem, problem.start)
    np.testing.assert_allclose(choice.weights.noise, 0.02 * size)
    assert choice.weights.spread[0] == 20.0 and len(choice.ratio) == 1
    with pytest.raises(InputError, match="of all sensors must be given, or of none"):
        one = vb.Sensors([*sensors[:2], vb.Sensor("displacement", 1)])
        vb.find_loads(CHAIN, measured(0.02), "2", sensors=one)


@pytest.mark.parametrize(
    ("unknown", "sensors", "options", "match"),
    [
        (UNKNOWN, vb.Sensors(acceleration=[0]), {}, "use at least 2 sensors"),
        (
            [*UNKNOWN, "masses[*]", "storeys[*].damping"],
            SENSORS,
            {},
            r"masses\[0\].*, the unknown loads so that every force",
        ),
        (UNKNOWN, SENSORS, {"hold_out": 0.3}, "Leave a sensor out instead"),
        (UNKNOWN, SENSORS, {"hold": "band-limited"}, "follow a hold of"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(unknown, sensors, options, match):
    data = measured(0.0, sensors)
    with pytest.raises(Refusal, match=match):
        vb.identify(GUESS, data, unknown, vb.JointLoads(), **options)


def test_other_methods_say_who_can():
    with pytest.raises(Refusal, match=r"history of a load is unknown.*joint"):
        vb.identify(GUESS, measured(0.0), UNKNOWN, vb.TrajectoryFit())


def test_loads_that_no_sensor_sees_or_can_tell_apart():
    beam = vb.Beam(
        np.linspace(0, 4, 5), modulus=2e11, area=1e-3, inertia=1e-7, density=7800.0, damping=vb.Rayleigh(0.5, 1e-4)
    )
    sensors = vb.Sensors(displacement=["4"], acceleration=["4"])
    record = vb.Record(np.random.default_rng(0).standard_normal((60, 2)), sensors.channels(), step=1e-3, name="beam")
    with pytest.raises(Refusal, match=r"No sensor responds to the load at '3.axial'"):
        vb.find_loads(beam, record, ["3", "3.axial"])
    with pytest.raises(Refusal, match="cannot distinguish the loads at 4 and tip"):
        vb.find_loads(beam, record, ["4", "tip"])


def test_accelerations_alone_are_answered_with_a_warning():
    sensors = vb.Sensors(acceleration=[0, 1, 2])
    problem = vb.identification.make_problem(GUESS, measured(0.02, sensors), UNKNOWN)
    assert "its estimate drifts" in refuse_unanswerable(problem)[0]


def test_prior_frequencies_hold_the_stiffness():
    from vibrid.identification.methods.joint import Projection

    problem = vb.identification.make_problem(GUESS, measured(0.02), UNKNOWN)
    weights = Weights(0.02 * problem.signal_size(), np.array([100.0]), np.array([100.0]))
    without, held = (
        Projection(problem, weights, "size", KnownFrequencies.of(f, 3)).one(problem.start)
        for f in ((), ((1, 1.0, 1e-3),))
    )
    assert held[0] > without[0] and np.all(np.linalg.eigvalsh(held[2] - without[2]) > -1e-6)


def test_a_hysteretic_storey_with_an_unknown_load():
    true = vb.ShearBuilding([1.0], [vb.BoucWen(stiffness=60.0, beta=8.0, gamma=4.0)], damping=vb.Viscous(0.8))
    fine = np.arange(199 * FINER + 1) * STEP / FINER
    excitation = vb.Record(0.5 * load(fine), [vb.Channel("f", "load", "N", "0")], step=STEP / FINER, name="f")
    sensors = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
    y = vb.simulate(true, excitation).readings(sensors)[::FINER]
    y = y + 0.01 * y.std(axis=0) * np.random.default_rng(1).standard_normal(y.shape)
    record = vb.Record(y, sensors.channels(), step=STEP, name="storey")
    found = vb.find_loads(true, record, "0")
    assert found.error(0.5 * load(TIME[:200]))[0] < 5.0


@pytest.mark.long
def test_a_load_that_crosses_a_beam():
    beam = vb.Beam(
        np.linspace(0, 8, 5), modulus=3e10, area=0.2, inertia=2e-3, density=2500.0, damping=vb.Modal([0.03]),
        supports={0: "pinned", 4: "roller"}, axial=False,
    )  # fmt: skip
    time = np.arange(200) * 0.01
    x, weight = 5.0 * (time - 0.2), -2e4 * (1 + 0.1 * np.sin(9 * time))
    places = beam.lateral_places()
    nodal = beam.rows_at(x) @ np.stack([beam.row(p) for p in places]).T * weight[:, None]
    channels = [vb.Channel(p, "load", "N", p) for p in places]
    sensors = vb.Sensors(displacement=["1", "2", "3"])
    y = vb.simulate(beam, vb.Record(nodal, channels, step=0.01, name="crossing")).readings(sensors)
    record = vb.Record(y, sensors.channels(), step=0.01, name="crossing")
    found = vb.find_loads(beam, record, vb.UnknownLoad("axle", speed=5.0, enters=0.2), penalty="difference")
    on = (x > 0.5) & (x < 7.5)
    assert np.linalg.norm((found["axle"] - weight)[on]) < 0.02 * np.linalg.norm(weight[on])
    with pytest.raises(InputError, match="one position for each of the 200 samples"):
        vb.find_loads(beam, record, vb.UnknownLoad("axle", positions=x[:5]))
    with pytest.raises(Refusal, match="can move on a Beam"):
        vb.find_loads(CHAIN, measured(0.0), vb.UnknownLoad("axle", speed=1.0))


def test_the_online_filter_ends_where_the_smoother_ends():
    size = truth().readings(SENSORS)[::FINER].std(axis=0)
    sensors = vb.Sensors([vb.Sensor(s.quantity, s.place, noise=0.02 * z) for s, z in zip(SENSORS, size, strict=True)])
    made = LoadFilter(CHAIN, sensors, "2", STEP, innovation=3.0, first=50.0)
    record = measured(0.02)
    steps = run_filter(made, record.data)
    problem = vb.identification.make_problem(CHAIN, record, [vb.UnknownLoad("2")], sensors=sensors)
    whole = solve_loads(
        problem, problem.start, 0, Weights(0.02 * size, np.array([3.0]), np.array([50.0])), "difference"
    )
    assert float(steps.load[-1, 0]) == pytest.approx(whole.loads[-1, 0], rel=1e-8)
    error = np.asarray(steps.load)[50:, 0] - load(TIME)[50:]
    assert np.mean(np.abs(error) < 2 * np.asarray(steps.deviation)[50:, 0]) > 0.85
    state, first = made(None, record.data[0])
    assert float(first.load[0]) == pytest.approx(float(steps.load[0, 0]))
    _, gap = made(state, np.full(3, np.nan))
    assert np.isfinite(gap.load).all() and gap.deviation[0] > steps.deviation[1, 0]
    with pytest.raises(InputError, match="needs the noise of every sensor"):
        LoadFilter(CHAIN, SENSORS, "2", STEP, innovation=3.0)


@pytest.mark.long
def test_sensors_are_placed_for_what_loads_do_not_explain():
    candidates = vb.Sensors(acceleration=[0, 1, 2], displacement=[0, 1, 2])
    expected = vb.Record(load(TIME), [vb.Channel("load", "load", "N", "2")], step=STEP, name="expected")
    options = {"excitation": expected, "unknown": UNKNOWN, "noise": 0.02}
    chosen = vb.place_sensors(CHAIN, candidates, 2, **options)
    other = vb.place_sensors(CHAIN, vb.Sensors(acceleration=[2], displacement=[2]), 2, **options)
    assert chosen.log_determinant[-1] > other.log_determinant[-1]
    with pytest.raises(InputError, match="expected history of every unknown load"):
        vb.place_sensors(CHAIN, candidates, 2, **(options | {"unknown": [UNKNOWN[0], vb.UnknownLoad("0")]}))


def test_sensors_are_placed_for_parameters_and_loads_by_the_joint_determinant():
    """With the choice forced, the two criteria differ by ln |HPHᵀ + R| − ln |R| of the loads, here by matrices."""
    samples, place = 30, [vb.Channel("load", "load", "N", "2")]
    expected = vb.Record(load(TIME)[:samples], place, step=STEP, name="expected")
    options = {"excitation": expected, "unknown": UNKNOWN, "noise": 0.02}
    sensors = vb.Sensors(acceleration=[2], displacement=[0])
    joint = vb.place_sensors(CHAIN, sensors, 2, aim="parameters and loads", **options)
    alone = vb.place_sensors(CHAIN, sensors, 2, **options)
    columns = []
    for k in range(samples):
        unit = vb.Record(np.eye(samples)[k], place, step=STEP, name="unit")
        columns.append(vb.simulate(CHAIN, unit).readings(joint.sensors).reshape(-1))
    sigma = np.tile(0.02 * vb.simulate(CHAIN, expected).readings(joint.sensors).std(axis=0), samples)
    h = np.array(columns).T / sigma[:, None]
    size = 3.0 * np.sqrt(np.mean(load(TIME)[:samples] ** 2))
    dense = np.linalg.slogdet(np.eye(len(h)) + size**2 * h @ h.T)[1]
    assert joint.log_determinant[-1] - alone.log_determinant[-1] == pytest.approx(dense, rel=1e-3)
    with pytest.raises(InputError, match="needs an unknown load"):
        vb.place_sensors(CHAIN, sensors, 1, aim="parameters and loads", **(options | {"unknown": UNKNOWN[:1]}))
    with pytest.raises(InputError, match="no aim called"):
        vb.place_sensors(CHAIN, sensors, 1, aim="loads", **options)


def known_frequency() -> float:
    return float(vb.modes(CHAIN, 1).frequencies[0])


def test_a_frequency_that_must_be_met_is_met():
    """Three percent beside the truth: a loose prior is overruled by the data and says so, an exact one is met."""
    wrong = 1.03 * known_frequency()
    exact = vb.identify(GUESS, measured(0.02), UNKNOWN, vb.JointLoads(frequencies=[(1, wrong, 0.0)]))
    assert float(vb.modes(exact.structure, 1).frequencies[0]) == pytest.approx(wrong, rel=2e-6)
    assert exact.convergence["natural_frequencies"]["1"] == pytest.approx(wrong, rel=2e-6)
    assert exact.convergence["converged"] and not any("could not be held" in w for w in exact.warnings)
    slope = exact.estimate - joint().estimate
    assert np.linalg.norm(slope / TRUTH) > 0.01  # the data had found another one
    loose = vb.identify(GUESS, measured(0.02), UNKNOWN, vb.JointLoads(frequencies=[(1, wrong, 2e-3 * wrong)]))
    assert any("The prior of natural frequency 1" in w and "is contradicted" in w for w in loose.warnings)
    right = vb.identify(GUESS, measured(0.02), UNKNOWN, vb.JointLoads(frequencies=[(1, known_frequency(), 0.02)]))
    assert not any("contradicted" in w for w in right.warnings)


def test_a_frequency_that_bounds_forbid_is_said_not_to_be_held():
    narrow = [vb.Unknown("storeys[*].stiffness", bounds=(400.0, 1000.0)), vb.UnknownLoad("2")]
    high = 1.5 * known_frequency()
    fit = vb.identify(GUESS, measured(0.02), narrow, vb.JointLoads(frequencies=[(1, high, 0.0)], iterations=15))
    assert any("Natural frequency 1 could not be held" in w for w in fit.warnings)
    assert np.all(fit.estimate <= 1000.0)


@pytest.mark.parametrize("wrong", [(0, 1.0, 0.1), (1, -1.0, 0.1), (1, 1.0, -0.1)])
def test_statements_about_frequencies_that_mean_nothing_are_refused(wrong):
    with pytest.raises(InputError, match="known frequency is"):
        vb.JointLoads(frequencies=[wrong])


def test_known_frequencies_are_never_ignored():
    with pytest.raises(InputError, match="stated once"):
        vb.JointLoads(frequencies=[(1, 1.0, 0.1), (1, 1.1, 0.1)])
    with pytest.raises(InputError, match="has 3 modes"):
        vb.identify(GUESS, measured(0.02), UNKNOWN, vb.JointLoads(frequencies=[(4, 1.0, 0.1)]))
    known = measured(0.02)
    channels = [vb.Channel("load", "load", "N", "2"), *known.channels]
    with_load = vb.Record(np.column_stack([load(TIME), known.data]), channels, step=STEP, name="known")
    with pytest.raises(Refusal, match="only where a load is unknown"):
        vb.identify(GUESS, with_load, UNKNOWN[:1], vb.JointLoads(frequencies=[(1, 1.0, 0.1)]))
