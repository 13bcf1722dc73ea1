"""Names of files under the rules of Windows and macOS, checked on any system."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vibrid.core import writable
from vibrid.core.errors import FileProblem
from vibrid.core.file_names import LONGEST, as_on_disk, portable_name, windows_problem
from vibrid.core.writable import check_writable

RESERVED = {"con", "prn", "aux", "nul", *(f"com{i}" for i in range(10)), *(f"lpt{i}" for i in range(10))}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RSN1106 KOBE", "RSN1106_KOBE.csv"),
        ('a<b>c:d"e/f\\g|h?i*j', "a_b_c_d_e_f_g_h_i_j.csv"),
        ("CON", "_CON.csv"),
        ("com1.north", "_com1.north.csv"),
        ("console", "console.csv"),
        ("test. . ", "test.csv"),
        ("..", "file.csv"),
        ("", "file.csv"),
        (unicodedata.normalize("NFD", "Prüfung"), "Prüfung.csv"),
        ("a\x00b\nc\u200b", "a_b_c.csv"),
    ],
)
def test_names_that_every_system_accepts(text, name):
    assert portable_name(text, ".csv") == name


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=6))
def test_any_text_gives_names_that_stay_apart(texts):
    names: list[str] = []
    for text in texts:
        names.append(portable_name(text, ".csv", taken=names))
    assert len({unicodedata.normalize("NFC", name).casefold() for name in names}) == len(texts)
    for name in names:
        assert not windows_problem(name) and len(name.encode()) <= LONGEST and name.endswith(".csv")
        assert name.partition(".")[0].rstrip().lower() not in RESERVED
        assert not set(name) & set('<>:"/\\|?*') and name == unicodedata.normalize("NFC", name)


def test_capitals_and_accents_do_not_keep_names_apart():
    taken = ["Kobe.csv", unicodedata.normalize("NFD", "Ü.csv")]
    assert portable_name("KOBE", ".csv", taken=taken) == "KOBE_2.csv"
    assert portable_name("ü", ".csv", taken=taken) == "ü_2.csv"


@pytest.mark.parametrize("name", ["con.csv", "NUL", "lpt9.tar.gz", "a:b.csv", "what?.csv", "dot.", "blank "])
def test_windows_refuses_before_the_work(name, tmp_path, monkeypatch):
    check_writable(tmp_path / name)  # here it is an ordinary name
    monkeypatch.setattr(writable, "on_windows", lambda: True)
    with pytest.raises(FileProblem, match="Windows"):
        check_writable(tmp_path / name)


def test_a_file_is_found_as_another_system_spells_it(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / unicodedata.normalize("NFD", "Prüfung 1.csv")
    file.write_text("")
    assert as_on_disk(tmp_path, "data/Prüfung 1.csv").exists()
    assert as_on_disk(tmp_path, "data\\Prüfung 1.csv").exists()
    assert as_on_disk(tmp_path, "data/other.csv") == tmp_path / "data/other.csv"
