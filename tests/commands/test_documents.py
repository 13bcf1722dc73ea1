"""The documents: links lead to files and headings that exist, and the examples print the output that is shown."""

import contextlib
import dataclasses
import io
import operator
import re
from pathlib import Path

import pytest
from every_command import COMMANDS

import vibrid as vb
from vibrid.project import load_project

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The names by which a link can point to the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_and_pictures_exist(path):
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = path.parent / file if file else path
        assert page.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(page), f"{path.name} links to {target}; there is no such heading"


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs" / "project-file.md"], ids=lambda p: p.name)
def test_python_prints_what_the_document_says(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (i,) = [i for i, (language, _) in enumerate(blocks(path)) if language == "python"]
    (_, code), (_, said) = blocks(path)[i : i + 2]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, path.name, "exec"), {})
    shown, made = said.splitlines(), printed.getvalue().splitlines()
    assert len(shown) == len(made)
    for expected, line in zip(shown, made, strict=True):
        if expected.startswith("TrajectoryFit:"):
            continue  # seconds differ from machine to machine
        assert re.split(r"[\d.e+]+", expected) == re.split(r"[\d.e+]+", line)
        numbers = [[float(n) for n in re.findall(r"\d+\.?\d*(?:e\+\d+)?", text)] for text in (expected, line)]
        assert numbers[1] == pytest.approx(numbers[0], rel=0.01)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_names_of_the_package_exist(path):
    for name in sorted(set(re.findall(r"\bvb((?:\.[A-Za-z_]\w*)+)", path.read_text(encoding="utf-8")))):
        operator.attrgetter(name[1:])(vb)  # AttributeError gives the name


def test_the_file_in_the_reference_is_a_project(tmp_path):
    (text,) = [code for language, code in blocks(ROOT / "docs" / "project-file.md") if language == "toml"]
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    project = load_project(tmp_path / "p.toml")
    assert [s.label for s in project.sensors] == ["absolute_acceleration_0", "absolute_acceleration_roof", "laser"]
    assert abs(project.simulate().displacement).max() > 1e-3


def test_every_name_is_in_the_documents():
    reference = (ROOT / "docs" / "project-file.md").read_text(encoding="utf-8")
    for name in vb.structures.STRUCTURES:
        fields = [f.name for f in dataclasses.fields(vb.structures.STRUCTURES[name])]
        (row,) = [line for line in reference.splitlines() if line.startswith(f"| `{name}` |")]
        assert [f for f in fields if f"`{f}`" not in row] == []
    methods = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    known = vb.identification.METHODS
    general = [name for name in known if not known[name].__module__.startswith("vibrid.papers.")]
    assert [name for name in general if f"`{name}`" not in methods] == []


def test_every_command_is_in_the_table_of_commands():
    table = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [" ".join(words) for words in COMMANDS if f"`vibrid {' '.join(words)}" not in table] == []
