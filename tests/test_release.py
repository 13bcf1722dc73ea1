"""What a release rests on: one version, notices of what is bundled, a picture that shows the packages."""

import ast
import re
import runpy
import tomllib
from pathlib import Path

from test_architecture import ROOMS

import vibrid as vb

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place_and_heads_the_changelog():
    tree = ast.parse((ROOT / "src" / "vibrid" / "core" / "version.py").read_text(encoding="utf-8"))
    values = [n.value.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "__version__"]
    assert values == [vb.__version__]  # a plain text, so that it is read without an import
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "vibrid.core.version.__version__"}
    top = re.search(r"^## \[(.+?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert top[1] == vb.__version__ and re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", top[2])


def bundled() -> list[str]:
    """Files of the package that are not Python."""
    folder = ROOT / "src" / "vibrid"
    others = [p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")]
    return sorted(str(p.relative_to(folder.parent).as_posix()) for p in others)


def test_everything_bundled_has_a_notice():
    text = (ROOT / "NOTICE").read_text(encoding="utf-8")
    told = re.findall(r"^    (vibrid/\S+)  +\S", text, re.MULTILINE)
    assert sorted(told) == [name for name in bundled() if name != "vibrid/py.typed"]
    assert {"LICENSE", "NOTICE"} == set(PROJECT["project"]["license-files"])


def test_no_other_licence_hides_in_the_package():
    """Files from elsewhere say so in their first lines; then they belong into NOTICE."""
    mark = re.compile(r"copyright \(c\)|@license|SPDX-License|MIT License|all rights reserved", re.IGNORECASE)
    files = [p for p in (ROOT / "src" / "vibrid").rglob("*") if p.suffix in (".py", ".js", ".css", ".c", ".h", ".html")]
    assert len(files) > 100
    assert not [str(p) for p in files if mark.search(p.read_text(encoding="utf-8")[:2000])]


def test_the_picture_of_the_packages_is_the_order_that_is_held():
    drawn = runpy.run_path(str(ROOT / "docs" / "figures" / "packages.py"))
    assert [name for name, _, _ in drawn["PACKAGES"]] == [*ROOMS[:-1], "commands, studio"]
    assert (ROOT / "docs" / "figures" / "packages.svg").read_text(encoding="utf-8") == drawn["picture"]()
