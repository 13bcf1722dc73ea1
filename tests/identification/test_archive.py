"""Results in files: whole, readable again, and harmless."""

import dataclasses
import errno
import hashlib
import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import vibrid as vb
from identification.small import ONE_GUESS, ONE_SENSORS, ONE_UNKNOWN, one, truth
from vibrid.identification.archive_file import read_stored, write_stored
from vibrid.identification.archive_layout import LAYOUT
from vibrid.records.writers import write_csv
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
        del file["parameters/free"]
    with pytest.raises(vb.FileProblem, match="damaged or incomplete"):
        vb.load_identification(path)
    fit.save(path)
    with h5py.File(path, "a") as file:
        text = file["text"][()].decode().replace('"bouc-wen"', '"os.system"')
        del file["text"]
        file["text"] = text
    with pytest.raises(vb.FileProblem, match=r"no law called 'os\.system'"):
        vb.load_identification(path)


def _rewritten(path, change):
    with h5py.File(path, "a") as file:
        text = json.loads(file["text"][()].decode())
        change(text)
        del file["text"]
        file["text"] = json.dumps(text)


@pytest.mark.parametrize("key", ["gradient_tolerance", "converged", "at_bound"])
def test_convergence_that_lacks_an_entry_is_refused_when_it_is_read(fit, tmp_path, key):
    fit.save(tmp_path / "fit.h5")
    assert "projected_gradient" in fit.convergence
    _rewritten(tmp_path / "fit.h5", lambda text: text["convergence"].pop(key))
    with pytest.raises(vb.FileProblem, match="'convergence' is not of the kind"):
        vb.load_identification(tmp_path / "fit.h5")


@pytest.mark.parametrize("values", [np.array([1, 2], "i4"), np.zeros(0)], ids=["integers", "nothing"])
def test_parameters_of_another_kind_are_refused_when_they_are_read(fit, tmp_path, values):
    fit.save(tmp_path / "fit.h5")
    with h5py.File(tmp_path / "fit.h5", "a") as file:
        count = file["parameters/free"].shape[0]
        del file["parameters/free"]
        file["parameters/free"] = np.resize(values, count) if len(values) else values
    with pytest.raises(vb.FileProblem, match="'parameters/free' is not of the kind"):
        vb.load_identification(tmp_path / "fit.h5")


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


# -- the format ----------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(fit, tmp_path):
    path = tmp_path / "fit.h5"
    fit.save(path)
    return path


