"""Unknowns as they are written, and data that cannot be used, each refused with a message."""

import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE, ONE_GUESS, ONE_SENSORS, ONE_UNKNOWN, TWO, one, two
from vibrid.identification.experiment import Experiment
from vibrid.identification.unknowns import compile_unknowns

EXPERIMENT = Experiment(TWO, tuple(vb.Sensors(acceleration=[0])), (vb.Initial.rest(2),))


@pytest.mark.parametrize("bounds", [None, (10.0, 90.0), (10.0, None), (None, 90.0)])
def test_free_space_round_trip(bounds):
    unknowns = compile_unknowns(EXPERIMENT, [vb.Unknown("storeys[*].stiffness", bounds=bounds)])
    theta = np.array([33.0, 71.0])
    np.testing.assert_allclose(unknowns.to_physical(unknowns.to_free(theta)), theta, rtol=1e-9)
    far = np.asarray(unknowns.to_physical(np.array([-30.0, 30.0])))
    low, high = bounds or (0.0, None)
    assert np.all(far >= (low or 0.0)) and (high is None or np.all(far <= high))


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (["storeys[*].stifness"], "did you mean 'stiffness'"),
        (["storeys[7].stiffness"], "numbered 0 to 1"),
        (["storeys"], "does not name a number"),
        ([], "Nothing is unknown"),
        (["storeys[0].stiffness", "storeys[*].stiffness"], "more than once"),
        (["storeys[-1].stiffness", "storeys[1].stiffness"], r"^storeys\[1\].stiffness is named as unknown more"),
        ([vb.Unknown(["storeys[-2].stiffness", "storeys[0].stiffness"])], "more than once"),
        ([vb.Unknown("storeys[0].stiffness", bounds=(70.0, 90.0))], "outside its bounds"),
        ([vb.Unknown("storeys[0].stiffness", bounds=(90.0, 70.0))], "low < high"),
        ([vb.Unknown("storeys[0].stiffness", prior=(50.0, 0.0))], "positive standard deviation"),
        (["sensors[0].noise"], "no finite first guess"),
        (["storeys..stiffness"], "cannot be read"),
    ],
)
def test_wrong_unknowns_are_explained(unknown, words):
    with pytest.raises(vb.InputError, match=words):
        compile_unknowns(EXPERIMENT, unknown)


def broken(change) -> vb.Record:
    data = one(0.02)
    values = np.array(data.data)
    change(values)
    return data.replace(data=values)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: one().replace(data=one().data[:10]), "10 samples"),
        (lambda: broken(lambda v: v.__setitem__((slice(None), 1), np.nan)), "has no sample at all"),
        (lambda: broken(lambda v: v.__setitem__((slice(None), 1), v[:, 1] * 1000)), "check the unit"),
        (lambda: broken(lambda v: v.__setitem__((slice(None), 0), 0.0)), "zero throughout"),
        (lambda: broken(lambda v: v.__setitem__((3, 0), np.nan)), "missing samples"),
        (lambda: one().select(["displacement_0", "acceleration_0"]), "has no excitation"),
        (lambda: [], "No record"),
    ],
)
def test_bad_data_are_explained(data, words):
    with pytest.raises(vb.InputError, match=words):
        vb.identify(ONE_GUESS, data(), ONE_UNKNOWN, sensors=ONE_SENSORS)


def test_sensors_that_do_not_exist_are_named():
    with pytest.raises(vb.InputError, match="no channel for the sensor 'velocity_0'"):
        vb.identify(ONE_GUESS, one(), ONE_UNKNOWN, sensors=vb.Sensors(velocity=[0]))


def test_mass_and_stiffness_cannot_both_be_found_from_the_ground():
    with pytest.raises(vb.Refusal, match="same factor"):
        vb.identify(TWO, two(), ["masses[*]", "storeys[*].stiffness", "storeys[*].damping"])


def test_a_load_fixes_the_mass():
    t = np.arange(0, 8.0001, 0.02)
    load = vb.Record(np.sin(5 * t) * np.exp(-0.3 * t), [vb.Channel("hammer", "load", location="1")], step=0.02)
    data = vb.simulation.simulate_reference(TWO, load).measure(vb.Sensors(acceleration=[0, 1]), noise=0.002)
    fit = vb.identify(TWO.replace({"masses[0]": 1.4}), data, ["masses[0]", "storeys[*].stiffness"])
    np.testing.assert_allclose(fit.estimate, [1.0, 60.0, 40.0], rtol=0.01)


def test_a_device_test_is_identified_like_a_structure():
    t = np.arange(0, 6.0, 0.01)
    x = 0.15 * np.sin(4 * t) * np.minimum(t, 1.0)
    imposed = vb.Record(x, [vb.Channel("stroke", "imposed_displacement")], step=0.01)
    truth = vb.Device(ONE.storeys[0])
    data = vb.simulate(truth, imposed, substeps=8).measure(vb.Sensors(element_force=["device"]), noise=0.01)
    guess = truth.replace({"law.stiffness": 30.0, "law.beta": 4.0, "law.gamma": 5.0})
    fit = vb.identify(guess, data, ["law.stiffness", "law.beta", "law.gamma"])
    np.testing.assert_allclose(fit.estimate, [40.0, 6.0, 4.0], rtol=0.05)
