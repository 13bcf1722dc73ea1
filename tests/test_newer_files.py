"""Files of vibrid's own that a later version wrote are refused with what to do, never misread."""

import h5py
import numpy as np
import pytest

import vibrid as vb
from vibrid.hybrid.learned.files import load_model
from vibrid.networks.checkpoint import Checkpoint
from vibrid.records.writers import write_hdf5

SENTENCE = r"format 2 and was written by a later version of vibrid; vibrid \S+ reads format 1\. Read it with"


def test_a_newer_device_model(tmp_path):
    Checkpoint(tmp_path / "damper.npz", "vibrid device model 2").save({"w0": np.zeros(3)}, {"news": 1})
    with pytest.raises(vb.FileProblem, match=SENTENCE):
        load_model(tmp_path / "damper.npz")
    Checkpoint(tmp_path / "damper.npz", "something else").save({}, {})
    with pytest.raises(vb.FileProblem, match="not a device model"):
        load_model(tmp_path / "damper.npz")


def test_a_newer_journal(tmp_path):
    (tmp_path / "test.journal").write_bytes(b'{"vibrid_journal": 3, "columns": []}\n' + bytes(100))
    later = SENTENCE.replace("format 2", "format 3").replace("format 1", "format 2")
    with pytest.raises(vb.FileProblem, match=later):
        vb.read_record(tmp_path / "test.journal")


def test_a_newer_record(tmp_path):
    path = tmp_path / "test.h5"
    write_hdf5(vb.Record(np.arange(20.0), [vb.Channel("a", "acceleration")], step=0.1), path)
    assert len(vb.read_record(path)) == 20
    with h5py.File(path, "a") as file:
        file.attrs["vibrid_record"] = 2
    with pytest.raises(vb.FileProblem, match=SENTENCE):
        vb.read_record(path)
