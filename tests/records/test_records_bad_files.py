"""Bad files: each gives a clear message with file and line; no other error is raised, and memory stays bounded."""

import io
import json
import math
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vibrid.core.errors import FileProblem, VibridError
from vibrid.records import Limits, read_record, read_records
from vibrid.records.readers import UNFORESEEN

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from faults import files as faulty_files
from faults import record_files as fuzz_readers
from faults import workers

FILES = fuzz_readers.valid_files()
SMALL = Limits(expanded_bytes=16 * 1024**2, numbers=1_000_000, seconds=5.0)


@pytest.fixture
def put(tmp_path):
    def write(content, name="file.bin"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


PEER = "PEER NGA STRONG MOTION DATABASE RECORD\nA, 1/1/2000, B, 0\nACCELERATION TIME SERIES IN UNITS OF G\n"

SENTENCES = [
    (PEER + "NPTS= 4, DT= .01 SEC\n 1 2 3\n", 4, "NPTS states 4 values and 3 follow: the file is cut short"),
    (PEER + "NPTS= 2, DT= .01 SEC\n 1 2 3\n", 4, "NPTS states 2 values and 3 follow: the header is wrong"),
    (PEER + "NPTS= 3, DT= 0 SEC\n 1 2 3\n", 4, "DT is '0', which is not a time step"),
    (PEER + "NPTS= 3\n 1 2 3\n", 4, "gives no time step"),
    (PEER + "NPTS= 3, DT= .01 SEC\n 1 two 3\n", 5, "'two' is not a number"),
    (PEER + "NPTS= 3, DT= .01 SEC\n 1 inf 3\n", None, "sample 2 is infinite"),
    (PEER.replace(" G\n", " BLORPS\n") + "NPTS= 3, DT= .01 SEC\n 1 2 3\n", 3, "'blorps' is not a unit"),
    (PEER.replace(" G\n", " CM\n") + "NPTS= 3, DT= .01 SEC\n 1 2 3\n", 3, "do not fit"),
    ("time [s],a [blorp]\n0,1\n1,2\n", 1, "column 'a': 'blorp' is not a unit"),
    ("time [s],a [g]\n0,1\n1,2,3\n", 3, "3 values where the lines before have 2"),
    ("time [s],a [g]\n0,1\n1,x\n", 3, "'x' is not a number"),
    ("time [s],a [g]\n0,1\n1,inf\n2,3\n", 3, "infinite"),
    ("time [s],a [g]\n0,1\n2,1\n1,1\n", None, "time does not increase after sample 2"),
    ("time [s],a [g]\n0,1\n,1\n2,1\n", None, "the time of sample 2 is missing"),
    ("a [g],b [g]\n0,1\n2,1\n", None, "sampling step is not stated"),
    ("1 2 3\n4 5 6\n7 8\n", 3, "2 values where the lines before have 3"),
    ("nothing here\nbut words\n", None, "none of the formats"),
    ("", None, "the file is empty"),
    ('{"a": [1, 2, 3', 1, "not valid JSON"),
    ("[" * 200_000, None, "not valid JSON"),
    ('{"dt": 0.01, "a": [1, "x", 3]}', None, "where a number is expected"),
    ('{"dt": 0.01, "a": [1, 1e999, 3]}', None, "infinite"),
    ("[[1, 2], [3]]", None, "row 2"),
    (bytes(range(256)) * 40, None, "this binary file is in none of the formats"),
    (b"\x89HDF\r\n\x1a\n" + b"\x00" * 600, None, "HDF5"),
    (b"MATLAB 5.0 MAT-file".ljust(126) + b"IM" + b"\xff" * 64, None, "MATLAB file is damaged"),
    (b"PK\x03\x04" + b"\x00" * 100, None, "zip archive is damaged"),
    ("    -1\n    58\nroof\n", 2, "the file ends inside a dataset"),
]


@pytest.mark.parametrize(("content", "line", "sentence"), SENTENCES, ids=[s[2][:30] for s in SENTENCES])
def test_a_bad_file_gets_a_message_with_its_line(put, content, line, sentence):
    path = put(content)
    with pytest.raises(FileProblem) as problem:
        read_record(path)
    text = str(problem.value)
    assert sentence in text
    assert text.startswith(str(path))
    assert problem.value.line == line
    assert text.endswith(".") and "\n" not in text


def test_a_truncated_file_of_any_format_never_breaks(put):
    """Every valid file cut at 40 places: read or refused, nothing else."""
    for files in FILES.values():
        for content in files:
            for end in np.linspace(0, len(content) - 1, 40).astype(int):
                try:
                    read_records(put(content[:end]), limits=SMALL)
                except VibridError:
                    continue


@pytest.mark.parametrize("reader", sorted(FILES))
def test_mutated_files_are_read_or_refused(tmp_path, reader):
    """The benchmark's first damaged files; it runs 100 000 for each reader."""
    count = 60 if reader in ("HDF5", "MATLAB") else 150
    for index in range(count):
        outcome, text, seconds = faulty_files.try_one(reader, tmp_path / "x", faulty_files.damaged(reader, index))
        assert outcome in ("read", "refused"), (index, text)
        assert seconds < 5, index


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=400),
    st.sampled_from([f for n, fs in FILES.items() if n not in ("HDF5",) for f in fs]),
    st.integers(0, 400),
    st.integers(0, 400),
)
def test_any_bytes_at_any_place_are_read_or_refused(tmp_path, noise, content, at, cut):
    path = tmp_path / "x"
    path.write_bytes(content[:at] + noise + content[at + cut :])
    try:
        read_records(path, limits=SMALL)
    except VibridError as problem:
        assert str(problem)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(tmp_path, text):
    path = tmp_path / "x"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        read_records(path, limits=SMALL, step=0.01)
    except VibridError as problem:
        assert str(problem)


