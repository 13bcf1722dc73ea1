"""Several answers to the same data: found, told, saved; and none told where there is one.

The data come from the simulators of benchmarks/trust.py, which no method uses; those of attached devices come from
`simulate`.
"""

import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.core.findings import ODD, WRONG
from vibrid.identification.checks.hidden import alike_parts, hidden_starts, in_parallel
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


def shaken(structure, floors):
    """Readings at floors in strong shaking, with 0.02 m/s² of noise."""
    ground = trust.shaking(np.random.default_rng(3), 4.0)[:, None]
    motion = vb.Record(ground, [vb.Channel("ground", "ground_acceleration", direction="x")], step=trust.STEP)
    return vb.simulate(structure, motion, substeps=8).measure(vb.Sensors(absolute_acceleration=floors), 0.02, key=3)


def device(stiffness, beta, at=0):
    return vb.Attachment(vb.BoucWen(stiffness, beta=beta, gamma=0.0, exponent=2.0), at=at)


def with_devices(*devices):
    storeys, damping = [vb.Linear(8e6), vb.Linear(15e6)], vb.Rayleigh(0.0, 0.003)
    return vb.ShearBuilding(MASSES, storeys, damping=damping, attachments=list(devices))


def test_devices_in_parallel_can_be_exchanged():
    """Whatever floors have sensors: it is the same structure, so that the model fits."""
    data = shaken(with_devices(device(6e6, 3e4), device(10e6, 2e3)), [0, 1])
    unknown = ["attachments[*].law.stiffness", "attachments[*].law.beta"]
    fit = vb.identify(with_devices(device(7e6, 2e4), device(9e6, 4e3)), data, unknown)
    (other,) = fit.other_answers
    assert other.estimate == pytest.approx(fit.estimate[[1, 0, 3, 2]], rel=0.15)
    (finding,) = [finding for finding in fit.checks if finding.name == "another answer"]
    assert finding.verdict == ODD and fit.model_fits
    assert "the same structure with attachments[0] and attachments[1] exchanged" in finding.sentence
    assert "would decide" not in finding.sentence


@pytest.mark.long
def test_an_answer_that_only_hysteresis_shows_is_found():
    """A chain between two walls with a device beside either, seen in its middle: left and right can be exchanged."""

    def chain(left, right):
        stiffness = 4e6 * (2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1))
        devices = [device(6e6, left, at=0), device(6e6, right, at=2)]
        return vb.Matrices([20e3] * 3, stiffness, damping=vb.Rayleigh(0.3, 0.002), attachments=devices)

    fit = vb.identify(chain(2e4, 5e3), shaken(chain(3e4, 3e3), [1]), ["attachments[*].law.beta"])
    assert fit.estimate == pytest.approx([3e4, 3e3], rel=0.05)
    (other,) = fit.other_answers
    assert other.estimate == pytest.approx([3e3, 3e4], rel=0.05)
    assert "These sensors cannot tell the two apart" in str(fit) and not fit.model_fits


@pytest.mark.parametrize("floors", [(0, 1), (1,)])
def test_hysteresis_that_has_one_answer(floors):
    rng = np.random.default_rng(5)
    ground = trust.shaking(rng, 4.0)
    clean = trust.hysteretic_accelerations(MASSES, [18e6, 15e6], 9e4, np.array([80.0, 40.0]), 30.0, ground)
    readings = clean[:, floors] + 0.02 * rng.standard_normal((len(ground), len(floors)))
    channels = vb.Sensors(absolute_acceleration=list(floors)).channels()
    shaking = vb.Channel("ground", "ground_acceleration", direction="x")
    data = vb.Record(np.column_stack([ground, readings]), [shaking, *channels], step=trust.STEP)
    start = vb.ShearBuilding(MASSES, [vb.BoucWen(17e6, beta=60.0, gamma=30.0)] * 2, damping=vb.Viscous(9e4))
    fit = vb.identify(start, data, ["storeys[*].stiffness", "storeys[*].beta"])
    assert fit.estimate == pytest.approx([18e6, 15e6, 80.0, 40.0], rel=0.05)
    assert not fit.other_answers and not [f for f in fit.checks if f.name == "another answer"]


