"""Harmonics of machines are told apart from modes, in `ssi` and `fdd`; modes stay."""

import numpy as np
import pytest
from pyoma_references import CASE, accelerations, chain
from test_ssi import as_record

import vibrid as vb
from vibrid.modal.channels import motions_of
from vibrid.modal.harmonics import are_harmonic

RATE, SECONDS = 25.0, 800.0


def ambient(seed=5, harmonic=None, size=1.0):
    values = accelerations(*chain(**CASE), seed, SECONDS, RATE)
    if harmonic is not None:
        time = np.arange(len(values)) / RATE
        values = values + size * values.std() * np.sin(2 * np.pi * harmonic * time)[:, None] * [1.0, 0.8, 0.9, 0.7, 1.1]
    return as_record(values, RATE)


@pytest.fixture(scope="module")
def truth():
    storeys = [vb.Linear(k) for k in CASE["stiffnesses"]]
    return vb.modes(vb.ShearBuilding(CASE["masses"], storeys, vb.Modal(CASE["ratio"])))


def test_a_machine_between_the_modes_is_left_out_and_said(truth):
    at = 0.5 * (truth.frequencies[1] + truth.frequencies[2])
    found = vb.ssi(ambient(harmonic=at), lags=20)
    assert np.abs(found.frequencies - at).min() > 0.2
    assert vb.structures.pair_modes(found, truth).pairs == tuple((i, i) for i in range(5))
    assert any("A machine, not a mode" in note and f"{at:.3g}"[:3] in note for note in found.notes)
    peaks = vb.modal.fdd(ambient(harmonic=at))
    assert np.abs(peaks.frequencies - at).min() > 0.2 and any("machine" in note for note in peaks.notes)


def test_no_mode_is_called_a_machine(truth):
    """Twenty records, five modes each: the chance of one false harmonic is below a thousandth (4σ, one side)."""
    for seed in range(20):
        motions = motions_of(ambient(seed), None)
        assert not are_harmonic(motions, truth.frequencies, truth.shapes).any()


def test_a_faint_machine_beside_a_mode_does_not_remove_the_mode(truth):
    """A harmonic at the frequency of the second mode, a tenth of it in size."""
    motions = motions_of(ambient(harmonic=truth.frequencies[1], size=0.03), None)
    assert not are_harmonic(motions, truth.frequencies, truth.shapes).any()
