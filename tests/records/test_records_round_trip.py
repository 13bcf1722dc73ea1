"""Descriptions of channels that vibrid writes are read back: directly, through a project, and overridden by key."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem, VibridError
from vibrid.project import load_project
from vibrid.records import QUANTITIES, Channel, Record, read_record
from vibrid.records.journal import Journal

STEP = 0.01


def every_kind(times=None) -> Record:
    """One channel of every quantity, with places, directions and a name like a number."""
    channels = [
        Channel(f"{quantity} {i}", quantity, location=f"{i}.x", direction=("x", "N-S", "")[i % 3])
        for i, quantity in enumerate(QUANTITIES)
    ]
    channels += [Channel("7", "strain", location="7"), Channel("moment", "other", "N*m", "e0@0.5")]
    data = np.random.default_rng(2).standard_normal((12, len(channels)))
    data[3, 2] = np.nan
    axis = {"step": STEP, "start": -1.0} if times is None else {"times": times}
    return Record(data, channels, name="all", history=("made",), **axis)


def _write(record: Record, path) -> None:
    if path.suffix == ".vbj":
        journal = Journal(path, record.channels, record.name, record.step)
        journal.write(np.column_stack([record.time, record.data]))
        journal.close()
    elif path.suffix == ".h5":
        record.write_hdf5(path)
    else:
        record.write_csv(path)


@pytest.fixture(params=["csv", "h5", "vbj"])
def own(request, tmp_path):
    path = tmp_path / f"own.{request.param}"
    _write(every_kind(), path)
    return path


BUILDING = """
[structure]
kind = "shear-building"
masses = [1.0, 1.0]
storeys = [{law = "linear", stiffness = 40.0, count = 2}]
"""


def _project(tmp_path, more=""):
    (tmp_path / "project.toml").write_text(BUILDING + more)
    return load_project(tmp_path / "project.toml")


def test_every_kind_of_channel_comes_back(own, tmp_path):
    record = every_kind()
    for back in (read_record(own), _project(tmp_path).read(own), read_record(own, rate=100, name="all")):
        assert back.channels == record.channels and (back.step, back.start) == (STEP, -1.0)
        np.testing.assert_array_equal(back.data, record.data)
        assert back.name == "all"


@pytest.mark.parametrize("ending", ["csv", "h5"])
def test_uneven_times_come_back(tmp_path, ending):
    record = every_kind(np.sort(np.random.default_rng(1).uniform(0, 9, 12)))
    _write(record, tmp_path / f"own.{ending}")
    back = read_record(tmp_path / f"own.{ending}", quantities={"moment": "other"})
    np.testing.assert_array_equal(back.times, record.times)
    assert back.channels == record.channels


def test_the_keys_of_a_project_override_and_do_not_replace(own, tmp_path):
    more = """
