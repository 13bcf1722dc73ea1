"""Files of arrays: what was written is read back; any other content is one message, and nothing expands."""

import io
import zipfile

import numpy as np
import pytest

from vibrid.core.arrays import read_arrays
from vibrid.core.errors import FileProblem
from vibrid.core.files import write_arrays


@pytest.fixture
def written(tmp_path):
    return write_arrays(tmp_path / "a.npz", x=np.arange(6.0).reshape(2, 3), text=np.array("größe"), n=np.int64(3))


def test_what_was_written_is_read(written):
    arrays = read_arrays(written, "a state")
    assert arrays["x"].tolist() == [[0, 1, 2], [3, 4, 5]] and str(arrays["text"]) == "größe" and arrays["n"] == 3
    assert arrays["x"].flags.writeable


def test_any_name_will_do(tmp_path):
    names = ["path", "file", "allow_pickle", "self", "arrays"]
    arrays = read_arrays(write_arrays(tmp_path / "a.npz", **{name: np.array(name) for name in names}), "a state")
    assert {name: str(array) for name, array in arrays.items()} == {name: name for name in names}


def test_every_truncation_is_a_message(written):
    content = written.read_bytes()
    for size in range(0, len(content), 7):
        written.write_bytes(content[:size])
        with pytest.raises(FileProblem, match=r"it is not a state \(.*\)\. Start again\."):
            read_arrays(written, "a state", "Start again.")


def test_changed_bytes_are_a_message_or_arrays(written):
    content, generator = written.read_bytes(), np.random.default_rng(0)
    for _ in range(500):
        changed = bytearray(content)
        for at in generator.integers(0, len(content), 3):
            changed[at] = generator.integers(256)
        written.write_bytes(bytes(changed))
        try:
            read_arrays(written, "a state")
        except FileProblem as problem:
            assert str(written) in str(problem)


def test_what_expands_or_could_run_code_is_refused(tmp_path):
    bomb, objects = tmp_path / "bomb.npz", tmp_path / "objects.npz"
    body = io.BytesIO()
    np.save(body, np.zeros(1000))
    header = body.getvalue()[:-8000].replace(b"(1000,)", b"(9999,)")
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header + bytes(8000))
    with pytest.raises(FileProblem, match="another shape"):
        read_arrays(bomb, "a state")
    np.savez(objects, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileProblem, match="could run code"):
        read_arrays(objects, "a state")
    with pytest.raises(FileProblem, match="there is no such file"):
        read_arrays(tmp_path / "missing.npz", "a state")
    with pytest.raises(FileProblem, match="not an ordinary file"):
        read_arrays(tmp_path, "a state")
