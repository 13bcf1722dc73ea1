"""Excel workbooks: values, dates and errors of one sheet; wrong ones are refused."""

import datetime
import io
import zipfile

import numpy as np
import pytest

from vibrid.core.errors import FileProblem
from vibrid.records import read_record
from vibrid.records.readers import Limits

openpyxl = pytest.importorskip("openpyxl")


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [["time", "roof acc X (g)", "jack"], ["s", "", "kN"], *([0.1 * i, 0.01 * i, 2.0 * i] for i in range(5))]


def test_a_sheet_with_a_row_of_units_beside_one_of_words(tmp_path):
    path = workbook(tmp_path / "a.xlsx", about=[["a test", "of a frame"]], data=ROWS)
    record = read_record(path)
    assert record.names == ("roof acc X", "jack") and record.step == 0.1
    np.testing.assert_allclose(record.data[2], [0.02 * 9.80665, 4000.0], rtol=1e-12)
    assert record.history[0] == "read from a.xlsx (Excel, sheet 'data')" and record.files[0].name == "a.xlsx"


def test_dates_errors_and_empty_cells(tmp_path):
    start = datetime.datetime(2024, 5, 1, 12)
    rows = [["Time", "a [m]", "b [m]"]]
    rows += [[start + datetime.timedelta(milliseconds=10 * i), i, "#N/A" if i == 2 else None] for i in range(4)]
    record = read_record(workbook(tmp_path / "a.xlsx", data=rows))
    assert record.step == pytest.approx(0.01) and np.isnan(record["b"]).all()
    np.testing.assert_array_equal(record["a"], [0, 1, 2, 3])


def test_the_sheet_is_chosen_where_several_have_numbers(tmp_path):
    other = [["t", "a [m]"], [0, 1], [1, 2], [2, 3]]
    path = workbook(tmp_path / "a.xlsx", first=ROWS, second=other)
    with pytest.raises(FileProblem, match=r"'first' and 'second' have rows of numbers; give `sheet`: --sheet 'first'"):
        read_record(path)
    assert read_record(path, sheet="second").names == ("a",)
    with pytest.raises(FileProblem, match=r"no sheet called 'secnd'; did you mean 'second'"):
        read_record(path, sheet="secnd")
    with pytest.raises(FileProblem, match=r"none have rows of numbers"):
        read_record(workbook(tmp_path / "b.xlsx", first=[["words"]]))


def altered(path, target, change):
    """A copy of a workbook with the bytes of its parts changed."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, change(member, old.read(member)))
    target.write_bytes(content.getvalue())
    return target


def test_bad_workbooks_are_refused(tmp_path):
    good = workbook(tmp_path / "a.xlsx", data=ROWS)
    bomb = altered(good, tmp_path / "b.xlsx", lambda m, c: c + b" " * 30_000_000 if "sheet1" in m else c)
    with pytest.raises(FileProblem, match=r"compressed too much"):
        read_record(bomb)
    with pytest.raises(FileProblem, match=r"would expand to"):
        read_record(good, limits=Limits(expanded_bytes=1000))
    with pytest.raises(FileProblem, match=r"more than 5 cells"):
        read_record(good, limits=Limits(numbers=5))
    declared = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]>'
    typed = altered(good, tmp_path / "c.xlsx", lambda m, c: declared + c if "sheet1" in m else c)
    with pytest.raises(FileProblem, match=r"declares a document type"):
        read_record(typed)
    cut = altered(good, tmp_path / "d.xlsx", lambda m, c: c[: len(c) // 2] if "sheet1" in m else c)
    with pytest.raises(FileProblem):
        read_record(cut)
    (tmp_path / "e.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    with pytest.raises(FileProblem, match=r"save it as .xlsx or CSV"):
        read_record(tmp_path / "e.xls")
