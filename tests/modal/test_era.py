"""ERA against closed forms of free decays."""

import numpy as np
import pytest
from test_ssi import as_record

import vibrid as vb
from vibrid.modal import era

BUILDING = vb.ShearBuilding([2.0, 2.0, 1.5], [vb.Linear(2500.0), vb.Linear(2200.0), vb.Linear(1800.0)], vb.Modal(0.02))


def decay(start, noise=0.0, seconds=20.0, rate=50.0) -> vb.Record:
    """Free vibration from a displacement, as the sum of its modes."""
    found = vb.modes(BUILDING)
    mass = np.diag([2.0, 2.0, 1.5])
    amount = found.shapes.T @ mass @ np.asarray(start)
    t = np.arange(round(seconds * rate)) / rate
    weight = np.conj(found.poles) / (np.conj(found.poles) - found.poles)  # x(0) given, x'(0) zero
    x = sum(
        2 * (weight[i] * np.exp(found.poles[i] * t)).real[:, None] * found.shapes[:, i] * amount[i] for i in range(3)
    )
    return as_record(x + noise * np.random.default_rng(0).standard_normal(x.shape) * np.abs(x).max(), rate)


def test_a_decay_without_noise_is_exact():
    found, right = era(decay([1.0, 0.2, -0.4])), vb.modes(BUILDING)
    np.testing.assert_allclose(found.frequencies, right.frequencies, rtol=1e-6)
    np.testing.assert_allclose(found.ratios, 0.02, rtol=1e-5)
    assert np.diag(vb.structures.pair_modes(found, right).mac).min() > 1 - 1e-9
    assert "by ERA" in repr(found) and found.frequency_deviations.max() < 1e-6  # no noise


def test_several_noisy_decays():
    found, right = era([decay([1.0, 0.2, -0.4], 0.01), decay([0.0, 0.0, 1.0], 0.01)]), vb.modes(BUILDING)
    pairs = vb.structures.pair_modes(found, right)
    near = [i for i, j in pairs.pairs if pairs.mac[i, j] > 0.98]
    assert len(near) == 3
    np.testing.assert_allclose(found.frequencies[near], right.frequencies, rtol=2e-3)
    np.testing.assert_allclose(found.ratios[near], 0.02, rtol=0.1)


def test_too_many_rows_are_refused():
    with pytest.raises(vb.InputError, match="allows 4 to 500 block rows, not 600"):
        era(decay([1.0, 0.0, 0.0]), lags=600)
