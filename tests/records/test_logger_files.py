"""Tables as loggers and spreadsheets write them: read with a line on what was decided, or refused with what to do."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import read_record


@pytest.fixture
def put(tmp_path):
    def write(text, name="a.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def rows(stamps, delimiter=",", values=("1", "2", "3")):
    return "".join(f"{stamp}{delimiter}{value}\n" for stamp, value in zip(stamps, values, strict=True))


# -- headings ---------------------------------------------------------------------------------------------------------

BODY = "0.00,1.5,2\n0.01,1.6,3\n0.02,1.7,4\n"


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Elapsed Time,Acc X,Force\ns,g,kN\n", ("Acc X", "Force")),
        ("Probe clock,Acc X,Force\ns,g,kN\n", ("Acc X", "Force")),  # its unit says that it is the time
        ("Timestamp,Acc X,Force\nseconds,g,kN\n", ("Acc X", "Force")),
        ("Site,bridge,7\n\ntime,A1,A2\n,roof,jack\ns,g,kN\n", ("A1 roof", "A2 jack")),
        ("time,A1,A2\ns,g,kN\n,roof,jack\n", ("A1 roof", "A2 jack")),
        ("time,A1,A2\ns,g,kN\n,Smp,Avg\n", ("A1", "A2")),
        ("time,A1 (north wall),A2 (g\ns,g,kN\n", ("A1 (north wall)", "A2 (g")),
        ("Tag,Kanal,Kanal\ntime,A1,A2\ns,g,kN\n", ("A1", "A2")),  # a title of the same width
    ],
)
def test_units_and_several_rows_of_headings(put, heading, names):
    record = read_record(put(heading + BODY))
    assert record.names == names and record.step == 0.01
    np.testing.assert_allclose(record.data[0], [1.5 * 9.80665, 2000.0])


def test_joined_headings_and_a_time_by_its_unit_are_told(put):
    assert (
        "as read: names from 2 rows of headings (A2 jack)"
        in read_record(put("time,A1,A2\n,roof,jack\n" + BODY)).history
    )
    assert "as read: 'clock' is the time, by its unit" in read_record(put("clock [s],A,B\n" + BODY)).history
    with pytest.raises(FileProblem, match=r"2 columns are in a unit of time \(clock, lag\); give `time` \(--time\)"):
        read_record(put("clock [s],lag [ms],B\n" + BODY))
    assert read_record(put("clock [s],lag [ms],B\n" + BODY), time="clock").names == ("lag", "B")


def test_a_campbell_logger(put):
    head = '"TOA5","CR1000","CR1000"\n"TIMESTAMP","RECORD","acc"\n"TS","RN","g"\n"","","Smp"\n'
    body = "".join(f'"2024-05-01 12:00:00.{5 * i:02d}",{i},"NAN"\n' for i in range(4))
    record = read_record(put(head + body, "a.dat"))
    assert record.names == ("RECORD", "acc") and record.step == pytest.approx(0.05) and np.isnan(record["acc"]).all()
    assert record.channel("acc").quantity == "absolute_acceleration"


def test_columns_of_words_are_refused_by_name_and_left_out(put):
    path = put("time [s],acc [g],status\n" + "".join(f"{0.1 * i:.1f},{i},OK\n" for i in range(5)))
    with pytest.raises(FileProblem, match=r"line 2: 'OK' is not a number; leave the column out .*: 'status'"):
        read_record(path)
    record = read_record(path, drop=["status"])
    assert record.names == ("acc",) and "as read: left out: status" in record.history
    with pytest.raises(FileProblem, match=r"column 'statu' is to be left out and is not there; did you mean 'status'"):
        read_record(path, drop=["statu"])


def test_a_row_of_units_above_a_column_of_words(put):
    text = "Test 3\n\nTime;roof;status\ns;g;-\n0,00;0,5;ok\n0,01;1,0;ok\n0,02;#N/A;ok\n"
    record = read_record(put(text), drop=["status"])
    assert record["roof"][:2] == pytest.approx([0.5 * 9.80665, 9.80665]) and np.isnan(record["roof"][2])
    with pytest.raises(FileProblem, match=r"'ok' is not a number; leave the column out with --drop"):
        read_record(put(text))


def test_words_in_brackets_are_part_of_the_name_where_the_unit_is_said(put):
    path = put("time [s],A1 (roof N-S),Temp (Deg F)\n0.0,1,2\n0.1,3,4\n")
    with pytest.raises(FileProblem, match=r"line 1: column 'A1': .*if 'roof N-S' are words of the name, give the unit"):
        read_record(path, drop=["Temp (Deg F)"])
    record = read_record(path, units="g", drop=["Temp (Deg F)"])
    assert record.names == ("A1 (roof N-S)",) and record.data[0, 0] == pytest.approx(9.80665)


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1.0D+03", "1.5d-01", "-2.D0"), (1000.0, 0.15, -2.0)),
        (("1.0-101", "1.5E+00", "2.5"), (1e-101, 1.5, 2.5)),
        (("#N/A", "#DIV/0!", "1"), (np.nan, np.nan, 1.0)),
        (("#VALUE!", "NaN", "1.#QNAN"), (np.nan, np.nan, np.nan)),
        (("1,234.5", "12,345,678", "-1,000"), (1234.5, 12345678.0, -1000.0)),
        (("1'234.5", "2’345", "3"), (1234.5, 2345.0, 3.0)),
        (("1\u202f234.5", "2\u00a0345", "3"), (1234.5, 2345.0, 3.0)),
    ],
)
def test_numbers_as_programs_write_them(put, cells, values):
    text = "time [s];a [m];b [m]\n" + "".join(f"{0.1 * i:.1f};{c};7\n" for i, c in enumerate(cells))
    record = read_record(put(text))
    np.testing.assert_array_equal(record["a"], values)
    np.testing.assert_array_equal(record["b"], 7.0)  # what stands after #N/A is no comment


def test_a_row_that_begins_with_an_error_of_a_spreadsheet_is_a_row(put):
    record = read_record(put("a [m],b [m]\n1,2\n#N/A,3 # words\n# words\n5,6\n"), rate=10)
    np.testing.assert_array_equal(record.data, [[1, 2], [np.nan, 3], [5, 6]])


def test_separators_of_thousands_are_told(put):
    record = read_record(put('time,a\n0.0,"1,234.5"\n0.1,"1,234.6"\n0.2,"7.0"\n'))
    assert "as read: separators of thousands (1,234.5 is 1234.5)" in record.history
    record = read_record(put("time;a\n0,0;1.234,5\n0,1;1.234\n0,2;7\n"))
    np.testing.assert_array_equal(record["a"], [1234.5, 1234.0, 7.0])


# -- dates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stamps",
    [
        ("2024-05-01T12:00:00.00Z", "2024-05-01T12:00:00.25Z", "2024-05-01T12:00:00.50Z"),
        ("2024-05-01 12:00:00+02:00", "2024-05-01 10:00:00.25+00:00", "2024-05-01 05:00:00.5-0500"),
        ("2024-12-31 23:59:59.75", "2025-01-01 00:00:00", "2025-01-01 00:00:00.25"),
        ("31.12.2024 23:59:59.75", "01.01.2025 00:00:00", "01.01.2025 00:00:00.25"),
        ("12/31/2024 11:59:59.75 PM", "1/1/2025 12:00:00.0 AM", "1/1/2025 12:00:00.25 AM"),
        ("31-Dec-2024 23:59:59.75", "1-Jan-2025 00:00:00", "1-Jan-2025 00:00:00.25"),
        ("03/04/2024 12:00:00", "03/04/2024 12:00:00.25", "03/04/2024 12:00:00.5"),  # one day, in either order
        ("23:59:59.75", "00:00:00.0", "00:00:00.25"),
        ("59:59.75", "60:00.00", "60:00.25"),  # minutes, as spreadsheets show them
    ],
)
@pytest.mark.parametrize("heading", ["time,a [m]", "Date/Time,a [m]", "Messpunkt,a [m]"])
def test_dates_and_times_of_day(put, stamps, heading):
    record = read_record(put(heading + "\n" + rows(stamps)))
    assert (record.step, record.start, record.names) == (pytest.approx(0.25), 0.0, ("a",))
    assert any(f"0 s is {stamps[0]}" in line for line in record.history)


def test_a_date_and_a_time_in_two_columns_with_decimal_commas(put):
    text = "Datum;Uhrzeit;a [m]\n01.05.2024;12:00:00,0;1,5\n01.05.2024;12:00:00,5;2,5\n01.05.2024;12:00:01,0;3,5\n"
    record = read_record(put(text))
    assert record.step == 0.5 and record["a"][1] == 2.5 and record.names == ("a",)


def test_the_order_of_day_and_month_is_decided_by_data_or_caller_or_refused(put):
    stamps = ("03/04/2024 23:59:59.5", "04/04/2024 00:00:00.0", "04/04/2024 00:00:00.5")
    path = put("time,a\n" + rows(stamps))
    with pytest.raises(FileProblem, match=r"may be day before month or month before day, .*--dates dmy or --dates mdy"):
        read_record(path)
    assert read_record(path, dates="dmy").step == 0.5
    assert read_record(path, dates="mdy").duration > 30 * 86400
    record = read_record(put("time,a\n" + rows(["30/04/2024 23:59:59", "01/05/2024 00:00:00", "01/05/2024 00:00:01"])))
    assert record.step == 1.0 and "day before month" in record.history[-1]
    with pytest.raises(FileProblem, match=r"are no dates of the calendar in the order mdy"):
        read_record(put("time,a\n" + rows(["30/04/2024 23:59:59"] * 3)), dates="mdy")


@pytest.mark.parametrize(
    ("stamps", "sentence"),
    [
        (("12:30", "12:31", "12:32"), "may be hours and minutes or minutes and seconds"),
        (("2024-05-01 12:00:00Z", "2024-05-01 12:00:01", "2024-05-01 12:00:02"), "have a zone and others have none"),
        (("2024-05-01 12:00:00", "2024-05-01 12:00:00", "2024-05-01 12:00:01"), r"the same time .*--drop"),
        (("45413.5", "45413.5000001157", "45413.5000002315"), r"counts days, as spreadsheets do; .*`time \[day\]`"),
        (("2024-05-01 noon", "2024-05-01 12:00:00", "2024-05-01 12:00:01"), "line 2: '2024-05-01 noon' is no date"),
        (("2024-05-01 12:00:00", "", "2024-05-01 12:00:01"), "line 3: the time is missing in column 'time'"),
    ],
)
def test_times_that_cannot_be_read_are_refused(put, stamps, sentence):
    with pytest.raises(FileProblem, match=sentence):
        read_record(put("time,a\n" + rows(stamps)))


def test_dates_beside_a_time_in_seconds_are_left_out_and_told(put):
    record = read_record(put("date,time [s],a\n2024-05-01,0.0,1\n2024-05-01,0.5,2\n2024-05-01,1.0,3\n"))
    assert record.names == ("a",) and record.step == 0.5
    assert "as read: 'time' is the time; 'date' left out: dates" in record.history


# -- fillers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filler", ["-999", "-9999", "1e30", "-999.25", "99999"])
def test_fillers_are_told_and_dropped_only_when_named(put, filler):
    values = [filler if i % 7 == 3 else f"{np.sin(i):.3f}" for i in range(50)]
    path = put("time [s],a [mm]\n" + "".join(f"{0.01 * i:.2f},{v}\n" for i, v in enumerate(values)))
    record = read_record(path)
    told = [line for line in record.history if line.startswith("check: ")]
    assert len(told) == 1 and f"7 samples are {float(filler):.15g}" in told[0] and "--missing" in told[0]
    assert not np.isnan(record.data).any()
    record = read_record(path, missing=float(filler))
    assert np.isnan(record["a"][3::7]).all() and np.isnan(record.data).sum() == 7
    assert not [line for line in record.history if line.startswith("check: ")]
    assert any("7 samples were" in line for line in record.history)
    kept = read_record(path, missing=[])
    assert not np.isnan(kept.data).any() and not [line for line in kept.history if line.startswith("check: ")]


def test_large_readings_are_no_fillers(put):
    values = [-999 if i == 5 else -950 + i for i in range(50)]
    record = read_record(put("time [s],a [mm]\n" + "".join(f"{0.01 * i:.2f},{v}\n" for i, v in enumerate(values))))
    assert not [line for line in record.history if line.startswith("check: ")]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"decimal": ";"}, r"`decimal`\) is '\.' or ','"),
        ({"dates": "ydm"}, r"`dates`\) is dmy, mdy or ymd"),
        ({"missing": ["x"]}, "`missing` is a number"),
        ({"missing": True}, "`missing` is a number"),
        ({"drop": 3}, "`drop` is a list"),
    ],
)
def test_wrong_settings_are_refused(put, given, sentence):
    with pytest.raises(Exception, match=sentence):
        read_record(put("time,a\n0,1\n1,2\n"), **given)
