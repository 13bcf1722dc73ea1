"""The course of the excitation between its samples, and its effect."""

import numpy as np
import pytest
from problems import LINEAR, ground, motion

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.simulation.excitation import HOLDS, _upsample, drive

RATE = 100.0  # Hz
TIME = np.arange(601) / RATE


def oscillator(frequency, ratio=0.05):
    omega = 2 * np.pi * frequency
    return vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(omega**2, 2 * ratio * omega)])


def response_to_sine(t, frequency, driven, ratio=0.05):
    """Displacement from rest under the continuous ground acceleration sin(2π driven t)."""
    omega, drive_omega = 2 * np.pi * frequency, 2 * np.pi * driven
    damped = omega * np.sqrt(1 - ratio**2)
    gain = -1 / (omega**2 - drive_omega**2 + 2j * ratio * omega * drive_omega)
    steady = (gain * np.exp(1j * drive_omega * t)).imag
    x0, v0 = gain.imag, (1j * drive_omega * gain).imag
    swing = x0 * np.cos(damped * t) + (v0 + ratio * omega * x0) / damped * np.sin(damped * t)
    return steady - np.exp(-ratio * omega * t) * swing


def hold_error(hold, substeps=8, frequency=3.0, driven=15.0):
    record = ground(np.sin(2 * np.pi * driven * TIME), 1 / RATE)
    building = oscillator(frequency)
    found = vb.simulate(building, record, integrator=vb.RungeKutta4(), hold=hold, substeps=substeps).displacement[:, 0]
    exact = response_to_sine(TIME, frequency, driven)
    return np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2))


def test_a_hold_decides_orders_of_magnitude():
    """A sine at 0.3 of half the sampling rate, rms error of a 3 Hz oscillator."""
    zero, linear, cubic, band = (hold_error(hold) for hold in HOLDS)
    assert 0.2 < zero < 0.35 and 0.05 < linear < 0.1 and 5e-4 < cubic < 3e-3 and band < 1e-6
    assert linear / cubic > 30 and cubic / band > 1000


def test_band_limited_hold_near_the_limit_and_without_substeps():
    assert hold_error("band-limited", driven=40.0) < 1e-5, "flat to 0.8 of half the sampling rate"
    assert hold_error("band-limited", substeps=1) < 1e-3 < hold_error("cubic", substeps=1)


@pytest.mark.parametrize("frequency", [5.0, 30.0, 45.0])
def test_upsampling_is_exact_away_from_the_ends(frequency):
    fine = np.arange(600 * 8 + 1) / RATE / 8
    made = _upsample(np.sin(2 * np.pi * frequency * TIME + 0.4)[:, None], 8)[:, 0]
    error = np.abs(made - np.sin(2 * np.pi * frequency * fine + 0.4))
    assert error[8 * 64 : -8 * 64].max() < 5e-5
    np.testing.assert_array_equal(made[::8], np.sin(2 * np.pi * frequency * TIME + 0.4))


def test_upsampling_at_the_ends():
    """Gentle starts and odd ones are exact; a short record does not fail; a line stays a line."""
    fine = np.arange(600 * 4 + 1) / RATE / 4
    gentle = np.sin(np.pi * TIME / 6) ** 4 * np.sin(2 * np.pi * 12 * TIME)
    gentle_fine = np.sin(np.pi * fine / 6) ** 4 * np.sin(2 * np.pi * 12 * fine)
    np.testing.assert_allclose(_upsample(gentle[:, None], 4)[:, 0], gentle_fine, atol=1e-6)
    odd = _upsample(np.sin(2 * np.pi * 12 * TIME)[:, None], 4)[:, 0]
    np.testing.assert_allclose(odd[:400], np.sin(2 * np.pi * 12 * fine[:400]), atol=1e-6)
    short = _upsample(np.array([[1.0], [2.0], [3.0]]), 4)[:, 0]
    np.testing.assert_allclose(short, np.linspace(1.0, 3.0, 9), atol=1e-3)


@pytest.mark.parametrize("hold", HOLDS)
def test_every_hold_passes_through_the_samples(hold):
    samples = np.random.default_rng(0).standard_normal((40, 2))
    made = drive(samples, hold, 4)
    c = np.asarray(made.coefficients)
    np.testing.assert_allclose(c[:, 0, 0], samples[:-1], atol=1e-12)
    if hold != "zero":
        np.testing.assert_allclose(c[:, -1].sum(axis=1), samples[1:], atol=1e-12)
        np.testing.assert_allclose(c[:, :-1].sum(axis=2), c[:, 1:, 0], atol=1e-12)  # pieces join


def test_a_hold_that_does_not_exist():
    with pytest.raises(InputError, match="did you mean 'linear'"):
        vb.simulate(LINEAR, motion(64, 65), hold="linaer")


def test_zero_hold_is_a_staircase():
    """An impulse-like sample acts for a whole interval: velocity after it is −a dt."""
    record = ground([1.0, 0.0, 0.0], 0.001)
    free = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(1e-9)])
    v = vb.simulate(free, record, hold="zero", integrator=vb.RungeKutta4()).velocity[:, 0]
    np.testing.assert_allclose(v, [0.0, -0.001, -0.001], rtol=1e-9)
