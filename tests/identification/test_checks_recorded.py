"""Faults that recorded values show by themselves: each is named for its channel, and what is no fault is not."""

from functools import cache

import numpy as np
import pytest
import scipy

import vibrid as vb
from vibrid.core.findings import ODD, WRONG
from vibrid.identification.checks import run
from vibrid.identification.checks.recorded import recorded_faults, without_lost_samples
from vibrid.identification.problem import make_problem, predict
from vibrid.report.checks import checks_section

STEP, COUNT = 0.01, 1200
TRUE = vb.ShearBuilding([20e3, 20e3], [vb.Linear(24e6), vb.Linear(18e6)], damping=vb.Viscous(90e3))
GUESS = TRUE.replace({"storeys[0].stiffness": 20e6, "storeys[1].stiffness": 20e6})
UNKNOWN = ["storeys[*].stiffness", "damping.damping"]
SENSORS = vb.Sensors(absolute_acceleration=[0, 1])
LABELS = [sensor.label for sensor in SENSORS]


@cache
def ground() -> vb.Record:
    noise = np.random.default_rng(1).standard_normal(COUNT)
    motion = scipy.signal.sosfilt(scipy.signal.butter(2, [0.5, 12.0], "band", fs=1 / STEP, output="sos"), noise)
    share = np.arange(COUNT) / COUNT
    motion *= np.clip((share - 0.1) / 0.1, 0.0, 1.0) * np.clip((0.8 - share) / 0.3, 0.0, 1.0)
    return vb.Record(3.0 * motion / np.abs(motion).max(), [vb.Channel("ground", "ground_acceleration")], step=STEP)


@cache
def measured(noise: float = 0.03) -> vb.Record:
    return vb.simulate(TRUE, ground()).measure(SENSORS, noise=noise, key=3)


def damaged(change, label: str = LABELS[1], noise: float = 0.03) -> vb.Record:
    record = measured(noise)
    data = record.data.copy()
    data[:, record.names.index(label)] = change(record[label].copy())
    return record.replace(data=data)


def clipped(y, share: float = 0.6):
    return np.clip(y, -share * np.abs(y).max(), share * np.abs(y).max())


def stuck(y):
    y[400:560] = y[400]
    return y


def rounded(y):
    return 0.3 * y.std() * np.round(y / (0.3 * y.std()))


def at_truth(*records: vb.Record, building=TRUE, unknown=UNKNOWN, sensors=SENSORS):
    """A problem of which the first guess is the truth, and its predictions."""
    problem = make_problem(building, list(records), unknown, sensors=sensors)
    return problem, [np.asarray(predict(problem, problem.start, i)) for i in range(len(records))]


def told(*records: vb.Record, **parts) -> list[tuple[str, str, str]]:
    return [(f.name, f.verdict, f.where) for f in recorded_faults(*at_truth(*records, **parts))]


