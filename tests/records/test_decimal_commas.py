"""Decimal commas are reported as such in every kind of table, and never read as two columns."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.project import load_project

ROWS = "{0}0,00{1}1,5{0}\n{0}0,01{1}-2,5{0}\n{0}0,02{1}3,5{0}\n"
TWO_WAYS = r"may be one number with a decimal comma or two columns; .* name the columns"
POINT = r"line 4: .*has a decimal comma; write a decimal point, such as 0\.5 for 0,5"
COMMA = r"has a decimal comma; save the file again with decimal points"


@pytest.mark.parametrize(
    ("text", "example", "line"),
    [
        ("1,5;2,5\n2,5;3,5\n3,5;4,5\n", "1,5", 1),
        ("time;acc\n" + ROWS.format("", ";"), "0,00", 2),
        ("time [s]\tacc [m/s^2]\n" + ROWS.format("", "\t"), "0,00", 2),
        (ROWS.format("", " "), "0,00", 1),
        ("time;acc\n0;1\n0,01;2\n0,02;3\n", "0,01", 3),
        ("time;acc\n0.00;1.234,5\n0.01;2.345,5\n", "1.234,5", 2),
        ("time,acc\n0,00,1,5\n0,01,2,5\n0,02,3,5\n", "0,00", 2),
        ("time, acc\n0,00, 1,5\n0,01, 2,5\n", "0,00", 2),
        ("time,acc\n" + ROWS.format('"', '","'), "0,00", 2),
        ("acc [m/s^2]\n1,5\n2,5\n3,5\n", "1,5", 2),
    ],
)
def test_decimal_commas_are_reported(tmp_path, text, example, line):
    path = tmp_path / "test.csv"
    path.write_text(text)
    with pytest.raises(vb.FileProblem, match=rf"line {line}: '{example}' {COMMA}"):
        vb.read_record(path)


@pytest.mark.parametrize("text", ["1,5\n2,5\n3,5\n", "roof\n1,5\n2,5\n3,5\n", "0,00,1,5\n0,01,2,5\n0,02,3,5\n"])
def test_what_may_be_read_in_two_ways_is_refused(tmp_path, text):
    path = tmp_path / "test.csv"
    path.write_text(text)
    with pytest.raises(vb.FileProblem, match=TWO_WAYS):
        vb.read_record(path, rate=100.0)


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