def test_alike_parts_are_those_whose_names_differ_in_one_index():
    names = [
        "storeys[0].stiffness",
        "storeys[0].beta",
        "storeys[1].beta",
        "attachments[0].law.beta",
        "attachments[2].law.beta",
        "attachments[2].law.laws[0].beta",
        "attachments[2].law.laws[1].beta",
        "masses[0]",
        "masses[1]",
    ]
    places = [(f"structure.{name}",) for name in names]
    shared = ("structure.storeys[0].gamma", "structure.storeys[1].gamma")
    found = alike_parts([*places, shared, ("sensors[0].gain",), ("sensors[1].gain",)])
    assert {exchange.parts: (exchange.first, exchange.second) for exchange in found} == {
        ("storeys[0]", "storeys[1]"): ((1,), (2,)),
        ("attachments[0]", "attachments[2]"): ((3,), (4,)),
        ("attachments[2].law.laws[0]", "attachments[2].law.laws[1]"): ((5,), (6,)),
    }


def test_exchanged_values():
    places = [(f"structure.storeys[{i}].{name}",) for name in ("stiffness", "beta") for i in range(2)]
    (exchange,) = alike_parts(places)
    assert exchange.of(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [2.0, 1.0, 4.0, 3.0]
    hidden = exchange.among(np.array([False, False, True, True]))
    assert hidden.of(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 2.0, 4.0, 3.0]


def test_parts_in_parallel_have_the_same_deformation():
    both = vb.Attachment(vb.Parallel([vb.Linear(1e6), vb.Linear(2e6)]), at=1)
    model = with_devices(device(6e6, 3e4), device(9e6, 2e3), device(9e6, 2e3, at=1), both).model()
    assert in_parallel(model, "attachments[0]", "attachments[1]")
    assert not in_parallel(model, "attachments[0]", "attachments[2]")
    assert in_parallel(model, "attachments[3].law.laws[0]", "attachments[3].law.laws[1]")
    assert not in_parallel(model, "storeys[0]", "storeys[1]")


def test_few_starts_in_hidden_unknowns(monkeypatch):
    structure = with_devices(device(6e6, 3e4), device(10e6, 2e3, at=1))
    data = shaken(structure, [1])
    problem = make_problem(structure, data, ["attachments[*].law.stiffness", "attachments[*].law.beta"]).boxed()
    free = np.zeros(4)

    def starts(everywhere=False):
        made = [start.free for start in hidden_starts(problem, free, everywhere, 4.0, 1)]
        return [np.asarray(problem.unknowns.to_physical(start)) for start in made]

    hidden, all_of_them, *random = starts()
    assert hidden == pytest.approx([6e6, 10e6, 2e3, 3e4]) and all_of_them == pytest.approx([10e6, 6e6, 2e3, 3e4])
    assert len(random) == 4 and all(start[:2] == pytest.approx([6e6, 10e6]) for start in random)
    assert all(np.abs(np.log(start[2:] / [3e4, 2e3])).max() <= np.log(4.0) for start in random)
    assert not starts(everywhere=True)
    monkeypatch.setattr("vibrid.identification.checks.work.MOST_WORK", 1e3)
    assert not starts()


@pytest.mark.long
def test_answers_are_searched_with_unknown_initial_states():
    structure = with_devices(device(6e6, 3e4), device(9e6, 2e3, at=1))
    unknown = ["attachments[*].law.beta", "initial[0].displacement[1]"]
    fit = vb.identify(structure, shaken(structure, [1]), unknown)
    assert fit.convergence["checks"] == "all" and not fit.other_answers