[[sensors]]
quantity = "displacement"
place = 1
channel = "displacement 0"
[excitation]
channels = [{column = "load 12", place = 0}, {column = "ground_acceleration 9"}]
"""
    record, back = every_kind(), _project(tmp_path, more).read(own)
    assert back.channel("displacement 0") == Channel("displacement 0", "displacement", location="1", direction="x")
    assert back.channel("load 12") == Channel("load 12", "load", location="0", direction="x")  # not a ground motion
    assert back.channel("ground_acceleration 9") == record.channel("ground_acceleration 9")
    assert [c for c in back.channels if c.name in ("7", "moment")] == [record.channel("7"), record.channel("moment")]
    np.testing.assert_array_equal(back["load 12"], record["load 12"])
    left_out = {"imposed_displacement 13", "imposed_velocity 14", "command 15"}  # not named: they do not drive
    assert set(record.names) - set(back.names) == left_out


def test_a_call_overrides_one_key(own):
    back = read_record(own, quantities={"other 16": "strain"}, units={"moment": "N*m"})
    assert back.channel("other 16") == Channel("other 16", "strain", location="16.x", direction="N-S")
    assert back.channel("moment").unit == every_kind().channel("moment").unit
    with pytest.raises(FileProblem, match=r"by the file and in kN by its description"):
        read_record(own, units={"load 12": "kN"})
    with pytest.raises(FileProblem, match="cannot be measured"):
        read_record(own, quantities={"load 12": "displacement"})
    with pytest.raises(FileProblem, match="no column; did you mean 'load 12'"):
        read_record(own, quantities={"lode 12": "load"})
    with pytest.raises(FileProblem, match=r"states a step of 0.01 s \(100 Hz\), and 0.02 s"):
        read_record(own, step=0.02)


def test_a_sidecar_overrides_too(tmp_path):
    record = every_kind().select(["load 12", "moment"])
    record.write_csv(tmp_path / "own.csv")
    (tmp_path / "own.csv.toml").write_text('[[columns]]\nname = "jack"\nlocation = "roof"\n[[columns]]\n')
    back = read_record(tmp_path / "own.csv")
    assert back.channels == (Channel("jack", "load", location="roof", direction="x"), record.channel("moment"))
    assert "description changed" in back.history[-1]


def test_a_heading_that_was_changed_leaves_the_others_described(tmp_path):
    path = every_kind().select(["load 12", "drift 5"]).write_csv(tmp_path / "own.csv")
    path.write_text(path.read_text().replace("drift 5 [m]", "new [mm]"))
    back = read_record(path)
    assert back.channel("load 12") == every_kind().channel("load 12")
    assert back.channel("new") == Channel("new", "displacement")
    np.testing.assert_allclose(back["new"], 1e-3 * every_kind()["drift 5"])


def test_a_damaged_description_is_reported(tmp_path):
    path = every_kind().select(["load 12", "drift 5"]).write_csv(tmp_path / "own.csv")
    path.write_text(path.read_text().replace('# vibrid: {"name"', "# vibrid: {name"))
    assert "damaged" in read_record(path).history[-1]


def test_few_digits_spare_the_time(tmp_path):
    record = Record(np.arange(3000.0), [Channel("a", "load")], step=0.005)
    back = read_record(record.write_csv(tmp_path / "a.csv", digits=3))
    assert back.step == 0.005 and len(back) == 3000


@pytest.mark.parametrize("name", ["", " a", "a "])
def test_names_that_a_heading_cannot_keep_are_refused(tmp_path, name):
    with pytest.raises(VibridError, match="rename it first"):
        Record(np.zeros(3), [Channel(name)], step=0.1).write_csv(tmp_path / "a.csv")


@pytest.mark.parametrize("text", ["peer", "uff"])
def test_formats_that_say_it_all_are_overridden_and_not_contradicted(tmp_path, text):
    if text == "peer":
        path = tmp_path / "a.AT2"
        path.write_text(
            "PEER\nKobe, 1995, KJMA, 90\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 3, DT= .02 SEC\n.1 .2 .3\n"
        )
        name = "ground"
        assert read_record(path, units={"ground": "g"})["ground"][0] == pytest.approx(0.980665)
        with pytest.raises(FileProblem, match="is in g by the file and in m/s"):
            read_record(path, units="m/s^2")
        with pytest.raises(FileProblem, match="no time column"):
            read_record(path, time=1)
    else:
        header = ["roof", "NONE", "NONE", "NONE", "NONE"]
        header.append(f"{1:5d}{0:10d}{1:5d}{0:10d} {'NONE':10s}{5:10d}{3:4d}")
        header.append(f"{4:10d}{3:10d}{1:10d}{0.0:13.5e}{0.02:13.5e}")
        header += [f"{17:10d}", f"{12:10d}{0:5d}{0:5d}{0:5d} {'NONE':20s} {'NONE':20s}", f"{0:10d}", f"{0:10d}"]
        path = tmp_path / "a.uff"
        path.write_text("\n".join(["    -1", "    58", *header, " 1.0 2.0 3.0", "    -1"]) + "\n")
        name = "roof"
        assert read_record(path, units="g")[name][0] == pytest.approx(9.80665)  # the file does not state it
    with pytest.raises(FileProblem, match=r"states a step of 0\.02 s"):
        read_record(path, step=0.01)
    assert read_record(path, rate=50).step == 0.02
    assert read_record(path, quantities="other").channel(name).quantity == "other"
