"""The time step of a device whose motion is imposed: a step too long for its law is refined, or told."""

import numpy as np

import vibrid as vb

from .imposed import bouc_wen_test

UNKNOWN = ["law.stiffness", "law.beta", "law.gamma"]
SENSORS = [vb.structures.Sensor("element_force", "device", name="force")]


def quick_device(yields: float):
    """A Bouc–Wen law of 248 N, its test at 100 Hz with 1 N of noise, and a law of first guesses."""
    stiffness, shape = 248.0 / yields, 0.5 / yields
    data = bouc_wen_test(stiffness, shape, shape, noise=1.0)
    return (stiffness, shape, shape), data, vb.Device(vb.BoucWen(1.3 * stiffness, 0.8 * shape, 1.3 * shape))


def test_a_step_too_long_for_the_law_is_refined():
    """One step per sample is many times the peak away; without a finer one nothing can be fitted."""
    truth, data, device = quick_device(5e-4)
    assert not vb.simulate(device, data).step_error().largest < 0.5
    fit = vb.identify(device, data, UNKNOWN, sensors=SENSORS)
    assert fit.problem.substeps >= 8
    assert fit.predict(data).step_error().largest < 0.01
    np.testing.assert_allclose(fit.estimate, truth, rtol=0.03)
    low, high = fit.interval(0.999).T
    assert np.all((low < truth) & (truth < high))
    assert any(finding.name == "time step" for finding in fit.checks)


def test_a_given_step_that_is_too_long_is_told():
    _, data, device = quick_device(1e-3)
    fit = vb.identify(device, data, UNKNOWN, sensors=SENSORS, substeps=2)
    assert fit.problem.substeps == 2 and "The time step is too long for these data" in fit.verdict


def test_a_law_that_depends_on_the_path_alone_keeps_its_step():
    _, data, _ = quick_device(1e-3)
    fit = vb.identify(vb.Device(vb.Bilinear(2e5, 1e-3)), data, ["law.stiffness"], sensors=SENSORS)
    assert fit.problem.substeps == 1 and not any(finding.name == "time step" for finding in fit.checks)
