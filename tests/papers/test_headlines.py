"""The table of headlines in the documents is the one that the committed results give."""

from pathlib import Path

from vibrid.papers.headlines import COLUMNS, headline_table, put_into
from vibrid.papers.verdict import NOT_MADE

ROOT = Path(__file__).parents[2]


def test_the_documents_show_the_committed_numbers():
    page = (ROOT / "docs/what-is-proved.md").read_text(encoding="utf-8").splitlines()
    table = headline_table(ROOT / "results")
    first = page.index(table[0])
    assert page[first : first + len(table)] == table
    assert not any(NOT_MADE in line for line in table)


def test_a_missing_result_has_no_number(tmp_path):
    lines = headline_table(tmp_path)
    assert all(NOT_MADE in line for line in lines[2:])


def test_only_the_table_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    head = "| " + " | ".join(COLUMNS) + " |"
    page.write_text(f"before\n\n{head}\n|---|\n| old |\n\nafter\n", encoding="utf-8")
    put_into(page, ROOT / "results")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n\n| paper") and text.endswith("|\n\nafter\n") and "| old |" not in text
    put_into(page, ROOT / "results")
    assert page.read_text(encoding="utf-8") == text
