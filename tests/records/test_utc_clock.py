"""The instant of UTC at which a record began, through readers, writers, operations and tables."""

import datetime
import json

import numpy as np
import pytest

from vibrid.core.errors import FileProblem, InputError
from vibrid.modal.uff import write_uff
from vibrid.records import Channel, Record, Similitude, UtcClock, lag, read_record, synchronise
from vibrid.records.clock import as_utc, utc_text

NOON = np.datetime64("2024-05-01T12:00:00.25", "ns")


def record(samples=400, zero="2024-05-01T12:00:00Z", name="a", **more):
    values = np.random.default_rng(3).standard_normal(samples)
    return Record(
        values, [Channel("roof", "acceleration")], step=0.01, name=name, clock=UtcClock(zero, "GPS", 1e-4), **more
    )


@pytest.mark.parametrize(
    "given",
    [
        "2024-05-01T12:00:00.25Z",
        "2024-05-01 14:00:00.25+02:00",
        "2024-05-01T02:30:00.25-0930",
        "2024-05-01 12:00:00.25 UTC",
        datetime.datetime(2024, 5, 1, 21, 0, 0, 250000, datetime.timezone(datetime.timedelta(hours=9))),
        np.datetime64("2024-05-01T12:00:00.25"),
    ],
)
def test_an_instant_is_read_in_any_zone(given):
    assert as_utc(given) == NOON
    assert utc_text(as_utc(given)) == "2024-05-01T12:00:00.25Z"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("2024-05-01T12:00:00", "has no zone"),
        (datetime.datetime(2024, 5, 1), "has no zone"),
        ("2024-13-01T12:00:00Z", "no instant"),
        ("noon Z", "no instant"),
        (5.0, "not 5.0"),
        (np.datetime64("NaT"), "missing"),
    ],
)
def test_what_is_no_instant_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        UtcClock(given)


def test_a_clock_has_a_sensible_uncertainty():
    with pytest.raises(InputError, match="number of seconds"):
        UtcClock("2024-05-01T12:00:00Z", "GPS", -1.0)
    with pytest.raises(InputError, match="UtcClock"):
        Record(np.zeros(3), [Channel("a", "other")], step=1.0, clock="noon")


def test_nanoseconds_survive_over_years():
    clock = UtcClock("2000-01-01T00:00:00.000000001Z")
    assert clock.at(8e8 + 0.5) == np.datetime64("2000-01-01T00:00:00.500000001") + np.timedelta64(800_000_000, "s")
    assert clock.seconds(clock.at(-1234.000000005)) == pytest.approx(-1234.000000005, abs=1e-12)


def test_operations_keep_the_instant_of_every_sample():
    one = record(start=2.0)
    assert one.utc == np.datetime64("2024-05-01T12:00:02", "ns")
    for made in (
        one.resample(50),
        one.filter(low=1, high=20),
        one.integrate(),
        one.fill(),
        one.select(["roof"]),
        one.scale(2),
    ):
        assert (made.utc, made.clock) == (one.utc, one.clock)
    assert one.cut(3.0, 4.0).utc == np.datetime64("2024-05-01T12:00:03", "ns")
    assert one.shift(0.5).utc == np.datetime64("2024-05-01T12:00:02.5", "ns")
    uneven = Record(one.data, one.channels, times=one.time + 1e-4 * np.sin(one.time), clock=one.clock)
    assert abs(uneven.resample(100).utc - one.utc) < np.timedelta64(1, "ms")
    assert Similitude(length=4.0).to_model(one).clock is None  # the time of a model is not that of the world


def test_records_are_put_together_by_their_clocks():
    whole = record(3000)
    late = Record(whole.data[500:2500], [Channel("pier", "acceleration")], step=0.01, name="b",
                  clock=UtcClock("2024-05-01T14:00:05+02:00", "NTP", 0.02))  # fmt: skip
    both = synchronise([whole, late])
    np.testing.assert_array_equal(both["roof"], both["pier"])
    assert both.utc == np.datetime64("2024-05-01T12:00:05", "ns")
    assert both.clock == UtcClock(whole.clock.zero, "GPS, NTP", 0.02)
    assert lag(late, whole) == pytest.approx(0.0, abs=1e-3)
    assert lag(late.replace(clock=UtcClock("2024-05-01T12:00:05.5Z")), whole) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(InputError, match="'b' has no clock"):
        synchronise([whole, late.replace(clock=None)])


def test_dates_with_a_zone_give_a_clock_and_others_none(tmp_path):
    rows = "".join(f"2024-05-01T14:00:00.{i}{{zone}},{i}\n" for i in range(5))
    path = tmp_path / "a.csv"
    path.write_text("time,roof [m/s^2]\n" + rows.format(zone="+02:00"))
    assert read_record(path).utc == np.datetime64("2024-05-01T12:00:00", "ns")
    path.write_text("time,roof [m/s^2]\n" + rows.format(zone=""))
    assert read_record(path).clock is None
    path.write_text("time,roof [m/s^2]\n" + "".join(f"05/05/2024 12:00:0{i}Z,{i}\n" for i in range(5)))
    assert read_record(path).utc == np.datetime64("2024-05-05T12:00:00", "ns")
    path.write_text("time,roof [m/s^2]\n" + "".join(f"04/05/2024 12:00:0{i}Z,{i}\n" for i in range(5)))
    assert read_record(path).clock is None  # April or May: the steps are the same, the instant is not


