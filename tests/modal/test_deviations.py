"""Standard deviations of FDD, ERA and LSCF against the spread of their answers over seeds of noise and excitation."""

import sys
from pathlib import Path

import numpy as np
import pytest
from test_era import BUILDING, decay
from test_frf import RATE
from test_ssi import as_record

import vibrid as vb
from vibrid.modal import era, fdd, frequency_response, frf
from vibrid.modal.jackknife import jackknife, without_each

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from ambient_vibration import accelerations, chain

RIGHT = vb.modes(BUILDING)
CHAIN = {"masses": [2.0, 2.0, 1.5], "stiffnesses": [2500.0, 2200.0, 1800.0], "ratio": 0.02}
SEEDS = 12


def by_fdd(seed):
    values = accelerations(*chain(**CHAIN), seed, 600.0, 40.0, finer=1)
    return fdd(as_record(values, 40.0), peaks=RIGHT.frequencies)


def by_era(seed):
    clean = decay([1.0, 0.2, -0.4]).data
    noise = 0.01 * np.abs(clean).max() * np.random.default_rng(seed).standard_normal(clean.shape)
    return era(as_record(clean + noise, 50.0))


def by_frf(seed, estimator="H1"):
    force = np.random.default_rng(seed).standard_normal(round(600 * RATE))
    load = vb.Record(force, [vb.Channel("hammer", "load", location="2")], step=1 / RATE)
    data = vb.simulate(BUILDING, load).measure(vb.Sensors(acceleration=[0, 1, 2]), noise=0.05, key=seed)
    return frf(frequency_response(data, length=4096, estimator=estimator), band=(1.0, 13.0))


@pytest.mark.parametrize("analysis", [by_fdd, by_era, by_frf])
def test_deviations_are_those_of_the_spread(analysis):
    """36 frequencies, 36 ratios and 108 shapes: the spread over σ is known within 12 % (1σ), or less."""
    away, said = np.full((2, SEEDS, 3, 5), np.nan)
    for seed in range(SEEDS):
        found = analysis(seed)
        for i, j in vb.structures.pair_modes(found, RIGHT).pairs:
            shape = found.shapes[:, i] * np.sign(RIGHT.shapes[:, j] @ found.shapes[:, i])
            away[seed, j] = [found.frequencies[i], found.ratios[i], *shape]
            said[seed, j] = np.sqrt(np.diag(found.covariances[i]))
    scatter = (away - away.mean(axis=0)) * np.sqrt(SEEDS / (SEEDS - 1))
    for part in (slice(0, 1), slice(1, 2), slice(2, 5)):
        ratio = np.sqrt(np.mean(scatter[..., part] ** 2, axis=0) / np.mean(said[..., part] ** 2, axis=0))
        assert 0.65 < np.sqrt(np.mean(ratio**2)) < 1.4


def test_fits_take_these_modes_as_they_are():
    """A fit to modes of any method needs no stated errors."""
    for found in (by_fdd(0), by_era(0)):
        guess = BUILDING.replace({"storeys[*].stiffness": 2000.0})
        fit = vb.identify(guess, found, "storeys[*].stiffness", vb.ModalFit(starts=1))
        np.testing.assert_allclose(fit.estimate, CHAIN["stiffnesses"], rtol=0.03)


def test_h2_has_deviations_too():
    one, two = by_frf(0), by_frf(0, "H2")
    np.testing.assert_allclose(two.frequencies, one.frequencies, rtol=0.01)
    assert (two.frequency_deviations > 0).all() and (two.frequency_deviations < 0.01 * two.frequencies).all()


def test_a_short_record_has_none_and_says_so():
    values = accelerations(*chain(**CHAIN), 0, 100.0, 40.0, finer=1)
    found = fdd(as_record(values, 40.0), peaks=RIGHT.frequencies[:1], length=1024)
    assert np.isnan(found.frequency_deviations).all() and found.covariances is None
    assert "No standard deviations" in str(found)


def test_the_jackknife_of_a_mean_is_its_variance():
    """Groups of one number each: the classical s²/n."""
    rng = np.random.default_rng(0)
    numbers = 100.0 + rng.standard_normal((20, 1))
    means = without_each(numbers, np.ones(20))
    np.testing.assert_allclose(means[3], np.delete(numbers, 3).mean())
    poles = -1.0 + 2j * np.pi * means
    covariance = jackknife(np.ones((1, 1), complex), poles, np.ones((20, 1, 1), complex))
    assert covariance[0, 0, 0] == pytest.approx(numbers.var(ddof=1) / 20, rel=1e-3)
    assert np.isnan(jackknife(np.ones((1, 1)), np.where(means > 0, np.nan, means), np.ones((20, 1, 1)))).all()
