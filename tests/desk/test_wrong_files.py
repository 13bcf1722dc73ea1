"""Wrong or odd files and projects, made on purpose: each gives its sentence (what, where, what now), and none a fit."""

import io
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.identification.methods.trajectory import TrajectoryFit

TIME = np.arange(0.0, 2.0, 0.01)


def rows(*columns, delimiter=","):
    """Rows of a table from columns of numbers or texts."""
    return "".join(delimiter.join(str(cell) for cell in row) + "\n" for row in zip(*columns, strict=True))


def wave(frequency, size=0.1):
    return [f"{value:.5f}" for value in size * np.sin(frequency * TIME)]


STAMPS = [f"{t:.2f}" for t in TIME]
HEADING = "time [s],table [g],A1 [g],roof acc X (g)\n"
GOOD = HEADING + rows(STAMPS, wave(3), wave(5), wave(7))

PROJECT = """title = "two storeys"
[structure]
kind = "shear-building"
masses = ["20 t", "20 t"]
storeys = {law = "linear", count = 2, stiffness = "20 MN/m"}
damping = {kind = "modal", ratios = 0.02}
[[sensors]]
channel = "A1"
quantity = "absolute_acceleration"
place = 0
[[sensors]]
channel = "roof acc X (g)"
quantity = "absolute_acceleration"
place = "roof"
[excitation]
channels = [{column = "table"}]
[[unknown]]
path = "storeys[*].stiffness"
[records]
files = ["test.csv"]
"""


def project(old="", new="", more=""):
    """The project with one text replaced and lines added under [records]."""
    assert old in PROJECT
    return PROJECT.replace(old, new, 1) + more