def test_a_description_from_outside_keeps_the_clock(tmp_path):
    path = record().write_csv(tmp_path / "a.csv")
    assert read_record(path, quantities={"roof": "absolute_acceleration"}).utc == record().utc
    path = record().write_hdf5(tmp_path / "a.h5")
    assert read_record(path, quantities={"roof": "absolute_acceleration"}).utc == record().utc


def test_a_damaged_clock_is_left_out(tmp_path):
    path = record().write_csv(tmp_path / "a.csv")
    path.write_text(path.read_text().replace("2024-05-01T", "yesterday "))
    assert read_record(path).clock is None


KNET = """Origin Time       2011/03/11 14:46:00
Station Code      MYG004
Record Time       2011/03/11 14:46:36
Sampling Freq(Hz) 100Hz
Duration Time(s)  1
Dir.              N-S
Scale Factor      3920(gal)/6182761
Memo.
"""


def test_the_header_of_k_net_is_in_japan_time_with_a_delay(tmp_path):
    """14:46:36 in Japan is 05:46:36 UTC; recorders begin 15 s before the time they write."""
    path = tmp_path / "a.NS"
    path.write_text(KNET + ("     1234" * 8 + "\n") * 12 + "     1234" * 4 + "\n")
    assert read_record(path).utc == np.datetime64("2011-03-11T05:46:21", "ns")


def test_dates_of_netcdf_files_are_in_utc(tmp_path):
    import h5py

    for words, start in (
        ("seconds since 2024-05-01 12:00:00", "2024-05-01T12:00:10"),
        ("minutes since 2024-05-01T12:00:00+02:00", "2024-05-01T10:10:00"),
    ):
        with h5py.File(tmp_path / "a.nc", "w") as file:
            file["time"] = np.arange(10.0, 20.0)
            file["time"].attrs["units"] = words
            file["roof"] = np.arange(10.0)
            file["roof"].attrs["units"] = "m/s2"
        assert read_record(tmp_path / "a.nc").utc == np.datetime64(start, "ns")


def test_tables_keep_the_clock():
    pandas = pytest.importorskip("pandas")
    one = record()
    assert Record.from_pandas(one.to_pandas()).clock == one.clock
    assert Record.from_xarray(one.to_xarray()).clock == one.clock
    dates = pandas.date_range("2024-05-01 14:00", periods=4, freq="10ms", tz="Europe/Berlin")
    table = pandas.DataFrame({"roof": [1.0, 2.0, 3.0, 4.0]}, index=dates)
    assert Record.from_pandas(table).utc == np.datetime64("2024-05-01T12:00", "ns")
    assert Record.from_pandas(table.tz_localize(None)).clock is None


def test_universal_files_keep_the_clock(tmp_path):
    for clock in (UtcClock("2024-05-01T12:00:00.25Z", "GPS", 1e-3), UtcClock("2024-05-01T12:00:00Z"), None):
        one = record(200).replace(clock=clock)
        assert read_record(write_uff(tmp_path / "a.uff", record=one)).clock == clock


def test_times_of_numpy_and_json_files_are_instants(tmp_path):
    instants = np.datetime64("2024-05-01T12:00:00", "ns") + np.arange(20) * np.timedelta64(10_000_000, "ns")
    values = np.sin(np.arange(20.0))
    np.savez(tmp_path / "a.npz", time=instants, roof=values)
    texts = [f"{instant}+02:00" for instant in instants + np.timedelta64(2, "h")]
    (tmp_path / "a.json").write_text(json.dumps({"time": texts, "roof": values.tolist()}))
    for name in ("a.npz", "a.json"):
        found = read_record(tmp_path / name, units="m/s^2")
        assert found.utc == instants[0] and found.step == pytest.approx(0.01) and found.names == ("roof",)
    np.savez(tmp_path / "b.npz", time=np.append(instants[:-1], np.datetime64("NaT")), roof=values)
    with pytest.raises(FileProblem, match="an instant is missing"):
        read_record(tmp_path / "b.npz", units="m/s^2")
    (tmp_path / "b.json").write_text(json.dumps({"time": [str(i) for i in instants], "roof": values.tolist()}))
    with pytest.raises(FileProblem, match="has no zone"):
        read_record(tmp_path / "b.json", units="m/s^2")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("10/15/79, 23:16:54.6 UTC", "1979-10-15T23:16:54.6"),
        ("10/15/2004 23:16:54 GMT (Q)", "2004-10-15T23:16:54"),
        ("10/15/79, 15:16:54.6 PST", None),
        ("99/15/79, 23:16:54.6 UTC", None),
    ],
)
def test_the_start_time_of_csmip_files(tmp_path, text, instant):
    head = ["CORRECTED ACCELEROGRAM   X   CHAN  1: 90 DEG", *"ABCDEF", "CHAN  1: 90 DEG", f"Start time: {text}"]
    rows = ["".join(f"{v:10.3f}" for v in (1.0, -2.0, 3.0, 1.0)), "/&  ----------  End of data for channel  1"]
    announced = "         4 POINTS OF ACCEL DATA EQUALLY SPACED AT  .020 SEC.  (UNITS: CM/SEC/SEC)"
    path = tmp_path / "a.v2"
    path.write_text("\n".join([*head, announced, *rows]) + "\n")
    found = read_record(path)
    assert found.utc == (None if instant is None else np.datetime64(instant, "ns"))
    assert len(found) == 4
