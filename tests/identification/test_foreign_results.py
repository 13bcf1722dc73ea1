"""A result file is data, whoever wrote it: it cannot fill the memory, read another file, or end in a raw error."""

import json
import resource
import zlib

import h5py
import numpy as np
import pytest

import vibrid as vb
from identification.test_kept_files import FOLDER
from vibrid.records.readers import isolated

KEPT = FOLDER / "format-3-trajectory.h5"


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "fit.h5"
    path.write_bytes(KEPT.read_bytes())
    return path


def replaced(path, name: str, **dataset) -> None:
    with h5py.File(path, "a") as file:
        del file[name]
        file.create_dataset(name, **dataset)


def refused(path) -> str:
    with pytest.raises(vb.FileProblem) as problem:
        vb.load_identification(path)
    return str(problem.value)


def test_bytes_of_another_file_are_not_read(result, tmp_path):
    """External storage, at any dataset, also the text."""
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(9.0).tobytes())
    for name, size, kind in (("sensors/noise", (3,), "f8"), ("text", (1,), "S24"), ("records/0/used", (200, 3), "u1")):
        result.write_bytes(KEPT.read_bytes())
        replaced(result, name, shape=size, dtype=kind, external=[(str(secret), 0, 600)])
        assert f"'{name}' points to another place or another file" in refused(result)


@pytest.mark.parametrize("link", [h5py.SoftLink("/text"), h5py.SoftLink("/nowhere"), h5py.ExternalLink("/x.h5", "/a")])
def test_links_at_any_depth_are_refused(result, link):
    with h5py.File(result, "a") as file:
        file.create_group("history/deep")["here"] = link
    assert "'history/deep/here' points to another place" in refused(result)


def test_a_group_inside_itself_ends(result):
    with h5py.File(result, "a") as file:
        file["history/again"] = file["history"]
    assert "more groups or datasets" in refused(result)


def bombs(kind: str, path) -> None:
    with h5py.File(path, "a") as file:
        if kind == "not stored":  # 3.2 GB of fill values
            file.create_dataset("history/bomb", (400_000_000,), "f8", chunks=(100_000,))
        elif kind == "many":  # each small, 2 GB together
            for i in range(2000):
                file.create_dataset(f"history/bomb{i}", (124_000,), "f8", chunks=(1000,))
        elif kind == "chunk":  # ten numbers in a chunk of 1.6 GB
            file.create_dataset(
                "history/bomb", (10,), "f8", maxshape=(None,), chunks=(200_000_000,), compression="gzip"
            )
        elif kind == "compressed":  # within the ratio of gzip, above the limit
            file.create_dataset("history/bomb", (90_000_000,), "f8", chunks=(1_000_000,), compression="gzip")
            body = zlib.compress(bytes(8_000_000), 9)
            for i in range(90):
                file["history/bomb"].id.write_direct_chunk((i * 1_000_000,), body)


@pytest.mark.parametrize("kind", ["not stored", "many", "chunk", "compressed"])
def test_a_small_file_does_not_expand(result, kind):
    bombs(kind, result)
    isolated._reader.stop()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    message = refused(result)
    isolated._reader.stop()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert "larger than" in message or "expand without a limit" in message, message
    begun = max(*before, 150_000)  # a child is as large as its parent until it starts a program of its own
    assert after[0] - before[0] < 64_000 and max(0, after[1] - begun) < 300_000, (before, after)


def test_one_chunk_that_expands_in_two_steps_is_refused(result):
    """Compressed twice, 69 kB can become gigabytes: not even the chunk is opened."""
    body = zlib.compress(zlib.compress(bytes(50_000_000), 9), 9)
    with h5py.File(result, "a") as file:
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk((1000,))
        settings.set_deflate(9)
        settings.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
        space = h5py.h5s.create_simple((1000,))
        h5py.h5d.create(file["history"].id, b"bomb", h5py.h5t.NATIVE_DOUBLE, space, settings)
        file["history/bomb"].id.write_direct_chunk((0,), body)
    assert "expand without a limit" in refused(result)


def changed(path, change) -> None:
    with h5py.File(path, "a") as file:
        text = json.loads(file["text"][()])
        change(text)
        del file["text"]
        file["text"] = json.dumps(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.update(substeps=10**9),
        lambda t: t.update(substeps="many"),
        lambda t: t.update(seed=[1]),
        lambda t: t.update(warnings=[3]),
        lambda t: t.update(unknowns={}),
        lambda t: t["unknowns"]["names"].pop(),
        lambda t: t["records"].pop(),
        lambda t: t["records"][0]["loads"].append(["load", ""]),
        lambda t: t["sensors"].pop(),
        lambda t: t["structure"]["fields"].update(masses=None),
        lambda t: t.update(structure={"structure": "shear-building", "fields": {"masses": {"numbers": [[1], [2, 3]]}}}),
        lambda t: t.pop("files"),
        lambda t: t.update(fits=[{"name": 1}]),
    ],
)
def test_a_text_that_is_wrong_is_refused_with_a_message(result, change):
    changed(result, change)
    assert str(result) in refused(result)


def test_text_that_is_nested_without_end_is_refused(result):
    with h5py.File(result, "a") as file:
        del file["text"]
        file["text"] = "[" * 100_000
    assert "damaged or incomplete" in refused(result)


def test_an_array_of_another_shape_is_refused(result):
    for name, shape in (("parameters/free", (2,)), ("records/0/readings", (3, 3)), ("sensors/noise", ())):
        result.write_bytes(KEPT.read_bytes())
        replaced(result, name, data=np.zeros(shape))
        assert "damaged or incomplete" in refused(result)


def test_limits_can_be_given(result):
    limits = vb.records.Limits(expanded_bytes=1000)
    with pytest.raises(vb.FileProblem, match="larger than the limit"):
        vb.load_identification(result, limits)
