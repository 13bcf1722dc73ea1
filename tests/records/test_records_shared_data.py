"""Real files: every one that a format covers is read, with the peak that its manifest states."""

import re

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import STANDARD_GRAVITY, read_record, read_records

pytestmark = pytest.mark.shared_data


def _rows(shared_data, pattern):
    return re.findall(pattern, (shared_data / "MANIFEST.md").read_text(), re.M)


def _peak_in_g(record) -> float:
    return float(np.abs(record.data).max()) / STANDARD_GRAVITY


def test_every_peer_file_has_the_manifests_step_count_and_peak(shared_data):
    rows = _rows(shared_data, r"^\| (groundmotion/\S+\.AT2) \|.*?\| g \| ([\d.]+) \| (\d+) \| [\d.]+ \| ([\d.]+) \|")
    assert len(rows) == 20 == len(list((shared_data / "groundmotion").glob("*.AT2")))
    for name, step, count, peak in rows:
        record = read_record(shared_data / name)
        assert (record.step, len(record)) == (float(step), int(count)), name
        assert _peak_in_g(record) == pytest.approx(float(peak), abs=5.1e-5), name
        assert record.channels[0].quantity == "ground_acceleration"


def test_plain_columns_of_accelerations(shared_data):
    numbers = r".*?\| g \| ([\d.]+) \| (\d+) \| [\d.]+ \| ([\d.]+) \|"
    rows = _rows(shared_data, r"^\| (groundmotion/\S+\.(?:acc|txt)) \|" + numbers)
    assert len(rows) == 3
    for name, step, count, peak in rows:
        record = read_record(shared_data / name, step=float(step), units="g", quantities="ground_acceleration")
        assert len(record) == int(count)
        assert _peak_in_g(record) == pytest.approx(float(peak), abs=5.1e-5), name


def test_the_far_field_set_in_two_columns(shared_data):
    rows = _rows(shared_data, r"^\| (\d{6}\.txt) \|.*?\| ([\d.]+) \| (\d+) \| ([\d.]+) \|")
    folder = shared_data / "groundmotion" / "fema_p695_farfield"
    assert len(rows) == 34 == len(list(folder.glob("*.txt")))
    for name, step, count, peak in rows:
        record = read_record(folder / name, units="g", quantities="ground_acceleration")
        assert (record.step, len(record)) == (float(step), int(count)), name
        assert _peak_in_g(record) == pytest.approx(float(peak), abs=5.1e-5), name


def test_uncorrected_csmip_files_with_three_channels(shared_data):
    rows = _rows(shared_data, r"^\| (CI\w+\.\w+) \|.*?\| ([\d.]+) / ([\d.]+) / ([\d.]+) g;")
    assert len(rows) == 3
    for name, *peaks in rows:
        record = read_record(shared_data / "groundmotion" / "ridgecrest2019_gmprocess" / name)
        assert [c.direction for c in record.channels] == ["90 Deg", "360 Deg", "Up"]
        found = np.nanmax(np.abs(record.data), axis=0) / STANDARD_GRAVITY
        np.testing.assert_allclose(found, [float(p) for p in peaks], atol=5.1e-4)
        assert record.rate == pytest.approx(100)


def test_a_bridge_of_26_channels_in_a_zip(shared_data):
    path = shared_data / "structures" / "csmip_quakeio" / "imperialvalley79_ce01336p.zip"
    with pytest.raises(FileProblem, match="2 records with different sampling"):
        read_record(path)
    first, second = read_records(path)
    assert (len(first), first.step) == (1138, 0.02) and (len(second), second.step) == (5696, 0.01)
    assert len(first.channels) == len(second.channels) == 3 * 13
    assert first.channel("ch05_acceleration").location == "DECK: MIDDLE OF SOUTH SPAN"
    assert first.channel("ch05_acceleration").quantity == "absolute_acceleration"
    assert second.channel("ch24_acceleration").quantity == "ground_acceleration"
    # the file's own header: peak acceleration 171.589 cm/s² at 3.14 s, displacement −7.312 cm at 3.34 s
    up = first["ch01_acceleration"]
    assert up[np.argmax(np.abs(up))] == pytest.approx(1.71589)
    assert first.time[np.argmax(np.abs(up))] == pytest.approx(3.14)
    moved = first["ch01_displacement"]
    assert moved[np.argmax(np.abs(moved))] == pytest.approx(-0.07312)


def test_friction_device_as_published_and_as_converted(shared_data):
    names = ["time", "displacement", "force", "velocity", "band_1", "band_2"]
    units = {"displacement": "in", "force": "kip", "velocity": "in/s", "band_1": "lb", "band_2": "lb"}
    folder = shared_data / "brfd"
    published = read_record(folder / "raw_json" / "ds2_ImperialValleyMCE.json", columns=names, units=units)
    converted = read_record(folder / "ds2__ImperialValleyMCE.npz", columns=names, units=units)
    assert published.rate == pytest.approx(1024)
    assert np.abs(published["displacement"]).max() / 0.0254 == pytest.approx(1.334, abs=5e-4)
    assert np.abs(published["force"]).max() / 4448.2216 == pytest.approx(4.98, abs=5e-3)
    np.testing.assert_allclose(converted.data, published.data, rtol=1e-6, atol=1e-6)
    files = sorted((shared_data / "brfd").glob("*.npz"))
    assert len(files) > 50
    for path in files:
        assert read_record(path).rate == pytest.approx(1024, rel=1e-6), path.name


def test_every_matlab_file_agrees_with_scipy(shared_data):
    from scipy.io import loadmat

    files = sorted((shared_data / "mr_damper").glob("*.mat"))
    assert len(files) > 60
    for path in files:
        record, reference = read_record(path), loadmat(path)
        for name in ("dist", "forc"):
            np.testing.assert_array_equal(record[name], reference[name].ravel(), err_msg=path.name)
        np.testing.assert_array_equal(record["x_F_3"], reference["x_F"][:, 2])
        assert record.step == pytest.approx(float(np.diff(reference["Tout"].ravel()).mean()), rel=1e-4)


def test_the_tower_in_volts(shared_data):
    record = read_record(shared_data / "structures" / "unison_tower" / "wn_01.dat", rate=100)
    assert record.data.shape == (40960, 8)
    assert record.data[3, 0] == 4.513


@pytest.mark.parametrize("name", ["frfs_Hammer.csv", "frfs_White.csv", "frfs_Experimental.csv"])
def test_frequency_response_functions_are_refused(shared_data, name):
    with pytest.raises(FileProblem, match="none of the formats"):
        read_record(shared_data / "structures" / "cristallo_3storey" / name)
