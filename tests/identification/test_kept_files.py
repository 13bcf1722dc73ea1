"""Result files of every format that was ever written stay readable, with the same answer.

The files and what was read from them on the day they were written lie in `files/`, with the script that made them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from identification.files.make import expected
from vibrid.identification.archive_formats import FORMAT, OLDEST

FOLDER = Path(__file__).parent / "files"
KEPT = sorted(path.stem for path in FOLDER.glob("*.h5"))


def agree(new, old, where: str = "") -> None:
    """Numbers to nine digits, everything else exactly."""
    if isinstance(old, dict):
        assert set(new) >= set(old), where
        for key in old:
            agree(new[key], old[key], f"{where}.{key}")
    elif isinstance(old, list):
        assert len(new) == len(old), where
        for i, (one, other) in enumerate(zip(new, old, strict=True)):
            agree(one, other, f"{where}[{i}]")
    elif isinstance(old, float):
        np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-12, err_msg=where)
    else:
        assert new == old, where


def test_every_format_is_kept():
    formats, kinds = range(OLDEST, FORMAT + 1), ("trajectory", "loads", "samples")
    assert {f"format-{format}-{kind}" for format in formats for kind in kinds} == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_file_gives_the_same_answer(name):
    fit = vb.load_identification(FOLDER / f"{name}.h5")
    old = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    text = old.pop("text")
    agree(expected(fit), old)
    assert set(text.splitlines()) <= set(str(fit).splitlines())


def test_a_kept_file_names_the_files_it_was_made_from():
    old, new = (vb.load_identification(FOLDER / f"format-{n}-trajectory.h5").files for n in (2, 3))
    assert old == ()
    assert [(f.name, f.role, len(f.sha256)) for f in new] == [("test.csv", "record", 64)]


def test_a_kept_file_is_reported(tmp_path):
    fit = vb.load_identification(FOLDER / "format-2-trajectory.h5")
    fit.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(unknown in page for unknown in fit.names) and fit.verdict.split(" (")[0] in page
    assert all(f"History of {record}" in page for record, _ in fit.provenance)


def test_kept_files_are_small():
    assert all((FOLDER / f"{name}.h5").stat().st_size < 60_000 for name in KEPT)