def datasets(file) -> list[str]:
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def test_another_program_finds_the_answer_in_words(fit, saved):
    """With an HDF5 library alone: names, units, estimates, intervals, readings by column."""
    with h5py.File(saved) as file:
        assert file.attrs["vibrid"] == 3 and file.attrs["written_by"] == f"vibrid {vb.__version__}"
        table = file["parameters"]
        assert [name.decode() for name in table["names"]] == list(fit.names)
        assert [unit.decode() for unit in table["units"]] == list(fit.units)
        np.testing.assert_array_equal(table["estimate"], fit.estimate)
        np.testing.assert_array_equal(table["interval_95"][:].T, fit.interval())
        readings = file["records/0/readings"]
        assert list(readings.attrs["columns"]) == ["displacement_0", "acceleration_0"]
        assert list(readings.attrs["units"]) == ["m", "m/s^2"]
        assert file["records/0/used"].dtype == np.uint8
        assert all(file[name].attrs["description"] for name in datasets(file))
        json.loads(file["text"][()], parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_every_entry_is_documented_and_nothing_else_is_written(fit, saved):
    text = (Path(__file__).parents[2] / "docs" / "result-files.md").read_text(encoding="utf-8")
    missing = [name for name in LAYOUT if f"`{name}`" not in text]
    assert not missing
    with h5py.File(saved) as file:
        keys = [key for key in json.loads(file["text"][()]) if f"`{key}`" not in text]
        assert not keys
        known = [re.sub(r"/\d+/", "/N/", name) for name in datasets(file)]
    assert {name for name in known if not name.startswith("history/")} <= {*LAYOUT, "text"}


def changed_text(path, change) -> None:
    with h5py.File(path, "a") as file:
        text = json.loads(file["text"][()])
        change(text)
        del file["text"]
        file["text"] = json.dumps(text)


def test_what_a_later_version_adds_is_left_out(fit, saved):
    def add(text):
        text["news"] = {"a": 1}
        text["checks"] = [{"name": "time step", "verdict": "good", "sentence": "It holds.", "news": {}}]
        text["fits"][0]["news"] = 1.0
        text["files"] = [{"name": "a.csv", "size": 3, "sha256": "0", "role": "record", "news": 1}]

    changed_text(saved, add)
    with h5py.File(saved, "a") as file:
        file["parameters/news"] = np.zeros(3)
    again = vb.load_identification(saved)
    assert str(again.replace(checks=fit.checks)) == str(fit)
    assert again.files[0].name == "a.csv" and again.checks[0].sentence == "It holds."


def test_a_newer_format_is_refused_with_what_to_do(saved):
    with h5py.File(saved, "a") as file:
        file.attrs["vibrid"], file.attrs["written_by"] = 4, "vibrid 1.7.0"
    sentence = r"format 4 and was written by vibrid 1\.7\.0; .* reads formats 2 to 3\. Read it with"
    with pytest.raises(vb.FileProblem, match=sentence):
        vb.load_identification(saved)
    with h5py.File(saved, "a") as file:
        file.attrs["vibrid"] = 1
    with pytest.raises(vb.FileProblem, match="format 1, which no release"):
        vb.load_identification(saved)
    with h5py.File(saved, "a") as file:
        file.attrs["vibrid"] = "three"
    with pytest.raises(vb.FileProblem, match="not a result of vibrid"):
        vb.load_identification(saved)


@pytest.mark.parametrize("kind", ["external", "soft", "raw", "virtual"])
def test_links_are_not_followed(saved, tmp_path, kind):
    """A result cannot make its reader open another file."""
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["free"] = np.zeros(3)
    with h5py.File(saved, "a") as file:
        del file["parameters/free"]
        if kind == "external":
            file["parameters/free"] = h5py.ExternalLink(str(other), "free")
        elif kind == "soft":
            file["parameters/free"] = h5py.SoftLink("/parameters/scale")
        elif kind == "raw":
            file.create_dataset("parameters/free", (3,), "f8", external=[(str(other), 0, 24)])
        else:
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource(str(other), "free", (3,))
            file.create_virtual_dataset("parameters/free", layout)
    with pytest.raises(vb.FileProblem, match="'parameters/free' points to another place"):
        vb.load_identification(saved)


def test_large_arrays_are_kept_in_chunks_of_whole_rows(tmp_path):
    """At most 1 MiB each, with a checksum, whatever the shape; columns that are too many are not named again."""
    many = [f"sensor {i}" for i in range(5000)]
    arrays = {"records/0/readings": np.zeros((300_000, 3)), "records/0/predicted": np.ones((4, 5000)), "free": None}
    write_stored(tmp_path / "large.h5", {"a": np.inf}, arrays, {"records/0/predicted": (many, many)})
    with h5py.File(tmp_path / "large.h5") as file:
        long, wide = file["records/0/readings"], file["records/0/predicted"]
        assert long.chunks == (2**17 // 3, 3) and wide.chunks == (4, 5000) and long.fletcher32 and "free" not in file
        assert "columns" not in wide.attrs
    assert (tmp_path / "large.h5").stat().st_size < 50_000
    text, again = read_stored(tmp_path / "large.h5")
    assert text == {"a": np.inf} and set(again) == {"records/0/readings", "records/0/predicted"}


def test_a_missing_result_says_what_is_there(saved):
    with pytest.raises(vb.FileProblem, match=r"did you mean '.*fit\.h5'"):
        vb.load_identification(saved.with_name("fits.h5"))


def test_the_files_of_an_answer_are_kept(fit, tmp_path):
    """SHA-256, size and name of a record and of the sidecar that describes it, through operations and a result file."""
    path = tmp_path / "test.csv"
    write_csv(one(0.02), path)
    (tmp_path / "test.csv.toml").write_text('name = "shaken"\n')
    record = vb.read_record(path).resample(50.0)
    assert [(f.name, f.role, f.size) for f in record.files] == [
        ("test.csv", "record", path.stat().st_size),
        ("test.csv.toml", "sidecar", 16),
    ]
    assert record.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert vb.records.synchronise([record, one(0.02)]).files == record.files
    fit.replace(files=record.files).save(tmp_path / "fit.h5")
    assert vb.load_identification(tmp_path / "fit.h5").files == record.files
