"""Headings of tables as programs write them, and time axes as they are stated: read correctly, or refused."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import Channel, read_record

ROWS = [(0.0, 1.0, 2.0), (0.1, 3.0, 4.0), (0.2, 5.0, 6.0), (0.3, 7.0, 8.0)]


@pytest.fixture
def put(tmp_path):
    def write(text, name="a.csv", encoding="utf-8"):
        (tmp_path / name).write_bytes(text.encode(encoding))
        return tmp_path / name

    return write


def table(heading: str, delimiter: str = ",", end: str = "", rows=ROWS) -> str:
    return heading + "\n" + "".join(delimiter.join(f"{v:g}" for v in row) + end + "\n" for row in rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("in_heading", ["", "{d}", "{d}{d}", " {d} "])
@pytest.mark.parametrize("in_rows", ["", "{d}", "{d}{d}"])
def test_delimiters_at_the_end_of_lines(put, delimiter, in_heading, in_rows):
    heading = delimiter.join(["time [s]", "roof [mm]", '"first, floor; [mm]"'])
    text = table(heading + in_heading.format(d=delimiter), delimiter, in_rows.format(d=delimiter))
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        record = read_record(put(text, encoding=encoding))
        assert record.names == ("roof", "first, floor;") and record.step == 0.1
        np.testing.assert_allclose(record.data, 1e-3 * np.array(ROWS)[:, 1:])


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("padding", [0, 16_380, 16_383, 40_000])
def test_units_with_special_characters_in_any_encoding(put, encoding, padding):
    text = table("time [s],T [°C],d [µm]") + " " * padding + "\n# µµµ\n"
    record = read_record(put(text, encoding=encoding))
    np.testing.assert_allclose(record.data[0], [274.15, 2e-6])


@pytest.mark.parametrize(
    ("text", "names", "missing"),
    [
        ("t,a,b\n0,1,\n0.1,2,\n0.2,3,\n", ("a", "b"), 3),  # an empty last column
        ("t,a,b\n0,,\n0.1,2,5\n0.2,3,6\n", ("a", "b"), 2),  # nothing in the first row
        ("t,a,\n0,1,7\n0.1,2,8\n0.2,3,9\n", ("a", "column_3"), 0),  # a last column without a name is kept
        ("t,a,b\n0,1,NaN\n0.1,2,n/a\n0.2,3,4\n", ("a", "b"), 2),
        ("t\ta\tb\n0\t\t1\n0.1\t\t2\n0.2\t\t3\n", ("a", "b"), 3),  # an empty column of a table with tabs
        ("time,1,2\n0,5,6\n0.1,5,6\n0.2,5,6\n", ("1", "2"), 0),  # sensors that are numbers
    ],
)
def test_no_column_and_no_name_is_lost(put, text, names, missing):
    record = read_record(put(text))
    assert record.names == names and int(np.isnan(record.data).sum()) == missing and record.step == 0.1


@pytest.mark.parametrize("units", ["s,g,kN", "[s],[g],[kN]", "(s),(g),(kN)", "s,g,kN,"])
def test_a_line_of_units_below_the_names(put, units):
    record = read_record(put(table(f"Time,roof acc,hammer\n{units}")))
    assert record.channels == (Channel("roof acc", "absolute_acceleration"), Channel("hammer", "load"))
    np.testing.assert_allclose(record.data[0], [9.80665, 2000.0])
    with pytest.raises(FileProblem, match="in mm and, a line below, in g"):
        read_record(put(table(f"Time,roof acc [mm],hammer\n{units}")))
    with pytest.raises(FileProblem, match="in the line of units: 'furlongz' is not a unit"):
        read_record(put(table("Time,roof acc,hammer\ns,furlongz,kN")))


def test_names_that_could_be_units_are_names(put):
    record = read_record(put(table("a title, with, words\nt,acc,m", rows=ROWS)))
    assert record.names == ("acc", "m")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (table("time [s],roof [mm]"), "2 headings stand above rows of 3 values"),
        (table("time [s],roof [mm],floor [mm],base [g]"), "4 headings stand above rows of 3 values"),
        ("time,a\n2024-05-32 12:00:00,1\n2024-05-32 12:00:01,2\n", "are no dates of the calendar"),
        ("time,a\n12:30,1\n12:31,2\n", "may be hours and minutes or minutes and seconds"),
        (table("time [s],a,b") + "0.4,1,2,3\n", "4 values where the lines before have 3"),
    ],
)
def test_headings_and_rows_that_do_not_fit_are_refused(put, text, sentence):
    with pytest.raises(FileProblem, match=sentence):
        read_record(put(text))


def test_plain_columns_take_names_from_a_line_that_names_them(put):
    for heading in ("time roof[mm] base[g]", "# time roof[mm] base[g]", "% t  roof[mm]  base[g]"):
        record = read_record(put(table(heading, " "), "a.txt"))
        assert record.names == ("roof", "base") and record.channel("base").quantity == "ground_acceleration"
        np.testing.assert_allclose(record["roof"], 1e-3 * np.array(ROWS)[:, 1])
    record = read_record(put(table("El Centro NS", " "), "b.txt"))
    assert record.names == ("column_2", "column_3") and "El Centro NS" in record.history[-1]


# -- time axes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)])
@pytest.mark.parametrize("given", [{}, {"step": 2.0}, {"rate": 0.5}])
def test_the_start_is_in_seconds(put, unit, factor, given):
    start, step = 1000.0 * factor, 2.0
    rows = [((start + step * i) / factor, i) for i in range(5)]
    text = f"time [{unit}],a [m]\n" + "".join(f"{t!r},{v}\n" for t, v in rows)
    record = read_record(put(text), **given)
    assert (record.start, record.step) == (pytest.approx(start), pytest.approx(step))


def test_the_unit_of_a_time_column_can_be_given(put):
    path = put("time,a\n1000,1\n1010,2\n1020,3\n")
    assert (read_record(path, units={"time": "ms"}).start, read_record(path, units={"time": "ms"}).step) == (1.0, 0.01)
    with pytest.raises(FileProblem, match="is in 'm', which is no unit of time"):
        read_record(path, units={"time": "m"})
    with pytest.raises(FileProblem, match="is in s by the file and in ms"):
        read_record(put("time [s],a\n1000,1\n1010,2\n"), units={"time": "ms"})
    with pytest.raises(FileProblem, match="is in 'm', which is no unit of time"):
        read_record(put("time [m],a\n1000,1\n1010,2\n"))


@pytest.mark.parametrize("times", [(0, 0.1, 0.2, 0.3), (0, 0.01, 0.02, 0.09), (0, 0.02, 0.01, 0.03), (5, 5, 5, 5)])
def test_a_step_that_contradicts_the_time_column_is_refused(put, times):
    path = put("time [s],a\n" + "".join(f"{t},1\n" for t in times))
    with pytest.raises(FileProblem, match=r"the time column states .* at sample \d, and a step of 0.01 s leads to"):
        read_record(path, rate=100)
    (path.parent / "a.csv.toml").write_text("rate = 100\n[[columns]]\nskip = true\n[[columns]]\n")
    assert read_record(path).step == 0.01  # the column is left out explicitly


@pytest.mark.parametrize("times", [(0, 0.01, 0.01, 0.02), (0, 0.01, 0.005, 0.02)])
def test_times_that_do_not_increase_are_refused(put, times):
    path = put("time [s],a\n" + "".join(f"{t},1\n" for t in times))
    with pytest.raises(FileProblem, match="time does not increase after sample 2"):
        read_record(path)


def test_rounded_stamps_agree_with_their_step(put):
    path = put("time [s],a\n" + "".join(f"{0.0024 * i:.3f},1\n" for i in range(40)))
    assert read_record(path, step=0.0024).step == 0.0024


def test_steps_that_arrays_state_twice_must_agree(tmp_path):
    data = {"acc": np.arange(5.0), "dt": 0.02, "fs": 100.0}
    np.savez(tmp_path / "a.npz", **data)
    with pytest.raises(FileProblem, match=r"'dt' states a step of 0.02 s and 'fs' 0.01 s"):
        read_record(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", t=0.01 * np.arange(5), **{"acc": data["acc"], "dt": 0.02})
    assert "'dt' states a step of 0.02 s" in read_record(tmp_path / "b.npz").history[-1]
    with pytest.raises(FileProblem, match="leads to"):
        read_record(tmp_path / "b.npz", step=0.02)


# -- components -------------------------------------------------------------------------------------------------------


def test_components_in_names_are_directions_of_ground_motions(put):
    path = put("time [s],ground NS [gal],ground_EW [gal],ground U-D [gal],roof NS [gal]\n0,1,2,3,4\n1,1,2,3,4\n")
    record = read_record(path)
    assert [c.direction for c in record.channels] == ["NS", "EW", "U-D", ""]
    record = read_record(put("N,E,Z\n1,2,3\n1,2,3\n"), rate=100, units="gal", quantities="ground_acceleration")
    assert [c.direction for c in record.channels] == ["N", "E", "Z"]


def test_units_of_the_sidecar_and_of_the_call_must_agree(put):
    path = put(table("t,a,b"))
    (path.parent / "a.csv.toml").write_text('[[columns]]\nunit = "mm"\n[[columns]]\n')
    assert read_record(path, units={"a": "mm"})["a"][0] == 1e-3
    with pytest.raises(FileProblem, match="is in mm by the sidecar and in cm by the call"):
        read_record(path, units={"a": "cm"})
