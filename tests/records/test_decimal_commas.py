"""Decimal commas are read where they can be nothing else, refused where they can, and never read as two columns."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.project import load_project

ROWS = "{0}0,00{1}1,5{0}\n{0}0,01{1}-2,5{0}\n{0}0,02{1}3,5{0}\n"
TWO_WAYS = r"may be one number with a decimal comma or two columns; give `decimal`: --decimal , or --decimal ."
POINT = r"line 4: .*has a decimal comma; write a decimal point, such as 0\.5 for 0,5"
COMMA = r"has a decimal comma; save the file again with decimal points"


@pytest.mark.parametrize(
    "text",
    [
        "time;acc\n" + ROWS.format("", ";"),
        "time [s]\tacc [m/s^2]\n" + ROWS.format("", "\t"),
        ROWS.format("", " "),
        ROWS.format("", ";"),
        "time,acc\n" + ROWS.format('"', '","'),
        "time;acc\n0;1,5\n0,01;-2,5\n0,02;3,5\n",
        "time;acc\n0;1,500\n0,01;-2,500\n0,02;3,500\n",  # a later row decides
    ],
)
def test_decimal_commas_between_other_separators_are_read(tmp_path, text):
    path = tmp_path / "test.csv"
    path.write_text(text)
    for given in ({}, {"decimal": ","}):
        record = vb.read_record(path, **given)
        np.testing.assert_array_equal(record.data[:, 0], [1.5, -2.5, 3.5])
        assert record.step == 0.01 and "as read: decimal commas" in record.history


def test_a_single_column_with_its_unit_may_have_decimal_commas(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("acc [m/s^2]\n1,5\n2,5\n3,5\n")
    np.testing.assert_array_equal(vb.read_record(path, rate=100.0)["acc"], [1.5, 2.5, 3.5])


@pytest.mark.parametrize(
    ("text", "example", "line"),
    [
        ("time,acc\n0,00,1,5\n0,01,2,5\n0,02,3,5\n", "0,00", 2),
        ("time, acc\n0,00, 1,5\n0,01, 2,5\n", "0,00", 2),
    ],
)
def test_commas_between_columns_and_in_numbers_are_refused(tmp_path, text, example, line):
    path = tmp_path / "test.csv"
    path.write_text(text)
    with pytest.raises(vb.FileProblem, match=rf"line {line}: '{example}' {COMMA}"):
        vb.read_record(path)


@pytest.mark.parametrize(
    ("rows", "point", "comma"),
    [("0;1,234\n1;2,345\n", 1234.0, 1.234), ("1.250;1,234\n1.251;2,345\n", 1234.0, 1.234)],
)
def test_a_comma_before_three_digits_is_refused_until_the_caller_decides(tmp_path, rows, point, comma):
    path = tmp_path / "test.csv"
    path.write_text("time;acc\n" + rows)
    with pytest.raises(vb.FileProblem, match=r"line 2: '1,234' may be 1.234 or 1234; give `decimal`: --decimal ,"):
        vb.read_record(path)
    assert vb.read_record(path, decimal=".").data[0, 0] == point
    assert vb.read_record(path, decimal=",").data[0, 0] == comma
    (tmp_path / "test.csv.toml").write_text('decimal = ","\n')
    assert vb.read_record(path).data[0, 0] == comma


def test_points_and_commas_as_decimal_marks_in_one_file_are_refused(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("time;acc\n0.00;1.234,5\n0.01;2.345,5\n")
    with pytest.raises(vb.FileProblem, match=r"line 2: '1.234,5' has a decimal comma and '0.00' a decimal point"):
        vb.read_record(path)
    path.write_text("time;acc\n" + "".join(f"0.{i:03d};0.5\n" for i in range(3000)) + "3.000;0,5\n")
    with pytest.raises(vb.FileProblem, match=r"line 3002: '0,5' has a decimal comma and other numbers decimal points"):
        vb.read_record(path)


@pytest.mark.parametrize("text", ["1,5\n2,5\n3,5\n", "roof\n1,5\n2,5\n3,5\n", "0,00,1,5\n0,01,2,5\n0,02,3,5\n"])
def test_what_may_be_read_in_two_ways_is_refused(tmp_path, text):
    path = tmp_path / "test.csv"
    path.write_text(text)
    with pytest.raises(vb.FileProblem, match=TWO_WAYS):
        vb.read_record(path, rate=100.0)
    assert len(vb.read_record(path, rate=100.0, decimal=".").channels) == text.split("\n")[1].count(",") + 1


def test_integers_between_commas_are_read_where_they_can_be_nothing_else(tmp_path):
    path = tmp_path / "test.csv"
    for text, keywords in [
        ("1,5\n2,5\n3,5\n", {"columns": ["a", "b"]}),
        ("a,b\n1,5\n2,5\n3,5\n", {}),
        ("1,5\n2,-5\n3,5\n", {}),
        ("1, 5\n2, 5\n3, 5\n", {}),
        ("1,5\n2,5.5\n3,5\n", {}),
    ]:
        path.write_text(text)
        record = vb.read_record(path, rate=100.0, **keywords)
        np.testing.assert_array_equal(record.data[:, 0], [1, 2, 3])


@pytest.mark.parametrize("value", ['"24,5 MN/m"', '"24.000,5 MN/m"', "24,5"])
def test_decimal_commas_of_a_project_file(tmp_path, value):
    path = tmp_path / "p.toml"
    path.write_text(
        f'[structure]\nkind = "shear-building"\nmasses = [1.0]\nstoreys = [{{ law = "linear", stiffness = {value} }}]\n'
    )
    with pytest.raises(vb.VibridError, match=POINT):
        load_project(path)
