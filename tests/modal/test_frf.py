"""Frequency response functions against closed forms, and the modes that fit them."""

import numpy as np
import pytest
import scipy

import vibrid as vb
from vibrid.modal import frequency_response, frf

RATE = 50.0
BUILDING = vb.ShearBuilding([2.0, 2.0, 1.5], [vb.Linear(2500.0), vb.Linear(2200.0), vb.Linear(1800.0)], vb.Modal(0.02))


def shaken(noise_in=0.0, noise_out=0.0, seconds=600.0) -> vb.Record:
    """Accelerations under a white load on the roof: exact at the samples, the load straight between them."""
    rng = np.random.default_rng(0)
    count = round(seconds * RATE)
    low = scipy.signal.butter(6, 18.0, fs=RATE, output="sos")
    force = scipy.signal.sosfilt(low, rng.standard_normal(count))
    record = vb.Record(force, [vb.Channel("hammer", "load", location="2")], step=1 / RATE)
    data = vb.simulate(BUILDING, record).measure(vb.Sensors(acceleration=[0, 1, 2]), noise=0.0, key=0)
    values = np.stack([data[c.name] for c in data.channels], axis=1)
    sizes = np.where([c.quantity == "load" for c in data.channels], noise_in, noise_out)
    return data.replace(data=values + sizes * values.std(axis=0) * rng.standard_normal(values.shape))


def accelerance(f) -> np.ndarray:
    """(lines, floors) of a load on the roof, from M, C and K.

    A load that is straight between samples holds every frequency f + k·rate, weakened by sinc²; samples fold them on f.
    """
    m, c, k, _ = (np.asarray(a) for a in BUILDING.model().linear())
    m = np.diag(m) if m.ndim == 1 else m
    images = np.asarray(f)[:, None] + RATE * np.arange(-30, 31)
    s = 2j * np.pi * images[..., None, None]
    exact = np.linalg.solve(s**2 * m + s * c + k, np.array([[0.0], [0.0], [1.0]]))[..., 0] * s[..., 0] ** 2
    return np.sum(exact * np.sinc(images / RATE)[..., None] ** 2, axis=1)


def test_h1_equals_the_closed_form():
    errors = []
    for length in (1024, 8192):  # leakage falls with the length of a piece
        found = frequency_response(shaken(), length=length)
        band = (found.frequencies > 1.0) & (found.frequencies < 12.0)
        right = accelerance(found.frequencies[band])
        errors.append(np.linalg.norm(found.values[band, :, 0] - right) / np.linalg.norm(right))
    assert errors[1] < 0.02 and errors[1] < 0.5 * errors[0]
    assert np.median(found.coherence[band]) > 0.99


def test_h1_and_h2_bound_the_response_with_noise():
    """Noise of the load lowers H1 by 1/(1 + n²), noise of the motion raises H2; the other one is right."""
    noisy_in = shaken(noise_in=0.5)
    band = slice(40, 400)
    h1, h2 = (np.abs(frequency_response(noisy_in, estimator=e, length=1024).values[band]).mean() for e in ("H1", "H2"))
    clean = np.abs(frequency_response(shaken(), length=1024).values[band]).mean()
    assert h1 < 0.9 * clean and h2 == pytest.approx(clean, rel=0.1)
    noisy_out = frequency_response(shaken(noise_out=0.5), length=1024)
    assert np.abs(noisy_out.values[band]).mean() == pytest.approx(clean, rel=0.1)
    assert np.median(noisy_out.coherence[band]) < 0.9


def test_modes_of_frequency_responses():
    right = vb.modes(BUILDING)
    found = frf(frequency_response(shaken(noise_out=0.02), length=4096), band=(1.0, 13.0))
    pairs = vb.structures.pair_modes(found, right)
    near = [i for i, j in pairs.pairs if pairs.mac[i, j] > 0.98]
    assert len(near) == 3 and len(found) <= 4
    np.testing.assert_allclose(found.frequencies[near], right.frequencies, rtol=5e-3)
    np.testing.assert_allclose(found.ratios[near], 0.02, rtol=0.25)


def test_refusals():
    ambient = vb.Record(
        np.random.default_rng(0).standard_normal((2000, 2)), [vb.Channel("a"), vb.Channel("b")], step=0.02
    )
    with pytest.raises(vb.InputError, match="no measured excitation"):
        frf(ambient)
    with pytest.raises(vb.InputError, match="H1 and H2"):
        frequency_response(shaken(seconds=60.0), estimator="H3")
    with pytest.raises(vb.InputError, match="allow orders"):
        frf(shaken(seconds=60.0), band=(1.0, 1.5))
