"""Measured files of a project: columns as a person names them, windows, baseline, filter, rate, fillers."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem, VibridError
from vibrid.identification.problem_data import channel_of
from vibrid.project import load_project

PROJECT = """
[structure]
kind = "shear-building"
masses = [1000.0, 1000.0]
storeys = {{law = "linear", count = 2, stiffness = 1e6}}

[[sensors]]
quantity = "absolute_acceleration"
place = 0
channel = "{first}"

[[sensors]]
quantity = "displacement"
place = "roof"
channel = "{second}"

[excitation]
channels = [{{column = "{ground}"}}]

[[unknown]]
path = "storeys[*].stiffness"

[records]
files = {files}
{more}
"""

TIME = np.arange(0, 4, 0.01)


@pytest.fixture
def put(tmp_path):
    waves = [np.sin(6 * TIME) + 0.5, np.sin(4 * TIME) + 3 * TIME, np.cos(5 * TIME)]
    rows = np.column_stack([TIME, *waves])
    text = "time [s],roof acc X (g),LVDT 2 [mm],A3_z [g]\n"
    (tmp_path / "test.csv").write_text(text + "\n".join(",".join(f"{v:.6f}" for v in row) for row in rows) + "\n")

    def write(first="roof acc X (g)", second="LVDT 2", ground="A3_z [g]", files='["test.csv"]', more=""):
        path = tmp_path / "p.toml"
        path.write_text(PROJECT.format(first=first, second=second, ground=ground, files=files, more=more))
        return load_project(path)

    return write


@pytest.mark.parametrize("first", ["roof acc X (g)", "roof acc X"])
@pytest.mark.parametrize("second", ["LVDT 2 [mm]", "LVDT 2"])
@pytest.mark.parametrize("ground", ["A3_z [g]", "A3_z"])
def test_channels_are_named_by_their_heading_with_or_without_its_unit(put, first, second, ground):
    project = put(first, second, ground)
    record = project.records()[0]
    assert [channel_of(record, sensor) for sensor in project.sensors] == [first, second]
    np.testing.assert_allclose(record[first][:3], 9.80665 * (np.sin(6 * TIME[:3]) + 0.5), atol=1e-5)
    assert record.channel(ground).quantity == "ground_acceleration" and record.channel(second).location == "roof"


def test_words_in_brackets_are_a_name_where_the_sensor_has_its_unit(put, tmp_path):
    text = (tmp_path / "test.csv").read_text()
    (tmp_path / "test.csv").write_text(text.replace("roof acc X (g)", "A1 (north wall)"))
    project = put("A1 (north wall)")
    assert project.records()[0].channel("A1 (north wall)").location == "0"


def test_a_heading_with_another_unit_than_the_file_is_refused(put):
    with pytest.raises(FileProblem, match=r"'LVDT 2' is in mm by the file and in cm"):
        put(second="LVDT 2 [cm]").records()


def test_an_unmatched_sensor_gives_the_channels_and_the_nearest(put):
    project = put(second="LVDT 3")
    with pytest.raises(VibridError, match=r"the sensor 'LVDT 3' .*'LVDT 2' \[m\], .*channel = \"LVDT 2\""):
        channel_of(project.records()[0], project.sensors[1])
    with pytest.raises(FileProblem, match=r"no column 'A3_x', which \[excitation\] names; did you mean 'A3_z'"):
        put(ground="A3_x").records()


def test_parts_of_one_file_for_the_fit_and_for_validation(put):
    project = put(
        files='[{file = "test.csv", end = 1.5}]', more='validation = [{file = "test.csv", start = 2.0, end = "3 s"}]'
    )
    fit, check = project.records()[0], project.validation()[0]
    assert (fit.time[0], fit.time[-1]) == pytest.approx((0.0, 1.5))
    assert (check.time[0], check.time[-1]) == pytest.approx((2.0, 3.0))


def test_preparation_is_done_in_order_and_its_effect_told(put):
    more = 'start = 0.5\nbaseline = "line"\nfilter = {high = "10 Hz"}\nresample = 50\ndrop = []\n'
    record = put(more=more).records()[0]
    assert record.step == 0.02 and record.time[0] == pytest.approx(0.5)
    slope = np.polynomial.Polynomial.fit(record.time, record["LVDT 2"], 1).convert().coef
    np.testing.assert_allclose(slope, 0.0, atol=3e-4)
    words = " ".join(record.history)
    assert words.index("cut from") < words.index("baseline") < words.index("filtered") < words.index("resampled")
    effect = next(line for line in record.history if line.startswith("effect: "))
    assert "LVDT 2 rms 0.007" in effect and "->" in effect and effect.count("peak") == 3


def test_columns_are_dropped_and_fillers_refused_until_named(put, tmp_path):
    assert put(more='drop = ["LVDT 2"]').records()[0].names == ("roof acc X (g)", "A3_z [g]")
    text = (tmp_path / "test.csv").read_text().replace("0.500000", "-9999", 1)
    (tmp_path / "test.csv").write_text(text)
    with pytest.raises(FileProblem, match=r"test.csv: 'roof acc X': 1 sample is -9999, .*`missing = -9999`"):
        put().records()
    assert np.isnan(put(more="missing = -9999").records()[0].data).sum() == 1
    assert put(more="missing = []").records()[0].data.min() < -9e4


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('baseline = "cubic"', r"records.baseline: .*valid names are"),
        ('decimal = ";"', "records.decimal"),
        ("filter = {lo = 3}", r"records.filter.lo: there is no 'lo' in a filter; did you mean 'low'"),
        ("validation = [{fil = 3}]", r"validation\[0\].fil: there is no 'fil' in a measured file; did you mean 'file'"),
    ],
)
def test_mistakes_in_the_table_are_told_with_their_key(put, more, words):
    with pytest.raises(FileProblem, match=words):
        put(more=more)
