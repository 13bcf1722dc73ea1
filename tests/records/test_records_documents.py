"""The document about records: its examples run, one after another, and print what it states."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "records.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def test_the_examples_print_what_the_document_states(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    names: dict = {}
    checked = 0
    for (language, code), (kind, said) in zip(found, [*found[1:], ("", "")], strict=True):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, DOCUMENT.name, "exec"), names)
        if kind == "text":
            made = printed.getvalue()
            assert NUMBER.split(said) == NUMBER.split(made), made
            numbers = [[float(n) for n in NUMBER.findall(text)] for text in (said, made)]
            assert numbers[1] == pytest.approx(numbers[0], rel=0.01)
            checked += 1
    assert checked == 6


def test_the_sidecar_in_the_document_is_one(tmp_path):
    from vibrid.records.readers.layout import read_sidecar

    (text,) = [code for language, code in BLOCK.findall(DOCUMENT.read_text(encoding="utf-8")) if language == "toml"]
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    assert [c.name for c in read_sidecar(tmp_path / "a.toml").columns] == ["jack", "roof"]