FAULTS = {
    "clipped": (clipped, WRONG, ("is clipped above at", "m/s^2", "and below at", "fit.repair() or --repair")),
    "stuck": (stuck, WRONG, ("is constant from 4 to 5.59 s", "fit.repair() or --repair")),
    "twin": (
        lambda y: measured()[LABELS[0]],
        WRONG,
        (f"has the same values as '{LABELS[0]}'", "Leave the wrong one out"),
    ),
    "resolution": (rounded, ODD, ("has a resolution of", "m/s^2", "a smaller range")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_alone_and_for_its_channel(name):
    change, verdict, words = FAULTS[name]
    (finding,) = recorded_faults(*at_truth(damaged(change)))
    assert (finding.name, finding.verdict, finding.where) == (name, verdict, LABELS[1])
    assert all(part in finding.sentence for part in words), finding.sentence


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_nothing_is_told_of_clean_records_that_begin_and_end_at_rest(noise):
    assert told(measured(noise)) == []


def test_fine_counts_of_a_recorder_are_no_fault():
    assert told(damaged(lambda y: 0.02 * y.std() * np.round(y / (0.02 * y.std())))) == []


def test_a_pause_in_which_nothing_moves_is_no_fault():
    both = np.concatenate([ground().data, np.zeros((600, 1)), ground().data])
    record = ground().replace(data=both)
    readings = vb.simulate(TRUE, record).measure(SENSORS, noise=0.0, key=0)
    data = np.where(np.abs(readings.data) < 1e-3, 0.0, readings.data)
    assert told(readings.replace(data=data)) == []


def test_readings_that_the_model_explains_are_no_faults():
    sensors = vb.Sensors(displacement=[0], drift=[0])
    record = vb.simulate(TRUE, ground()).measure(sensors, noise=0.0, key=0)
    assert np.array_equal(record[sensors[0].label], record[sensors[1].label])
    assert told(record, sensors=sensors) == []


def test_flat_tops_that_are_predicted_are_no_limit():
    problem, (predicted,) = at_truth(damaged(clipped))
    flat = clipped(np.asarray(problem.data[0].readings)[:, 1], 0.6)
    assert recorded_faults(problem, [np.column_stack([predicted[:, 0], flat])]) == []


def test_the_records_with_a_fault_are_told():
    record = damaged(clipped)
    (finding,) = recorded_faults(*at_truth(measured().replace(name="first"), record.replace(name="second")))
    assert "in 'second'" in finding.sentence and finding.where == LABELS[1]


def test_a_clipped_excitation_is_told_and_cannot_be_repaired():
    problem, predictions = at_truth(damaged(clipped, "ground"))
    (finding,) = recorded_faults(problem, predictions)
    assert (finding.name, finding.verdict, finding.where) == ("clipped", WRONG, "ground acceleration")
    assert "the true excitation is not known there" in finding.sentence and "larger range" in finding.sentence
    assert "--repair" not in finding.sentence


def test_a_ground_motion_that_is_stuck_or_coarse_is_told():
    def held(y):
        y[400:560] = 1.0
        return y

    assert told(damaged(held, "ground")) == [("stuck", WRONG, "ground acceleration")]
    assert told(damaged(rounded, "ground")) == [("resolution", ODD, "ground acceleration")]


PHASE = 7.0 * STEP * np.arange(COUNT)
LOADS = {
    "square": np.sign(np.sin(PHASE)),
    "trapezoid": np.clip(2.0 * scipy.signal.sawtooth(PHASE, 0.5), -1.0, 1.0),
    "blows": np.maximum(np.sin(PHASE), 0.0),
}


@pytest.mark.parametrize("shape", LOADS)
def test_loads_with_flat_parts_by_intent_are_no_faults(shape):
    load = vb.Record(1e4 * LOADS[shape], [vb.Channel("load", "load", location=1)], step=STEP)
    assert told(vb.simulate(TRUE, load).measure(SENSORS, noise=0.02, key=1)) == []


def test_lost_samples_are_not_found_again():
    problem, predictions = at_truth(damaged(clipped), damaged(stuck))
    faults = recorded_faults(problem, predictions)
    assert [f.name for f in faults] == ["clipped", "stuck"]
    again = without_lost_samples(problem, predictions, faults)
    assert recorded_faults(again, predictions) == []
    assert again.counts()[0] == 2 * COUNT and again.counts()[1] < 2 * COUNT - 160


def test_a_channel_that_is_stuck_throughout_a_record_is_not_repaired():
    dead = damaged(lambda y: 0 * y + 0.1).replace(name="second")
    problem, predictions = at_truth(measured(), dead)
    (finding,) = recorded_faults(problem, predictions)
    assert finding.name == "stuck" and "in 'second'" in finding.sentence
    with pytest.raises(vb.InputError, match="of record 'second' is stuck throughout"):
        without_lost_samples(problem, predictions, [finding])


@pytest.mark.long
def test_a_repair_leaves_lost_samples_out():
    record = damaged(clipped)
    data = record.data.copy()
    data[:, record.names.index(LABELS[0])] = stuck(record[LABELS[0]].copy())
    fit = vb.identify(GUESS, record.replace(data=data), UNKNOWN, sensors=SENSORS)
    assert [(f.name, f.where) for f in fit.checks[:2]] == [("stuck", LABELS[0]), ("clipped", LABELS[1])]
    assert not {"gain", "law", "damping", "input noise"} & {f.name for f in fit.checks} and not fit.model_fits
    page = checks_section(fit)
    assert "Did the recorder keep all of the motion" in page and fit.checks[0].where in page
    again = fit.repair()
    assert again.model_fits and not [f for f in again.checks if f.verdict == WRONG]
    assert f"stuck samples of {LABELS[0]}, clipped samples of {LABELS[1]}" in again.checks[-1].sentence
    truth = np.array([24e6, 18e6, 90e3])
    assert np.all(np.abs(again.estimate - truth) < 3 * again.deviation)


def test_recorded_values_of_slow_models_are_checked_too(monkeypatch):
    monkeypatch.setattr(run, "_is_slow", lambda fit: True)
    fit = vb.identify(GUESS, damaged(clipped, "ground"), UNKNOWN, sensors=SENSORS)
    assert [f.name for f in fit.checks] == ["clipped"] and not fit.model_fits
    assert checks_section(fit).count("not asked") > 5 and "the true excitation is not known" in checks_section(fit)
    with pytest.raises(vb.InputError, match="nothing to repair"):
        fit.repair()