# -- bounded memory and time ------------------------------------------------------------------------------------------


def _zip(**members) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_a_zip_bomb_is_not_expanded(put):
    bomb = _zip(CHAN01=b"0" * 200_000_000)
    assert len(bomb) < 300_000
    tracemalloc.start()
    with pytest.raises(FileProblem, match="compressed too much"):
        read_records(put(bomb))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    with pytest.raises(FileProblem, match="would expand to"):
        read_records(put(bomb), limits=SMALL)


def test_a_zip_that_lies_about_its_size_is_refused(put):
    content = bytearray(_zip(CHAN01=b"Uncorrected Accelerogram Data\n" * 1000))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.find(mark) + offset
        content[at : at + 4] = (100).to_bytes(4, "little")
    with pytest.raises(FileProblem, match=r"not as long|damaged"):
        read_records(put(bytes(content)))


def test_a_compressed_matlab_array_cannot_grow_beyond_the_limit(put):
    from scipy.io import savemat

    stream = io.BytesIO()
    savemat(stream, {"t": np.zeros(20_000_000)}, do_compression=True)
    with pytest.raises(FileProblem, match="expands beyond the limit"):
        read_records(put(stream.getvalue()), limits=SMALL)


def test_a_numpy_header_with_too_large_a_shape_is_refused_before_memory_is_taken(put):
    stream = io.BytesIO()
    np.save(stream, np.arange(60.0))
    content = stream.getvalue().replace(b"(60,)", b"(99999999999,)").replace(b" " * 9 + b"\n", b"\n", 1)
    with pytest.raises(FileProblem, match="holds something else"):
        read_records(put(content))


def test_a_matlab_structure_without_the_length_of_its_names_is_refused(put):
    """Found by the benchmark: the element that holds the length was empty, or not a whole number."""
    content = bytearray(FILES["MATLAB"][0])
    at = content.find(b"force") - 12  # small element: type int32, 4 bytes, the length of a name
    assert content[at - 4 : at] == b"\x05\x00\x04\x00"
    for element in (b"\x05\x00\x00\x00\x00\x00\x00\x00", b"\x07\x00\x04\x00\x00\x00\xc0\x7f"):
        content[at - 4 : at + 4] = element
        with pytest.raises(FileProblem, match="damaged"):
            read_records(put(bytes(content)))


def test_pickle_is_never_opened(put):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    stream = io.BytesIO()
    np.savez(stream, a=np.array([Trap(), Trap()], dtype=object))
    with pytest.raises(FileProblem, match="Python objects"):
        read_records(put(stream.getvalue()))


