"""Every format is read as what it is: compared with SciPy, NumPy, pyuff, or the numbers the file was made from."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from vibrid.conformance.reader import CHECKS, ReaderExample
from vibrid.core.errors import FileProblem, VibridError
from vibrid.records import Channel, Record, formats, read_record, read_records
from vibrid.records.readers.reader import readers
from vibrid.records.readers.source import Source
from vibrid.records.units import STANDARD_GRAVITY

pytestmark = pytest.mark.compat
_SPEC = importlib.util.spec_from_file_location(
    "record_files", Path(__file__).resolve().parents[2] / "benchmarks" / "faults" / "record_files.py"
)
fuzz_readers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz_readers)

SIGNAL = fuzz_readers._signal()


@pytest.fixture
def put(tmp_path):
    def write(content, name="file.bin"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# -- one format after another -----------------------------------------------------------------------------------------


def test_every_format_is_recognised_by_content_alone(put):
    """The ending is not used: every valid file is called file.bin and goes to its own reader."""
    assert set(formats()) == set(fuzz_readers.valid_files())
    for name, files in fuzz_readers.valid_files().items():
        for content in files:
            source = Source(put(content))
            assert name == next(own for own, reader in readers() if reader.recognises(source))
            assert read_records(source.path)


def test_peer_old_and_new_headers(put):
    new, old = fuzz_readers._peer()
    record = read_record(put(new))
    assert record.step == 0.01
    assert record.channels[0].quantity == "ground_acceleration"
    assert record.channels[0].direction == "90"
    np.testing.assert_allclose(record["ground"], 0.1 * SIGNAL * STANDARD_GRAVITY, rtol=1e-6, atol=1e-9)
    record = read_record(put(old))
    assert record.channels[0].quantity == "ground_velocity"
    np.testing.assert_allclose(record["ground"], 0.1 * SIGNAL * 0.01, rtol=1e-6, atol=1e-9)


def test_peer_numbers_that_touch(put):
    header = "Some record\nSomewhere (8F10.5)\nThe units are (g)\nNPTS= 4, DT= .02 SEC\n"
    record = read_record(put(header + "-100.12345-100.12345\n   1.00000-200.50000\n"))
    np.testing.assert_allclose(record["ground"] / STANDARD_GRAVITY, [-100.12345, -100.12345, 1.0, -200.5])


def test_csmip_volumes_one_and_two(put):
    first, second = fuzz_readers._csmip()
    record = read_record(put(first))
    assert record.names == ("ch01_acceleration", "ch02_acceleration")
    assert record.channels[0] == Channel("ch01_acceleration", "absolute_acceleration", "m/s^2", "Roof", "90 Deg")
    np.testing.assert_allclose(record.data[:, 1], 0.1 * SIGNAL * STANDARD_GRAVITY, atol=5e-6)
    record = read_record(put(second))
    assert record.names[:3] == ("ch01_acceleration", "ch01_velocity", "ch01_displacement")
    np.testing.assert_allclose(record["ch02_displacement"], 0.01 * SIGNAL, atol=6e-6)


def test_csmip_channels_of_different_length_share_a_clock(put):
    text = fuzz_readers._csmip()[0].decode()
    half = text.index("Uncorrected", 10)
    shorter = text[:half].replace(" 60 Acc", " 56 Acc")
    with pytest.raises(FileProblem, match="56 values are announced and 60 follow: the count is wrong"):
        read_record(put(shorter + text[half:]))
    rows = shorter.split("\n")
    last = max(i for i, row in enumerate(rows) if row.startswith((" ", "-")) and "." in row)
    rows[last] = ""  # the last row has four values
    shorter = "\n".join(rows)
    record = read_record(put(shorter + text[half:]))
    assert len(record) == 60
    assert np.isnan(record.data[56:, 0]).all() and not np.isnan(record.data[:, 1]).any()


def test_cosmos(put):
    record = read_record(put(fuzz_readers._cosmos()[0]))
    assert record.channels[0].quantity == "ground_acceleration"
    assert record.channels[0].direction == "90 deg"
    np.testing.assert_allclose(record.data[:, 0], 0.01 * SIGNAL, atol=1e-7)


def test_cosmos_interval_in_milliseconds(put):
    text = fuzz_readers._cosmos()[0].decode().replace("     0.010000     0.600000", "    10.000000     0.600000")
    assert read_record(put(text)).step == pytest.approx(0.01)


def test_knet_scale_and_offset(put):
    record = read_record(put(fuzz_readers._knet()[0]))
    counts = (1e4 * SIGNAL).astype(int)
    np.testing.assert_allclose(record.data[:, 0], (counts - counts.mean()) * 3920 / 6182761 * 0.01, rtol=1e-12)
    assert record.rate == pytest.approx(100)
    assert "mean removed" in record.history[0]


def test_columns_with_and_without_time(put):
    path = put("\n".join(f"{v:.6f}" for v in SIGNAL))
    with pytest.raises(FileProblem, match="sampling step is not stated"):
        read_record(path)
    record = read_record(path, step=0.02, units="g", quantities="ground_acceleration")
    np.testing.assert_allclose(record["column_1"], SIGNAL * STANDARD_GRAVITY)
    timed = read_record(put(fuzz_readers._table(" ")))
    assert timed.step == 0.01 and timed.names == ("column_2", "column_3")
    titled = read_record(put("A test\nof something 5\n\n" + fuzz_readers._table("\t")))
    np.testing.assert_allclose(titled.data, timed.data)


def test_a_time_axis_rounded_to_few_digits_is_uniform(put):
    rows = "".join(f"{0.0025 * i:.3f} {v}\n" for i, v in enumerate(SIGNAL))
    assert read_record(put(rows)).step == pytest.approx(0.0025, rel=0.02)


def test_uneven_times_are_kept(put):
    times = np.cumsum(np.random.default_rng(0).uniform(0.005, 0.02, 40))
    rows = "time [s],x [mm]\n" + "".join(f"{t!r},{i}\n" for i, t in enumerate(times.tolist()))
    record = read_record(put(rows))
    assert record.step is None
    np.testing.assert_array_equal(record.times, times)


def test_csv_units_quotes_and_gaps(put):
    text = 'time [ms];"roof, east [g]";brace force (kN)\n0;0.1;1\n10;;2\n20;0.3;NaN\n30;0.4;4\n'
    record = read_record(put(text))
    assert record.names == ("roof, east", "brace force")
    assert record.step == pytest.approx(0.01)
    np.testing.assert_allclose(record["roof, east"] / STANDARD_GRAVITY, [0.1, np.nan, 0.3, 0.4])
    np.testing.assert_allclose(record["brace force"], [1000, 2000, np.nan, 4000])
    assert "2 samples are missing (NaN)" in record.history


def test_csv_in_utf16_and_with_byte_order_mark(put):
    text = "time [s],a [g]\n0,1\n0.1,2\n0.2,3\n"
    for encoding in ("utf-16", "utf-8-sig"):
        assert len(read_record(put(text.encode(encoding)))) == 3


def test_matlab_five_agrees_with_scipy(put, tmp_path):
    from scipy.io import loadmat

    for content in fuzz_readers._matlab()[:2]:
        path = put(content)
        record, reference = read_record(path), loadmat(path)
        np.testing.assert_array_equal(record["x"], reference["x"].ravel())
        np.testing.assert_array_equal(record["s.force"], reference["s"]["force"][0, 0].ravel())
        np.testing.assert_array_equal(record["data_2"], reference["data"][:, 1])
        assert record.step == 0.01


def test_matlab_seven_three(put):
    record = read_record(put(fuzz_readers._matlab()[2]))
    np.testing.assert_array_equal(record["x"], SIGNAL)
    assert record.step == 0.01


def test_numpy_files(put):
    for content in fuzz_readers._numpy()[:2]:
        record = read_record(put(content))
        np.testing.assert_allclose(record["x"], SIGNAL, atol=1e-7)
        np.testing.assert_array_equal(record["both_2"], SIGNAL)
    assert read_record(put(fuzz_readers._numpy()[2])).names == ("data_2",)


def test_json_in_its_four_shapes(put):
    for content, scale in zip(fuzz_readers._json(), (STANDARD_GRAVITY, STANDARD_GRAVITY, 1, 1), strict=True):
        record = read_record(put(content))
        np.testing.assert_allclose(record.data[:, 0], scale * SIGNAL)
        assert record.step == pytest.approx(0.01)


def test_uff_agrees_with_pyuff(put):
    pyuff = pytest.importorskip("pyuff")
    for binary in (False, True):
        path = put(fuzz_readers.uff58(SIGNAL, binary), "x.uff")
        record = read_record(path)
        reference = pyuff.UFF(str(path)).read_sets()
        np.testing.assert_allclose(record["roof"], reference["data"], rtol=1e-12)
        assert record.step == pytest.approx(reference["abscissa_inc"])
        assert record.channels[0] == Channel("roof", "absolute_acceleration", "m/s^2", "node 5", "X+")


def test_a_zip_of_several_samplings_gives_several_records(put):
    path = put(fuzz_readers._archive()[0])
    records = read_records(path)
    assert len(records) == 2  # CSMIP clock and K-NET clock
    with pytest.raises(FileProblem, match="different sampling"):
        read_record(path)
    assert any("left out" in line for line in records[0].history)


# -- sidecars ---------------------------------------------------------------------------------------------------------

SIDECAR = """
rate = 100.0
name = "white noise"
[[columns]]
name = "roof"
unit = "g"
gain = -2.0
location = "5F"
[[columns]]
name = "unused"
skip = true
[[columns]]
name = "jack"
unit = "kN"
quantity = "load"
"""


def test_a_sidecar_beside_the_file_describes_it(put):
    put(SIDECAR, "wn.dat.toml")
    record = read_record(put("".join(f"{v} {2 * v} {3 * v}\n" for v in SIGNAL), "wn.dat"))
    assert record.name == "white noise" and record.rate == pytest.approx(100)
    assert record.channels == (Channel("roof", "absolute_acceleration", "m/s^2", "5F"), Channel("jack", "load", "N"))
    np.testing.assert_allclose(record["roof"], -2 * SIGNAL * STANDARD_GRAVITY)
    np.testing.assert_allclose(record["jack"], 3000 * SIGNAL)


def test_a_sidecar_chooses_variables_by_key(put):
    path = put(fuzz_readers._numpy()[0], "x.npz")
    sidecar = put('time = "time"\n[[columns]]\nkey = "both[:, 1]"\nname = "force"\nunit = "kN"\n', "side.toml")
    record = read_record(path, sidecar=sidecar)
    np.testing.assert_allclose(record["force"], 1000 * SIGNAL)
    assert record.step == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rat = 100", "did you mean 'rate'"),
        ("rate = 0", "positive"),
        ("rate = 1\nstep = 1", "not both"),
        ("[[columns]]\nunit = 'blorp'", "not a unit"),
        ("[[columns]]\nquantity = 'accelerat'", "quantity"),
        ("[[columns]]\ngain = 'x'", "gain"),
        ("rate = ", "cannot be read"),
        ("columns = 3", "columns"),
    ],
)
def test_a_wrong_sidecar_is_refused_by_name(put, text, sentence):
    path = put("1\n2\n3\n", "a.txt")
    with pytest.raises(FileProblem, match=sentence):
        read_record(path, sidecar=put(text, "side.toml"))


# -- writers ----------------------------------------------------------------------------------------------------------


def _sample(times=None) -> Record:
    rng = np.random.default_rng(3)
    data = rng.standard_normal((50, 3))
    data[4, 1] = np.nan
    channels = (
        Channel("roof", "absolute_acceleration", location="5F", direction="x"),
        Channel("jack", "load"),
        Channel("ratio"),
    )
    axis = {"times": times} if times is not None else {"step": 1 / 3, "start": -2.5}
    return Record(data, channels, name="sample – ü", history=("made", "by hand"), **axis)


@pytest.mark.parametrize("ending", ["csv", "h5"])
@pytest.mark.parametrize("uneven", [False, True])
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, ending, uneven):
    record = _sample(np.sort(np.random.default_rng(1).uniform(0, 9, 50)) if uneven else None)
    path = tmp_path / f"a.{ending}"
    (record.write_csv if ending == "csv" else record.write_hdf5)(path)
    back = read_record(path)
    np.testing.assert_array_equal(back.data, record.data)
    np.testing.assert_array_equal(back.time, record.time)
    assert (back.channels, back.history, back.name, back.step) == (
        record.channels,
        record.history,
        record.name,
        record.step,
    )
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_csv_in_other_units_keeps_the_values(tmp_path):
    record = _sample()
    record.write_csv(tmp_path / "a.csv", units={"roof": "g", "jack": "kN"})
    assert "roof [g],jack [kN],ratio" in (tmp_path / "a.csv").read_text()
    np.testing.assert_allclose(read_record(tmp_path / "a.csv").data, record.data, rtol=1e-14)
    with pytest.raises(VibridError, match="no channel called 'rof'"):
        record.write_csv(tmp_path / "b.csv", units={"rof": "g"})


def test_a_unit_that_contradicts_the_file_is_refused(tmp_path):
    path, sidecar = tmp_path / "a.csv", tmp_path / "a.toml"
    path.write_text("time [s],roof [cm/s^2],jack [V]\n" + "".join(f"{0.1 * i},{i},{i}\n" for i in range(30)))
    with pytest.raises(FileProblem, match=r"line 1: column 'roof' is in cm/s\^2 by the file and in g"):
        read_record(path, units={"roof": "g"})
    with pytest.raises(FileProblem, match="column 'jack' is in V by the file and in kN"):
        read_record(path, units={"jack": "kN"})
    np.testing.assert_allclose(read_record(path, units={"roof": "Gal"})["roof"], 0.01 * np.arange(30))
    sidecar.write_text('[[columns]]\nname = "roof"\n[[columns]]\nname = "jack"\nunit = "kN"\ngain = 5.0\n')
    np.testing.assert_allclose(read_record(path, sidecar=sidecar)["jack"], 5e3 * np.arange(30))


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    record = _sample()
    (tmp_path / "a.csv").write_text("before")
    monkeypatch.setattr(json, "dumps", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        record.write_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    with pytest.raises(FileProblem, match="cannot be written"):
        record.write_hdf5(tmp_path / "nowhere" / "a.h5")


def test_hdf5_is_netcdf_in_the_eyes_of_netcdf(tmp_path):
    netcdf = pytest.importorskip("netCDF4")
    record = _sample()
    record.write_hdf5(tmp_path / "a.nc")
    with netcdf.Dataset(tmp_path / "a.nc") as file:
        assert file["channel_001"].dimensions == ("time",)
        assert file["channel_001"].units == "m/s^2"
        np.testing.assert_array_equal(file["channel_001"][:], record["roof"])


CONFORMING = {name: ReaderExample(name, files) for name, files in fuzz_readers.valid_files().items()}
PROMISES = CHECKS.pairs(CONFORMING)


@pytest.mark.parametrize(("check", "name"), PROMISES, ids=[f"{check.name}-{name}" for check, name in PROMISES])
def test_reader_meets_the_requirement(check, name):
    """The same requirements as for plugins; `benchmarks/fuzz_readers.py` damages far more files."""
    check(CONFORMING[name])
