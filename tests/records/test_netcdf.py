"""netCDF-4 and HDF5 of other programs: packed numbers, missing ones, times with a date, and files that were changed."""

import h5py
import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import Channel, Record, read_record

TIME = 0.01 * np.arange(50)
RAW = np.arange(50)


@pytest.fixture
def put(tmp_path):
    def write(variables, name="a.nc"):
        with h5py.File(tmp_path / name, "w") as file:
            for key, (values, attributes) in variables.items():
                dataset = file.create_dataset(key, data=values)
                for word, value in attributes.items():
                    dataset.attrs[word] = value
        return tmp_path / name

    return write


@pytest.mark.parametrize("shaped", [np.float64, lambda v: np.array([v], np.float32)])
def test_packed_numbers_are_expanded_and_fill_values_are_missing(put, shaped):
    raw = RAW.astype("i2")
    raw[[3, 7]] = -999, -32768
    about = {"units": "mm", "scale_factor": shaped(0.5), "add_offset": shaped(20.0), "_FillValue": np.int16(-999)}
    about["missing_value"] = np.int16(-32768)
    record = read_record(put({"time": (TIME, {"units": "s"}), "x": (raw, about)}))
    expected = 1e-3 * (0.5 * raw + 20.0)
    expected[[3, 7]] = np.nan
    np.testing.assert_allclose(record["x"], expected, rtol=1e-7)
    assert record.channel("x") == Channel("x", "displacement")


def test_fill_values_are_found_before_numbers_are_expanded(put):
    raw = np.array([0, 1, 5, 9, 10, 4], "i2")
    about = {"scale_factor": 2.0, "_FillValue": np.int16(5), "valid_range": np.array([1, 9], "i2")}
    record = read_record(put({"time": (TIME[:6], {}), "x": (raw, about)}))
    np.testing.assert_array_equal(record["x"], [np.nan, 2.0, np.nan, 18.0, np.nan, 8.0])
    values = np.array([1.0, 9.969209968386869e36, 3.0])
    for dtype in ("f4", "f8"):
        record = read_record(put({"time": (TIME[:3], {}), "x": (values.astype(dtype), {})}))
        np.testing.assert_array_equal(record["x"], [1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    ("unit", "factor"), [("milliseconds", 1e-3), ("seconds", 1.0), ("ms", 1e-3), ("minutes", 60.0), ("days", 86400.0)]
)
def test_a_time_since_a_date(put, unit, factor):
    stored = np.arange(1000, 1050)
    record = read_record(put({"time": (stored, {"units": f"{unit} since 2024-05-01 12:00:00"}), "x": (RAW, {})}))
    assert (record.start, record.step) == (pytest.approx(1000 * factor), pytest.approx(factor))
    assert "'time' counts from 2024-05-01 12:00:00" in record.history[-1]


def test_a_unit_that_is_not_known_is_not_left_out(put):
    path = put({"time": (TIME, {"units": "s"}), "x": (RAW, {"units": "furlong"})})
    with pytest.raises(FileProblem, match="column 'x': 'furlong' is not a unit"):
        read_record(path)
    assert read_record(path, units={"x": "mm"})["x"][1] == 1e-3
    with pytest.raises(FileProblem, match="the time column 'time' is in 'm'"):
        read_record(put({"time": (TIME, {"units": "m"}), "x": (RAW, {})}))
    with pytest.raises(FileProblem, match="attribute scale_factor is 'two', which is not a number"):
        read_record(put({"time": (TIME, {}), "x": (RAW, {"scale_factor": "two"})}))


@pytest.mark.parametrize(
    ("name", "value", "unit"), [("dt", 10.0, "ms"), ("fs", 0.1, "kHz"), ("fs", 100.0, "Hz"), ("rate", 100.0, "1/s")]
)
def test_a_step_or_rate_has_a_unit(put, name, value, unit):
    assert read_record(put({name: (value, {"units": unit}), "x": (RAW, {})})).step == pytest.approx(0.01)
    with pytest.raises(FileProblem, match=f"'{name}': Numbers in .* cannot be expressed in mm"):
        read_record(put({name: (value, {"units": "mm"}), "x": (RAW, {})}))


def test_it_is_what_netcdf4_reads(tmp_path):
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", 50)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "milliseconds since 2024-01-01"
        time[:] = 5.0 * RAW
        packed = file.createVariable("acc", "i2", ("time",), fill_value=-1)
        packed.units, packed.scale_factor, packed.add_offset = "cm s-2", 0.01, 1.0
        packed[:] = np.ma.masked_equal(np.linspace(-1, 1, 50).round(2), 1.0)
        reference = np.ma.filled(packed[:], np.nan)
    record = read_record(tmp_path / "a.nc")
    assert record.step == pytest.approx(0.005)
    np.testing.assert_allclose(record["acc"], 0.01 * reference, rtol=1e-12)


def _own(tmp_path):
    record = Record(np.arange(10.0), [Channel("a", "displacement", location="3", direction="x")], step=0.01, name="x")
    return record.write_hdf5(tmp_path / "own.h5")


def test_an_own_file_that_another_program_changed(tmp_path):
    path = _own(tmp_path)
    with h5py.File(path, "a") as file:
        file["channel_001"].attrs["units"] = "mm"
    record = read_record(path)
    np.testing.assert_allclose(record["a"], 1e-3 * np.arange(10))
    assert record.channels == (Channel("a", "displacement", location="3", direction="x"),)
    path = _own(tmp_path)
    with h5py.File(path, "a") as file:  # every second sample
        for key in ("time", "channel_001"):
            values, about = file[key][::2], dict(file[key].attrs)
            del file[key]
            dataset = file.create_dataset(key, data=values)
            dataset.attrs["units"] = about["units"]
    record = read_record(path)
    assert (record.step, len(record)) == (0.02, 5)
    path = _own(tmp_path)
    with h5py.File(path, "a") as file:
        file["time"][:] *= 1000
        file["time"].attrs["units"] = "ms"
        del file.attrs["vibrid_step"]
    np.testing.assert_allclose(read_record(path).time, 0.01 * np.arange(10))