def test_an_hdf5_array_far_larger_than_its_file_is_refused(put, tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", shape=(10_000_000,), dtype="f8", chunks=(1000,))
    with pytest.raises(FileProblem, match="far larger than the file"):
        read_records(tmp_path / "x.h5")


def test_an_hdf5_link_to_another_file_is_not_followed(tmp_path):
    import h5py

    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = np.arange(10.0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/x")
    with pytest.raises(FileProblem, match="no array"):
        read_records(tmp_path / "x.h5", step=0.1)


def test_the_hdf5_process_survives_a_file_that_stops_it(tmp_path, monkeypatch):
    """A worker that never answers is stopped after the time limit, and the next file is read by a new one."""
    from vibrid.records.readers import isolated

    good = tmp_path / "good.h5"
    good.write_bytes(FILES["HDF5"][0])
    assert len(read_record(good)) == 60
    isolated._reader.process.send_signal(19)  # SIGSTOP: it hangs
    start = time.perf_counter()
    with pytest.raises(FileProblem, match="did not finish within"):
        read_record(good, limits=Limits(seconds=1.0))
    assert time.perf_counter() - start < 60
    assert len(read_record(good)) == 60


def test_a_long_file_is_read_within_bounded_memory_or_refused(put):
    """Two hundred thousand lines: the memory stays within a few times the numbers."""
    row = "0.123456,-7.5\n"
    path = put("a [g],b [g]\n" + row * 200_000)
    tracemalloc.start()
    record = read_record(path, step=0.01)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(record) == 200_000
    assert peak < 8 * record.data.nbytes
    with pytest.raises(FileProblem, match="more than 1000 numbers"):
        read_record(path, step=0.01, limits=Limits(numbers=1000))
    with pytest.raises(FileProblem, match=r"more than the 0\.0 GB"):
        read_record(path, step=0.01, limits=Limits(file_bytes=1000))


def test_a_line_without_end_is_refused(put):
    with pytest.raises(FileProblem, match="longer than 1000 characters"):
        read_record(put("1 2\n" + "3 " * 4000), step=1, limits=Limits(line_bytes=1000))


def test_a_json_number_without_end_is_refused(put):
    with pytest.raises(FileProblem):
        read_record(put(json.dumps({"dt": 0.1}).rstrip("}") + ', "a": [1' + "0" * 5000 + ", 2, 3]}"))


def test_unknown_formats_and_wrong_arguments_are_named(put):
    path = put(FILES["CSV"][1])
    with pytest.raises(VibridError, match="no format called 'cvs'; valid names are COSMOS"):
        read_record(path, format="cvs")
    with pytest.raises(VibridError, match="not both"):
        read_record(path, step=1.0, rate=1.0)
    with pytest.raises(FileProblem, match="2 columns of data and 4 are described"):
        read_record(path, columns=["a", "b", "c", "d"])


# -- compression, line ends, counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("kind", ["strong motion", "arrays"])
def test_an_archive_of_any_compression_is_read_or_refused(put, method, kind):
    inner = io.BytesIO()
    np.save(inner, np.arange(400.0))
    name, content = ("a.v1", FILES["CSMIP"][0]) if kind == "strong motion" else ("x.npy", inner.getvalue())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, content)
    whole = stream.getvalue()
    given = {} if kind == "strong motion" else {"step": 0.1}
    assert len(read_records(put(whole), **given)[0]) in (60, 400)
    generator = np.random.default_rng(method)
    for _ in range(25):
        damaged = bytearray(whole)
        damaged[generator.integers(30, len(whole))] = generator.integers(256)
        for end in (None, int(generator.integers(1, len(whole)))):
            try:
                read_records(put(bytes(damaged[:end])), **given)
            except VibridError as problem:
                assert UNFORESEEN not in str(problem)


def test_an_error_that_a_reader_did_not_foresee_is_a_message(put, monkeypatch):
    def fail(*_):
        raise KeyError("x")

    path = put(FILES["CSV"][1])
    monkeypatch.setattr("vibrid.records.readers.csv.read", fail)
    with pytest.raises(FileProblem, match=r"damaged, or it is written in a way that .* \(CSV; KeyError: 'x'\)"):
        read_record(path)


@pytest.mark.parametrize("mark", ["\f", "\v", "\x85", "\u2028", "\u2029"])
def test_a_line_ends_at_the_end_of_a_line_only(put, mark):
    """A title with a form feed or a Unicode separator does not shift the rows below it."""
    title = f"Test 3{mark}second page{mark}"
    record = read_record(put(f"# {title}\n{title},of,three\ntime [s],a [m],b [m]\n0,1,2\n1,3,4\n2,5,6\n", "a.csv"))
    np.testing.assert_array_equal(record.data, [[1, 2], [3, 4], [5, 6]])
    record = read_record(put(f"{title}\n0 1\n1 3\n2 5\n", "a.txt"), time=1)
    np.testing.assert_array_equal(record.data[:, 0], [1, 3, 5])
    text = FILES["PEER"][0].decode().split("\n")
    text[1] = title
    assert len(read_record(put("\n".join(text)))) == 60
    text = FILES["UFF 58"][0].decode().split("\n")
    text[3] = title.ljust(80)
    assert len(read_record(put("\n".join(text)))) == 60
    for name in ("CSMIP", "COSMOS", "K-NET"):
        first, *rest = FILES[name][0].decode().split("\n")
        assert len(read_record(put("\n".join([first + mark, *rest])))) == 60


@pytest.mark.parametrize(
    ("name", "announced"),
    [("PEER", "NPTS={:7d}"), ("CSMIP", " {:2d} Acc"), ("COSMOS", "      {:2d} acc"), ("K-NET", "Time(s)  {:g}")],
)
def test_a_count_that_does_not_fit_is_refused(put, name, announced):
    text = FILES[name][0].decode().replace("100Hz", "10Hz").replace("(s)  0.6", "(s)  6")
    count = 6 if name == "K-NET" else 60
    there = announced.format(count)
    assert there in text and len(read_record(put(text))) == 60
    with pytest.raises(FileProblem, match="cut short"):
        read_record(put(text.replace(there, announced.format(count + 1), 1)))
    with pytest.raises(FileProblem, match="wrong"):
        read_record(put(text.replace(there, announced.format(count // 2), 1)))


@pytest.mark.parametrize("name", ["PEER", "CSMIP", "COSMOS", "K-NET", "zip archive"])
@pytest.mark.parametrize(
    "given",
    [
        {"rate": 37.0},
        {"units": "kN"},
        {"units": "mm"},
        {"units": ["g"] * 9},
        {"units": {"no such column": "g"}},
        {"quantities": "load"},
        {"quantities": {"no such column": "load"}},
        {"columns": [f"column {i}" for i in range(9)]},
        {"time": 1},
    ],
    ids=str,
)
def test_what_contradicts_a_file_that_describes_itself_is_refused(put, name, given):
    with pytest.raises(FileProblem):
        read_records(put(FILES[name][0]), **given)


def test_a_process_that_ended_is_replaced_and_a_file_that_ended_two_is_a_failure(monkeypatch):
    """The processes of `python benchmarks/faults.py --part files`."""
    kind, ends = "samples of an online run", [3, 7, 7]
    take = workers.Reader.take

    def take_or_end(reader):
        if ends and reader.next == ends[0]:
            ends.pop(0)
            raise EOFError
        take(reader)

    monkeypatch.setattr(workers.Reader, "take", take_or_end)
    ((block, tally),) = workers.read_blocks([(kind, 0, 10)], 1, math.inf)
    assert block == (kind, 0, 10) and tally.restarts == 2 and not ends
    assert sum(tally.counts.values()) == 10 and tally.counts["failed"] == 1
    assert tally.failures[0]["index"] == 7 and "--first 7 --count 1" in tally.failures[0]["repeat"]
    assert not list(workers.read_blocks([(kind, 0, 10)], 1, 0.0)), "no block begins after the end of the time"


def test_a_library_that_is_missing_is_not_a_damaged_file(tmp_path, monkeypatch):
    from vibrid.records.readers.peer import PEER

    def broken(*_):
        raise ModuleNotFoundError("No module named 'platformdirs'")

    (tmp_path / "motion.AT2").write_text("PEER\nmotion\nUNITS OF G\nNPTS= 2, DT= .01 SEC\n0.1 0.2\n")
    monkeypatch.setattr(PEER, "read", broken)
    with pytest.raises(FileProblem, match=r"this installation cannot read it.*platformdirs.*vibrid doctor"):
        read_record(tmp_path / "motion.AT2")
