"""miniSEED, SAC and TDMS: times, gaps, names and units; damaged files are refused."""

import struct

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import read_record, read_records

NOON = np.datetime64("2024-05-01T12:00:00.25", "ns")
NANO = 1_000_000_000


def miniseed(path, *traces, rate=200.0):
    """A file of (channel, seconds after `NOON`, counts)."""
    pymseed = pytest.importorskip("pymseed")
    made = pymseed.MS3TraceList()
    for channel, seconds, counts in traces:
        made.add_data(
            sourceid=pymseed.nslc2sourceid("XX", "BRDG", "00", channel),
            data_samples=np.asarray(counts, np.int32),
            sample_type="i",
            sample_rate=rate,
            starttime=int(NOON.astype(np.int64)) + round(seconds * NANO),
        )
    made.to_file(str(path), overwrite=True)
    return path


COUNTS = (1000 * np.sin(0.1 * np.arange(700))).astype(int)


def test_pieces_of_miniseed_are_put_on_one_grid(tmp_path):
    pieces = [("HNE", 0.0, COUNTS[:300]), ("HNE", 1.75, COUNTS[350:]), ("HNZ", 0.5, COUNTS[100:500])]
    record = read_record(miniseed(tmp_path / "a.mseed", *pieces), units=["g", "g"])
    assert record.names == ("XX.BRDG.00.HNE", "XX.BRDG.00.HNZ") and record.rate == 200.0
    assert record.utc == NOON and record.clock.source == "miniSEED header"
    expected = np.where((np.arange(700) >= 300) & (np.arange(700) < 350), np.nan, 9.80665 * COUNTS)
    np.testing.assert_allclose(record["XX.BRDG.00.HNE"], expected, rtol=1e-12)
    np.testing.assert_allclose(record["XX.BRDG.00.HNZ"][100:500], 9.80665 * COUNTS[100:500], rtol=1e-12)
    assert np.isnan(record["XX.BRDG.00.HNZ"]).sum() == 300
    assert [c.direction for c in record.channels] == ["E", "Z"]
    assert any("put together from 3 pieces" in line for line in record.history)


def test_miniseed_without_units_says_so(tmp_path):
    record = read_record(miniseed(tmp_path / "a.mseed", ("HNZ", 0.0, COUNTS)))
    assert record.channels[0].quantity == "other" and "the unit is not stated" in " ".join(record.history)


def test_traces_that_are_out_of_phase_are_records_of_their_own(tmp_path):
    path = miniseed(tmp_path / "a.mseed", ("HNE", 0.0, COUNTS), ("HNZ", 0.0021, COUNTS))
    first, second = read_records(path)
    assert (first.names, second.names) == (("XX.BRDG.00.HNE",), ("XX.BRDG.00.HNZ",))
    assert (second.utc - first.utc) == np.timedelta64(2_100_000, "ns")
    with pytest.raises(FileProblem, match=r"'XX.BRDG.00.HNN', which is no column"):
        read_records(path, units={"XX.BRDG.00.HNN": "g"})


def test_damaged_miniseed_is_refused(tmp_path):
    path = miniseed(tmp_path / "a.mseed", ("HNE", 0.0, COUNTS))
    whole = path.read_bytes()
    path.write_bytes(whole[:64] + b"\xff" * 64 + whole[128:])
    with pytest.raises(FileProblem, match="damaged"):
        read_record(path)
    far = miniseed(tmp_path / "b.mseed", ("HNE", 0.0, COUNTS), ("HNE", 5e6, COUNTS))
    with pytest.raises(FileProblem, match=r"a time in them is damaged"):
        read_record(far)


def sac(order="<", version=6, quantity=None, values=COUNTS[:50], year=2024):
    reals, whole = np.full(70, -12345.0), np.full(40, -12345)
    reals[[0, 5]] = 0.005, 1.5
    whole[:6] = year, 122, 12, 0, 0, 250
    whole[[6, 9, 15, 35]] = version, len(values), 1, 1
    if quantity:
        whole[16] = quantity
    words = [b"-12345  "] * 24
    words[0], words[3], words[20], words[21] = b"BRDG    ", b"00      ", b"HNZ     ", b"XX      "
    body = struct.pack(f"{order}70f", *reals) + struct.pack(f"{order}40i", *whole) + b"".join(words)
    body += np.asarray(values, order + "f4").tobytes()
    return body + (struct.pack(f"{order}22d", 0.005, 1.5, *[-12345.0] * 20) if version == 7 else b"")


@pytest.mark.parametrize(("order", "version"), [("<", 6), (">", 6), ("<", 7)])
def test_sac(tmp_path, order, version):
    (tmp_path / "a.sac").write_bytes(sac(order, version))
    record = read_record(tmp_path / "a.sac", units=["g"])
    assert record.names == ("XX.BRDG.00.HNZ",) and record.step == pytest.approx(0.005, rel=1e-6 if version == 6 else 0)
    assert record.start == 1.5 and str(record.clock) == "2024-05-01T12:00:00.25Z (SAC header)"
    np.testing.assert_allclose(record.data[:, 0], 9.80665 * COUNTS[:50], rtol=1e-7)


def test_sac_asks_for_a_unit_that_it_does_not_store(tmp_path):
    path = tmp_path / "a.sac"
    path.write_bytes(sac(quantity=8))
    with pytest.raises(FileProblem, match=r"absolute_acceleration and does not store the unit: .* State it: units="):
        read_record(path)
    record = read_record(path, units=["um/s^2"])
    assert record.channels[0].quantity == "absolute_acceleration"
    path.write_bytes(sac()[:-8])
    with pytest.raises(FileProblem, match="announces 50 samples, and 48 fit"):
        read_record(path)
    path.write_bytes(sac(year=-12345))
    assert read_record(path).clock is None


def tdms(path, *channels):
    nptdms = pytest.importorskip("nptdms")
    with nptdms.TdmsWriter(str(path)) as file:
        file.write_segment([nptdms.ChannelObject(*channel) for channel in channels])
    return path


def test_tdms(tmp_path):
    about = {"wf_increment": 0.01, "wf_start_time": NOON.astype("M8[us]"), "unit_string": "g"}
    values = 0.001 * COUNTS
    jack, slowly = about | {"unit_string": "kN"}, about | {"wf_increment": 0.1}
    channels = [("day", "roof", values, about), ("day", "jack", values, jack), ("slow", "roof", values[:70], slowly)]
    path = tdms(tmp_path / "a.tdms", *channels)
    quick, slow = read_records(path)
    assert quick.names == ("day/roof", "jack") and quick.rate == pytest.approx(100.0) and slow.step == 0.1
    assert quick.utc == NOON and quick.clock.source == "TDMS header"
    np.testing.assert_allclose(quick.data, np.outer(values, [9.80665, 1000.0]), rtol=1e-12)


def test_tdms_without_a_step_asks_for_it(tmp_path):
    path = tdms(tmp_path / "a.tdms", ("day", "roof", COUNTS, {}))
    with pytest.raises(FileProblem, match="step"):
        read_record(path)
    assert read_record(path, rate=50).rate == 50.0
    whole = path.read_bytes()
    path.write_bytes(whole[:-2000])
    cut = read_record(path, rate=50)
    assert len(cut) == 450 and any("cut short or damaged: Last segment" in line for line in cut.history)
    path.write_bytes(whole[:60])
    with pytest.raises(FileProblem, match=r"damaged|no channel"):
        read_record(path)