def book(*titles):
    """A workbook with the same table on each sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    content = io.BytesIO()
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title in titles:
        sheet = workbook.create_sheet(title)
        for row in (["time [s]", "A1 [g]"], [0.0, 1.0], [0.1, 2.0], [0.2, 3.0]):
            sheet.append(row)
    workbook.save(content)
    return content.getvalue()


class Case(NamedTuple):
    """A command, the files that it finds, and words of what it answers; the exit code is 1 unless it is given."""

    name: str
    command: str
    files: dict
    words: tuple
    code: int = 1


INFO = "record info test.csv"
FIT = "identify p.toml"


def info(name, text, *words):
    return Case(name, INFO, {"test.csv": text}, ("test.csv", *words))


def fit(name, table, *words, data=GOOD):
    return Case(name, FIT, {"p.toml": table, "test.csv": data}, words)


def dates(*stamps):
    return "time,A1 [g]\n" + rows(stamps, range(len(stamps)))


CASES = [
    # tables with two readings
    info("comma before three digits", "time;A1\n0;1,234\n1;2,345\n", "line 2", "may be 1.234 or 1234", "--decimal ,"),
    info("integers between commas", "1,5\n2,5\n3,5\n", "line 1", "two columns", "--decimal ,"),
    info("both decimal marks", "time;A1\n0.5;1,5\n0.6;1,6\n", "line 2", "decimal comma and '0.5' a decimal point"),
    info("day or month", dates("03/04/2024 23:59:59", "04/04/2024 00:00:00"), "day before month", "--dates dmy"),
    info("hours or minutes", dates("12:30", "12:31", "12:32"), "line 2", "hours and minutes or minutes and seconds"),
    info("some zones", dates("2024-05-01 12:00Z", "2024-05-01 12:01"), "have a zone and others have none"),
    info("days of a spreadsheet", dates("45413.5", "45413.500001", "45413.500002"), "counts days", "[day]"),
    info("whole seconds", dates("12:00:00", "12:00:00", "12:00:01"), "the same time", "--drop"),
    info("two times", "lag [s],clock [s],A1\n0,1,2\n1,2,3\n", "2 columns are in a unit of time", "--time"),
    Case("two sheets", "record info a.xlsx", {"a.xlsx": lambda: book("one", "two")}, ("'one' and 'two'", "--sheet")),
    # tables that are wrong
    info("no time", "A1 [g],A2 [g]\n1,2\n3,4\n", "no time column", "--step"),
    info("words in a column", "time,A1,state\n0,1,on\n1,2,on\n2,3,on\n", "line 2", "'on' is not a number", "--drop"),
    info("unknown unit", "time,A1\ns,furlongz\n0,1\n1,2\n", "line 2", "'furlongz' is not a unit"),
    info("a heading too few", "time,A1\n0,1,2\n1,2,3\n", "line 1", "2 headings stand above rows of 3 values"),
    info("backwards", "time,A1\n0,1\n2,2\n1,3\n", "time does not increase after sample 2", "Sort the rows"),
    info("infinite", "time,A1\n0,1\n1,inf\n2,3\n", "line 3", "infinite; a missing sample is written NaN"),
    info("headings alone", "time [s],A1 [g]\n\n", "line 1: there are headings and no rows of numbers"),
    info("empty", "", "the file is empty"),
    info("binary", bytes(range(256)) * 4, "this binary file is in none of the formats"),
    Case("no such file", INFO, {"tset.csv": GOOD}, ("test.csv", "there is no such file", "did you mean", "tset.csv")),
    Case("old workbook", "record info a.xls", {"a.xls": bytes.fromhex("d0cf11e0a1b11ae1")}, ("save it as .xlsx",)),
    Case("filler told", INFO, {"test.csv": GOOD.replace(",0.00000", ",-9999", 1)}, ("check:", "--missing -9999"), 0),
    Case("filler that is no number", f"{INFO} --missing x", {"test.csv": GOOD}, ("--missing has numbers", "not 'x'")),
    # preparing
    Case("wrong ending", "record convert test.csv -o a.xyz", {"test.csv": GOOD}, ("a.xyz", ".csv, .h5, .hdf5 or .nc")),
    Case(
        "wrong baseline",
        "record convert test.csv -o a.csv --baseline lime",
        {"test.csv": GOOD},
        ("no baseline called 'lime'", "did you mean 'line'"),
    ),
    Case(
        "wrong band",
        "record convert test.csv -o a.csv --filter 3-5",
        {"test.csv": GOOD},
        ("A band is written LOW:HIGH in Hz", "not '3-5'"),
    ),
    Case(
        "filter above half the rate",
        "record convert test.csv -o a.csv --filter :80",
        {"test.csv": GOOD},
        ("80", "50"),
    ),
    fit("window outside", project(more="start = 100.0\n"), "100"),
    fit(
        "filter over gaps",
        project(more="filter = {high = 20.0}\n"),
        "some are missing in A1",
        "`fill`",
        data=GOOD.replace(wave(5)[4], "NaN", 1),
    ),
    # projects and their data
    fit(
        "filler",
        project(),
        "test.csv: 'table': 1 sample is -9999",
        "`missing = -9999`",
        "`missing = []`",
        data=GOOD.replace(",0.00000", ",-9999", 1),
    ),
    fit("no channel", project('"A1"', '"A2"'), "for the sensor 'A2'", "'roof acc X (g)' [m/s^2]", "channel ="),
    fit("no ground", project('"table"', '"tabel"'), "there is no column 'tabel'", "did you mean 'table'?"),
    fit("another unit", project("(g)", "(mm)"), "is in g by the file and in mm"),
    fit(
        "column dropped",
        project(more='drop = ["B1"]\n'),
        "'B1' is to be left out and is not there",
        "valid names are A1",
    ),
    fit(
        "two ground motions",
        project('channels = [{column = "table"}]', 'channels = [{column = "table"}, {column = "A1"}]'),
        "by 2 channels at once (table, A1)",
        "[excitation] channels",
    ),
    fit(
        "uneven",
        project(),
        "not sampled uniformly",
        "`resample = 100`",
        data=HEADING + rows([f"{t + 0.003 * np.sin(900 * t):.5f}" for t in TIME], wave(3), wave(5), wave(7)),
    ),
    fit(
        "nothing moves",
        project(),
        "is zero throughout: nothing moves",
        data=HEADING + rows(STAMPS, ["0.0"] * len(TIME), wave(5), wave(7)),
    ),
    fit("misspelt key", project("stiffness =", "stifness ="), "p.toml, line 5", "did you mean 'stiffness'?"),
    fit("weight for mass", project('"20 t", "20 t"', '"20 kN", "20 t"'), "line 4", "'kN' measures force"),
    fit("no such place", project('"roof"', '"attic"'), "line 14", "'attic' is not a floor"),
    fit("comma in TOML", project("ratios = 0.02", "ratios = 0,02"), "line 6", "decimal comma"),
    fit("nothing unknown", project('[[unknown]]\npath = "storeys[*].stiffness"\n'), "nothing is unknown: add [["),
    fit("no files", project('files = ["test.csv"]\n'), "no measured file was given", "[records] files"),
    fit("another method", project(more='[method]\nname = "trajectry"\n'), "did you mean 'trajectory'?"),
    Case("wrong order", "identify test.csv p.toml", {"p.toml": PROJECT, "test.csv": GOOD}, ("not valid TOML", "first")),
    Case("nothing to simulate", "simulate p.toml", {"p.toml": PROJECT}, ("there is no excitation", "[excitation]")),
    Case(
        "motion not found",
        "simulate p.toml",
        {"p.toml": project('channels = [{column = "table"}]', 'file = "kobe.AT2"'), "kbe.AT2": "x"},
        ("kobe.AT2", "there is no such file", "did you mean 'kbe.AT2'"),
    ),
]


def test_there_are_at_least_thirty():
    assert len({case.name for case in CASES}) == len(CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sentence_is_right_and_nothing_is_fitted(case, tmp_path, monkeypatch):
    def no_fit(*_, **__):
        raise AssertionError("a fit was started")

    monkeypatch.setattr(TrajectoryFit, "solve", no_fit)
    monkeypatch.chdir(tmp_path)
    for name, content in case.files.items():
        content = content() if callable(content) else content
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    shown = CliRunner().invoke(app, case.command.split())
    assert shown.exit_code == case.code, shown.output
    for words in case.words:
        assert words in shown.output, shown.output
    assert "Unexpected error" not in shown.output and "Traceback" not in shown.output
