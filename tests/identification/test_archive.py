"""Results in files: whole, readable again, and harmless."""

import dataclasses
import errno

import h5py
import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE_GUESS, ONE_SENSORS, ONE_UNKNOWN, one, truth
from vibrid.structures.describe import describe, rebuild


@pytest.fixture(scope="module")
def fit():
    return vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, hold_out=0.2)


def test_round_trip(fit, tmp_path):
    fit.save(tmp_path / "fit.h5")
    again = vb.load_identification(tmp_path / "fit.h5")
    assert str(again) == str(fit) and again.versions == fit.versions and again.held_out == fit.held_out
    np.testing.assert_array_equal(again.history["estimate"], fit.history["estimate"])
    record = truth("one", 1).measure(ONE_SENSORS, noise=0.0)
    assert again.validate(record).relative_error == fit.validate(record).relative_error


def test_a_damaged_file_is_a_sentence(fit, tmp_path):
    path = tmp_path / "fit.h5"
    path.write_bytes(b"not a result")
    with pytest.raises(vb.FileProblem, match="not an HDF5 file"):
        vb.load_identification(path)
    fit.save(path)
    with h5py.File(path, "a") as file:
        del file["free"]
    with pytest.raises(vb.FileProblem, match="damaged or incomplete"):
        vb.load_identification(path)
    fit.save(path)
    with h5py.File(path, "a") as file:
        text = file["text"][()].decode().replace('"bouc-wen"', '"os.system"')
        del file["text"]
        file["text"] = text
    with pytest.raises(vb.FileProblem, match=r"no law called 'os\.system'"):
        vb.load_identification(path)


def test_nothing_half_written_is_left(fit, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(vb.FileProblem, match="disk is full"):
        fit.save(tmp_path / "fit.h5")
    assert list(tmp_path.iterdir()) == []


def test_unregistered_laws_are_refused_with_the_way_out():
    class Mine(vb.laws.StaticLaw):
        stiffness: float

        def force(self, e, w, s):
            return self.stiffness * e

    with pytest.raises(vb.InputError, match="Register your own law"):
        describe(vb.ShearBuilding(masses=[1.0], storeys=[Mine(3.0)]))


@pytest.mark.parametrize("law", ["lugre", "maxwell", "bilinear"])
def test_structures_survive_as_text(law):
    parameters = {f.name: 1.0 + i for i, f in enumerate(dataclasses.fields(vb.laws.LAWS[law]))}
    building = vb.ShearBuilding(
        masses=[1.0, 2.0],
        storeys=[vb.Parallel([vb.Linear(4.0), vb.laws.LAWS[law](**parameters)]), vb.Linear(3.0)],
        damping=vb.Modal([0.02, 0.03]),
        attachments=[vb.Attachment(vb.Polynomial([1.0, 2.0]), at="roof", to=0)],
    )
    again = rebuild(describe(building))
    assert describe(again) == describe(building)
    np.testing.assert_array_equal(again.model().initial_matrices()[1], building.model().initial_matrices()[1])
